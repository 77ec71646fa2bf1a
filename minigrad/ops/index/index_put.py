"""Implements `x[index] = value`: Copy or Fill through a view if the index selects one, else IndexPut."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._base.type_name import type_name
from minigrad.backends.numpy import XP, add_at
from minigrad.backends.registry import BACKEND_OF, is_array
from minigrad.core import Node, Tensor, plain, record_n
from minigrad.core.record import SCALAR_OPERAND
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import number_in, op, together
from minigrad.ops._dispatch.memory_order import in_order_of
from minigrad.ops.index.flat_indexing import raw
from minigrad.ops.index.indexing import (
    Index,
    Indices,
    Shape,
    advanced_message,
    as_array,
    basic,
    beside_it,
    brought_in,
    check_masks,
    dims_indexed,
    parts_of,
)
from minigrad.ops.pointwise.inplace import FillTensor
from minigrad.ops.shape.views import View, expand
from minigrad.ops.tensor.copy import Copy

__all__ = ["index_put"]


def setitem(input: Tensor, index: Any, value: Any) -> None:
    """`input[index] = value`, in place.

    Raises:
        RuntimeError: as in the in-place ops.
        IndexError: as in `getitem`.
    """
    if not isinstance(value, (Tensor, bool, int, float, complex)):
        raise TypeError(f"can't assign a {type_name(value)} to a {input.type()}")
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
        in_place(Copy.forward, view, tail if tail.array.shape == view.array.shape else expand(tail, view.array.shape))


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

    Raises:
        IndexError: if an index is out of range, of another dtype, or there are too many.
        RuntimeError: if `values` does not fit, or has another dtype.
    """
    parts = tuple([as_array(i) for i in indices])
    if dims_indexed(parts) > input.array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.array.ndim} (got {dims_indexed(parts)})")
    parts = tuple([beside_it(raw(p), input) for p in parts])
    check_masks(parts, input.array.shape)
    return IndexPut.forward(input, values, parts if len(parts) > 1 else parts[0], tuple(indices), accumulate)
