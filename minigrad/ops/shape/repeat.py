"""Repeats tensors: `repeat`, `tile`, `repeat_interleave`."""

import operator
from typing import Any

import numpy as np

from minigrad._base.dtype import from_numpy_dtype
from minigrad.backends.registry import backend_of
from minigrad.core import Node, Tensor, plain, record1
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops.index.index_select import IndexSelect
from minigrad.ops.shape.views import Expand, Unsqueeze, View, dim_of, flatten, shape_of
from minigrad.ops.tensor.copy import Clone

__all__ = ["repeat_interleave", "tile"]

Shape = tuple[int, ...]


class Repeat(Node):
    """Copies side by side, as many along each dimension as `repeats` says."""

    constants = ("repeats", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, repeats: Shape) -> Tensor:
        return record1(Repeat, np.tile(a.array, repeats), a, (), (repeats, a.array.shape))

    def backward(self, xp: Any, g: Any, repeats: Shape, shape: Shape) -> Any:
        full = (1,) * (len(repeats) - len(shape)) + shape
        pairs = tuple([n for pair in zip(repeats, full, strict=True) for n in pair])
        return xp.reshape(xp.sum(xp.reshape(g, pairs), tuple(range(0, len(pairs), 2)), False), shape)


@tensor_method
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Copies of the tensor side by side, as many as `repeats` says; its missing dimensions come first.

    Raises:
        RuntimeError: if there are fewer repeats than dimensions, or a negative one.
    """
    times = shape_of(repeats)
    if len(times) < input.array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    full = (1,) * (len(times) - input.array.ndim) + input.array.shape
    new = [n * m for n, m in zip(times, full, strict=True)]
    for n in new:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {new}")
    return Repeat.forward(input, times)


@op(method=True)
def tile(input: Tensor, *dims: Any) -> Tensor:
    """`repeat`, where dimensions that `dims` lacks are not repeated."""
    times = shape_of(dims) if dims else ()
    return repeat(input, (1,) * (input.array.ndim - len(times)) + times)


@op(method=True)
def repeat_interleave(input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, *,
                      output_size: int | None = None) -> Tensor:
    """Each element (or slice along `dim`) repeated in place: by one number, or each by its own.

    With `input` alone: each index i repeated `input[i]` times.
    """
    if repeats is None:
        return plain(repeated(input, output_size))
    source = input if dim is not None else flatten(input)
    axis = dim_of(0 if dim is None else dim, source.array.ndim)
    if not source.array.ndim:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    size = source.array.shape[axis]
    if isinstance(repeats, Tensor):
        return IndexSelect.forward(source, axis, chosen(repeats, size, output_size))
    times = operator.index(repeats)
    if times < 0:
        raise RuntimeError("Repeats must be non-negative")
    if output_size not in (None, size * times):
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {size * times} but got {output_size}")
    shape = source.array.shape
    wide = Expand.forward(Unsqueeze.forward(source, axis + 1), (*shape[:axis + 1], times, *shape[axis + 1:]))
    return View.forward(Clone.forward(wide, "C"), (*shape[:axis], size * times, *shape[axis + 1:]))


def repeated(repeats: Tensor, output_size: int | None) -> Any:
    """Each index i repeated `repeats[i]` times; PyTorch's errors for invalid numbers."""
    counts = repeats.array
    if counts.dtype.kind not in "i" or counts.dtype.itemsize < 4:
        raise NotImplementedError("\"repeat_interleave_cpu\" not implemented for "
                                  f"'{from_numpy_dtype(counts.dtype).type_name}'")
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if backend_of(counts) is not None:  # a given size avoids waiting for the device
        positions = np.arange(int(counts.sum()) if output_size is None else output_size, like=counts)
        return np.cumsum(counts).searchsorted(positions, "right").astype(counts.dtype)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if output_size not in (None, counts.sum()):
        raise RuntimeError("allocated size does not match required size")
    return np.arange(counts.size, dtype=counts.dtype).repeat(counts)


def chosen(repeats: Tensor, size: int, output_size: int | None) -> Tensor:
    """The indices that repeat each of `size` slices as often as `repeats` says."""
    if repeats.array.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.array.size == 1:
        repeats = plain(np.broadcast_to(repeats.array.reshape(1), (size,)))
    if repeats.array.size != size:
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{repeats.array.size} and input.size(0) = {size}")
    return repeat_interleave(repeats, output_size=output_size)
