"""`as_strided`, which creates views with any strides, and functions that replace part of a tensor.

You need it for views that no other op can express, such as overlapping windows, or a matrix over a vector. Strides
are not checked, except that a view must not leave the storage.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.backends.registry import device_like
from minigrad.core import Node, Tensor, materialized, record2
from minigrad.history.inplace import turn_in_place
from minigrad.history.views import positions, record_view
from minigrad.ops._dispatch import op, same_device
from minigrad.ops.index.flat_indexing import elements_at, flat_indices, replace_at
from minigrad.ops.shape.diagonal import diagonal_of, planes
from minigrad.ops.shape.slices import select
from minigrad.ops.shape.views import dim_of
from minigrad.ops.tensor.storage import looking_at, storage_offset, stride, untyped_storage

__all__ = ["as_strided", "as_strided_", "diagonal_scatter", "select_scatter", "slice_scatter"]

Shape = tuple[int, ...]


class AsStridedOf(Node, name="AsStrided"):
    """The derivative passes through the memory: gradients are summed at the addresses of the result, and read at those
    of the input. An element that the input contains several times gets an equal share at each."""

    constants = ("size", "stride", "storage_offset", "", "", "")

    @classmethod
    def forward(cls, a: Tensor, size: Shape, strides: Shape, given: int | None) -> Tensor:
        x, begin = materialized(a), storage_offset(a)
        offset = begin if given is None else given
        check_strides(size, strides, offset)
        array = looking_at(untyped_storage(a), x.dtype, offset, size, strides)
        return record_view(cls, array, a, (size, strides, given, offset, begin, (x.shape, stride(a))))

    def backward(self, xp: Any, g: Any, size: Shape, strides: Shape, given: int | None, offset: int, begin: int,
                 source: tuple[Shape, Shape]) -> Any:
        first, shape = min(begin, offset), source[0]
        if 0 in shape or 0 in size:
            return xp.zeros(shape, g)
        there, here = [flat_positions(start - first, *look, g) for start, look in
                       ((begin, source), (offset, (size, strides)))]
        memory = 1 + max([int(indices.max()) for indices in (there, here) if indices.size], default=0)
        flat = xp.scatter(xp.reshape(g, (-1,)), here, (memory,))
        result = xp.reshape(xp.getitem(flat, there), shape)
        shown = np.bincount(there, minlength=1)[there].reshape(shape)
        counts = np.unique(shown).tolist()
        if counts in ([], [1]):
            return result
        return sum([xp.masked(shown == count, result / count) for count in counts[1:]],
                   xp.masked(shown == counts[0], result / counts[0]))


def flat_positions(start: int, shape: Shape, steps: Shape, like: Any) -> Any:
    """The addresses, in elements, of an array of this shape with these strides."""
    found = positions(start, shape, list(steps), getattr(like, "array", like))
    if isinstance(found, slice):
        found = np.arange(found.start, found.stop, found.step, like=device_like(getattr(like, "array", like)))
    return found


def check_strides(size: Sequence[int], stride: Sequence[int], offset: int) -> None:
    """Raise PyTorch's errors for invalid sizes, strides and offsets."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in stride):
        raise RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: "
                           f"[{', '.join(map(str, stride))}]")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")


@op(method=True)
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of the memory of `input`: of this size, with these strides, from an offset on, all in elements.

    Args:
        storage_offset: where in the storage the view begins; by default where `input` does.

    Raises:
        RuntimeError: if there are not as many strides as sizes, one is negative, or the view leaves the storage.
    """
    return AsStridedOf.forward(input, tuple(size), tuple(stride), storage_offset)


class AsStridedInPlace(AsStridedOf, name="AsStrided", number=1):
    __slots__ = ()


@op(method=True)
def as_strided_(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """`as_strided`, in place: the tensor itself becomes that view of its memory."""
    return turn_in_place(AsStridedInPlace.forward, input, tuple(size), tuple(stride), storage_offset)


class PartReplaced(Node, number=None):
    """A copy of a tensor with a part replaced by another tensor; `part` selects that part of an array."""

    @classmethod
    def part(cls, x: Any, *where: Any) -> Any:
        """The part, as a view."""
        raise NotImplementedError

    @classmethod
    def forward(cls, a: Tensor, src: Tensor, *where: Any) -> Tensor:
        same_device(a.array, src.array)
        out = a.array.copy()
        view = cls.part(out, *where)
        if view.shape != src.array.shape:
            raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                               f"{list(src.array.shape)}, slice size = {list(view.shape)}")
        view[...] = src.array
        return record2(cls, out, a, src, (), where)

    def backward(self, xp: Any, g: Any, *where: Any) -> tuple[Any, Any]:
        indices = self.part(flat_indices(g.shape, g), *where)
        return replace_at(xp, g, indices, 0), elements_at(xp, g, indices)


class SelectScatter(PartReplaced):
    constants = ("dim", "index")

    @classmethod
    def part(cls, x: Any, dim: int, index: int) -> Any:
        return x[(*(slice(None),) * dim, index, ...)]


class SliceScatter(PartReplaced):
    constants = ("dim", "start", "end", "step")

    @classmethod
    def part(cls, x: Any, dim: int, *taken: int | None) -> Any:
        return x[(*(slice(None),) * dim, slice(*taken))]


class DiagonalScatter(PartReplaced):
    constants = ("offset", "dim1", "dim2")

    @classmethod
    def part(cls, x: Any, offset: int, dim1: int, dim2: int) -> Any:
        return diagonal_of(x, offset, dim1, dim2)


@op(method=True)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `input` with `input.select(dim, index)` replaced by `src`."""
    select(input, dim, index)  # raises its errors
    axis = dim_of(dim, input.array.ndim)
    return SelectScatter.forward(input, src, axis, index % input.array.shape[axis])


@op(method=True)
def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Tensor:
    """A copy of `input` with the slice `start:end:step` along `dim` replaced by `src`."""
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return SliceScatter.forward(input, src, dim_of(dim, input.array.ndim), start, end, step)


@op(method=True)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of `input` with `input.diagonal(offset, dim1, dim2)` replaced by `src`."""
    return DiagonalScatter.forward(input, src, offset, *planes(dim1, dim2, input.array.ndim))
