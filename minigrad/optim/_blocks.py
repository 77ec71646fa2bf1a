"""Arrays with the words of tensors: what an update rule computes on where nothing has to be noted.

An update rule (`Updating.update`) is written once, in words of Tensor: `v.mul_(beta).add_((1 - beta) * g * g)`. Run on
tensors, each word makes a new array, and reads memory from one end to the other. A `Block` is a part of an array, small
enough to stay in the cache while the whole rule runs on it, and its results go into scratch memory that is kept from
step to step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["BLOCK", "Block", "Scratch"]

BLOCK = 1 << 13  # elements: with those of gradient, state and results they fill no more than half of a usual L2 cache


class Scratch:
    """Memory for results: `begin` says what they look like, `take` gives the next one, until it begins again."""

    def __init__(self) -> None:
        self.flat: dict[Any, list[Any]] = {}
        self.kept: dict[Any, list[Block]] = {}
        self.blocks: list[Block] = []
        self.used = 0
        self.like: Any = None

    def begin(self, like: Any) -> None:
        """From now on results are of this array's shape and dtype; all that were given before are free again."""
        self.blocks = self.kept.setdefault((like.shape, like.dtype.char), [])
        self.used, self.like = 0, like

    def take(self) -> Block:
        """One more result."""
        used = self.used
        if used == len(self.blocks):
            self.blocks.append(Block(self.memory(used, self.like.dtype), self))
        self.used = used + 1
        return self.blocks[used]

    def memory(self, index: int, dtype: Any) -> Any:
        """A part of the memory with this number, which blocks of all shapes share."""
        flat = self.flat.setdefault(dtype.char, [])
        size = self.like.size
        while len(flat) <= index:
            flat.append(np.empty(max(size, BLOCK), dtype))
        if len(flat[index]) < size:
            flat[index] = np.empty(size, dtype)
        return flat[index][:size].reshape(self.like.shape)


def plain_of(value: Any) -> Any:
    """The array of a block; a number as it is."""
    return value.array if type(value) is Block else value


class Block:
    """A part of an array; `writes` counts the words that have changed it."""

    __slots__ = ("array", "scratch", "writes")

    def __init__(self, array: Any, scratch: Scratch) -> None:
        self.array, self.scratch, self.writes = array, scratch, 0

    # into scratch memory
    def __add__(self, other: Any) -> Block:
        made = self.scratch.take()
        np.add(self.array, plain_of(other), made.array)
        return made

    def __sub__(self, other: Any) -> Block:
        made = self.scratch.take()
        np.subtract(self.array, plain_of(other), made.array)
        return made

    def __mul__(self, other: Any) -> Block:
        made = self.scratch.take()
        np.multiply(self.array, plain_of(other), made.array)
        return made

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Block:
        made = self.scratch.take()
        np.divide(self.array, plain_of(other), made.array)
        return made

    def __neg__(self) -> Block:
        made = self.scratch.take()
        np.negative(self.array, made.array)
        return made

    def sqrt(self) -> Block:
        """The square root."""
        made = self.scratch.take()
        np.sqrt(self.array, made.array)
        return made

    def abs(self) -> Block:
        """The absolute value."""
        made = self.scratch.take()
        np.abs(self.array, made.array)
        return made

    def sign(self) -> Block:
        """-1, 0 or 1."""
        made = self.scratch.take()
        np.sign(self.array, made.array)
        return made

    def maximum(self, other: Block) -> Block:
        """The greater one."""
        made = self.scratch.take()
        np.maximum(self.array, other.array, made.array)
        return made

    # masks: new arrays of bools
    def gt(self, other: float) -> Any:
        """Where it is greater than a number."""
        return self.array > other

    def lt(self, other: float) -> Any:
        """Where it is less."""
        return self.array < other

    def eq(self, other: float) -> Any:
        """Where it is equal."""
        return self.array == other

    def masked_fill(self, mask: Any, value: float) -> Block:
        """`value` where `mask`, else what is here."""
        return self.scratch.take().copy_(self).masked_fill_(mask, value)

    # in place
    def add_(self, other: Any, alpha: float = 1) -> Block:
        """`self += alpha * other`."""
        return self.wrote(np.add, other if alpha == 1 else alpha * other)

    def sub_(self, other: Any) -> Block:
        """`self -= other`."""
        return self.wrote(np.subtract, other)

    def mul_(self, other: Any) -> Block:
        """`self *= other`."""
        return self.wrote(np.multiply, other)

    def div_(self, other: Any) -> Block:
        """`self /= other`."""
        return self.wrote(np.divide, other)

    def wrote(self, ufunc: Any, other: Any) -> Block:
        """`self = ufunc(self, other)`."""
        ufunc(self.array, plain_of(other), self.array)
        self.writes += 1
        return self

    def lerp_(self, end: Block, weight: float) -> Block:
        """`self += weight * (end - self)`, as exact as `Tensor.lerp_`."""
        way = self.scratch.take().array
        np.subtract(end.array, self.array, way)
        if weight < 0.5:
            np.multiply(way, weight, way)
            np.add(self.array, way, self.array)
        else:
            np.multiply(way, 1 - weight, way)
            np.subtract(end.array, way, self.array)
        self.writes += 1
        return self

    def copy_(self, other: Block) -> Block:
        """The values of another one."""
        self.array[...] = other.array
        self.writes += 1
        return self

    def clamp_(self, low: float, high: float) -> Block:
        """Not below `low` and not above `high`."""
        np.maximum(self.array, low, self.array)
        np.minimum(self.array, high, self.array)
        self.writes += 1
        return self

    def masked_fill_(self, mask: Any, value: float) -> Block:
        """`value` where `mask`."""
        np.copyto(self.array, value, where=mask)
        self.writes += 1
        return self
