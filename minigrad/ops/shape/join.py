"""Joins tensors: `cat`, `stack`, and functions composed of them."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._base.dtype import BFLOAT16, as_dtype, promote_types, result_dtype
from minigrad._base.type_name import type_name
from minigrad.backends.registry import BACKEND_OF, device_like
from minigrad.core import Node, Tensor, plain, record_n
from minigrad.ops._dispatch import op, same_device
from minigrad.ops._dispatch.memory_order import in_format_of, row_by_row, suggests_channels_last
from minigrad.ops._dispatch.type_promotion import empty_like
from minigrad.ops.shape.broadcast import atleast_1d, atleast_2d, atleast_3d
from minigrad.ops.shape.views import dim_of, reshape

__all__ = ["block_diag", "cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack", "stack",
           "vstack"]


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
        elif dim or type(arrays[0]) in BACKEND_OF or any(x.dtype is BFLOAT16 for x in arrays):
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
    return Stack.forward(tensors, dim_of(dim, len(first) + 1))


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
    axis = 0 if first == (0,) else dim_of(dim, len(first))  # PyTorch does not check the dimension of an empty tensor
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
    rows = atleast_1d(not_empty("hstack", tensors))
    return cat(rows, 0 if rows[0].array.ndim == 1 else 1)


@op(aliases=("row_stack",))
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors one above the other; a vector is a row."""
    return cat(atleast_2d(not_empty("vstack", tensors)), 0)


row_stack = vstack


@op
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the third dimension."""
    return cat(atleast_3d(not_empty("dstack", tensors)), 2)


@op
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """`hstack` where a vector is a column."""
    parts = not_empty("column_stack", tensors)
    return hstack([reshape(v, (v.array.size, 1)) if v.array.ndim < 2 else v for v in parts])


@op
def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices along the diagonal of a matrix of zeros; a vector is a row."""
    parts = tensors_in("block_diag", tensors)
    for i, v in enumerate(parts):
        if v.array.ndim > 2:
            raise RuntimeError("torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                               f"{i} has {v.array.ndim} dimensions")
    return BlockDiag.forward(parts) if parts else plain(np.zeros((1, 0), np.float32))
