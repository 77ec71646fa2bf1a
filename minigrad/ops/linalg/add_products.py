"""Products that are added to a tensor: `addmv`, `addr`, `addbmm` and `baddbmm`. `addmm` is in matmul.py.

Each gives `beta * input + alpha * product`. PyTorch compares the dtypes of batches only where there is something to
multiply: empty ones may differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minigrad.autograd.inplace import in_place
from minigrad.core.graph import Node
from minigrad.core.record import record_n
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op, tensor_method
from minigrad.ops._dispatch.same_device import same_device
from minigrad.ops._dispatch.scalars import check_scale
from minigrad.ops._dispatch.type_promotion import INT64, check_cast, input_metadata_of
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.matmul import Mm, Mv, check_3d, check_batches, check_bmm, check_mv
from minigrad.ops.linalg.matrices import needed_by_product, scaled_sum

__all__ = ["addbmm", "addmv", "addmv_", "addr", "baddbmm"]


class AddProduct(Node, number=None):
    """`beta * input + alpha * product`. A subclass says what the product is, and what the gradients of its factors."""

    constants = ("beta", "alpha")
    product: ClassVar[Callable[..., Any]]  # from the three arrays
    of_factors: ClassVar[Callable[..., tuple[Any, Any]]]  # `backward` of the product

    @classmethod
    def forward(cls, input: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
        x, v, w = input.array, a.array, b.array
        same_device(x, v, w)
        product = cls.product(x, v, w)
        y = scaled_sum(x.astype(product.dtype, copy=False), product, beta, alpha)
        metadata = (*input_metadata_of(y.shape, y.dtype, x),
                    *[None if factor.dtype is y.dtype else (factor.shape, factor.dtype) for factor in (v, w)])
        return record_n(cls, y, (input, a, b), needed_by_product(a, b), (beta, alpha), metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, beta: float, alpha: float) -> tuple[Any, Any, Any]:
        return (g if beta == 1 else g * beta, *self.of_factors(xp, g if alpha == 1 else g * alpha, a, b))


class Addmv(AddProduct):
    saves = ("mat", "vec")
    product = staticmethod(lambda x, a, v: a.dot(v))
    of_factors = Mv.backward


class Addr(AddProduct):
    saves = ("vec1", "vec2")
    product = staticmethod(lambda x, v, w: (v[:, None] * w).astype(np.result_type(x, v, w), copy=False))

    def of_factors(self, xp: Any, g: Any, v: Any, w: Any) -> tuple[Any, Any]:
        return None if w is None else xp.matmul(g, w), None if v is None else xp.matmul(xp.swapaxes(g, 0, 1), v)


class Baddbmm(AddProduct):
    saves = ("batch1", "batch2")
    product = staticmethod(lambda x, v, w: (v @ w).astype(w.dtype, copy=False))
    of_factors = Mm.backward


class Addbmm(AddProduct):
    saves = ("batch1", "batch2")
    product = staticmethod(lambda x, v, w: (v @ w).sum(0, x.dtype))
    of_factors = Mm.backward


@op(method=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * mat @ vec`; shapes (n) or what expands to it, (n, m), (m)."""
    check_mv(mat, vec, input)
    return Addmv.forward(input, mat, vec, beta, alpha)


@op(method=True)
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`addmv`, in place."""
    check_mv(mat, vec, input)
    checks.in_place_output(input, mat.array.shape[:1], mat)
    return in_place(addmv, input, mat, vec, beta=beta, alpha=alpha)


@op(method=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`; shapes (n, m) or what expands to it, (n), (m). It promotes."""
    checks.vectors("addr", vec1=vec1, vec2=vec2)
    same_device(input.array, vec1.array, vec2.array)
    checks.expands_to(input, (vec1.array.shape[0], vec2.array.shape[0]))
    dtype = np.result_type(input.array, vec1.array, vec2.array)
    for name, scale in (("beta", beta), ("alpha", alpha)):
        check_scale(name, scale, dtype)
    return Addr.forward(input, vec1, vec2, beta, alpha)


@tensor_method
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`addr`, in place."""
    checks.vectors("addr", vec1=vec1, vec2=vec2)
    x, n, m = input.array, vec1.array.shape[0], vec2.array.shape[0]
    if x.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {x.ndim}D tensor for input")
    if x.shape != (n, m):
        raise RuntimeError(f"size mismatch, input: {list(x.shape)}, v1: [{n}], v2: [{m}]")
    return in_place(addr, input, vec1, vec2, beta=beta, alpha=alpha)


@op(method=True, in_place=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2).sum(0)`; shapes (n, p) or what expands to it, (b, n, m), (b, m, p)."""
    checks.expands_to(input, (checks.size_of(batch1, 1), checks.size_of(batch2, 2)))
    check_3d(batch1, batch2)
    (count, n, m), (other, k, p) = batch1.array.shape, batch2.array.shape
    if count != other:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {count} and {other}")
    if m != k:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({n}x{m} and {k}x{p})")
    if count:
        checks.product_dtypes(input, batch2, "addmm")
        checks.product_dtypes(batch1, batch2, "addmm of two")
        if batch1.array.size and batch2.array.size:
            checks.no_bools(batch1, "addmm_impl_cpu_")
    if not batch1.array.size:  # PyTorch multiplies the bias by an integer
        check_cast(INT64, input.array.dtype)
    return Addbmm.forward(input, batch1, batch2, beta, alpha)


def check_baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor) -> tuple[int, ...]:
    """Check shapes and dtypes; gives the shape of the result."""
    shape = checks.size_of(batch1, 0), checks.size_of(batch1, 1), checks.size_of(batch2, 2)
    checks.expands_to(input, shape)
    check_bmm(batch1, batch2)
    if input.array.dtype != batch1.array.dtype:
        names = [checks.C_NAMES[v.dtype.name] for v in (input, batch1, batch2)]
        raise RuntimeError("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*names))
    return shape


@op(method=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * batch1 @ batch2`; shapes (b, n, p) or what expands to it, (b, n, m), (b, m, p)."""
    shape = check_baddbmm(input, batch1, batch2)
    check_batches(batch1, batch2, "baddbmm")
    if not batch1.array.size and 0 not in shape:
        check_cast(INT64, batch2.array.dtype)
    return Baddbmm.forward(input, batch1, batch2, beta, alpha)


@tensor_method
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`baddbmm`, in place; a RuntimeError if `input` has not the shape and dtype of the result."""
    checks.in_place_output(input, check_baddbmm(input, batch1, batch2), batch2)
    return in_place(baddbmm, input, batch1, batch2, beta=beta, alpha=alpha)
