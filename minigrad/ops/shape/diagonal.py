"""Diagonals and triangles: `diagonal`, `diag`, `diag_embed`, `diagflat`, `tril`, `triu` and their indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.registry import beside, located, placed
from minigrad.core.graph import Node
from minigrad.core.record import record1, record_view
from minigrad.core.tensor import Tensor, owned, plain
from minigrad.ops._dispatch.registration import op, tensor_method
from minigrad.ops._dispatch.scalars import number_in
from minigrad.ops.index.flat_indexing import numbered, spread, taken
from minigrad.ops.pointwise.inplace import fill_
from minigrad.ops.shape.views import dim_of, reshape

__all__ = ["diag", "diag_embed", "diagflat", "diagonal", "tril", "tril_indices", "triu", "triu_indices"]

Shape = tuple[int, ...]


class Diagonal(Node):
    __slots__ = ()
    constants = ("self_sym_sizes", "offset", "dim1", "dim2")

    @staticmethod
    def forward(a: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
        x = owned(a)
        return record_view(Diagonal, diagonal_of(x, offset, dim1, dim2), a, (x.shape, offset, dim1, dim2))

    def backward(self, xp: Any, g: Any, shape: Shape, offset: int, dim1: int, dim2: int) -> Any:
        return spread(xp, g, diagonal_of(numbered(shape, g), offset, dim1, dim2), shape)


def diagonal_of(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    """An array that looks at the diagonals of `x`, which are its last dimension."""
    seen = np.diagonal(x, offset, dim1, dim2)
    if isinstance(seen, np.ndarray):
        seen.flags.writeable = x.flags.writeable
    return seen


class DiagonalCopy(Node, number=None):
    """The diagonal of a matrix as a tensor of its own."""

    __slots__ = ()
    op = "Diagonal"
    constants = ("self_sym_sizes", "offset", "dim1", "dim2")

    @staticmethod
    def forward(a: Tensor, offset: int) -> Tensor:
        x = a.array
        return record1(DiagonalCopy, np.diagonal(x, offset).copy(), a, (), (x.shape, offset, 0, 1))

    backward = Diagonal.backward


DiagonalCopy.__name__ = DiagonalCopy.__qualname__ = "DiagonalBackward0_copy"


class DiagEmbed(Node):
    """Zeros with the last dimension of a tensor on their diagonals."""

    __slots__ = ()
    constants = ("offset", "dim1", "dim2", "")

    @staticmethod
    def forward(a: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
        x = a.array
        size = x.shape[-1] + abs(offset)
        shape = list(x.shape[:-1])
        for d in sorted((dim1, dim2)):
            shape.insert(d, size)
        out = np.zeros(shape, x.dtype, like=beside(x))
        diagonal_of(out, offset, dim1, dim2)[...] = x
        return record1(DiagEmbed, out, a, (), (offset, dim1, dim2, out.shape))

    def backward(self, xp: Any, g: Any, offset: int, dim1: int, dim2: int, shape: Shape) -> Any:
        return taken(xp, g, diagonal_of(numbered(shape, g), offset, dim1, dim2))


def below(x: Any, diagonal: int) -> Any:
    """Where the elements on and below a diagonal of matrices are; `x`: an array or a Tensor of that shape."""
    shape, like = x.shape, beside(getattr(x, "array", x))
    rows, columns = shape[-2:]
    return np.tri(rows, columns, diagonal, bool, like=like)


class Tril(Node):
    __slots__ = ()
    constants = ("diagonal",)

    @staticmethod
    def forward(a: Tensor, diagonal: int) -> Tensor:
        x = a.array
        return record1(Tril, np.where(below(x, diagonal), x, x.dtype.type(0)), a, (), (diagonal,))

    def backward(self, xp: Any, g: Any, diagonal: int) -> Any:
        return xp.masked(below(g, diagonal), g)


class Triu(Node):
    __slots__ = ()
    constants = ("diagonal",)

    @staticmethod
    def forward(a: Tensor, diagonal: int) -> Tensor:
        x = a.array
        return record1(Triu, np.where(below(x, diagonal - 1), x.dtype.type(0), x), a, (), (diagonal,))

    def backward(self, xp: Any, g: Any, diagonal: int) -> Any:
        return xp.masked(~below(g, diagonal - 1), g)


def planes(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    """Two dimensions as non-negative numbers; PyTorch's error where they are the same."""
    first, second = dim_of(dim1, ndim), dim_of(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


@op(method=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals of the matrices in `dim1` and `dim2`, as the last dimension of a view."""
    first, second = planes(dim1, dim2, input.array.ndim)
    return Diagonal.forward(input, offset, first, second)


@tensor_method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number where all indices are equal; `wrap`: in a tall matrix begin again, with a row left out between."""
    shape = self.array.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len({*shape}) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    value = number_in(fill_value, self.array.dtype)
    square = shape[1] + 1
    for start in range(0, shape[0], square) if wrap and len(shape) == 2 else (0,):
        seen = self[start:] if start else self
        while seen.array.ndim > 1:
            seen = diagonal(seen, 0, 0, -1)
        fill_(seen, value)
    return self


@op(method=True)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector on the diagonal of a matrix of zeros, or the diagonal of a matrix, copied."""
    if input.array.ndim == 1:
        return diag_embed(input, diagonal)
    if input.array.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.array.ndim}D")
    return DiagonalCopy.forward(input, diagonal)


@op(method=True)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension on the diagonals of matrices of zeros, which are `dim1` and `dim2` of the result."""
    ndim = input.array.ndim + 1
    first, second = planes(dim1, dim2, ndim)
    return DiagEmbed.forward(input, offset, first, second)


@op(method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements on the diagonal of a matrix of zeros."""
    return diag_embed(reshape(input, -1), offset)


def check_matrix(name: str, input: Tensor) -> None:
    """PyTorch's error for what has no triangle."""
    if input.array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@op(method=True, in_place=True)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """A copy of matrices with zeros above a diagonal."""
    check_matrix("tril", input)
    return Tril.forward(input, diagonal)


@op(method=True, in_place=True)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """A copy of matrices with zeros below a diagonal."""
    check_matrix("triu", input)
    return Triu.forward(input, diagonal)


def positions(name: str, row: int, col: int, where: Any, dtype: dtype_type | None, device: Any) -> Tensor:
    """The positions that a triangle of a (row, col) matrix has, in two rows."""
    located(device)
    for what, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{what} must be non-negative, got{n}")
    kind = np.dtype(np.int64) if dtype is None else dtype.numpy
    if kind.kind not in "iu":
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype.type_name if dtype else ''}'")
    return plain(placed(np.stack(np.nonzero(where())).astype(kind), device))


@op
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: dtype_type | None = None,
                 device: Any = None) -> Tensor:
    """The positions on and below a diagonal of a (row, col) matrix, row by row."""
    return positions("tril_indices", row, col, lambda: np.tri(row, col, offset, bool), dtype, device)


@op
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: dtype_type | None = None,
                 device: Any = None) -> Tensor:
    """The positions on and above a diagonal of a (row, col) matrix, row by row."""
    return positions("triu_indices", row, col, lambda: ~np.tri(row, col, offset - 1, bool), dtype, device)
