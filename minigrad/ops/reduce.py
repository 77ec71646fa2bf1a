"""Reductions: sums, means and norms, over all dimensions or some."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._dtype import dtype as dtype_type
from minigrad._tensor import Tensor
from minigrad.autograd.graph import Node
from minigrad.autograd.record import record1
from minigrad.backends.numpy import FLOAT16, FLOAT32, total

__all__ = ["mean", "norm", "sum"]
METHODS = (*__all__,)

Dims = int | Sequence[int] | None  # also whatever has `__index__`, such as NumPy's integers
INT64 = np.dtype("int64")


def axes_of(dim: Dims, ndim: int) -> tuple[int, ...] | None:
    """The dimensions as non-negative numbers; None for all.

    Raises:
        IndexError: if one is out of range.
        RuntimeError: if one appears twice.
    """
    if dim is None:
        return None
    dims = tuple([operator.index(d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))])
    if not dims:
        return None
    room = max(ndim, 1)
    for d in dims:
        if not -room <= d < room:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-room}, {room - 1}], but got {d})")
    axes = tuple([d % room for d in dims])
    if len(set(axes)) != len(axes):
        twice = next(d for i, d in enumerate(axes) if d in axes[:i])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return axes if ndim else ()


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape in which the reduced dimensions are 1."""
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


class Sum(Node):
    """Over all dimensions."""

    __slots__ = ()
    constants = ("self_sym_sizes",)

    @staticmethod
    def forward(a: Tensor, dtype: Any = None) -> Tensor:
        x = a.array
        if dtype is not None:
            y = total(x, None, dtype)
        elif x.size != 1:
            y = total(x, None)
        else:  # NumPy's reduction costs 1 µs even here; 0 is added, as in any sum, since -0.0 sums to 0.0
            y = (x.reshape(())[()] if type(x) is np.ndarray else x) + 0
        return record1(Sum, y, a, (), (x.shape,), None if y.dtype is x.dtype else ((x.shape, x.dtype),))

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...]) -> Any:
        return xp.broadcast_to(g, shape)


class SumDim(Node, name="Sum", number=1):
    """Over some dimensions."""

    __slots__ = ()
    constants = ("self_sym_sizes",)

    @staticmethod
    def forward(a: Tensor, axes: tuple[int, ...] | None, keepdim: bool, dtype: Any = None) -> Tensor:
        x = a.array
        axes = tuple(range(x.ndim)) if axes is None else axes
        y = total(x, axes, dtype, keepdims=keepdim)
        fit = None if y.dtype is x.dtype else ((x.shape, x.dtype),)
        return record1(SumDim, y, a, (), (x.shape, kept_shape(x.shape, axes)), fit)

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...], kept: tuple[int, ...]) -> Any:
        return xp.broadcast_to(xp.reshape(g, kept), shape)


def shared(xp: Any, g: Any, count: int) -> Any:
    """`g / count`; of float16 in float32, since float16 does not hold every count."""
    if count > 2048 and xp.dtype(g) == FLOAT16:
        return xp.cast(xp.cast(g, FLOAT32) / count, FLOAT16)
    return g / count


class Mean(Node):
    """Over all dimensions."""

    __slots__ = ()
    constants = ("self_sym_sizes", "self_sym_numel")

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = a.array
        return record1(Mean, total(x, None, count=x.size), a, (), (x.shape, x.size))

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...], count: int) -> Any:
        return xp.broadcast_to(shared(xp, g, count), shape)


class MeanDim(Node, name="Mean", number=1):
    """Over some dimensions."""

    __slots__ = ()
    constants = ("self_sym_sizes",)

    @staticmethod
    def forward(a: Tensor, axes: tuple[int, ...] | None, keepdim: bool) -> Tensor:
        x = a.array
        axes = tuple(range(x.ndim)) if axes is None else axes
        kept = kept_shape(x.shape, axes)
        count = int(np.prod([x.shape[i] for i in axes]))
        y = total(x, axes, keepdims=keepdim, count=count)
        return record1(MeanDim, y, a, (), (x.shape, kept, count))

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...], kept: tuple[int, ...], count: int) -> Any:
        return xp.broadcast_to(shared(xp, xp.reshape(g, kept), count), shape)


class LinalgVectorNorm(Node):
    """(sum |x|^p)^(1/p) over some dimensions; its gradient is 0 where the norm is 0."""

    __slots__ = ()
    saves = ("self", "result")
    constants = ("ord",)

    @staticmethod
    def forward(a: Tensor, p: float, axes: tuple[int, ...] | None, keepdim: bool) -> Tensor:
        x = a.array
        axes = tuple(range(x.ndim)) if axes is None else axes
        wide = x.astype(FLOAT32) if x.dtype is FLOAT16 else x  # squares would overflow
        if p == 2:
            y = np.sqrt(total(wide * wide, axes, keepdims=keepdim))
        elif p == 1:
            y = total(abs(wide), axes, keepdims=keepdim)
        else:
            y = np.power(total(np.power(abs(wide), p), axes, keepdims=keepdim), 1 / p)
        y = y if wide is x else y.astype(FLOAT16)
        return record1(LinalgVectorNorm, y, a, (a, y), (p, kept_shape(x.shape, axes)))

    def backward(self, xp: Any, g: Any, a: Any, y: Any, p: float, kept: tuple[int, ...]) -> Any:
        g, y = xp.reshape(g, kept), xp.reshape(y, kept)
        if p == 2:
            return a * xp.masked(y != 0, g / y)
        if p == 1:
            return g * xp.sign(a)
        size = a if p % 2 == 0 else a * xp.sign(a)
        slope = xp.masked(a != 0, xp.sign(a) * xp.power(size, p - 1))
        return slope * xp.masked(y != 0, g / xp.power(y, p - 1))


def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype_type | None = None,
        axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements, over all dimensions or over `dim`; integers and bools add up to int64.

    `axis` and `keepdims` are NumPy's names of `dim` and `keepdim`.

    Raises:
        IndexError: if `dim` is out of range.
    """
    if axis is not None or keepdims:
        dim, keepdim = axis if dim is None else dim, keepdim or keepdims
    wanted = None if dtype is None and input.array.dtype.kind == "f" else INT64 if dtype is None else dtype.numpy
    if dim is None and not keepdim:
        return Sum.forward(input, wanted)
    return SumDim.forward(input, axes_of(dim, input.array.ndim), keepdim, wanted)


def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype_type | None = None,
         axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The mean of the elements, over all dimensions or over `dim`; `axis` and `keepdims` as in `sum`.

    Raises:
        RuntimeError: for a tensor of integers or bools.
    """
    if axis is not None or keepdims:
        dim, keepdim = axis if dim is None else dim, keepdim or keepdims
    if dtype is not None:
        input = input.to(dtype)
    if input.array.dtype.kind != "f":
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or "
                           f"complex dtype. Got: {input.dtype.type_name}")
    if dim is None and not keepdim:
        return Mean.forward(input)
    return MeanDim.forward(input, axes_of(dim, input.array.ndim), keepdim)


def norm(input: Tensor, p: float | str | None = "fro", dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The p-norm of the elements (default: 2), over all dimensions or over `dim`, for 0 < p < infinity.

    Raises:
        RuntimeError: for a tensor of integers or bools.
        NotImplementedError: for p = 0, infinity or less than 0.
    """
    order = 2.0 if p is None or p == "fro" else float(p)
    if not 0 < order < float("inf"):
        raise NotImplementedError(f"minigrad's norm takes 0 < p < infinity, but got p={p}")
    if input.array.dtype.kind != "f":
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{input.dtype.type_name}")
    return LinalgVectorNorm.forward(input, order, axes_of(dim, input.array.ndim), keepdim)
