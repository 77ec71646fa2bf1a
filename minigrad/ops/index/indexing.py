"""Implements `x[index]` by the ops that PyTorch uses (Select, Slice and Index), and `x[index] = value`.

Numbers, slices, `None` and `...` create views, one op each. The rest, index tensors, lists and masks, is one op that
copies. Where slices separate those, their dimensions come first in the result, as in NumPy. To write is a Copy or Fill
through a view if the index selects one, else IndexPut.
"""

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.tensor_data import note_read
from minigrad._base.type_name import type_name
from minigrad._base.warnings import warn
from minigrad.backends.batched import beside, refuse_masks
from minigrad.backends.intp import as_intp
from minigrad.backends.numpy import XP, add_at
from minigrad.backends.registry import BACKEND_OF, backend_of, device_like, device_of, is_array, moved
from minigrad.core import SCALAR_OPERAND, Node, Tensor, materialized, plain, record1, record_n
from minigrad.core.saved import saved_tensors
from minigrad.core.saved_tensor import SavedTensor, saved_tensor_handle, saved_tensor_handles
from minigrad.history.inplace import check_inplace, in_place
from minigrad.ops._dispatch import number_in, op, together
from minigrad.ops._dispatch.memory_order import in_order_of, laid_out, memory_order, row_by_row
from minigrad.ops.index.flat_indexing import first_out_of_range, raw
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.slices import Select, Slice
from minigrad.ops.shape.views import Alias, Unsqueeze, View, expand
from minigrad.ops.tensor.copy import Copy, FillTensor

__all__ = ["index_put"]

Shape = tuple[int, ...]
Indices = tuple[Tensor, ...]
ALL = slice(None)
OLD_MASK = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
OLD_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], "
    "which will result either in an error or a different result"
)
NO_INDEX = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"
NO_TENSOR = "tensors used as indices must be long, int, byte or bool tensors"


class Index(Node):
    """Indexing by lists, index tensors or masks: a copy."""

    constants = ("", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, index: Any, indices: Indices = ()) -> Tensor:
        x = a.array
        if BACKEND_OF:
            refuse_masks(index)
        return record_n(Index, elements(x, index), (a,), indices, (index, x.shape))

    def backward(self, xp: Any, g: Any, *saved: Any) -> Any:
        index, shape = saved[-2:]  # the indices before them are saved to detect changes
        return xp.scatter(g, index, shape)

    @property
    def _saved_indices(self) -> tuple[Tensor | None, ...]:
        """The index tensors, one per entry of the index: None for a full slice, unless it is at the end."""
        tensors = iter(saved_tensors(self))
        return tuple([next(tensors) if is_index else None for is_index in self._entries()])

    @property
    def _raw_saved_indices(self) -> tuple[SavedTensor, ...]:
        """Handles on them; an empty one for None."""
        handles = iter(saved_tensor_handles(self))
        return tuple([next(handles) if is_index else saved_tensor_handle(self, None) for is_index in self._entries()])

    def _entries(self) -> list[bool]:
        """For each entry of the index up to the last index tensor, whether it is one."""
        index = self.const[0] if isinstance(self.const[0], tuple) else (self.const[0],)
        saved = [not isinstance(part, slice) for part in index]
        return saved[:len(saved) - saved[::-1].index(True)]


class Scatter(Node):
    """Zeros to which a tensor is added at an index: `xp.scatter` on Tensors."""

    @staticmethod
    def forward(g: Tensor, index: Any, shape: Shape, functions: Any) -> Tensor:
        index = tuple([p.copy() if is_array(p) else p  # the caller may change an index before it is used again
                       for p in (index if isinstance(index, tuple) else (index,))])
        return record1(Scatter, functions.scatter(g.array, index, shape), g, (), (index,))

    def backward(self, xp: Any, g: Any, index: Any) -> Any:
        return xp.getitem(g, index)


def elements(x: Any, index: Any) -> Any:
    """`x[index]` in PyTorch's memory layout: in the order of `x`, indexed dimensions in the order of the indices.

    NumPy's layout differs.
    """
    parts = index if type(index) is tuple else (index,)
    x = beside(x, parts) if BACKEND_OF else x
    in_rows = x.flags.c_contiguous and all(not is_array(p) or p.ndim < 2 or p.flags.c_contiguous for p in parts)
    if in_rows and len(parts) > 1 and all(type(p) is slice and p == ALL for p in parts[:-1]):
        last = parts[-1]
        if is_array(last) and last.dtype.kind != "b":
            return x.take(as_intp(last), len(parts) - 1)
    out = x[index]
    if in_rows or out.ndim < 2 or not is_users_index(parts):
        return row_by_row(out)
    return laid_out(out, memory_order(out.shape, *strides_of_indexed(x, parts)))


def is_users_index(parts: Sequence[Any]) -> bool:
    """Whether `getitem` leaves an index to `Index`; a formula's may consist of slices alone, or contain `...`."""
    return any(map(is_array, parts)) and all(type(p) is slice or is_array(p) for p in parts)


def strides_of_indexed(x: Any, parts: Sequence[Any]) -> list[list[int]]:
    """The strides of everything that a result is read from, in its dimensions: of the array, and of each index."""
    arrays, dims, dim = list[Any](), list[int](), 0
    for part in parts:
        found = () if type(part) is slice else np.nonzero(part) if part.dtype.kind == "b" else (part,)
        arrays += found
        dims += range(dim, dim + len(found))
        dim += max(len(found), type(part) is slice)
    shape = np.broadcast_shapes(*[array.shape for array in arrays])
    front = dims[0] if dims[-1] - dims[0] < len(dims) else 0
    rest = [0 if x.shape[d] == 1 else step for d, step in enumerate(x.strides) if d not in dims]
    nowhere = [0] * len(rest)
    return [[*rest[:front], *[0] * len(shape), *rest[front:]],
            *[[*nowhere[:front], *np.broadcast_to(array, shape).strides, *nowhere[front:]] for array in arrays]]


def as_array(part: Any) -> Any:
    """An entry of an index in NumPy's terms: arrays of numbers or bools, Python numbers, slices, None, `...`."""
    if type(part) is int or part is None or part is ... or isinstance(part, (slice, bool)):
        return part
    if isinstance(part, (Tensor, np.ndarray)):
        array: Any = materialized(part) if isinstance(part, Tensor) else part
        if isinstance(part, np.ndarray) and array.dtype.kind in "iuf" and array.dtype.name != "uint8":
            array = array.astype(np.int64, copy=False)  # to PyTorch it is a sequence of numbers
        kind, size = array.dtype.kind, array.dtype.itemsize
        if kind == "u" and size == 1:
            if array.ndim:
                warn(OLD_MASK)
            array = array.astype(bool)
        elif not (kind == "b" or (kind == "i" and (size > 2 or not array.ndim))):
            raise IndexError(NO_TENSOR)
        if not array.ndim and isinstance(part, Tensor):
            note_read(part)
        return array if array.ndim else array.item()
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(part, (list, tuple, range)):
        array = np.asarray(part) if len(part) else np.zeros(0, np.int64)
        if array.dtype.kind == "U":
            raise TypeError("new(): invalid data type 'str'")
        if isinstance(part, list) and part and isinstance(part[0], np.uint8):
            return as_array(array)
        return array if array.dtype.kind == "b" else array.astype(np.int64, copy=False)
    if not hasattr(part, "__index__"):
        raise IndexError(NO_INDEX.format(type_name(part)))
    return operator.index(part)


def dims_indexed(parts: Sequence[Any]) -> int:
    """The number of dimensions that an index consumes."""
    return sum(p.ndim if is_array(p) and p.dtype.kind == "b" else
               not (p is None or p is ... or isinstance(p, bool)) for p in parts)


def entries(index: Any) -> Sequence[Any]:
    """The entries of an index. As in PyTorch a list is one entry, unless one of its elements is itself an index."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, str) or (isinstance(index, list) and len(index) < 32 and any(
            p is None or p is ... or isinstance(p, (slice, list, tuple, range, str, Tensor, np.ndarray))
            for p in index)):
        warn(OLD_TUPLE)
        return index
    return (index,)


def parts_of(index: Any, ndim: int) -> tuple[tuple[Any, ...], Sequence[Any]]:
    """An index as a tuple of entries in NumPy's terms, and the original entries; PyTorch's error for too many."""
    originals = entries(index)
    parts = tuple([as_array(p) for p in originals])
    if dims_indexed(parts) > ndim:
        if ndim == 0 and isinstance(index, slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if ndim == 0 and type(parts[0]) is int and not isinstance(index, (tuple, list, Tensor)):
            if parts[0]:
                raise IndexError(f"index {parts[0]} is out of bounds for dimension 0 with size 0")
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
                             "C++ to convert a 0-dim tensor to a number")
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    return parts, originals


def getitem(input: Tensor, index: Any) -> Tensor:
    """`input[index]`: views for numbers, slices, `None` and `...`; a copy for lists, masks and tensors of indices.
    Raises IndexError if an index is out of range or there are too many."""
    if input.array.ndim:
        if type(index) is int:
            return Select.forward(input, 0, in_bounds(index, input.array.shape[0], 0))
        if type(index) is slice:
            return Slice.forward(input, 0, checked_slice(index))
    parts, originals = parts_of(index, input.array.ndim)
    if len(parts) == 1 and parts[0] is ...:
        return Alias.forward(input)
    result, rest, saved = basic(input, parts, originals)
    if not saved:
        return result if result is not input else Alias.forward(input)
    try:
        return Index.forward(result, rest if len(rest) > 1 else rest[0], saved)
    except (IndexError, ValueError):  # CuPy raises a ValueError for indices that do not fit together
        raise IndexError(advanced_message(rest, result.array.shape)) from None


def basic(input: Tensor, parts: Sequence[Any], originals: Sequence[Any],
          written: bool = False) -> tuple[Tensor, tuple[Any, ...], Indices]:
    """Apply the entries that create views, one op each (a full slice is none); return also the rest, and what it saves.

    `written`: the elements are to be overwritten; autograd's refusal then precedes the check of masks.
    """
    result, rest, saved, dim = input, list[Any](), list[Tensor](), 0
    for position, part in enumerate(parts):
        if isinstance(part, slice):
            if not is_full_slice(part, size_at(result, dim)):
                result = Slice.forward(result, one_of(dim, result.array.ndim), checked_slice(part))
            rest.append(ALL)
            dim += 1
        elif part is None:
            result = Unsqueeze.forward(result, dim)
            rest.append(ALL)
            dim += 1
        elif part is ...:
            skipped = input.array.ndim - dims_indexed(parts)
            rest += [ALL] * skipped
            dim += skipped
        elif isinstance(part, bool) or is_array(part):
            if isinstance(part, bool):
                result, part = Unsqueeze.forward(result, dim), np.zeros(int(part), np.int64)
            if BACKEND_OF:
                part = beside_it(part, input)
            rest.append(part)
            source = originals[position]
            as_it_is = isinstance(source, Tensor) and source.array.dtype == part.dtype and source.array.ndim
            saved.append(source if as_it_is else plain(part))
            dim += part.ndim if part.dtype.kind == "b" else 1
        else:
            result = Select.forward(result, dim, in_bounds(part, size_at(result, dim), position))
    if saved:
        given_dims, shape = len(rest), result.array.shape
        while isinstance(rest[-1], slice):
            rest.pop()
        if len(rest) > result.array.ndim:  # after a second `...`
            raise IndexError(f"too many indices for tensor of dimension {result.array.ndim} (got {given_dims})")
        if written:
            check_inplace(result, result.requires_grad)
        check_masks(tuple(rest), shape)
        rest = list(rest if result.array.size else brought_in(rest, shape))
    return result, tuple(rest), tuple(saved)


def size_at(tensor: Tensor, dim: int) -> int:
    """The size of a dimension; 0 beyond the last one, where an entry after a second `...` may be."""
    return int(tensor.array.shape[dim]) if dim < tensor.array.ndim else 0


def beside_it(part: Any, input: Tensor) -> Any:
    """Indices on the tensor's device; as in PyTorch, CPU indices are accepted for every device. Raises RuntimeError for
    indices on a device other than the CPU and the tensor's."""
    if backend_of(part) is not None and device_of(part) != input.device:
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor "
                           f"({input.device})")
    return moved(part, device_like(input.array))


def brought_in(parts: Sequence[Any], shape: Shape) -> Iterator[Any]:
    """Indices of an empty tensor, clipped; PyTorch checks none along a dimension with a size above 0."""
    dim = 0
    for part in parts:
        numbers = is_array(part) and part.dtype.kind != "b"
        yield part.clip(-shape[dim], shape[dim] - 1) if numbers and shape[dim] else part
        dim += part.ndim if is_array(part) and not numbers else 1


def in_bounds(index: int, size: int, position: int) -> int:
    """The index if it is in range; otherwise an IndexError."""
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {position} with size {size}")
    return index


def is_full_slice(part: slice, size: int) -> bool:
    """Whether a slice keeps all elements and does not count from the end."""
    start, stop, step = part.start, part.stop, part.step
    return start in (None, 0) and step in (None, 1) and (stop is None or operator.index(stop) >= size)


def checked_slice(part: slice) -> slice:
    """A slice with a positive step; PyTorch's error for any other."""
    if part.step is not None and operator.index(part.step) <= 0:
        raise ValueError("step must be greater than zero" if part.step else "slice step cannot be zero")
    return part


def check_masks(parts: tuple[Any, ...], shape: Shape) -> None:
    """Raise PyTorch's error for a mask of another shape than the dimensions that it indexes."""
    dim = 0
    for part in parts:
        if isinstance(part, slice) or part.dtype.kind != "b":
            dim += 1
            continue
        for i, n in enumerate(part.shape):
            if n != shape[dim + i]:
                raise IndexError(f"The shape of the mask {list(part.shape)} at index {i} does not match the shape of "
                                 f"the indexed tensor {list(shape)} at index {dim + i}")
        dim += part.ndim


def advanced_message(parts: tuple[Any, ...], shape: Shape) -> str:
    """PyTorch's message for indices that do not fit together or are out of range; it counts only the indexed
    dimensions."""
    named, dim = list[tuple[Any, int]](), 0
    for part in parts:
        if isinstance(part, slice):
            dim += 1
        else:
            arrays = np.nonzero(part) if part.dtype.kind == "b" else (part,)
            named += [(array, shape[dim + i]) for i, array in enumerate(arrays)]
            dim += len(arrays)
    try:
        np.broadcast_shapes(*[array.shape for array, _ in named])
    except ValueError:
        return ("shape mismatch: indexing tensors could not be broadcast together with shapes "
                f"{', '.join([str(list(array.shape)) for array, _ in named])}")
    for i, (array, size) in enumerate(named):
        wrong = first_out_of_range(array, size, -size)
        if wrong is not None:
            return (f"index {wrong} is out of bounds for dimension {i} with size {size}" if size else
                    "index is out of bounds for dimension with size 0")
    return f"too many indices for tensor of dimension {len(shape)}"


def delitem(input: Tensor, index: Any) -> None:
    """Raise PyTorch's TypeError: a tensor keeps its size."""
    raise TypeError("Tensor does not support deleting items")


def setitem(input: Tensor, index: Any, value: Any) -> None:
    """`input[index] = value`, in place. Raises RuntimeError as in the in-place ops, and IndexError as in `getitem`."""
    try:
        if not isinstance(value, (Tensor, bool, int, float, complex)):
            raise TypeError(f"can't assign a {type_name(value)} to a {input.type()}")
        if isinstance(value, int) and not -2**63 <= value < 2**63:
            raise ValueError("Overflow when unpacking long long")
        if index is False:
            return
        parts, originals = parts_of(None if index is True else index, input.array.ndim)
        view, rest, saved = basic(input, parts, originals, written=True)
        if saved:
            tail = tail_of(value) if isinstance(value, Tensor) and value.array.shape[:1] == (1,) else value
            in_place(IndexPut.forward, view, tail, rest if len(rest) > 1 else rest[0], saved)
            return
        source = value if isinstance(value, Tensor) else plain(number_in(value, view.array.dtype))
        if source.array.ndim == 0 < view.array.ndim:
            in_place(FillTensor.forward, view, source)
        elif source.array.shape == view.array.shape:
            in_place(Copy.forward, view, source)
        else:
            tail = tail_of(source)
            fits = tail.array.shape == view.array.shape
            in_place(Copy.forward, view, tail if fits else expand(tail, view.array.shape))
    except SIGNALS as error:
        return silently(error, setitem, input, index, value)


def tail_of(value: Tensor) -> Tensor:
    """A tensor without its leading dimensions of size 1, as a view."""
    lead = next((i for i, n in enumerate(value.array.shape) if n != 1), value.array.ndim)
    return View.forward(value, value.array.shape[lead:])


class IndexPut(Node):
    """A tensor in which the elements at an index are replaced or added to."""

    constants = ("", "accumulate")
    _entries, _saved_indices, _raw_saved_indices = Index._entries, Index._saved_indices, Index._raw_saved_indices

    @staticmethod
    def forward(a: Tensor, value: Any, index: Any, indices: Indices, accumulate: bool = False) -> Tensor:
        x = a.array
        y = value.array if isinstance(value, Tensor) else number_in(value, x.dtype)
        if BACKEND_OF and (type(x) in BACKEND_OF or type(y) in BACKEND_OF):
            y = together(x, y)[1]
        x = beside(x, (index, y)) if BACKEND_OF else x
        if y.dtype != x.dtype and y.size == 1 and is_array(index) and index.dtype.kind == "b":
            y = number_in(y.reshape(()), x.dtype)
        try:
            if y.dtype != x.dtype:
                np.broadcast_to(y, x[index].shape)  # a value that does not fit is reported first
                raise other_dtype(a, value)
            if (y.shape[:1] == (1,) or not y.size) and y.ndim > x[index].ndim:
                raise ValueError("NumPy would take it")
            if accumulate:
                add_at(out := in_order_of(x.copy("K"), x), index, y)
            else:
                out = in_order_of(XP.put(x, index, y), x)
        except (IndexError, ValueError, TypeError) as error:  # NumPy's TypeError: a mask, and too many dimensions
            why = error_of_put(error, index if type(index) is tuple else (index,), x, y.shape)
            raise other_dtype(a, value) if "out of bounds" in str(why) and y.dtype != x.dtype else why from None
        if not isinstance(value, Tensor):
            return record_n(IndexPut, out, (a, SCALAR_OPERAND), indices, (index, accumulate))
        kind = (value.array.shape, value.array.dtype)
        return record_n(IndexPut, out, (a, value), indices, (index, accumulate), (None, kind))

    def backward(self, xp: Any, g: Any, *saved: Any) -> Any:
        index, accumulate = saved[-2:]
        return g if accumulate else xp.put(g, index, 0), None if self.next[1] is None else xp.getitem(g, index)


def other_dtype(a: Tensor, value: Tensor) -> RuntimeError:
    """PyTorch's error for values of another dtype."""
    return RuntimeError(f"Index put requires the source and destination dtypes match, got {a.dtype.type_name} for the "
                        f"destination and {value.dtype.type_name} for the source.")


def error_of_put(error: Exception, parts: tuple[Any, ...], x: Any, shape: Shape) -> Exception:
    """PyTorch's error for values that NumPy could not write; if the indices fit, the values' shape is checked first."""
    text = advanced_message(parts, x.shape)
    out_of_bounds = isinstance(error, IndexError) and "out of bounds" in text
    if text.startswith("shape mismatch") or "size 0" in text or (isinstance(error, IndexError) and not out_of_bounds):
        return IndexError(text)
    result = x[tuple(brought_in(parts, x.shape))].shape
    if out_of_bounds and len(shape) <= len(result) and all(
            n in (1, wanted) for n, wanted in zip(shape[::-1], result[::-1])):
        return IndexError(text)
    return RuntimeError(f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing "
                        f"result of shape {list(result)}")


@op(method=True, in_place_function=True)
def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of `input` with `values` at `input[indices]`, or, to `accumulate`, added there, repeats included.

    Raises IndexError if an index is out of range, of another dtype, or there are too many, and RuntimeError if `values`
    does not fit, or has another dtype.
    """
    parts = tuple([as_array(i) for i in indices])
    if dims_indexed(parts) > input.array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.array.ndim} (got {dims_indexed(parts)})")
    parts = tuple([beside_it(raw(p), input) for p in parts])
    check_masks(parts, input.array.shape)
    return IndexPut.forward(input, values, parts[0] if len(parts) == 1 else parts, tuple(indices), accumulate)
