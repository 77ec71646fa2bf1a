"""Reads and writes slices by index (`index_select`, `index_add`, `index_copy`, `index_fill`) and elements (`take`)."""

from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.core import Node, Tensor, record_n
from minigrad.core.saved import NothingSaved
from minigrad.ops._dispatch import op, same_device
from minigrad.ops.index.flat_indexing import (
    elements_at,
    first_out_of_range,
    is_index,
    raw,
    replace_at,
    scatter_into,
    slice_indices,
    write_at,
)
from minigrad.ops.index.gather import Scatter, ScatterValue, check_values
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.views import dim_of

__all__ = ["index_add", "index_copy", "index_fill", "index_select", "put", "take"]

Shape = tuple[int, ...]


class IndexSelect(Node):
    saves = ("index",)
    constants = ("dim", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, dim: int, index: Tensor) -> Tensor:
        x, chosen = a.array, index.array.reshape(-1)
        out = x.take(chosen, dim) if x.ndim else x.reshape(1).take(chosen, 0).reshape(())
        return record_n(IndexSelect, out, (a,), (index,), (dim, x.shape))

    def backward(self, xp: Any, g: Any, index: Any, dim: int, shape: Shape) -> Any:
        return scatter_into(xp, xp.reshape(g, (-1,)), slice_indices(raw(index), dim, shape).reshape(-1), shape)


class IndexAdd(Node):
    saves = ("index", "source")
    constants = ("dim", "alpha", "source_dim")

    @staticmethod
    def forward(a: Tensor, index: Tensor, source: Tensor, dim: int, alpha: Any) -> Tensor:
        x, y = a.array, source.array
        out = x.copy()
        if x.size:
            positions = slice_indices(index.array, dim, x.shape)
            part = y if alpha == 1 else as_dtype(y * alpha, y.dtype)
            out = write_at(x, positions, part.reshape(positions.shape), add=True)
        saved = (index, source) if source._requires_grad else NothingSaved((None, None))
        return record_n(IndexAdd, out, (a, source), saved, (dim, alpha, y.ndim))

    def backward(self, xp: Any, g: Any, index: Any, source: Any, dim: int, alpha: Any, _: int) -> tuple[Any, Any]:
        if self.next[1] is None or 0 in g.shape:
            return g, None
        part = xp.reshape(elements_at(xp, g, slice_indices(raw(index), dim, tuple(g.shape))), tuple(source.shape))
        return g, part if alpha == 1 else part * alpha


class IndexCopy(Scatter):
    positions = staticmethod(slice_indices)


class IndexFill(ScatterValue):
    positions = staticmethod(slice_indices)
    keeps_order = True


class IndexFillTensor(IndexFill, name="IndexFill", number=1):
    """With a one-element tensor, whose gradient is the sum of the gradients of the filled elements."""

    def backward(self, xp: Any, g: Any, index: Any, dim: int) -> tuple[Any, Any]:
        positions = np.unique(self.positions(raw(index), dim, tuple(g.shape)))
        return (replace_at(xp, g, positions, 0) if self.next[0] is not None else None,
                xp.sum(elements_at(xp, g, positions), None, False) if self.next[1] is not None else None)


class Take(Node):
    """Elements by their row-major index; negative ones count from the end."""

    saves = ("self", "index")

    @staticmethod
    def forward(a: Tensor, index: Tensor) -> Tensor:
        x = a.array
        return record_n(Take, x.reshape(-1)[index.array], (a,), (a, index), (x.shape,))

    def backward(self, xp: Any, g: Any, a: Any, index: Any, shape: Shape) -> Any:
        return scatter_into(xp, g, raw(index), shape)


class Put(Node):
    """Elements by their row-major index, overwritten or added to."""

    saves = ("index",)
    constants = ("accumulate",)

    @staticmethod
    def forward(a: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
        positions, y = index.array, source.array
        out = write_at(a.array, positions, y.reshape(positions.shape), add=accumulate)
        return record_n(Put, out, (a, source), (index,), (accumulate, y.shape))

    def backward(self, xp: Any, g: Any, index: Any, accumulate: bool, shape: Shape) -> tuple[Any, Any]:
        positions = raw(index)
        own = g if accumulate else None if self.next[0] is None else replace_at(xp, g, positions, 0)
        return own, None if self.next[1] is None else xp.reshape(elements_at(xp, g, positions), shape)


@op(method=True)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along `dim` at the vector of indices `index`.

    Raises:
        IndexError: if an index is out of range (along dimension 1 a RuntimeError, as in PyTorch), or `index` is not a
            vector.
    """
    x, i = input.array, index.array
    axis = dim_of(dim, x.ndim)
    same_device(x, i)
    if i.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not is_index(i.dtype):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not x.ndim and i.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {i.size} value(s)")
    check_rows(x, i, axis)
    return IndexSelect.forward(input, axis, index)


def check_rows(x: Any, index: Any, axis: int = 0) -> None:
    """Raise PyTorch's errors for slice indices along `axis` that are out of range."""
    if index.size and x.ndim > 1 and not x.shape[axis]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    wrong = first_out_of_range(index, x.shape[axis] if x.ndim else 1)
    if wrong is not None and x.ndim > 1 and (axis == 1 or not x.size):  # PyTorch has separate code for these
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={x.shape[axis]}")
    if wrong is not None:
        raise IndexError("index out of range in self")


def check_added(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
    """Check arguments that combine slices of `source` with those of `input`; return the non-negative dimension.

    Raises:
        RuntimeError: if an index is out of range (of a vector: an IndexError), or shapes or dtypes do not fit.
        IndexError: if `index` is not a vector.
    """
    x, i, y = input.array, index.array, source.array
    axis = dim_of(dim, x.ndim)
    same_device(x, i, y)
    if i.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: "
                         f"{i.ndim} with type: {index.dtype.type_name} and size: {list(i.shape)}")
    if not is_index(i.dtype):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {index.dtype.type_name}")
    if x.dtype != y.dtype:
        raise RuntimeError(f"{name}(): self ({input.dtype.type_name}) and source ({source.dtype.type_name}) must "
                           "have the same scalar type")
    if axis and axis >= y.ndim:
        raise RuntimeError(f"{name}(): Indexing dim {axis} is out of bounds of the source tensor with dim {y.ndim}")
    if i.size != (y.shape[axis] if y.ndim else 1):
        raise RuntimeError(f"{name}(): Number of indices ({i.size}) should be equal to source.size(dim): "
                           f"({y.shape[one_of(axis, y.ndim)]}), for dim: {axis}")
    if x.ndim != y.ndim or [n for d, n in enumerate(x.shape) if d != axis] != [
            n for d, n in enumerate(y.shape) if d != axis]:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                           f"self.shape = {list(x.shape)} source.shape = {list(y.shape)}")
    if x.ndim < 2 and first_out_of_range(i, x.size) is not None:
        raise IndexError("index out of range in self")
    if x.ndim > 1 and x.size:
        check_values(i, x.shape, axis)
    return axis


@op(method=True, in_place=True)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """A copy of `input` with the slices of `alpha * source` added to its slices along `dim` at `index`.

    Raises:
        RuntimeError: if an index is out of range (of a vector: an IndexError), or shapes or dtypes do not fit.
        IndexError: if `index` is not a vector.
    """
    axis = check_added("index_add_", input, dim, index, source)
    return IndexAdd.forward(input, index, source, axis, alpha)


@op(method=True, in_place=True)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with its slices along `dim` at `index` replaced by those of `source`.

    Raises:
        IndexError: if an index is out of range, or `source` has another number of slices than `index`.
        RuntimeError: if shapes or dtypes do not fit.
    """
    x, i, y = input.array, index.array, source.array
    axis = dim_of(dim, x.ndim)
    same_device(x, i, y)
    if i.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {i.ndim})")
    if not y.ndim and i.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {i.size})")
    if x.ndim != y.ndim and x.ndim and y.ndim:
        raise IndexError("index_copy_(): When source and destination are not scalars, their dimensionality must match. "
                         f"Source dimensionality ({y.ndim}), destination dimensionality ({x.ndim})")
    if i.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.type_name}")
    if x.dtype != y.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{input.dtype.type_name} and (source) {source.dtype.type_name}")
    target_slice, source_slice = [(*s[:axis], *s[axis + 1:]) for s in (x.shape, y.shape)]
    if target_slice != source_slice:
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
                           f"shape: {' '.join(map(str, target_slice))} at dimension {axis} and source slice shape: "
                           f"{' '.join(map(str, source_slice))} at dimension 0.")
    if y.ndim and i.size != y.shape[axis]:
        raise IndexError(f"index_copy_(): Number of indices ({i.size}) should be equal to source.size(dim) "
                         f"({y.shape[axis]})")
    check_values(i, x.shape, axis, IndexError, "index_copy_(): ")
    return IndexCopy.forward(input, index, source, axis)


@op(method=True, in_place=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of `input` with its slices along `dim` at `index` filled with one value.

    Raises:
        IndexError: if an index is out of range; negative ones count from the end.
    """
    x, i = input.array, index.array
    axis = dim_of(dim, x.ndim)
    same_device(x, i)
    if isinstance(value, Tensor) and value.array.ndim:
        raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.array.ndim} dimension(s).")
    if i.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if i.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    check_values(i, x.shape, axis, IndexError, negative=True)
    op = IndexFillTensor if isinstance(value, Tensor) else IndexFill
    return op.forward(input, index, value, axis)


def check_numbers(name: str, input: Tensor, index: Tensor) -> None:
    """Raise PyTorch's errors for element indices that are out of range."""
    same_device(input.array, index.array)
    if index.array.dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {index.dtype.type_name}")
    size = input.array.size
    if not size and index.array.size:
        raise IndexError("take(): tried to take from an empty tensor" if name == "take" else
                         "put_(): Tried to put elements into an empty tensor")
    wrong = first_out_of_range(index.array, size, -size)
    if wrong is not None:
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {size} elements.")


@op(method=True)
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at row-major indices, in the shape of `index`; negative ones count from the end.

    Raises:
        IndexError: if an index is out of range.
    """
    check_numbers("take", input, index)
    return Take.forward(input, index)


@op(method=True, in_place=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of `input` with its elements at row-major indices replaced by those of `source`, or added to.

    Raises:
        IndexError: if an index is out of range, or the numbers of indices and elements differ.
    """
    same_device(input.array, source.array)
    if input.array.dtype != source.array.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{input.dtype.type_name} and source.dtype = {source.dtype.type_name}")
    if index.array.dtype == np.int64 and index.array.size != source.array.size:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got "
                         f"source.numel() = {source.array.size}, index.numel() = {index.array.size}")
    check_numbers("put_", input, index)
    return Put.forward(input, index, source, accumulate)
