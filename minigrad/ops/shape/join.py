"""Joins tensors (`cat`, `stack`, and functions composed of them), repeats them (`repeat`, `tile`), and combines the
elements of vectors (`meshgrid`, `cartesian_prod`, `combinations`).
"""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._base.dtype import BFLOAT16, as_dtype, from_numpy_dtype, promote_types, result_dtype
from minigrad._base.type_name import type_name
from minigrad._base.warnings import warn_once
from minigrad.backends.intp import as_intp
from minigrad.backends.registry import BACKEND_OF, backend_of, device_like
from minigrad.core import Node, Tensor, plain, record1, record_n
from minigrad.ops._dispatch import op, same_device, tensor_method
from minigrad.ops._dispatch.memory_order import in_format_of, row_by_row, suggests_channels_last
from minigrad.ops._dispatch.type_promotion import empty_like
from minigrad.ops.index.mask import MaskedSelect
from minigrad.ops.index.scatter_gather import IndexSelect
from minigrad.ops.shape import views
from minigrad.ops.tensor.copy import Clone

__all__ = [
    "block_diag", "cartesian_prod", "cat", "column_stack", "combinations", "concat", "concatenate", "dstack",
    "hstack", "meshgrid", "repeat_interleave", "row_stack", "stack", "tile", "vstack",
]

class Stack(Node):
    constants = ("dim",)
    prunes = False

    @staticmethod
    def forward(tensors: Sequence[Tensor], dim: int) -> Tensor:
        arrays = [v.array for v in tensors]
        dtype, input_metadata = joined(arrays)
        if dim < arrays[0].ndim and all(map(suggests_channels_last, arrays)):  # joined along a dimension that is split
            joint = in_format_of(np.concatenate(arrays, dim, dtype=dtype, casting="unsafe"), *arrays)
            out = joint.reshape((*arrays[0].shape[:dim], len(arrays), *arrays[0].shape[dim:]))
        elif dim or any(type(x) in BACKEND_OF or x.dtype is BFLOAT16 for x in arrays):
            out = row_by_row(np.stack(arrays, dim, dtype=dtype, casting="unsafe"))
        else:
            out = np.array(arrays, dtype)  # 5 × as fast
        return record_n(Stack, out, tuple(tensors), (), (dim,), input_metadata)

    def backward(self, xp: Any, g: Any, dim: int) -> tuple[Any, ...]:
        front = (slice(None),) * dim
        return tuple([xp.getitem(g, (*front, i)) for i in range(len(self.next))])


class BlockDiag(Node):
    """Matrices along the diagonal of a matrix of zeros."""

    prunes = False

    @staticmethod
    def forward(tensors: Sequence[Tensor]) -> Tensor:
        arrays = [v.array for v in tensors]
        same_device(*arrays)
        # A 0-d tensor does not promote the others within their kind; `cat` accepts none.
        dtypes = [functools.reduce(promote_types, [x.dtype for x in arrays if bool(x.ndim) is has_dims] or [bool])
                  for has_dims in (True, False)]
        dtype = result_dtype(empty_like(dtypes[0], (1,)), empty_like(dtypes[1], ()))
        sizes = [(1,) * (2 - x.ndim) + x.shape for x in arrays]
        ends = np.cumsum(sizes, 0).tolist()
        boxes = [tuple([slice(end - n, end) for n, end in zip(size, at, strict=True)])
                 for size, at in zip(sizes, ends, strict=True)]
        out = np.zeros(tuple(ends[-1]), dtype, like=device_like(arrays[0]))
        for box, x in zip(boxes, arrays, strict=True):
            out[box] = as_dtype(x, dtype)
        return record_n(BlockDiag, out, tuple(tensors), (), (tuple(boxes), tuple([x.shape for x in arrays])),
                        tuple([(x.shape, x.dtype) for x in arrays]))

    def backward(self, xp: Any, g: Any, boxes: tuple[Any, ...], shapes: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([xp.reshape(xp.getitem(g, box), shape) for box, shape in zip(boxes, shapes, strict=True)])


class Cat(Node):
    constants = ("dim",)
    prunes = False

    @staticmethod
    def forward(tensors: Sequence[Tensor], dim: int) -> Tensor:
        arrays = [v.array for v in tensors]
        dtype, input_metadata = joined(arrays)
        nothing = [x.shape == (0,) for x in arrays]
        ends = tuple(np.cumsum([0 if gone else x.shape[dim] for x, gone in zip(arrays, nothing, strict=True)]).tolist())
        out = np.concatenate([x for x, gone in zip(arrays, nothing, strict=True) if not gone] or arrays, dim,
                             dtype=dtype, casting="unsafe")
        if not out.flags.c_contiguous:
            out = in_format_of(out, *arrays[:all(map(suggests_channels_last, arrays))])
        return record_n(Cat, out, tuple(tensors), (), (dim, ends, tuple(nothing)), input_metadata)

    def backward(self, xp: Any, g: Any, dim: int, ends: tuple[int, ...], nothing: tuple[bool, ...]) -> tuple[Any, ...]:
        front = (slice(None),) * dim
        return tuple([xp.zeros((0,), g) if gone else xp.getitem(g, (*front, slice(start, end)))
                      for start, end, gone in zip((0, *ends), ends, nothing, strict=False)])


def joined(arrays: Sequence[Any]) -> tuple[Any, tuple[Any, ...] | None]:
    """The common dtype of arrays to be joined, and what the engine must undo for each (`Node.input_metadata`)."""
    same_device(*arrays)
    dtypes = {x.dtype for x in arrays}
    if len(dtypes) == 1:
        return dtypes.pop(), None
    return functools.reduce(promote_types, dtypes), tuple([(x.shape, x.dtype) for x in arrays])


def tensors_in(name: str, parts: Any) -> list[Tensor]:
    """The tensors to join, as a list; PyTorch's errors for anything but a sequence of tensors."""
    if not isinstance(parts, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name(parts)}")
    for i, part in enumerate(parts):
        if not isinstance(part, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(part)}")
    return list(parts)


def not_empty(name: str, tensors: Any) -> list[Tensor]:
    """The tensors to stack, as a list; PyTorch's errors for anything but a non-empty sequence of tensors."""
    parts = tensors_in(name, tensors)
    if not parts:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return parts


@op
def stack(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors of one shape joined along a new dimension; `axis` is NumPy's name for `dim`."""
    tensors, dim = not_empty("stack", tensors), dim if axis is None else axis
    shapes = [v.array.shape for v in tensors]
    first = shapes[0]
    if len(set(shapes)) > 1:
        i = next(i for i, shape in enumerate(shapes) if shape != first)
        raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                           f"{list(shapes[i])} at entry {i}")
    return Stack.forward(tensors, views.dim_of(dim, len(first) + 1))


@op(aliases=("concat", "concatenate"))
def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors joined along an existing dimension; their other sizes must agree. `axis` is NumPy's name for `dim`.

    A tensor of shape (0,) fits any other, as in early PyTorch.
    """
    tensors, dim = tensors_in("cat", tensors), dim if axis is None else axis
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    shapes = [v.array.shape for v in tensors]
    first = next((shape for shape in shapes if shape != (0,)), (0,))
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    # PyTorch does not check the dimension of an empty tensor
    axis = 0 if first == (0,) else views.dim_of(dim, len(first))
    for i, shape in enumerate(shapes):
        if shape == (0,):
            continue
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        wrong = [d for d in range(len(first)) if d != axis and shape[d] != first[d]]
        if wrong:
            raise RuntimeError(f"Sizes of tensors must match except in dimension {axis}. Expected size "
                               f"{first[wrong[0]]} but got size {shape[wrong[0]]} for tensor number {i} in the list.")
    return Cat.forward(tensors, axis)


concat = concatenate = cat


@op
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors side by side: vectors along their one dimension, others along the second."""
    rows = views.atleast_1d(not_empty("hstack", tensors))
    return cat(rows, 0 if rows[0].array.ndim == 1 else 1)


@op(aliases=("row_stack",))
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors one above the other; a vector is a row."""
    return cat(views.atleast_2d(not_empty("vstack", tensors)), 0)


row_stack = vstack


@op
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the third dimension."""
    return cat(views.atleast_3d(not_empty("dstack", tensors)), 2)


@op
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """`hstack` where a vector is a column."""
    parts = not_empty("column_stack", tensors)
    return hstack([views.reshape(v, (v.array.size, 1)) if v.array.ndim < 2 else v for v in parts])


@op
def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices along the diagonal of a matrix of zeros; a vector is a row."""
    parts = tensors_in("block_diag", tensors)
    for i, v in enumerate(parts):
        if v.array.ndim > 2:
            raise RuntimeError("torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                               f"{i} has {v.array.ndim} dimensions")
    return BlockDiag.forward(parts) if parts else plain(np.zeros((1, 0), np.float32))


INDEXING = "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."


@op
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Vectors expanded over the grid that they span, as views; `indexing="xy"` swaps the first two dimensions. Raises
    RuntimeError for tensors of more than one dimension, of several dtypes, or another `indexing`."""
    vectors = views.unpacked(tensors)
    if indexing is None:
        warn_once(INDEXING)
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for v in vectors:
        if v.array.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {v}")
        if v.array.dtype != vectors[0].array.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f"torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}")
    positions = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        positions[:2] = 1, 0
    shape = tuple([vectors[position].array.size for position in positions])  # a swap is its own inverse
    lines = [(1,) * position + (-1,) + (1,) * (len(vectors) - position - 1) for position in positions]
    return tuple([views.Expand.forward(views.view(v, line), shape) for v, line in zip(vectors, lines, strict=True)])


@op
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of an element of each vector, one per row."""
    for v in tensors:
        if v.array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(v.array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    size = math.prod([v.array.size for v in tensors])
    return Stack.forward([views.UnsafeView.forward(Clone.forward(v, "C"), (size,))
                          for v in meshgrid(*tensors, indexing="ij")], 1)


@op
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector in their order, one per row."""
    if input.array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return plain(np.zeros(0, input.array.dtype, like=input.array))
    where = np.arange(input.array.size, like=input.array)
    sides = [where.reshape((1,) * i + (-1,) + (1,) * (r - 1 - i)) for i in range(r)]
    positions = np.stack([np.broadcast_to(side, (where.size,) * r) for side in sides])
    grows = positions[:-1] <= positions[1:] if with_replacement else positions[:-1] < positions[1:]
    mask = plain(grows.all(0))
    return Stack.forward([MaskedSelect.forward(v, mask) for v in meshgrid(*[input] * r, indexing="ij")], 1)


Shape = tuple[int, ...]


class Repeat(Node):
    """Copies side by side, as many along each dimension as `repeats` says."""

    constants = ("repeats", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, repeats: Shape) -> Tensor:
        return record1(Repeat, np.tile(a.array, repeats), a, (), (repeats, a.array.shape))

    def backward(self, xp: Any, g: Any, repeats: Shape, shape: Shape) -> Any:
        full = (1,) * (len(repeats) - len(shape)) + shape
        pairs = tuple([n for pair in zip(repeats, full, strict=True) for n in pair])
        return xp.reshape(xp.sum(xp.reshape(g, pairs), tuple(range(0, len(pairs), 2)), False), shape)


@tensor_method
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Copies of the tensor side by side, as many as `repeats` says; its missing dimensions come first. Raises
    RuntimeError if there are fewer repeats than dimensions, or a negative one."""
    times = views.shape_of(repeats)
    if len(times) < input.array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    full = (1,) * (len(times) - input.array.ndim) + input.array.shape
    new = [n * m for n, m in zip(times, full, strict=True)]
    for n in new:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {new}")
    return Repeat.forward(input, times)


@op(method=True)
def tile(input: Tensor, *dims: Any) -> Tensor:
    """`repeat`, where dimensions that `dims` lacks are not repeated."""
    times = views.shape_of(dims) if dims else ()
    return repeat(input, (1,) * (input.array.ndim - len(times)) + times)


@op(method=True)
def repeat_interleave(input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, *,
                      output_size: int | None = None) -> Tensor:
    """Each element (or slice along `dim`) repeated in place: by one number, or each by its own.

    With `input` alone: each index i repeated `input[i]` times.
    """
    if repeats is None:
        return plain(repeated(input, output_size))
    source = input if dim is not None else views.flatten(input)
    axis = views.dim_of(0 if dim is None else dim, source.array.ndim)
    if not source.array.ndim:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    size = source.array.shape[axis]
    if isinstance(repeats, Tensor):
        return IndexSelect.forward(source, axis, chosen(repeats, size, output_size))
    times = operator.index(repeats)
    if times < 0:
        raise RuntimeError("Repeats must be non-negative")
    if output_size not in (None, size * times):
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {size * times} but got {output_size}")
    shape = source.array.shape
    wide = views.Expand.forward(views.Unsqueeze.forward(source, axis + 1),
                                (*shape[:axis + 1], times, *shape[axis + 1:]))
    return views.View.forward(Clone.forward(wide, "C"), (*shape[:axis], size * times, *shape[axis + 1:]))


def repeated(repeats: Tensor, output_size: int | None) -> Any:
    """Each index i repeated `repeats[i]` times; PyTorch's errors for invalid numbers."""
    counts = repeats.array
    if counts.dtype.kind not in "i" or counts.dtype.itemsize < 4:
        raise NotImplementedError("\"repeat_interleave_cpu\" not implemented for "
                                  f"'{from_numpy_dtype(counts.dtype).type_name}'")
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if backend_of(counts) is not None:  # a given size avoids waiting for the device
        positions = np.arange(int(counts.sum()) if output_size is None else output_size, like=counts)
        return np.cumsum(counts).searchsorted(positions, "right").astype(counts.dtype)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if output_size not in (None, counts.sum()):
        raise RuntimeError("allocated size does not match required size")
    return np.arange(counts.size, dtype=counts.dtype).repeat(as_intp(counts))


def chosen(repeats: Tensor, size: int, output_size: int | None) -> Tensor:
    """The indices that repeat each of `size` slices as often as `repeats` says."""
    if repeats.array.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.array.size == 1:
        repeats = plain(np.broadcast_to(repeats.array.reshape(1), (size,)))
    if repeats.array.size != size:
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{repeats.array.size} and input.size(0) = {size}")
    return repeat_interleave(repeats, output_size=output_size)
