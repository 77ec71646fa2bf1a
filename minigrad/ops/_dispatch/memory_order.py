"""Chooses the order of a result's dimensions in memory, as PyTorch's TensorIterator does.

The order is visible: an elementwise result of transposed inputs has transposed strides, and random numbers fill
memory in the order of its addresses.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad._base.device import contiguous_format, memory_format


def memory_order(shape: Sequence[int], *strides: Sequence[int]) -> list[int]:
    """The dimensions of an elementwise result, the outermost in memory first.

    A dimension comes before another if its stride is larger in the first operand that distinguishes the two. A stride
    of 0 belongs to an expanded dimension and does not distinguish; dimensions of the same stride are compared by size.
    """
    def compared(a: int, b: int) -> int:
        for operand in strides:
            own, other = (operand[a], shape[a]), (operand[b], shape[b])
            if own[0] and other[0]:
                if own > other:
                    return 1
                if own[0] < other[0]:
                    return -1
        return 0

    inner_first = list(reversed(range(len(shape))))
    for at in range(1, len(shape)):
        for before in reversed(range(at)):
            order = compared(inner_first[before], inner_first[at])
            if order > 0:
                inner_first[before], inner_first[at] = inner_first[at], inner_first[before]
                at = before
            elif order < 0:
                break
    return inner_first[::-1]


def in_order_of_first(shape: Sequence[int], x: Any, *others: Any) -> list[Any]:
    """The other operands of an elementwise op, copied if necessary into the order that its result has in PyTorch: the
    first operand that distinguishes two dimensions decides. NumPy prefers rows first once one operand has them so."""
    steps = [[0] * (len(shape) - v.ndim) + [s if n == full else 0 for s, n, full in
                                            zip(v.strides, v.shape, shape[len(shape) - v.ndim:], strict=True)]
             for v in (x, *others)]
    axes = memory_order(shape, *steps)
    results = []
    for v in others:
        own = [axis - len(shape) + v.ndim for axis in axes if axis >= len(shape) - v.ndim]
        results.append(laid_out(v, own))
    return results


def laid_out(x: Any, axes: list[int]) -> Any:
    """`x` with its dimensions in this order in memory, the outermost first, without gaps; copied if necessary."""
    turned = x.transpose(axes)
    if turned.flags.c_contiguous and 1 not in x.shape:
        return x
    return turned.reshape(-1).reshape(turned.shape).transpose(inverse(axes))  # dimensions of size 1 get strides as well


def in_order_of(y: Any, x: Any) -> Any:
    """`y`, of the shape of `x`, contiguous in memory and in the order of `x`; copied if necessary."""
    return row_by_row(y) if x.flags.c_contiguous else laid_out(y, memory_order(x.shape, x.strides))


def inverse(axes: list[int]) -> list[int]:
    """The order of dimensions that undoes another."""
    return sorted(range(len(axes)), key=axes.__getitem__)


def strides_of(x: Any) -> list[int]:
    """The strides of an array, in elements: PyTorch's where NumPy's are 0 without repeating an element."""
    steps, after = [s // x.itemsize for s in x.strides], 1
    for i in reversed(range(x.ndim)):
        if steps[i] == 0 and (x.shape[i] == 1 or x.size == 0):  # NumPy gives new empty arrays strides of 0
            steps[i] = after
        after = steps[i] * max(x.shape[i], 1)
    return steps


def suggests_channels_last(x: Any) -> bool:
    """Whether the strides of (N, C, H, W) or (N, C, D, H, W) say that the channels are the innermost dimension.

    Where sizes of 1 leave it open, the answer is that of PyTorch's `suggest_memory_format`.
    """
    if x.ndim not in (4, 5) or x.strides[1] > x.strides[-1]:
        return False
    strides, least = strides_of(x), 0
    if strides[1] == 0 or 0 in x.shape:
        return False
    for dim in (1, *range(x.ndim - 1, 1, -1), 0):
        if strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * x.shape[dim]
    return True


def row_by_row(x: Any) -> Any:
    """The array itself if it is row-major and contiguous, otherwise a copy that is."""
    return x if x.flags.c_contiguous else np.ascontiguousarray(x, like=x)


def in_format_of(y: Any, *inputs: Any) -> Any:
    """`y` in the memory format that one of the inputs suggests: channels last, or row by row; copied if necessary."""
    if not any(map(suggests_channels_last, inputs)):
        return row_by_row(y)
    last = (0, *range(2, y.ndim), 1)
    return y.transpose(last).copy("C").transpose(inverse([*last]))


def in_format(x: Any, format: memory_format | None) -> Any:
    """`x` with its memory in a format, copied if necessary; None and `preserve_format` return it unchanged. Raises
    RuntimeError if its number of dimensions is not the format's."""
    order = None if format is None else format.order
    if order is None or format is None:
        return row_by_row(x) if format is contiguous_format else x
    if x.ndim != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {format.name} format")
    return x.transpose(order).copy("C").transpose(inverse([*order]))


def in_dense_order(make: Callable[[Any], Any], x: Any) -> Any:
    """What `make(x)` returns, contiguous and in the memory order of `x`; `make` keeps the order where `x` has one.

    An expanded dimension has no position in that order: NumPy puts it last, PyTorch leaves it where it is.
    """
    if 0 not in x.strides or x.ndim < 2:
        return make(x)
    axes = memory_order(x.shape, x.strides)
    return row_by_row(make(x.transpose(axes))).transpose(inverse(axes))


def in_memory_order(x: Any, draw: Callable[[tuple[int, ...]], Any]) -> Any:
    """An array of the shape of `x`, its elements drawn in the order in which those of `x` lie in memory."""
    if x.flags.c_contiguous:
        return draw(x.shape)
    axes = memory_order(x.shape, x.strides)
    return draw(tuple([x.shape[axis] for axis in axes])).transpose(inverse(axes))
