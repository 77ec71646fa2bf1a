"""The order in which the dimensions of a result lie in memory, as PyTorch's TensorIterator chooses it.

You need it where the order shows: an elementwise result of transposed inputs has transposed strides, and random
numbers fill memory in the order of its addresses.
"""

from collections.abc import Callable, Sequence
from typing import Any


def memory_order(shape: Sequence[int], *strides: Sequence[int]) -> list[int]:
    """The dimensions of an elementwise result, the outermost in memory first.

    A dimension comes before another if its stride is larger in the first operand that tells the two apart. A stride of
    0 belongs to an expanded dimension and tells nothing; dimensions of the same stride are compared by size.
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


def inverse(axes: list[int]) -> list[int]:
    """The order of dimensions that undoes another."""
    return sorted(range(len(axes)), key=axes.__getitem__)


def in_memory_order(x: Any, draw: Callable[[tuple[int, ...]], Any]) -> Any:
    """An array of the shape of `x`, its elements drawn in the order in which those of `x` lie in memory."""
    if x.flags.c_contiguous:
        return draw(x.shape)
    axes = memory_order(x.shape, x.strides)
    return draw(tuple([x.shape[axis] for axis in axes])).transpose(inverse(axes))
