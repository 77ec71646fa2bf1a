"""Products beyond `matmul`: those that add to a tensor, and those that PyTorch puts together from others.

`addmv`, `addr`, `vdot`, `trace` and `cross` are ops; `outer`, `inner`, `tensordot` and `kron` are
made of `mul`, `mm` and views, as in PyTorch's LinearAlgebra.cpp, so that their graphs can be read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad._base.warnings import warn_once
from minigrad.autograd.inplace import in_place
from minigrad.backends.numpy import WORDS
from minigrad.backends.registry import HERE
from minigrad.core.graph import Node
from minigrad.core.record import record1, record2, record_n
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.registration import op, tensor_method
from minigrad.ops._dispatch.same_device import same_device, where_is
from minigrad.ops._dispatch.scalars import check_scale
from minigrad.ops._dispatch.type_promotion import broadcast_shape, input_metadata_of
from minigrad.ops.linalg.matmul import Dot, check_vectors, dot, mm
from minigrad.ops.linalg.product_checks import check_into, check_output, no_bools, plus, same_dtype, size_of, wanted
from minigrad.ops.pointwise.arithmetic import Mul
from minigrad.ops.reduce.sums import Sum, SumDim, axes_of
from minigrad.ops.shape.views import Permute, Squeeze, UnsafeView, View, dim_of, reshape, view

__all__ = ["addmv", "addmv_", "addr", "cross", "ger", "inner", "kron", "outer", "tensordot", "trace", "vdot"]


class Addmv(Node):
    """A bias plus matrix times vector."""

    __slots__ = ()
    saves = ("mat", "vec")
    constants = ("beta", "alpha")

    @staticmethod
    def forward(bias: Tensor, a: Tensor, v: Tensor, beta: float, alpha: float) -> Tensor:
        same_device(bias.array, a.array, v.array)
        y = plus(bias.array, a.array.dot(v.array), beta, alpha)
        input_metadata = (*input_metadata_of(y.shape, y.dtype, bias.array), None, None)
        return record_n(Addmv, y, (bias, a, v), wanted(a, v), (beta, alpha), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, v: Any, beta: float, alpha: float) -> tuple[Any, Any, Any]:
        scaled = g * alpha
        return (g * beta, None if v is None else xp.reshape(scaled, (-1, 1)) * v,
                None if a is None else xp.matmul(xp.swapaxes(a, 0, 1), scaled))


class Addr(Node):
    """A bias plus the products of all elements of one vector with all of another."""

    __slots__ = ()
    saves = ("vec1", "vec2")
    constants = ("beta", "alpha")

    @staticmethod
    def forward(bias: Tensor, v: Tensor, w: Tensor, beta: float, alpha: float) -> Tensor:
        x, y = bias.array, v.array[:, None] * w.array
        dtype = np.result_type(x, y)
        out = plus(x.astype(dtype, copy=False), y.astype(dtype, copy=False), beta, alpha)
        input_metadata = tuple([(t.shape, t.dtype) for t in (x, v.array, w.array)])
        return record_n(Addr, out, (bias, v, w), wanted(v, w), (beta, alpha), input_metadata)

    def backward(self, xp: Any, g: Any, v: Any, w: Any, beta: float, alpha: float) -> tuple[Any, Any, Any]:
        scaled = g * alpha
        return (g * beta, None if w is None else xp.matmul(scaled, w),
                None if v is None else xp.matmul(xp.swapaxes(scaled, 0, 1), v))


class Vdot(Node):
    """Vector times vector; of real numbers the same as Dot."""

    __slots__ = ()
    saves = ("self", "other")

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        same_device(a.array, b.array)
        return record2(Vdot, a.array.dot(b.array), a, b, wanted(a, b))

    backward = Dot.backward


class Trace(Node):
    """The sum of a matrix's diagonal."""

    __slots__ = ()
    constants = ("self_sym_sizes",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = a.array
        return record1(Trace, x.trace(dtype=np.int64 if x.dtype.kind in "iu" else None), a, (), (x.shape,))

    def backward(self, xp: Any, g: Any, shape: tuple[int, int]) -> Any:
        return xp.masked(np.eye(*shape, dtype=bool, like=where_is(g)), xp.broadcast_to(g, shape))


class LinalgCross(Node):
    """The vector product, along a dimension of size 3."""

    __slots__ = ()
    saves = ("self", "other")
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, dim: int) -> Tensor:
        same_device(a.array, b.array)
        y = vector_product(WORDS, a.array, b.array, dim)
        return record2(LinalgCross, y, a, b, wanted(a, b), (dim,),
                       input_metadata_of(y.shape, y.dtype, a.array, b.array))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, dim: int) -> tuple[Any, Any]:
        return (None if b is None else vector_product(xp, b, g, dim),
                None if a is None else vector_product(xp, g, a, dim))


def vector_product(xp: Any, a: Any, b: Any, dim: int) -> Any:
    """Component i is `a[i + 1] * b[i + 2] - a[i + 2] * b[i + 1]`, counted modulo 3."""
    front, like = (slice(None),) * (dim % a.ndim), where_is(a)
    first, second = (*front, turned(1, like)), (*front, turned(2, like))
    return xp.getitem(a, first) * xp.getitem(b, second) - xp.getitem(a, second) * xp.getitem(b, first)


def turned(n: int, like: Any) -> Any:
    """The numbers 0, 1, 2 from `n` on. On a GPU they are counted: a CUDA graph takes no copies from the CPU."""
    return np.array([n, (n + 1) % 3, (n + 2) % 3]) if like is HERE else np.arange(n, n + 3, like=like) % 3


def check_addmv(input: Tensor, mat: Tensor, vec: Tensor) -> tuple[int]:
    """The shape of the product; PyTorch's errors for operands that do not fit."""
    x, a, v = input.array, mat.array, vec.array
    if a.ndim != 2 or v.ndim != 1 or x.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {x.ndim}, {a.ndim}, {v.ndim}")
    if a.shape[1] != v.shape[0] or x.size not in (1, a.shape[0]):
        raise RuntimeError(f"size mismatch, got input ({x.size}), mat ({a.shape[0]}x{a.shape[1]}), vec ({v.shape[0]})")
    if x.dtype != a.dtype or v.dtype != a.dtype:
        names = [each.dtype.type_name for each in (input, mat, vec)]
        raise RuntimeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names))
    no_bools(mat, "addmv_impl_cpu")
    return a.shape[:1]


@op(method=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * mat @ vec`; shapes (n) or what expands to it, (n, m), (m)."""
    check_addmv(input, mat, vec)
    return Addmv.forward(input, mat, vec, beta, alpha)


@op(method=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`; shapes (n, m) or what expands to it, (n), (m). It promotes."""
    vectors("addr", vec1=vec1, vec2=vec2)
    same_device(input.array, vec1.array, vec2.array)
    check_into(input, (vec1.array.shape[0], vec2.array.shape[0]))
    dtype = np.result_type(input.array, vec1.array, vec2.array)
    for name, scale in (("beta", beta), ("alpha", alpha)):
        check_scale(name, scale, dtype)
    return Addr.forward(input, vec1, vec2, beta, alpha)


@op(method=True)
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`addmv`, in place."""
    check_output(input, check_addmv(input, mat, vec), mat)
    return in_place(addmv, input, mat, vec, beta=beta, alpha=alpha)


@tensor_method
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`addr`, in place."""
    vectors("addr", vec1=vec1, vec2=vec2)
    x, n, m = input.array, vec1.array.shape[0], vec2.array.shape[0]
    if x.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {x.ndim}D tensor for input")
    if x.shape != (n, m):
        raise RuntimeError(f"size mismatch, input: {list(x.shape)}, v1: [{n}], v2: [{m}]")
    return in_place(addr, input, vec1, vec2, beta=beta, alpha=alpha)


def vectors(product: str, **given: Tensor) -> None:
    """PyTorch's error for what should be a vector."""
    for name, v in given.items():
        if v.array.ndim != 1:
            raise RuntimeError(f"{product}: Expected 1-D argument {name}, but got {v.array.ndim}-D")


@op(method=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of all elements of one vector with all of another, shape (n, m)."""
    vectors("outer", self=input, vec2=vec2)
    return Mul.forward(reshape(input, (input.array.shape[0], 1)), vec2)


@op(method=True)
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """Another name of `outer`."""
    return outer(input, vec2)


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
        m, n = size_of(a, i), size_of(b, j)
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
    """A tensor as a vector."""
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
    no_bools(input, "trace")
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
        found = [i for i, n in enumerate(input.array.shape) if n == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    return vector_cross(input, other, dim=dim)


def vector_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector product along a dimension of size 3; the other dimensions are broadcast (`torch.linalg.cross`)."""
    if input.array.ndim != other.array.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    m, n = size_of(input, dim), size_of(other, dim)
    if m != 3 or n != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {m} and {n}")
    broadcast_shape(input.array.shape, other.array.shape)
    no_bools(input, "cross")
    same_dtype(input, other, "bmm")
    return LinalgCross.forward(input, other, dim)
