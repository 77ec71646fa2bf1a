"""Reads and creates diagonals and triangles (`diagonal`, `diag`, `tril`); `as_strided`, and functions that replace a
part of a tensor.

You need `as_strided` for views that no other op can express, such as overlapping windows, or a matrix over a vector.
Strides are not checked, except that a view must not leave the storage.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends import intp
from minigrad.backends.batched import Batched, view_at
from minigrad.backends.registry import HOST, backend_of, device_like, placed, resolve_device
from minigrad.core import Node, Tensor, materialized, plain, record1, record2
from minigrad.history.inplace import turn_in_place
from minigrad.history.views import positions, record_view
from minigrad.ops._dispatch import number_in, op, refuse, row_by_row, same_device, tensor_method
from minigrad.ops.index.flat_indexing import elements_at, flat_indices, replace_at, scatter_into
from minigrad.ops.shape.slices import select
from minigrad.ops.shape.views import dim_of, reshape
from minigrad.ops.tensor.copy import fill_
from minigrad.ops.tensor.storage import looking_at, storage_offset, stride, untyped_storage

__all__ = [
    "as_strided", "as_strided_", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_scatter", "select_scatter",
    "slice_scatter", "tril", "tril_indices", "triu", "triu_indices",
]

Shape = tuple[int, ...]


class Diagonal(Node):
    constants = ("self_sym_sizes", "offset", "dim1", "dim2")

    @staticmethod
    def forward(a: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
        x = materialized(a)
        return record_view(Diagonal, diagonal_of(x, offset, dim1, dim2), a, (x.shape, offset, dim1, dim2))

    def backward(self, xp: Any, g: Any, shape: Shape, offset: int, dim1: int, dim2: int) -> Any:
        return scatter_into(xp, g, diagonal_of(flat_indices(shape, g), offset, dim1, dim2), shape)


def diagonal_of(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    """A view of the diagonals of `x`, which are its last dimension."""
    view = np.diagonal(x, offset, dim1, dim2)
    if backend_of(x) is None:
        view.flags.writeable = x.flags.writeable
    return view


class DiagonalCopy(Node, number=None):
    """A copy of the diagonal of a matrix."""

    op = "Diagonal"
    constants = Diagonal.constants

    @staticmethod
    def forward(a: Tensor, offset: int) -> Tensor:
        x = a.array
        return record1(DiagonalCopy, np.diagonal(x, offset).copy(), a, (), (x.shape, offset, 0, 1))

    backward = Diagonal.backward


DiagonalCopy.__name__ = DiagonalCopy.__qualname__ = "DiagonalBackward0_copy"


class DiagEmbed(Node):
    """Zeros with the last dimension of a tensor on their diagonals."""

    constants = ("offset", "dim1", "dim2", "")

    @staticmethod
    def forward(a: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
        x = a.array
        size = x.shape[-1] + abs(offset)
        shape = list(x.shape[:-1])
        for d in sorted((dim1, dim2)):
            shape.insert(d, size)
        out = np.zeros(shape, x.dtype, like=device_like(x))
        diagonal_of(out, offset, dim1, dim2)[...] = x
        return record1(DiagEmbed, out, a, (), (offset, dim1, dim2, out.shape))

    def backward(self, xp: Any, g: Any, offset: int, dim1: int, dim2: int, shape: Shape) -> Any:
        return elements_at(xp, g, diagonal_of(flat_indices(shape, g), offset, dim1, dim2))


def lower_triangle(shape: Shape, diagonal: int, like: Any = HOST) -> Any:
    """A mask of the elements on and below a diagonal of matrices."""
    rows, columns = shape[-2:]
    return np.tri(rows, columns, diagonal, bool, like=device_like(getattr(like, "array", like)))


def upper_triangle(shape: Shape, diagonal: int, like: Any = HOST) -> Any:
    """A mask of the elements on and above a diagonal of matrices."""
    return ~lower_triangle(shape, diagonal - 1, like)


class Triangle(Node, number=None):
    """Keeps the elements where `mask(shape, diagonal, like)` is True, and zeros the others."""

    constants = ("diagonal",)
    mask: ClassVar[Callable[..., Any]]

    @classmethod
    def forward(cls, a: Tensor, diagonal: int) -> Tensor:
        x = a.array
        if x.ndim < 2:
            raise RuntimeError(f"{cls.op.lower()}: input tensor must have at least 2 dimensions")
        kept = np.where(cls.mask(x.shape, diagonal, x), x, x.dtype.type(0))
        return record1(cls, row_by_row(kept), a, (), (diagonal,))

    def backward(self, xp: Any, g: Any, diagonal: int) -> Any:
        return xp.masked(self.mask(g.shape, diagonal, g), g)


class Tril(Triangle):
    mask = staticmethod(lower_triangle)


class Triu(Triangle):
    mask = staticmethod(upper_triangle)


def planes(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    """Two dimensions as non-negative numbers; PyTorch's error if they are the same."""
    first, second = dim_of(dim1, ndim), dim_of(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


@op(method=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals of the matrices in `dim1` and `dim2`, as the last dimension of a view."""
    return Diagonal.forward(input, offset, *planes(dim1, dim2, input.array.ndim))


@tensor_method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number where all indices are equal; `wrap`: in a tall matrix, start again after a skipped row."""
    shape = self.array.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len({*shape}) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    value = number_in(fill_value, self.array.dtype)
    square = shape[1] + 1
    for start in range(0, shape[0], square) if wrap and len(shape) == 2 else (0,):
        view = self[start:] if start else self
        while view.array.ndim > 1:
            view = diagonal(view, 0, 0, -1)
        fill_(view, value)
    return self


@op(method=True)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix of zeros with a vector on a diagonal, or a copy of the diagonal of a matrix."""
    if input.array.ndim == 1:
        return diag_embed(input, diagonal)
    if input.array.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.array.ndim}D")
    return DiagonalCopy.forward(input, diagonal)


@op(method=True)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices of zeros, in `dim1` and `dim2` of the result, with the last dimension on their diagonals."""
    return DiagEmbed.forward(input, offset, *planes(dim1, dim2, input.array.ndim + 1))


@op(method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix of zeros with all elements on a diagonal."""
    return diag_embed(reshape(input, -1), offset)


@op(method=True, in_place=True)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """A copy of matrices with zeros above a diagonal."""
    return Tril.forward(input, diagonal)


@op(method=True, in_place=True)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """A copy of matrices with zeros below a diagonal."""
    return Triu.forward(input, diagonal)


def triangle_indices(name: str, mask: Callable[..., Any], row: int, col: int, offset: int, dtype: dtype_type | None,
                     device: Any) -> Tensor:
    """The indices in a (row, col) matrix where a mask is True, in two rows."""
    resolve_device(device)
    for side, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{side} must be non-negative, got{n}")
    kind = np.dtype(np.int64) if dtype is None else dtype.numpy
    if kind.kind not in "iu":
        refuse(name, kind)
    return plain(placed(as_dtype(np.stack(np.nonzero(mask((row, col), offset))), kind), device))


@op
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: dtype_type | None = None, device: Any = None) -> Tensor:
    """The indices on and below a diagonal of a (row, col) matrix, row by row: int64, shape (2, number)."""
    return triangle_indices("tril_indices", lower_triangle, row, col, offset, dtype, device)


@op
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: dtype_type | None = None, device: Any = None) -> Tensor:
    """The indices on and above a diagonal of a (row, col) matrix, row by row: int64, shape (2, number)."""
    return triangle_indices("triu_indices", upper_triangle, row, col, offset, dtype, device)


class AsStridedOf(Node, name="AsStrided"):
    """The derivative passes through the memory: gradients are summed at the addresses of the result, and read at those
    of the input. An element that the input contains several times gets an equal share at each."""

    constants = ("size", "stride", "storage_offset", "", "", "")

    @classmethod
    def forward(cls, a: Tensor, size: Shape, strides: Shape, given: int | None) -> Tensor:
        x, begin = materialized(a), storage_offset(a)
        offset = begin if given is None else given
        check_strides(size, strides, offset)
        if type(x) is Batched:
            array = view_at(x, size, tuple([s * x.itemsize for s in strides]), (offset - begin) * x.itemsize)
        else:
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
        shown = intp.bincount(there, minlength=1)[there].reshape(shape)
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

    Raises RuntimeError if there are not as many strides as sizes, one is negative, or the view leaves the storage.
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
