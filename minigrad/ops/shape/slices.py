"""Parts of a tensor as views: `select`, `narrow`, `unfold`, and the nodes of `x[0]` and `x[1:]`."""

import operator
import sys
from typing import Any

from minigrad.backends.registry import as_strided
from minigrad.core import Node, Tensor, attributes, materialized, record1
from minigrad.history.views import record_view
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops.index.flat_indexing import flat_indices, scatter_into
from minigrad.ops.shape.views import dim_of

__all__ = ["narrow", "narrow_copy", "select"]

Shape = tuple[int, ...]


class Select(Node):
    constants = ("", "self_sym_sizes")
    shows = attributes(dim=lambda node: len(node.const[0]) - 2, index=lambda node: node.const[0][-2])

    @staticmethod
    def forward(a: Tensor, dim: int, i: int) -> Tensor:
        x = materialized(a)
        index = (*(slice(None),) * dim, i, ...)
        return record_view(Select, x[index], a, (index, x.shape))

    def backward(self, xp: Any, g: Any, index: Any, shape: Shape) -> Any:
        return xp.scatter(g, index, shape)


class Slice(Node):
    constants = ("", "self_sym_sizes")
    shows = attributes(dim=lambda node: len(node.const[0]) - 1,
             start=lambda node: node.const[0][-1].start or 0, step=lambda node: node.const[0][-1].step or 1,
             end=lambda node: to_the_end(node.const[0][-1].stop))

    @staticmethod
    def forward(a: Tensor, dim: int, part: slice) -> Tensor:
        x = materialized(a)
        index = (*(slice(None),) * dim, part)
        return record_view(Slice, x[index], a, (index, x.shape))

    backward = Select.backward


def to_the_end(stop: int | None) -> int:
    """The end of a slice as PyTorch shows it: without an end, the largest integer."""
    return sys.maxsize if stop is None else stop


class NarrowCopy(Node):
    """A copy of a part along one dimension."""

    constants = ("dim", "start", "length", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, dim: int, start: int, length: int) -> Tensor:
        x = a.array
        index = (*(slice(None),) * dim, slice(start, start + length))
        return record1(NarrowCopy, x[index].copy(), a, (), (dim, start, length, x.shape))

    def backward(self, xp: Any, g: Any, dim: int, start: int, length: int, shape: Shape) -> Any:
        return xp.scatter(g, (*(slice(None),) * dim, slice(start, start + length)), shape)


class Unfold(Node):
    """All windows of one size along a dimension."""

    constants = ("self_sym_sizes", "dimension", "size", "step")

    @staticmethod
    def forward(a: Tensor, dim: int, size: int, step: int) -> Tensor:
        x = materialized(a)
        return record_view(Unfold, windows(x, dim, size, step), a, (x.shape, dim, size, step))

    def backward(self, xp: Any, g: Any, shape: Shape, dim: int, size: int, step: int) -> Any:
        return scatter_into(xp, g, windows(flat_indices(shape, g), dim, size, step), shape)


def windows(x: Any, dim: int, size: int, step: int) -> Any:
    """A view of `x` through windows along `dim`, which are its last dimension."""
    if not x.ndim:
        return as_strided(x, (size,), (x.itemsize,))
    count = (x.shape[dim] - size) // step + 1
    shape = (*x.shape[:dim], count, *x.shape[dim + 1:], size)
    strides = (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1:], x.strides[dim])
    return as_strided(x, shape, strides)


@op(method=True)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice `index` along `dim`, as a view without that dimension.

    Raises:
        IndexError: if the index is out of range.
    """
    if not input.array.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis, i = dim_of(dim, input.array.ndim), operator.index(index)
    if not -input.array.shape[axis] <= i < input.array.shape[axis]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(input.array.shape)} at dimension "
                         f"{axis}")
    return Select.forward(input, axis, i)


@op(method=True)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` slices along `dim` from `start` on, as a view.

    Raises:
        IndexError: if `start` is out of range.
        RuntimeError: if there are too few slices, or `length` is negative.
    """
    if length < 0 and input.array.ndim:
        raise RuntimeError("narrow(): length must be non-negative.")
    axis, first = first_of(input, dim, start, length)
    return Slice.forward(input, axis, slice(first, first + length))


@op(method=True)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`narrow`, copied."""
    if dim >= input.array.ndim > 0:
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could "
                           "this error message be improved?  If so, please report an enhancement request to PyTorch.)")
    return NarrowCopy.forward(input, *first_of(input, dim, start, length), length)


def first_of(input: Tensor, dim: int, start: Any, length: int) -> tuple[int, int]:
    """The dimension and the first slice of `narrow`, as non-negative numbers; PyTorch's errors if there are none."""
    if not input.array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor):
        if start.array.ndim or start.array.dtype.kind not in "iu":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = start.item()
    axis = dim_of(dim, input.array.ndim)
    size, first = input.array.shape[axis], operator.index(start)
    if not -size <= first <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {first})")
    first += size if first < 0 else 0
    if length < 0 or first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return axis, first


@tensor_method
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of `size` along a dimension, `step` apart, as the last dimension of a view.

    Raises:
        RuntimeError: if `size` exceeds the dimension.
    """
    axis = dim_of(dimension, input.array.ndim)
    length = input.array.shape[axis] if input.array.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return Unfold.forward(input, axis, size, step)
