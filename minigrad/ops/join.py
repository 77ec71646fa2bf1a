"""Joining and splitting. `unbind` and `split` have several outputs: where the integer of `next_functions` is not 0.

Lesson 3 shows it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._dtype import promote_types
from minigrad._tensor import Tensor, owned
from minigrad._type_name import type_name
from minigrad.autograd.graph import ManyOutputs, Node
from minigrad.autograd.record import record_many, record_n
from minigrad.ops.shape import dim_of

__all__ = ["cat", "chunk", "split", "stack", "unbind"]
METHODS = ("chunk", "split", "unbind")


class Unbind(ManyOutputs):
    __slots__ = ()
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, dim: int) -> tuple[Tensor, ...]:
        x = owned(a)
        front = (slice(None),) * dim
        return record_many(Unbind, [x[(*front, i, ...)] for i in range(x.shape[dim])], a, (dim,), views=True)

    def backward(self, xp: Any, gs: list[Any], dim: int) -> Any:
        return xp.stack(gs, dim)


class Split(ManyOutputs):
    """Into parts of one size."""

    __slots__ = ()
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
        return record_many(Split, parts_of(a, sizes, dim), a, (dim,), views=True)

    def backward(self, xp: Any, gs: list[Any], dim: int) -> Any:
        return xp.concatenate(gs, dim)


class SplitWithSizes(ManyOutputs):
    __slots__ = ()
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
        return record_many(SplitWithSizes, parts_of(a, sizes, dim), a, (dim,), views=True)

    backward = Split.backward


def parts_of(a: Tensor, sizes: Sequence[int], dim: int) -> list[Any]:
    """Slices of these sizes along a dimension."""
    ends = np.cumsum(sizes).tolist()
    front = (slice(None),) * dim
    return [owned(a)[(*front, slice(end - size, end))] for size, end in zip(sizes, ends, strict=True)]


class Stack(Node):
    __slots__ = ()
    constants = ("dim",)
    prunes = False

    @staticmethod
    def forward(tensors: Sequence[Tensor], dim: int) -> Tensor:
        arrays = [v.array for v in tensors]
        dtype, fit = joined(arrays)
        return record_n(Stack, np.stack(arrays, dim, dtype=dtype, casting="unsafe"), tuple(tensors), (), (dim,), fit)

    def backward(self, xp: Any, g: Any, dim: int) -> tuple[Any, ...]:
        front = (slice(None),) * dim
        return tuple([xp.getitem(g, (*front, i)) for i in range(len(self.next))])


class Cat(Node):
    __slots__ = ()
    constants = ("dim",)
    prunes = False

    @staticmethod
    def forward(tensors: Sequence[Tensor], dim: int) -> Tensor:
        arrays = [v.array for v in tensors]
        dtype, fit = joined(arrays)
        nothing = [x.shape == (0,) for x in arrays]
        ends = tuple(np.cumsum([0 if gone else x.shape[dim] for x, gone in zip(arrays, nothing, strict=True)]).tolist())
        out = np.concatenate([x for x, gone in zip(arrays, nothing, strict=True) if not gone] or arrays, dim,
                             dtype=dtype, casting="unsafe")
        return record_n(Cat, out, tuple(tensors), (), (dim, ends, tuple(nothing)), fit)

    def backward(self, xp: Any, g: Any, dim: int, ends: tuple[int, ...], nothing: tuple[bool, ...]) -> tuple[Any, ...]:
        front = (slice(None),) * dim
        return tuple([xp.zeros((0,), xp.dtype(g)) if gone else xp.getitem(g, (*front, slice(start, end)))
                      for start, end, gone in zip((0, *ends), ends, nothing, strict=False)])


def joined(arrays: Sequence[Any]) -> tuple[Any, tuple[Any, ...] | None]:
    """The dtype in which arrays are joined, and what the engine must undo for each (`Node.fit`)."""
    dtype = functools.reduce(promote_types, [x.dtype for x in arrays])
    return dtype, None if all(x.dtype is dtype for x in arrays) else tuple([(x.shape, x.dtype) for x in arrays])


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, as views."""
    if input.array.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return Unbind.forward(input, dim_of(dim, input.array.ndim))


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along a dimension, as views: of one size (the last may be smaller), or of the sizes given."""
    if tensor.array.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = dim_of(dim, tensor.array.ndim)
    length = tensor.array.shape[axis]
    if not isinstance(split_size_or_sections, int):
        sizes = list(split_size_or_sections)
        if any(size < 0 for size in sizes):
            raise RuntimeError("split_with_sizes expects split_sizes have only non-negative entries, but got "
                               f"split_sizes={sizes}")
        if sum(sizes) != length:
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size "
                               f"at dimension {dim}), but got split_sizes={sizes}")
        return SplitWithSizes.forward(tensor, sizes, axis)
    size = split_size_or_sections
    if size == 0 and length:
        raise RuntimeError("split_size can only be 0 if dimension size is 0, but got dimension size of "
                           f"{length}")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    sizes = [min(size, length - start) for start in range(0, length, max(size, 1))] or [0]
    return Split.forward(tensor, sizes, axis)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of one size along a dimension, as views."""
    if input.array.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.array.shape[dim_of(dim, input.array.ndim)]
    return split(input, max(1, -(-length // chunks)), dim)


def tensors_in(name: str, given: Any) -> list[Tensor]:
    """What is joined; PyTorch's errors for anything but a sequence of tensors."""
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name(given)}")
    for i, each in enumerate(given):
        if not isinstance(each, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(each)}")
    return list(given)


def stack(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors of one shape along a new dimension; `axis` is NumPy's name of `dim`."""
    tensors, dim = tensors_in("stack", tensors), dim if axis is None else axis
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0].array.shape
    for i, v in enumerate(tensors):
        if v.array.shape != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                               f"{list(v.array.shape)} at entry {i}")
    return Stack.forward(tensors, dim_of(dim, len(first) + 1))


def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors along an existing dimension; their other sizes must agree. `axis` is NumPy's name of `dim`.

    A tensor of shape (0,) goes with any other, as in early PyTorch.
    """
    tensors, dim = tensors_in("cat", tensors), dim if axis is None else axis
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    first = next((v.array.shape for v in tensors if v.array.shape != (0,)), (0,))
    along = dim_of(dim, len(first))
    for i, v in enumerate(tensors):
        if v.array.shape == (0,):
            continue
        if v.array.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
        other = v.array.shape
        wrong = [d for d in range(len(first)) if len(other) == len(first) and d != along and other[d] != first[d]]
        if len(other) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(other)}")
        if wrong:
            raise RuntimeError(f"Sizes of tensors must match except in dimension {along}. Expected size "
                               f"{first[wrong[0]]} but got size {other[wrong[0]]} for tensor number {i} in the list.")
    return Cat.forward(tensors, along)
