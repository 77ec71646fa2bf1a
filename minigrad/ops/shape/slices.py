"""Parts of a tensor as views: `select`, `narrow`, `unfold`, the nodes of `x[0]` and `x[1:]`, and `split`, `chunk`,
`unbind` and their like.

The nodes of `unbind` and `split` have several outputs, which the integers of `next_functions` number; lesson 3 shows
them. `tensor_split` and the functions composed of it return slices, one node each, as in PyTorch.
"""

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.backends.registry import as_strided
from minigrad.core import ManyOutputs, Node, Tensor, attributes, materialized, record1, record_many
from minigrad.history.views import record_view, record_views
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops.index.flat_indexing import flat_indices, scatter_into
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.views import dim_of

__all__ = [
    "chunk", "dsplit", "hsplit", "narrow", "narrow_copy", "select", "split", "split_with_sizes", "tensor_split",
    "unbind", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "vsplit",
]

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
        if not (y := x[index]).size and part.start:  # NumPy forgets where it begins
            y = x[(*index[:-1], slice(part.start, None))][(*index[:-1], slice(y.shape[dim]))]
        return record_view(Slice, y, a, (index, x.shape))

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
    """The slice `index` along `dim`, as a view without that dimension. Raises IndexError if the index is out of
    range."""
    if not input.array.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis, i = dim_of(dim, input.array.ndim), operator.index(index)
    if not -input.array.shape[axis] <= i < input.array.shape[axis]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(input.array.shape)} at dimension "
                         f"{axis}")
    return Select.forward(input, axis, i)


@op(method=True)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` slices along `dim` from `start` on, as a view. Raises IndexError if `start` is out of range, and
    RuntimeError if there are too few slices, or `length` is negative."""
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
    """All windows of `size` along a dimension, `step` apart, as the last dimension of a view. Raises RuntimeError if
    `size` exceeds the dimension."""
    axis = dim_of(dimension, input.array.ndim)
    length = input.array.shape[axis] if input.array.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return Unfold.forward(input, axis, size, step)


class Unbind(ManyOutputs):
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, dim: int) -> tuple[Tensor, ...]:
        x = materialized(a)
        front = (slice(None),) * dim
        return record_views(Unbind, [x[(*front, i, ...)] for i in range(x.shape[dim])], a, (dim,))

    def backward(self, xp: Any, gs: list[Any], dim: int) -> Any:
        return xp.stack(gs, dim)


class Parts(ManyOutputs, number=None):
    """Splits into parts along a dimension; `given` is the caller's argument."""

    @classmethod
    def forward(cls, a: Tensor, given: Any, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
        return record_views(cls, parts_of(a, sizes, dim), a, (dim, given, a.array.shape))

    def backward(self, xp: Any, gs: list[Any], dim: int, *_: Any) -> Any:
        return xp.concatenate(gs, dim)


class Split(Parts):
    constants = ("dim", "split_size", "self_sym_sizes")


class SplitWithSizes(Parts):
    constants = ("dim", "split_sizes", "self_sym_sizes")


class UnsafeSplit(ManyOutputs):
    """`Split` into parts that autograd does not treat as views, so must not be written to. For recurrent cells."""

    constants = ("split_size", "dim", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, size: int, dim: int) -> tuple[Tensor, ...]:
        shape = a.array.shape
        return record_many(UnsafeSplit, parts_of(a, equal_sizes(shape[dim], size), dim), a, (size, dim, shape))

    def backward(self, xp: Any, gs: list[Any], size: int, dim: int, shape: tuple[int, ...]) -> Any:
        return xp.concatenate(gs, dim)


class UnsafeSplitWithSizes(ManyOutputs):
    constants = ("split_sizes", "dim", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
        return record_many(UnsafeSplitWithSizes, parts_of(a, sizes, dim), a, (tuple(sizes), dim, a.array.shape))

    backward = UnsafeSplit.backward


def equal_sizes(length: int, size: int) -> list[int]:
    """The sizes of equal parts, the last of which may be smaller."""
    return [min(size, length - start) for start in range(0, length, max(size, 1))] or [0]


def parts_of(a: Tensor, sizes: Sequence[int], dim: int) -> list[Any]:
    """Slices of these sizes along a dimension."""
    ends = np.cumsum(sizes).tolist()
    front = (slice(None),) * dim
    return [materialized(a)[(*front, slice(end - size, end))] for size, end in zip(sizes, ends, strict=True)]


@op(method=True)
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, as views."""
    axis = dim_of(dim, input.array.ndim)
    return Unbind.forward(input, one_of(axis, input.array.ndim))


@op(method=True)
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along a dimension, as views: of one size (the last may be smaller), or of the sizes given."""
    if tensor.array.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = dim_of(dim, tensor.array.ndim)
    length = tensor.array.shape[axis]
    if not isinstance(split_size_or_sections, int):
        sizes = checked_sizes(split_size_or_sections, length, dim)
        return SplitWithSizes.forward(tensor, tuple(sizes), sizes, axis)
    size = checked_size(split_size_or_sections, length)
    return Split.forward(tensor, size, equal_sizes(length, size), axis)


def checked_sizes(sizes: Sequence[int], length: int, dim: int) -> list[int]:
    """The sizes of the parts of a dimension; PyTorch's error if their sum is not its size."""
    sizes = list(sizes)
    if any(size < 0 for size in sizes):
        raise RuntimeError("split_with_sizes expects split_sizes have only non-negative entries, but got "
                           f"split_sizes={sizes}")
    if sum(sizes) != length:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size "
                           f"at dimension {dim}), but got split_sizes={sizes}")
    return sizes


def checked_size(size: int, length: int) -> int:
    """The size of each part of a dimension; PyTorch's error if it is invalid."""
    if size == 0 and length:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    return size


@op(method=True)
def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` into equal parts that autograd does not treat as views: do not write to them."""
    if tensor.array.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = one_of(dim, tensor.array.ndim)
    return UnsafeSplit.forward(tensor, checked_size(split_size, tensor.array.shape[axis]), axis)


@op(method=True)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes` into parts that autograd does not treat as views: do not write to them."""
    axis = one_of(dim, input.array.ndim)
    sizes = checked_sizes(split_sizes, input.array.shape[axis], dim)
    return UnsafeSplitWithSizes.forward(input, sizes, axis)


@op(method=True)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` equal parts along a dimension, as views; the last may be smaller."""
    size = size_of_chunks(input, chunks, dim)
    return split(input, size or [0] * chunks, dim)


@op(method=True)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk` into parts that autograd does not treat as views: do not write to them."""
    size = size_of_chunks(input, chunks, dim)
    return unsafe_split(input, size, dim) if size else unsafe_split_with_sizes(input, [0] * chunks, dim)


def size_of_chunks(input: Tensor, chunks: int, dim: int) -> int:
    """The size of each of `chunks` parts of a dimension; 0 if it is empty, whatever their number. Raises RuntimeError
    for a 0-d tensor, and if `chunks` is not positive."""
    if input.array.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return -(-input.array.shape[dim_of(dim, input.array.ndim)] // chunks)


@op(method=True)
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of these sizes along a dimension, as views."""
    return split(input, split_sizes, dim)


@op(method=True)
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None,
                 sections: int | None = None) -> tuple[Tensor, ...]:
    """Parts along a dimension, as views: a number of parts of about equal size, or parts split before given indices.
    Raises RuntimeError if the number of parts is not positive, or an index tensor is not a vector."""
    argument: Any = next((v for v in (indices_or_sections, indices, sections) if v is not None), None)
    if not input.array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = dim_of(dim, input.array.ndim)
    if isinstance(argument, Tensor):
        if argument.array.dtype != np.int64:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                               f"{argument.dtype.type_name}")
        if argument.array.ndim > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                               f"one-dimensional tensor, but got a tensor with {argument.array.ndim} dims")
        argument = argument.tolist()
    size = input.array.shape[axis]
    if isinstance(argument, (tuple, list)):
        cuts = [operator.index(n) for n in argument]
    else:
        count = operator.index(argument)
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        least, more = divmod(size, count)
        cuts = [i * least + min(i, more) for i in range(1, count)]
    bounds = zip([0, *cuts], [*cuts, size], strict=True)
    return tuple([Slice.forward(input, axis, between(start, end, size)) for start, end in bounds])


def between(start: int, end: int, size: int) -> slice:
    """A slice that does not end before it starts; both may count from the end."""
    first, last = [min(max(n + size if n < 0 else n, 0), size) for n in (start, end)]
    return slice(first, max(first, last))


def split_along(name: str, input: Tensor, argument: Any, dim: int, least: int) -> tuple[Tensor, ...]:
    """`tensor_split` along an existing dimension, into parts of equal size."""
    if input.array.ndim < least:
        raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                           f"{input.array.ndim} dimensions!")
    size = input.array.shape[dim]
    if not isinstance(argument, (tuple, list)) and (argument == 0 or size % argument):
        raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                           f"{size} is not divisible by the split_size {argument}!")
    return tensor_split(input, argument, dim)


@op(method=True)
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the second dimension; for a vector, along the first."""
    return split_along("hsplit", input, indices_or_sections, 0 if input.array.ndim == 1 else 1, 1)


@op(method=True)
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the first dimension of a matrix."""
    return split_along("vsplit", input, indices_or_sections, 0, 2)


@op(method=True)
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the third dimension."""
    return split_along("dsplit", input, indices_or_sections, 2, 3)
