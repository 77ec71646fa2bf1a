"""Products beyond `matmul`, most of which PyTorch composes of others.

`vdot`, `trace` and `cross` are ops; `outer`, `inner`, `tensordot` and `kron` are
made of `mul`, `mm` and views, as in PyTorch's LinearAlgebra.cpp, so that their graphs can be read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad._base.warnings import warn_once
from minigrad.backends.numpy import XP
from minigrad.backends.registry import HERE
from minigrad.core.graph import Node
from minigrad.core.record import record1, record2
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.registration import op
from minigrad.ops._dispatch.same_device import same_device, where_is
from minigrad.ops._dispatch.type_promotion import broadcast_shape, input_metadata_of
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.matmul import Dot, check_vectors, dot, mm
from minigrad.ops.linalg.matrices import needed_by_product
from minigrad.ops.pointwise.arithmetic import Mul
from minigrad.ops.reduce.sums import Sum, SumDim, axes_of
from minigrad.ops.shape.views import Permute, Squeeze, UnsafeView, View, dim_of, reshape, view

__all__ = ["cross", "ger", "inner", "kron", "outer", "tensordot", "trace", "vdot"]


class Vdot(Dot):
    """Of real numbers the same as Dot."""

    saves = ("self", "other")


class Trace(Node):
    constants = ("self_sym_sizes",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = a.array
        return record1(Trace, x.trace(dtype=np.int64 if x.dtype.kind in "iu" else None), a, (), (x.shape,))

    def backward(self, xp: Any, g: Any, shape: tuple[int, int]) -> Any:
        return xp.masked(np.eye(*shape, dtype=bool, like=where_is(g)), xp.broadcast_to(g, shape))


class LinalgCross(Node):
    """The vector product, along a dimension of size 3."""

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
    return xp.getitem(a, first) * xp.getitem(b, second) - xp.getitem(a, second) * xp.getitem(b, first)


def cyclic(n: int, like: Any) -> Any:
    """The numbers 0, 1, 2 from `n` on. On a GPU they are counted: a CUDA graph takes no copies from the CPU."""
    return np.array([n, (n + 1) % 3, (n + 2) % 3]) if like is HERE else np.arange(n, n + 3, like=like) % 3


@op(method=True, aliases=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of all elements of one vector with all of another, shape (n, m)."""
    checks.vectors("outer", self=input, vec2=vec2)
    return Mul.forward(reshape(input, (input.array.shape[0], 1)), vec2)


ger = outer


@op(method=True)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of the products of two vectors of one length."""
    check_vectors(input, other)
    return Vdot.forward(input, other)


@op(method=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products along the last dimensions; with a 0-d tensor the product."""
    if input.array.ndim == 0 or other.array.ndim == 0:
        return Mul.forward(input, other)
    if input.array.shape[-1] != other.array.shape[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(input.array.shape)} and {list(other.array.shape)}")
    return contracted(input, other, (-1,), (-1,))


@op
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sums of products over some dimensions of `a` and some of `b`.

    `dims` is how many (the last of `a`, the first of `b`), or two lists of dimensions.
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
    """`tensordot` over pairs of dimensions, by one product of matrices."""
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.array.dtype != b.array.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for i, j in zip(dims_a, dims_b, strict=True):
        m, n = checks.size_of(a, i), checks.size_of(b, j)
        if n == 1:
            a = SumDim.forward(a, (dim_of(i, a.array.ndim),), True)
        elif m == 1:
            b = SumDim.forward(b, (dim_of(j, b.array.ndim),), True)
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
    product = Mul.forward(UnsafeView.forward(input, left), UnsafeView.forward(other, right))
    shape = tuple([m * n for m, n in zip(a, b, strict=True)])
    view(plain(product.array), shape)  # PyTorch's error where the product lies in memory in another order
    return UnsafeView.forward(product, shape)


@op(method=True)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal; integers add up to int64."""
    if input.array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.array.ndim}")
    checks.no_bools(input, "trace")
    return Trace.forward(input)


DIM_NOT_GIVEN = (
    "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
    "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
    "release."
)


@op(method=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along `dim`, by default the first dimension of size 3."""
    if dim is None:
        warn_once(DIM_NOT_GIVEN)
        dims = [i for i, n in enumerate(input.array.shape) if n == 3]
        if not dims:
            raise RuntimeError("no dimension of size 3 in input")
        dim = dims[0]
    return vector_cross(input, other, dim=dim)


def vector_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector product along a dimension of size 3; the other dimensions are broadcast (`torch.linalg.cross`)."""
    if input.array.ndim != other.array.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    m, n = checks.size_of(input, dim), checks.size_of(other, dim)
    if m != 3 or n != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {m} and {n}")
    broadcast_shape(input.array.shape, other.array.shape)
    checks.no_bools(input, "cross")
    checks.product_dtypes(input, other, "bmm")
    return LinalgCross.forward(input, other, dim)
