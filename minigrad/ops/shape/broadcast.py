"""Brings tensors to a common shape: `broadcast_tensors`, `broadcast_shapes`, `atleast_1d` and similar functions."""

import functools
from typing import Any

from minigrad._base.dtype import Size
from minigrad.core import Tensor
from minigrad.ops._dispatch import broadcast_shape, op
from minigrad.ops.shape.views import Expand, Unsqueeze, View

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors"]


@op
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors as views of their common shape."""
    inputs = unpacked(tensors)
    shape: tuple[int, ...] = ()
    for v in inputs:
        shape = broadcast_shape(shape, v.array.shape)
    return tuple([v if v.array.shape == shape else Expand.forward(v, shape) for v in inputs])


@op
def broadcast_shapes(*shapes: Any) -> Size:
    """The common shape of tensors of these shapes."""
    inputs = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    out = [1] * max([len(s) for s in inputs], default=0)
    for i, shape in enumerate(inputs):
        for dim in range(-1, -len(shape) - 1, -1):
            if shape[dim] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if shape[dim] in (1, out[dim]):
                continue
            if out[dim] != 1:
                raise RuntimeError(f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! Mismatching "
                                   f"argument at index {i} had {shape}; but expected shape should be broadcastable to "
                                   f"{out}")
            out[dim] = shape[dim]
    return Size(out)


def unpacked(tensors: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The tensors of `f(a, b)` or `f([a, b])`."""
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def at_least(ndim: int, tensors: tuple[Any, ...]) -> Any:
    """Tensors with at least `ndim` dimensions, as a tuple; a single tensor, not in a list, as itself."""
    results = tuple(map(functools.partial(unsqueezed, ndim), unpacked(tensors)))
    return results[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else results


def unsqueezed(ndim: int, v: Tensor) -> Tensor:
    """A tensor with at least `ndim` dimensions: missing ones have size 1."""
    if v.array.ndim >= ndim:
        return v
    if v.array.ndim == 0:
        return View.forward(v, (1,) * ndim)
    row = Unsqueeze.forward(v, 0) if v.array.ndim == 1 else v
    return Unsqueeze.forward(row, 2) if ndim == 3 else row


@op
def atleast_1d(*tensors: Any) -> Any:
    """A 0-d tensor as a vector; any other unchanged."""
    return at_least(1, tensors)


@op
def atleast_2d(*tensors: Any) -> Any:
    """A 0-d tensor as (1, 1), a vector as a row; any other unchanged."""
    return at_least(2, tensors)


@op
def atleast_3d(*tensors: Any) -> Any:
    """A 0-d tensor as (1, 1, 1), a vector as (1, n, 1), a matrix as (n, m, 1); any other unchanged."""
    return at_least(3, tensors)
