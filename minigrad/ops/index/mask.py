"""Reads and writes elements by a mask: `masked_fill`, `masked_select`, `masked_scatter`, `nonzero`, `argwhere`."""

import math
from typing import Any

import numpy as np

from minigrad._base.tensor_errors import IN_C
from minigrad.backends import intp
from minigrad.backends.batched import NO_FALLBACK, refuse_batches
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Node, Tensor, plain, record_n, record_without_grad
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import broadcast_shape, number_in, op, out_argument, row_by_row, same_device, tensor_method
from minigrad.ops.shape.slices import unbind

__all__ = ["argwhere", "masked_fill", "masked_scatter", "masked_select", "nonzero", "nonzero_static",
           "unravel_index"]

Shape = tuple[int, ...]


class MaskedFill(Node):
    """Fills the masked elements with a number."""

    saves = ("mask",)

    @classmethod
    def forward(cls, a: Tensor, mask: Tensor, value: Any) -> Tensor:
        x = a.array
        y = value.array if isinstance(value, Tensor) else value
        out = row_by_row(np.where(mask.array, number_in(y, x.dtype), x))
        of_a = None if out.shape == x.shape else (x.shape, x.dtype)
        if isinstance(value, Tensor):
            return record_n(cls, out, (a, value), (mask,), (), (of_a, ((), y.dtype)))
        return record_n(cls, out, (a,), (mask,), (), of_a and (of_a,))

    def backward(self, xp: Any, g: Any, mask: Any) -> Any:
        return xp.masked(~mask, g)


class MaskedFillTensor(MaskedFill, name="MaskedFill", number=1):
    """The same with a one-element tensor, whose gradient is the sum of the gradients of the filled elements."""

    def backward(self, xp: Any, g: Any, mask: Any) -> tuple[Any, Any]:
        return (None if self.next[0] is None else xp.masked(~mask, g),
                None if self.next[1] is None else xp.sum(xp.masked(mask, g), None, False))


class MaskedSelect(Node):
    saves = ("self", "mask")

    @staticmethod
    def forward(a: Tensor, mask: Tensor) -> Tensor:
        x, keep = a.array, mask.array
        shape = broadcast_shape(keep.shape, x.shape)
        where = np.broadcast_to(keep, shape)
        input_metadata = None if shape == x.shape else ((x.shape, x.dtype),)
        return record_n(MaskedSelect, np.broadcast_to(x, shape)[where], (a,), (a, mask), (where, shape), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, mask: Any, where: Any, shape: Shape) -> Any:
        return xp.scatter(g, where, shape)


class MaskedScatter(Node):
    """The elements of `source` in their order, in place of those at which `mask` is True."""

    saves = ("mask",)
    constants = ("", "source_sym_sizes")

    @staticmethod
    def forward(a: Tensor, mask: Tensor, source: Tensor) -> Tensor:
        x = a.array
        shape = broadcast_shape(mask.array.shape, x.shape)
        where = np.broadcast_to(mask.array, shape)
        if backend_of(x) is None or not source.array.size:
            out = np.broadcast_to(x, shape).copy()
            out[where] = source.array.reshape(-1)[:np.count_nonzero(where)]
        else:  # each element looks up its own, so that their number need not be known
            nth = np.cumsum(where.reshape(-1)).reshape(shape) - 1
            out = np.where(where, source.array.reshape(-1)[np.maximum(nth, 0)], x)
        input_metadata = None if shape == x.shape else ((x.shape, x.dtype), None)
        return record_n(MaskedScatter, out, (a, source), (mask,), (where, source.array.shape), input_metadata)

    def backward(self, xp: Any, g: Any, mask: Any, where: Any, shape: Shape) -> tuple[Any, Any]:
        own = None if self.next[0] is None else xp.masked(~mask, g)
        if self.next[1] is None:
            return own, None
        part = xp.getitem(g, where)
        return own, xp.reshape(xp.scatter(part, (slice(part.shape[0]),), (math.prod(shape),)), shape)


@op(method=True)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy of `input` with one value where `mask` is True; the two are broadcast. Raises RuntimeError if `mask` is
    not of bools, or `value` is not 0-d."""
    if isinstance(value, Tensor) and value.array.ndim:
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.array.ndim} dimension(s).")
    if mask.array.dtype.kind != "b":
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
                           f"{IN_C[mask.array.dtype.name]}")
    same_device(input.array, mask.array)
    broadcast_shape(mask.array.shape, input.array.shape)
    op = MaskedFillTensor if isinstance(value, Tensor) else MaskedFill
    return op.forward(input, mask, value)


@tensor_method
def masked_fill_(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`masked_fill`, in place."""
    broadcast_shape(input.array.shape, mask.array.shape)
    return in_place(masked_fill, input, mask, value)


@op(method=True)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements of `input` where `mask` is True, in row-major order, as a vector; the two are broadcast."""
    if mask.array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    same_device(input.array, mask.array)
    return MaskedSelect.forward(input, mask)


@op(method=True, in_place=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with the elements where `mask` is True replaced, in row-major order, by those of `source`.
    Raises RuntimeError if `source` has fewer elements than `mask` has True, or another dtype."""
    if input.array.dtype != source.array.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got"
                           f"{input.dtype.type_name} and {source.dtype.type_name}")
    if mask.array.dtype.kind != "b":
        raise RuntimeError("masked_scatter_ only supports boolean masks, but got mask with dtype "
                           f"{mask.dtype.type_name}")
    same_device(input.array, mask.array, source.array)
    shape = broadcast_shape(mask.array.shape, input.array.shape)
    if backend_of(input.array) is None and np.count_nonzero(np.broadcast_to(mask.array, shape)) > source.array.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return MaskedScatter.forward(input, mask, source)


@op(method=True)
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The indices of the non-zero elements, int64, one per row; `as_tuple`: a vector per dimension, as an index."""
    if out is not None:
        if as_tuple:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return out_argument.delivered("nonzero", out, (input,), lambda: nonzero(input))
    if as_tuple:
        refuse_batches(NO_FALLBACK.format("nonzero_numpy"), input.array)
        return unbind(record_without_grad("nonzero", intp.argwhere(np.atleast_1d(input.array)), input), 1)
    return record_without_grad("nonzero", intp.argwhere(input.array), input)


@op(method=True)
def argwhere(input: Tensor) -> Tensor:
    """`nonzero(input)`."""
    return nonzero(input)


@op(method=True)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """`nonzero` in a shape that does not depend on values: `size` rows, the missing ones filled with `fill_value`.
    Raises RuntimeError for a negative size."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = nonzero(input).array[:size]
    out = np.full((size, input.array.ndim), fill_value, np.int64, like=device_like(input.array))
    out[:len(found)] = found
    return plain(out)


@op
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat indices into a tensor of `shape` as one index tensor for each dimension. Raises TypeError if the indices are
    not of an integer dtype or the shape is neither a number nor a list or tuple, and ValueError for a negative size."""
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = [shape] if isinstance(shape, int) else [int(n) for n in shape]
    if indices.array.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    steps = [math.prod(sizes[d + 1:]) for d in range(len(sizes))]
    return tuple([plain(indices.array // max(step, 1) % n) for step, n in zip(steps, sizes, strict=True)])
