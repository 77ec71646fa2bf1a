"""Products beyond `matmul`, most of which PyTorch composes of others.

`vdot`, `trace` and `cross` are ops; `outer`, `inner`, `tensordot` and `kron` are composed of `mul`, `mm` and views, as
in PyTorch's LinearAlgebra.cpp, so their graphs show the steps. `addmv`, `addr`, `addbmm` and `baddbmm` add a product to
a tensor. PyTorch compares the dtypes of batches only if there is something to multiply: those of empty ones may differ.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import HALVES, as_dtype
from minigrad._base.tensor_errors import IN_C
from minigrad._base.warnings import warn_once
from minigrad.backends.numpy import XP
from minigrad.backends.registry import HOST
from minigrad.core import Node, Tensor, plain, record1, record2, record_n
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import (
    broadcast_shape,
    check_cast,
    check_scale,
    input_metadata_of,
    needed_by_product,
    op,
    same_device,
    tensor_method,
    where_is,
    widened,
)
from minigrad.ops._dispatch.memory_order import inverse, memory_order, row_by_row
from minigrad.ops._dispatch.type_promotion import INT64
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.matmul import (
    Bmm,
    Dot,
    Mm,
    Mv,
    VectorProduct,
    check_3d,
    check_batches,
    check_bmm,
    check_mv,
    check_vectors,
    dot,
    mm,
)
from minigrad.ops.linalg.matrices import scaled_sum
from minigrad.ops.pointwise.arithmetic import Mul
from minigrad.ops.reduce.sums import Sum, SumDim, axes_of
from minigrad.ops.shape.views import Permute, Squeeze, UnsafeView, View, dim_of, reshape, view

__all__ = ["addbmm", "addmv", "addmv_", "addr", "baddbmm", "cross", "ger", "inner", "kron", "outer", "tensordot",
           "trace", "vdot"]


class Vdot(VectorProduct):
    """For real numbers the same as Dot."""

    saves = ("self", "other")
    backward = Dot.backward


class AddProduct(Node, number=None):
    """`beta * input + alpha * product`. A subclass defines the product and the gradients of its factors."""

    constants = ("beta", "alpha")
    product: ClassVar[Callable[..., Any]]  # from the three arrays
    of_factors: ClassVar[Callable[..., tuple[Any, Any]]]  # `backward` of the product

    @classmethod
    def forward(cls, input: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
        x, v, w = input.array, a.array, b.array
        same_device(x, v, w)
        product = cls.product(*map(widened, (x, v, w)))
        y = scaled_sum(as_dtype(x, product.dtype, copy=False), product, beta, alpha)
        y = as_dtype(y, w.dtype, copy=False) if w.dtype in HALVES else y
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
    product = staticmethod(lambda x, v, w: as_dtype(v[:, None] * w, np.result_type(x, v, w), copy=False))

    def of_factors(self, xp: Any, g: Any, v: Any, w: Any) -> tuple[Any, Any]:
        return None if w is None else xp.matmul(g, w), None if v is None else xp.matmul(xp.t(g), v)


class Baddbmm(AddProduct):
    saves = ("batch1", "batch2")
    product = staticmethod(lambda x, v, w: as_dtype(v @ w, w.dtype, copy=False))
    of_factors = Bmm.backward


class Addbmm(AddProduct):
    saves = ("batch1", "batch2")
    product = staticmethod(lambda x, v, w: (v @ w).sum(0, x.dtype))
    of_factors = Mm.backward


class Trace(Node):
    constants = ("self_sym_sizes",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = a.array
        return record1(Trace, x.trace(dtype=np.int64 if x.dtype.kind in "iu" else None), a, (), (x.shape,))

    def backward(self, xp: Any, g: Any, shape: tuple[int, int]) -> Any:
        return xp.masked(np.eye(*shape, dtype=bool, like=where_is(g)), xp.broadcast_to(g, shape))


class LinalgCross(Node):
    """The cross product, along a dimension of size 3."""

    saves = ("self", "other")
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, dim: int) -> Tensor:
        same_device(a.array, b.array)
        y = vector_product(XP, a.array, b.array, dim)
        return record2(LinalgCross, y, a, b, needed_by_product(a, b), (dim,),
                       input_metadata_of(y.shape, y.dtype, a.array, b.array))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, dim: int) -> tuple[Any, Any]:
        return (None if b is None else vector_product(xp, b, g, dim),
                None if a is None else vector_product(xp, g, a, dim))


def vector_product(xp: Any, a: Any, b: Any, dim: int) -> Any:
    """Component i is `a[i + 1] * b[i + 2] - a[i + 2] * b[i + 1]`, counted modulo 3."""
    front, like = (slice(None),) * (dim % a.ndim), where_is(a)
    first, second = (*front, cyclic(1, like)), (*front, cyclic(2, like))
    product = xp.getitem(a, first) * xp.getitem(b, second) - xp.getitem(a, second) * xp.getitem(b, first)
    return product if isinstance(product, Tensor) else row_by_row(product)


def cyclic(n: int, like: Any) -> Any:
    """The numbers 0, 1, 2 cyclically from `n` on. A GPU computes them itself: a CUDA graph takes no CPU copies."""
    return np.array([n, (n + 1) % 3, (n + 2) % 3]) if like is HOST else np.arange(n, n + 3, like=like) % 3


@op(method=True, aliases=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of each element of one vector with each of another, shape (n, m)."""
    checks.vectors("outer", self=input, vec2=vec2)
    return Mul.forward(reshape(input, (input.array.shape[0], 1)), vec2)


ger = outer


@op(method=True)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of the products of two vectors of equal length."""
    check_vectors(input, other)
    return Vdot.forward(input, other)


@op(method=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products along the last dimensions; with a 0-d tensor, the elementwise product."""
    if input.array.ndim == 0 or other.array.ndim == 0:
        return Mul.forward(input, other)
    if input.array.shape[-1] != other.array.shape[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(input.array.shape)} and {list(other.array.shape)}")
    return contracted(input, other, (-1,), (-1,))


@op
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sums of products over some dimensions of `a` and some of `b`.

    `dims` is a number (the last dimensions of `a`, the first of `b`), or two lists of dimensions.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        first, second = dims
        return contracted(a, b, tuple(first), tuple(second))
    if not isinstance(dims, int):
        raise RuntimeError("tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
                           f"containing two lists, but got dims={dims}")
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.array.ndim, b.array.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return contracted(a, b, tuple(range(-dims, 0)), tuple(range(dims)))


def contracted(a: Tensor, b: Tensor, dims_a: tuple[int, ...], dims_b: tuple[int, ...]) -> Tensor:
    """`tensordot` over pairs of dimensions, by one matrix product."""
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.array.dtype != b.array.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for i, j in zip(dims_a, dims_b, strict=True):
        m, n = checks.size_of(a, i), checks.size_of(b, j)
        if n == 1:
            a = SumDim.forward(a, (dim_of(i, a.array.ndim),), True, a.array.dtype)
        elif m == 1:
            b = SumDim.forward(b, (dim_of(j, b.array.ndim),), True, b.array.dtype)
        elif m != n:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {m} in dim {i} and second "
                               f"has size {n} in dim {j}")
    over_a, over_b = axes_of(dims_a, a.array.ndim) or (), axes_of(dims_b, b.array.ndim) or ()
    free_a = tuple([i for i in range(a.array.ndim) if i not in over_a])
    free_b = tuple([j for j in range(b.array.ndim) if j not in over_b])
    left, right = Permute.forward(a, free_a + over_a), Permute.forward(b, over_b + free_b)
    shape = tuple([a.array.shape[i] for i in free_a] + [b.array.shape[j] for j in free_b])
    rows, columns = math.prod(shape[:len(free_a)]), math.prod(shape[len(free_a):])
    if rows == columns == 1:
        straight = left.is_contiguous() and right.is_contiguous()
        return View.forward(dot(flat(left), flat(right)) if straight else
                            Sum.forward(Mul.forward(Squeeze.forward(left), Squeeze.forward(right))), shape)
    inside = math.prod([a.array.shape[i] for i in over_a])
    return reshape(mm(reshape(left, (rows, inside)), reshape(right, (inside, columns))), shape)


def flat(v: Tensor) -> Tensor:
    return v if v.array.ndim == 1 else reshape(v, (-1,))


@op(method=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: a block `input[i] * other` for each element of `input`."""
    a, b = [(1,) * (max(input.array.ndim, other.array.ndim) - v.array.ndim) + v.array.shape for v in (input, other)]
    left = tuple([n for size in a for n in (size, 1)])
    right = tuple([n for size in b for n in (1, size)])
    left_view, right_view = UnsafeView.forward(input, left), UnsafeView.forward(other, right)
    product, shape = Mul.forward(left_view, right_view), tuple([m * n for m, n in zip(a, b, strict=True)])
    expanded = [np.broadcast_to(v.array, product.array.shape).strides for v in (left_view, right_view)]
    axes = memory_order(product.array.shape, *expanded)
    product.array = product.array.transpose(axes).copy(order="C").transpose(inverse(axes))
    view(plain(product.array), shape)  # PyTorch's error if the product is in another memory order
    return UnsafeView.forward(product, shape)


@op(method=True)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal; integers sum to int64."""
    checks.no_bools(input, "trace")
    if input.array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.array.ndim}")
    return Trace.forward(input)


DIM_NOT_GIVEN = (
    "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
    "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
    "release."
)


@op(method=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along `dim`, by default the first dimension of size 3."""
    if dim is None:
        warn_once(DIM_NOT_GIVEN)
        dims = [i for i, n in enumerate(input.array.shape) if n == 3]
        if not dims:
            raise RuntimeError("no dimension of size 3 in input")
        dim = dims[0]
    return vector_cross(input, other, dim=dim)


def vector_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product along a dimension of size 3; the other dimensions are broadcast (`torch.linalg.cross`)."""
    if input.array.ndim != other.array.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    m, n = checks.size_of(input, dim), checks.size_of(other, dim)
    if m != 3 or n != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {m} and {n}")
    broadcast_shape(input.array.shape, other.array.shape)
    checks.no_bools(input, "cross")
    checks.product_dtypes(input, other, "bmm")
    return LinalgCross.forward(input, other, dim)


@op(method=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * mat @ vec`; shapes (n) or expandable to it, (n, m), (m)."""
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
    """`beta * input + alpha * outer(vec1, vec2)`; shapes (n, m) or expandable to it, (n), (m). Dtypes are promoted."""
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
    """`beta * input + alpha * (batch1 @ batch2).sum(0)`; shapes (n, p) or expandable to it, (b, n, m), (b, m, p)."""
    if checks.autocast_is_on():
        return checks.autocast(addbmm, input, batch1, batch2, beta=beta, alpha=alpha)
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
    """Check shapes and dtypes; return the shape of the result."""
    shape = checks.size_of(batch1, 0), checks.size_of(batch1, 1), checks.size_of(batch2, 2)
    checks.expands_to(input, shape)
    check_bmm(batch1, batch2)
    if input.array.dtype != batch1.array.dtype:
        names = [IN_C[v.dtype.name] for v in (input, batch1, batch2)]
        raise RuntimeError("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*names))
    return shape


@op(method=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * batch1 @ batch2`; shapes (b, n, p) or expandable to it, (b, n, m), (b, m, p)."""
    if checks.autocast_is_on():
        return checks.autocast(baddbmm, input, batch1, batch2, beta=beta, alpha=alpha)
    shape = check_baddbmm(input, batch1, batch2)
    check_batches(batch1, batch2, "baddbmm")
    if not batch1.array.size and 0 not in shape:
        check_cast(INT64, batch2.array.dtype)
    return Baddbmm.forward(input, batch1, batch2, beta, alpha)


@tensor_method
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`baddbmm`, in place; a RuntimeError unless `input` has the shape and dtype of the result."""
    checks.in_place_output(input, check_baddbmm(input, batch1, batch2), batch2)
    return in_place(baddbmm, input, batch1, batch2, beta=beta, alpha=alpha)
