"""Shapes and views: ops that change how the same elements are laid out.

A view shares its memory and its version counter with the tensor that it looks at (`_base`). Ops of several outputs
(`unbind`, `split`) are where the integer of `next_functions` is not 0; lesson 3 shows it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._dtype import promote_types
from minigrad._tensor import Tensor, owned
from minigrad.autograd.evaluate import sum_to
from minigrad.autograd.graph import ManyOutputs, Node
from minigrad.autograd.record import record1, record_many, record_n, record_view
from minigrad.ops.reduce import axes_of

__all__ = ["cat", "chunk", "expand", "expand_as", "flatten", "movedim", "permute", "reshape", "split", "squeeze",
           "stack", "t", "transpose", "unbind", "unsqueeze", "view", "view_as"]

Shape = tuple[int, ...]


def shape_of(sizes: tuple[Any, ...]) -> Shape:
    """The shape from `f(2, 3)` or `f((2, 3))`."""
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    return tuple([operator.index(n) for n in given])


def dim_of(dim: int, ndim: int) -> int:
    """One dimension as a non-negative number; an IndexError if it is out of range."""
    axes = axes_of(dim, ndim)
    return axes[0] if axes else 0


def full_shape(shape: Shape, size: int) -> Shape:
    """A shape with its -1 filled in; PyTorch's error where the elements do not fit."""
    known = int(np.prod([n for n in shape if n != -1]))
    fits = known == size if -1 not in shape else known != 0 and size % known == 0
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if not fits:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return tuple([size // known if n == -1 else n for n in shape])


class View(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, shape: Shape) -> Tensor:
        x = owned(a)
        return record_view(View, x.reshape(shape), a, (x.shape,))

    def backward(self, xp: Any, g: Any, shape: Shape) -> Any:
        return xp.reshape(g, shape)


class UnsafeView(Node):
    """A reshape of a tensor that nobody else holds, or one that had to copy: not a view."""

    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, shape: Shape) -> Tensor:
        return record1(UnsafeView, a.array.reshape(shape), a, (), (a.array.shape,))

    def backward(self, xp: Any, g: Any, shape: Shape) -> Any:
        return xp.reshape(g, shape)


class T(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record_view(T, owned(a).T, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return xp.swapaxes(g, 0, 1) if g.ndim == 2 else g


class Transpose(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, i: int, j: int) -> Tensor:
        return record_view(Transpose, owned(a).swapaxes(i, j), a, (i, j))

    def backward(self, xp: Any, g: Any, i: int, j: int) -> Any:
        return xp.swapaxes(g, i, j)


class Permute(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, axes: Shape) -> Tensor:
        back = tuple([axes.index(i) for i in range(len(axes))])
        return record_view(Permute, owned(a).transpose(axes), a, (back,))

    def backward(self, xp: Any, g: Any, back: Shape) -> Any:
        return xp.transpose(g, back)


class Unsqueeze(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, dim: int) -> Tensor:
        return record_view(Unsqueeze, np.expand_dims(owned(a), dim), a, (a.array.shape,))

    def backward(self, xp: Any, g: Any, shape: Shape) -> Any:
        return xp.reshape(g, shape)


class Squeeze(Node):
    """Of all dimensions of size 1."""

    __slots__ = ()

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record_view(Squeeze, owned(a).squeeze(), a, (a.array.shape,))

    def backward(self, xp: Any, g: Any, shape: Shape) -> Any:
        return xp.reshape(g, shape)


class SqueezeDim(Node, name="Squeeze", number=1):
    """Of one dimension."""

    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, dim: int) -> Tensor:
        x = owned(a)
        y = x.squeeze(dim) if x.ndim and x.shape[dim] == 1 else x[...]
        return record_view(SqueezeDim, y, a, (x.shape,))

    def backward(self, xp: Any, g: Any, shape: Shape) -> Any:
        return xp.reshape(g, shape)


class Expand(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, shape: Shape) -> Tensor:
        x = owned(a)
        return record_view(Expand, np.broadcast_to(x, shape), a, ((x.shape, x.dtype),))

    def backward(self, xp: Any, g: Any, like: tuple[Shape, Any]) -> Any:
        return sum_to(g, like, xp)


class Unbind(ManyOutputs):
    __slots__ = ()

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

    @staticmethod
    def forward(a: Tensor, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
        return record_many(Split, parts_of(a, sizes, dim), a, (dim,), views=True)

    def backward(self, xp: Any, gs: list[Any], dim: int) -> Any:
        return xp.concatenate(gs, dim)


class SplitWithSizes(ManyOutputs):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
        return record_many(SplitWithSizes, parts_of(a, sizes, dim), a, (dim,), views=True)

    def backward(self, xp: Any, gs: list[Any], dim: int) -> Any:
        return xp.concatenate(gs, dim)


def parts_of(a: Tensor, sizes: Sequence[int], dim: int) -> list[Any]:
    """Slices of these sizes along a dimension."""
    ends = np.cumsum(sizes).tolist()
    front = (slice(None),) * dim
    return [owned(a)[(*front, slice(end - size, end))] for size, end in zip(sizes, ends, strict=True)]


class Stack(Node):
    __slots__ = ()

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

    @staticmethod
    def forward(tensors: Sequence[Tensor], dim: int) -> Tensor:
        arrays = [v.array for v in tensors]
        ends = tuple(np.cumsum([x.shape[dim] for x in arrays]).tolist())
        dtype, fit = joined(arrays)
        out = np.concatenate(arrays, dim, dtype=dtype, casting="unsafe")
        return record_n(Cat, out, tuple(tensors), (), (dim, ends), fit)

    def backward(self, xp: Any, g: Any, dim: int, ends: tuple[int, ...]) -> tuple[Any, ...]:
        front = (slice(None),) * dim
        return tuple([xp.getitem(g, (*front, slice(start, end))) for start, end in zip((0, *ends), ends, strict=False)])


def joined(arrays: Sequence[Any]) -> tuple[Any, tuple[Any, ...] | None]:
    """The dtype in which arrays are joined, and what the engine must undo for each (`Node.fit`)."""
    dtype = functools.reduce(promote_types, [x.dtype for x in arrays])
    return dtype, None if all(x.dtype is dtype for x in arrays) else tuple([(x.shape, x.dtype) for x in arrays])


def view(input: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape (one size may be -1).

    Raises:
        RuntimeError: if the elements do not fit, or no view has that shape since the memory is not contiguous.
    """
    x = owned(input)
    new = full_shape(shape_of(shape), x.size)
    if not np.shares_memory(x.reshape(new), x) and x.size:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                           "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return View.forward(input, new)


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: a view where that is possible, else a copy."""
    x = owned(input)
    new = full_shape(shape_of(shape), x.size)
    if x.flags.c_contiguous or np.shares_memory(x.reshape(new), x):
        return View.forward(input, new)
    return UnsafeView.forward(input.clone(), new)


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """`input.view(other.shape)`."""
    return view(input, other.array.shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""
    shape = input.array.shape
    first, last = dim_of(start_dim, len(shape)), dim_of(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if shape and first == last:
        return input
    return reshape(input, (*shape[:first], -1, *shape[last + 1:]) if shape else (1,))


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a tensor of fewer dimensions as it is."""
    if input.array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D")
    return T.forward(input)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """The tensor with two dimensions swapped."""
    return Transpose.forward(input, dim_of(dim0, input.array.ndim), dim_of(dim1, input.array.ndim))


def permute(input: Tensor, *dims: Any) -> Tensor:
    """The tensor with its dimensions in this order."""
    order = shape_of(dims)
    if len(order) != input.array.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
                           f"the desired ordering of dimensions i.e. input.dim() = {input.array.ndim} is not equal to "
                           f"len(dims) = {len(order)}")
    axes = tuple([dim_of(d, input.array.ndim) for d in order])
    if len(set(axes)) != len(axes):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return Permute.forward(input, axes)


def movedim(input: Tensor, source: int, destination: int) -> Tensor:
    """The tensor with one dimension moved to another place."""
    order = list(range(input.array.ndim))
    order.insert(dim_of(destination, len(order)), order.pop(dim_of(source, len(order))))
    return Permute.forward(input, tuple(order))


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """The tensor with a new dimension of size 1 at `dim`."""
    return Unsqueeze.forward(input, dim_of(dim, input.array.ndim + 1))


def squeeze(input: Tensor, dim: int | None = None) -> Tensor:
    """The tensor without its dimensions of size 1, or without that one."""
    return Squeeze.forward(input) if dim is None else SqueezeDim.forward(input, dim_of(dim, input.array.ndim))


def expand(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor with dimensions of size 1 repeated, without a copy (-1 leaves a size as it is).

    Raises:
        RuntimeError: if a size is neither 1 nor what is asked for.
    """
    shape, new = input.array.shape, shape_of(sizes)
    lead = len(new) - len(shape)
    if lead < 0:
        raise RuntimeError(f"expand(torch.{input.dtype.type_name}Tensor{{{list(shape)}}}, size={list(new)}): the "
                           f"number of sizes provided ({len(new)}) must be greater or equal to the number of "
                           f"dimensions in the tensor ({len(shape)})")
    full = tuple([shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(new)])
    for i, n in enumerate(shape):
        if n not in (1, full[lead + i]):
            raise RuntimeError(f"The expanded size of the tensor ({full[lead + i]}) must match the existing size ({n}) "
                               f"at non-singleton dimension {lead + i}.  Target sizes: {list(new)}.  Tensor sizes: "
                               f"{list(shape)}")
    return Expand.forward(input, full)


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """`input.expand(other.shape)`."""
    return expand(input, other.array.shape)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, as views."""
    if input.array.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return Unbind.forward(input, dim_of(dim, input.array.ndim))


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along a dimension, as views: of one size (the last may be smaller), or of the sizes given."""
    axis = dim_of(dim, tensor.array.ndim)
    length = tensor.array.shape[axis]
    if not isinstance(split_size_or_sections, int):
        sizes = list(split_size_or_sections)
        if sum(sizes) != length:
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size "
                               f"at dimension {dim}), but got split_sizes={sizes}")
        return SplitWithSizes.forward(tensor, sizes, axis)
    size = split_size_or_sections
    if size <= 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    sizes = [min(size, length - start) for start in range(0, length, size)] or [0]
    return Split.forward(tensor, sizes, axis)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of one size along a dimension, as views."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.array.shape[dim_of(dim, input.array.ndim)]
    return split(input, max(1, -(-length // chunks)), dim)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension."""
    tensors = list(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0].array.shape
    for i, v in enumerate(tensors):
        if v.array.shape != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                               f"{list(v.array.shape)} at entry {i}")
    return Stack.forward(tensors, dim_of(dim, len(first) + 1))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors along an existing dimension; their other sizes must agree."""
    tensors = list(tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    axis, first = dim_of(dim, tensors[0].array.ndim), tensors[0].array.shape
    for i, v in enumerate(tensors):
        other = v.array.shape
        wrong = [d for d in range(len(first)) if len(other) == len(first) and d != axis and other[d] != first[d]]
        if len(other) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(other)}")
        if wrong:
            raise RuntimeError(f"Sizes of tensors must match except in dimension {axis}. Expected size "
                               f"{first[wrong[0]]} but got size {other[wrong[0]]} for tensor number {i} in the list.")
    return Cat.forward(tensors, axis)
