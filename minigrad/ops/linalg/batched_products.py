"""Products of batches of matrices that add to a tensor: `addbmm`, `baddbmm`. Mirrors PyTorch's LinearAlgebra.cpp.

PyTorch looks at the dtypes of batches only where there is something to multiply: of nothing they may differ.
"""

from __future__ import annotations

from typing import Any

from minigrad.autograd.inplace import in_place
from minigrad.core.graph import Node
from minigrad.core.record import record_n
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op, tensor_method
from minigrad.ops._dispatch.same_device import same_device
from minigrad.ops._dispatch.type_promotion import INT64, check_cast, input_metadata_of
from minigrad.ops.linalg.matmul import Addmm, check_batches
from minigrad.ops.linalg.product_checks import (
    C_NAMES,
    check_into,
    check_output,
    kind_of,
    no_bools,
    plus,
    same_dtype,
    size_of,
    wanted,
)

__all__ = ["addbmm", "baddbmm"]


def fit_of_sum(y: Any, x: Any, v: Any, w: Any) -> tuple[Any, ...]:
    """`Node.fit` of a bias and of two batches, whose dtypes may differ where nothing is multiplied."""
    return *input_metadata_of(y.shape, y.dtype, x), *[
        None if each.dtype is y.dtype else kind_of(each) for each in (v, w)]


class Baddbmm(Node):
    """A bias plus batches of matrices."""

    __slots__ = ()
    saves = ("batch1", "batch2")
    constants = ("beta", "alpha")

    @staticmethod
    def forward(bias: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
        x, v, w = bias.array, a.array, b.array
        same_device(x, v, w)
        y = plus(x.astype(w.dtype, copy=False), (v @ w).astype(w.dtype, copy=False), beta, alpha)
        return record_n(Baddbmm, y, (bias, a, b), wanted(a, b), (beta, alpha), fit_of_sum(y, x, v, w))

    backward = Addmm.backward


class Addbmm(Node):
    """A bias plus the sum of a batch of matrices."""

    __slots__ = ()
    saves = ("batch1", "batch2")
    constants = ("beta", "alpha")

    @staticmethod
    def forward(bias: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
        x, v, w = bias.array, a.array, b.array
        same_device(x, v, w)
        y = plus(x, (v @ w).sum(0, x.dtype), beta, alpha)
        return record_n(Addbmm, y, (bias, a, b), wanted(a, b), (beta, alpha), fit_of_sum(y, x, v, w))

    backward = Addmm.backward


def check_three(batch1: Tensor, batch2: Tensor) -> None:
    """PyTorch's error for what are no batches of matrices."""
    for name, v in (("batch1", batch1), ("batch2", batch2)):
        if v.array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")


@op(method=True, in_place=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2).sum(0)`; shapes (n, p) or what expands to it, (b, n, m), (b, m, p)."""
    check_into(input, (size_of(batch1, 1), size_of(batch2, 2)))
    check_three(batch1, batch2)
    (count, _, m), (other, k, _) = batch1.array.shape, batch2.array.shape
    if count != other:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {count} and {other}")
    if m != k:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({batch1.array.shape[1]}x{m} and "
                           f"{k}x{batch2.array.shape[2]})")
    if count:
        same_dtype(input, batch2, "addmm")
        same_dtype(batch1, batch2, "addmm of two")
        if batch1.array.size and batch2.array.size:
            no_bools(batch1, "addmm_impl_cpu_")
    if not batch1.array.size:  # PyTorch multiplies the bias by an integer
        check_cast(INT64, input.array.dtype)
    return Addbmm.forward(input, batch1, batch2, beta, alpha)


def check_baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor) -> tuple[int, ...]:
    """The shape of the result; PyTorch's errors for shapes and dtypes that do not fit."""
    shape = size_of(batch1, 0), size_of(batch1, 1), size_of(batch2, 2)
    check_into(input, shape)
    check_three(batch1, batch2)
    (count, _, m), found = batch1.array.shape, batch2.array.shape
    if found[:2] != (count, m):
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {m}] but got: "
                           f"[{found[0]}, {found[1]}].")
    if input.array.dtype != batch1.array.dtype:
        names = [C_NAMES[v.dtype.name] for v in (input, batch1, batch2)]
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
    """`baddbmm`, in place.

    Raises:
        RuntimeError: if `input` has not the shape and dtype of the result.
    """
    shape = check_baddbmm(input, batch1, batch2)
    check_output(input, shape, batch2)
    return in_place(baddbmm, input, batch1, batch2, beta=beta, alpha=alpha)
