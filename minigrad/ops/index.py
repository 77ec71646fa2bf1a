"""Indexing: `x[0]` (Select), `x[1:]` (Slice), `x[[0, 2]]` (Index), as PyTorch takes an index apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minigrad._tensor import Tensor, owned, plain
from minigrad.autograd.graph import Node
from minigrad.autograd.inplace import in_place
from minigrad.autograd.record import NUMBER, record1, record_n, record_view
from minigrad.autograd.saved import tensors
from minigrad.autograd.saved_hooks import SavedTensor, saved_tensor, saved_tensor_handles
from minigrad.ops.copy import Copy
from minigrad.ops.inplace import FillTensor
from minigrad.ops.shape import Unsqueeze, View, expand

__all__ = ["getitem", "setitem"]

Shape = tuple[int, ...]
Indices = tuple[Tensor, ...]
CLASS_NAMES = {np.ndarray: "numpy.ndarray"}


class Select(Node):
    __slots__ = ()
    constants = ("", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, dim: int, i: int) -> Tensor:
        x = owned(a)
        index = (*(slice(None),) * dim, i, ...)
        return record_view(Select, x[index], a, (index, x.shape))

    def backward(self, xp: Any, g: Any, index: Any, shape: Shape) -> Any:
        return xp.scatter(g, index, shape)


class Slice(Node):
    __slots__ = ()
    constants = ("", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, dim: int, part: slice) -> Tensor:
        x = owned(a)
        index = (*(slice(None),) * dim, part)
        return record_view(Slice, x[index], a, (index, x.shape))

    def backward(self, xp: Any, g: Any, index: Any, shape: Shape) -> Any:
        return xp.scatter(g, index, shape)


class Alias(Node):
    """`x[...]`."""

    __slots__ = ()

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record_view(Alias, owned(a)[...], a)

    def backward(self, xp: Any, g: Any) -> Any:
        return g


class Index(Node):
    """By lists, tensors of indices or masks: a copy."""

    __slots__ = ()
    constants = ("", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, index: Any, indices: Indices = ()) -> Tensor:
        x = a.array
        return record_n(Index, x[index], (a,), indices, (index, x.shape))

    def backward(self, xp: Any, g: Any, *saved: Any) -> Any:
        index, shape = saved[-2:]  # the indices before them are saved so that a change of one is noticed
        return xp.scatter(g, index, shape)

    @property
    def _saved_indices(self) -> tuple[Tensor | None, ...]:
        """The indices, one per entry of the index: None for a full slice, unless it is at the end."""
        kept = iter(tensors(self))
        return tuple([next(kept) if is_index else None for is_index in self._entries()])

    @property
    def _raw_saved_indices(self) -> tuple[SavedTensor, ...]:
        """Handles on them; one on nothing for None."""
        kept = iter(saved_tensor_handles(self))
        return tuple([next(kept) if is_index else saved_tensor(self, None) for is_index in self._entries()])

    def _entries(self) -> list[bool]:
        """For each entry of the index up to the last that is saved: whether it is one."""
        index = self.const[0] if isinstance(self.const[0], tuple) else (self.const[0],)
        saved = [not isinstance(part, slice) for part in index]
        return saved[:len(saved) - saved[::-1].index(True)]


class Scatter(Node):
    """Zeros to which a tensor is added at an index: the word `scatter` on Tensors."""

    __slots__ = ()

    @staticmethod
    def forward(g: Tensor, index: Any, shape: Shape, words: Any) -> Tensor:
        index = tuple([p.copy() if isinstance(p, np.ndarray) else p  # an index may be changed before it is used again
                       for p in (index if isinstance(index, tuple) else (index,))])
        return record1(Scatter, words.scatter(g.array, index, shape), g, (), (index,))

    def backward(self, xp: Any, g: Any, index: Any) -> Any:
        return xp.getitem(g, index)


def as_array(part: Any) -> Any:
    """An entry of an index in NumPy's terms."""
    if isinstance(part, Tensor):
        if part.array.dtype.name not in ("int64", "int32", "uint8", "bool"):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        array = np.asarray(part.array)
        return array.astype(bool) if array.dtype == np.uint8 and array.ndim else array
    if part is None or part is ... or isinstance(part, (slice, bool, np.ndarray)):
        return np.asarray(part) if isinstance(part, bool) else part
    if isinstance(part, (list, tuple)):
        return np.asarray(part) if len(part) else np.zeros(0, np.int64)
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    if not hasattr(part, "__index__"):
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                         f"indices (got {type(part).__name__})")
    return part


def advanced(part: Any) -> bool:
    """Whether an entry of an index copies (a list, a mask, a tensor of indices)."""
    return isinstance(part, np.ndarray) and (part.ndim > 0 or part.dtype.kind == "b")


def taken(parts: tuple[Any, ...]) -> int:
    """How many dimensions an index names."""
    return sum(p.ndim if isinstance(p, np.ndarray) and p.dtype.kind == "b" else p is not None and p is not ...
               for p in parts)


def entries(index: Any) -> Sequence[Any]:
    """The entries of an index. As in PyTorch a list is one entry, unless something in it is itself an index."""
    if isinstance(index, list) and any(
            p is None or p is ... or isinstance(p, (slice, list, tuple, Tensor, np.ndarray)) for p in index):
        return index
    return index if isinstance(index, tuple) else (index,)


def indices_of(index: Any) -> Indices:
    """What an op that takes elements by lists, masks and tensors of indices saves of them."""
    return tuple([p if isinstance(p, Tensor) else plain(np.asarray(p)) for p in entries(index)
                  if isinstance(p, (Tensor, list, tuple, np.ndarray, bool))])


def parts_of(index: Any, ndim: int) -> tuple[Any, ...]:
    """An index as a tuple of entries; PyTorch's error where there are too many."""
    parts = tuple([as_array(p) for p in entries(index)])
    if taken(parts) > ndim:
        if ndim == 0 and isinstance(index, slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if ndim == 0 and not isinstance(index, (tuple, list)):
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
                             "C++ to convert a 0-dim tensor to a number")
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    return parts


def getitem(input: Tensor, index: Any) -> Tensor:
    """`input[index]`: views for numbers, slices, `None` and `...`; a copy for lists, masks and tensors of indices.

    As in PyTorch one op per entry; lists, masks and tensors come last, in one op.

    Raises:
        IndexError: if an index is out of range or there are too many.
    """
    parts = parts_of(index, input.array.ndim)
    if len(parts) == 1 and parts[0] is ...:
        return Alias.forward(input)
    if not isinstance(index, tuple) and isinstance(parts[0], slice):
        return Slice.forward(input, 0, checked_slice(parts[0]))
    made, rest = basic(input, parts)
    if not any(advanced(p) for p in rest):
        return made if made is not input else Alias.forward(input)
    try:
        return Index.forward(made, rest if len(rest) > 1 else rest[0], indices_of(index))
    except IndexError as error:
        raise IndexError(advanced_message(error, rest, made.array.shape)) from None


def basic(input: Tensor, parts: tuple[Any, ...]) -> tuple[Tensor, tuple[Any, ...]]:
    """The entries that make views, one op each (a full slice is no op), and what is left for `Index`."""
    made, rest = input, list[Any]()
    for position, part in enumerate(parts):
        dim = sum(p.ndim if isinstance(p, np.ndarray) and p.dtype.kind == "b" else 1 for p in rest)
        if advanced(part):
            rest.append(part)
        elif part is ...:
            rest += [slice(None)] * (made.array.ndim - dim - taken(parts[position + 1:]))
        elif part is None:
            made = Unsqueeze.forward(made, dim)
            rest.append(slice(None))
        elif isinstance(part, slice):
            if part.indices(made.array.shape[dim]) != (0, made.array.shape[dim], 1):
                made = Slice.forward(made, dim, checked_slice(part))
            rest.append(slice(None))
        else:
            size, i = made.array.shape[dim], int(part)
            if not -size <= i < size:
                raise IndexError(f"index {i} is out of bounds for dimension {position} with size {size}")
            made = Select.forward(made, dim, i)
    return made, tuple(rest)


def checked_slice(part: slice) -> slice:
    """A slice whose step PyTorch takes."""
    if part.step is not None and part.step <= 0:
        raise ValueError("step must be greater than zero")
    return part


def advanced_message(error: IndexError, parts: tuple[Any, ...], shape: Shape) -> str:
    """PyTorch's sentence for an index tensor that is out of range."""
    for dim, part in enumerate(parts):
        if isinstance(part, np.ndarray) and part.dtype.kind == "b" and part.shape != shape[dim:dim + part.ndim]:
            return (f"The shape of the mask {list(part.shape)} at index 0 does not match the shape of the indexed "
                    f"tensor {list(shape)} at index 0")
        if isinstance(part, np.ndarray) and part.dtype.kind in "iu":
            for i in itertools.chain.from_iterable(outside(part, shape[dim])):
                return f"index {i} is out of bounds for dimension {dim} with size {shape[dim]}"
    return str(error)


def outside(indices: Any, size: int) -> Iterator[Any]:
    """The indices that are out of range."""
    yield indices[(indices < -size) | (indices >= size)].tolist()


def setitem(input: Tensor, index: Any, value: Any) -> None:
    """`input[index] = value`, in place.

    Raises:
        RuntimeError: as the in-place ops.
        IndexError: as `getitem`.
    """
    if not isinstance(value, (Tensor, bool, int, float, np.generic)):
        raise TypeError(f"can't assign a {CLASS_NAMES.get(type(value), type(value).__name__)} to a {input.type()}")
    parts = parts_of(index, input.array.ndim)
    if any(advanced(p) for p in parts):
        in_place(IndexPut.forward, input, value, parts if len(parts) > 1 else parts[0], indices_of(index))
        return
    view, _ = basic(input, parts)
    source = value if isinstance(value, Tensor) else plain(np.full((), value, view.array.dtype))
    if source.array.ndim == 0 < view.array.ndim:
        in_place(FillTensor.forward, view, source)
    elif source.array.shape == view.array.shape:
        in_place(Copy.forward, view, source)
    else:
        lead = next((i for i, n in enumerate(source.array.shape) if n != 1), source.array.ndim)
        tail = View.forward(source, source.array.shape[lead:])
        in_place(Copy.forward, view, tail if tail.array.shape == view.array.shape else expand(tail, view.array.shape))


class IndexPut(Node):
    """A tensor in which the elements at an index are replaced."""

    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, value: Any, index: Any, indices: Indices) -> Tensor:
        x = a.array
        out = x.copy()
        if not isinstance(value, Tensor):
            out[index] = value
            return record_n(IndexPut, out, (a, NUMBER), indices, (index,))
        y = value.array
        if y.dtype != x.dtype:
            raise RuntimeError("Index put requires the source and destination dtypes match, got "
                               f"{a.dtype.type_name} for the destination and {value.dtype.type_name} for the source.")
        try:
            out[index] = y
        except ValueError:
            raise RuntimeError(f"shape mismatch: value tensor of shape {list(y.shape)} cannot be broadcast to indexing "
                               f"result of shape {list(out[index].shape)}") from None
        return record_n(IndexPut, out, (a, value), indices, (index,), (None, (y.shape, y.dtype)))

    def backward(self, xp: Any, g: Any, *saved: Any) -> Any:
        index = saved[-1]
        return xp.put(g, index, 0), None if self.next[1] is None else xp.getitem(g, index)
