"""Arrays with the words of tensors: what an update rule computes on where nothing has to be noted.

An update rule (`Updating.update`) is written once, in words of Tensor: `v.mul_(beta).add_((1 - beta) * g * g)`. Run on
tensors, each word makes a new array, and reads memory from one end to the other. A `Block` is a part of an array, small
enough to stay in the cache while the whole rule runs on it. What its operators give is kept in scratch memory, which
goes back to the pile as soon as nobody holds the result: a rule of any length needs two or three pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["BLOCK", "Block", "Scratch"]

BLOCK = 1 << 19  # bytes: parameter, gradient, state and results then fit into a usual L3 cache; measured
MANY = 32  # shapes, or numbers, that are remembered


class Numbers(dict[float, Any]):
    """Numbers as arrays without dimensions, of one dtype: ufuncs take them up faster."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __missing__(self, value: float) -> Any:
        made = self[value] = np.array(value, self.dtype)
        return made


class Scratch:
    """Memory for results, of one shape and dtype at a time, and numbers of that dtype."""

    def __init__(self) -> None:
        self.piles: dict[Any, list[Any]] = {}
        self.numbers_of: dict[str, Numbers] = {}
        self.begin(np.empty(()))

    def begin(self, like: Any) -> None:
        """From now on results are of this array's shape and dtype."""
        kind = like.dtype.char
        pile, numbers = self.piles.get((like.shape, kind)), self.numbers_of.get(kind)
        if pile is None:
            if len(self.piles) > MANY:
                self.piles.clear()
            pile = self.piles[like.shape, kind] = []
        if numbers is None or len(numbers) > MANY:
            numbers = self.numbers_of[kind] = Numbers(like.dtype)
        self.like, self.pile, self.numbers = like, pile, numbers


def operator(ufunc: Any) -> Callable[[Block, Any], Block]:
    """A method that gives `ufunc(self, other)` in scratch memory."""

    def method(self: Block, other: Any) -> Block:
        result = Result(self.scratch)
        ufunc(self.array, other.array if isinstance(other, Block) else self.scratch.numbers[other], result.array)
        return result

    return method


def function(ufunc: Any) -> Callable[[Block], Block]:
    """A method that gives `ufunc(self)` in scratch memory."""

    def method(self: Block) -> Block:
        result = Result(self.scratch)
        ufunc(self.array, result.array)
        return result

    return method


def in_place(ufunc: Any) -> Callable[[Block, Any], Block]:
    """A method that makes `self` what `ufunc(self, other)` is."""

    def method(self: Block, other: Any) -> Block:
        ufunc(self.array, other.array if isinstance(other, Block) else self.scratch.numbers[other], out=self.array)
        self.writes += 1
        return self

    return method


class Block:
    """A part of an array; `writes` counts the words that have changed it."""

    __slots__ = ("array", "scratch", "writes")

    def __init__(self, array: Any, scratch: Scratch) -> None:
        self.array, self.scratch, self.writes = array, scratch, 0

    # into scratch memory
    __add__ = operator(np.add)
    __sub__ = operator(np.subtract)
    __mul__ = __rmul__ = operator(np.multiply)
    __truediv__ = operator(np.divide)
    __neg__ = function(np.negative)
    sqrt = function(np.sqrt)
    abs = function(np.abs)
    sign = function(np.sign)
    clone = function(np.positive)

    def maximum(self, other: Block) -> Block:
        """The greater one."""
        result = Result(self.scratch)
        np.maximum(self.array, other.array, out=result.array)
        return result

    def masked_fill(self, mask: Any, value: float) -> Block:
        """`value` where `mask`, else what is here."""
        return self.clone().masked_fill_(mask, value)

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

    # in place
    sub_ = in_place(np.subtract)
    mul_ = in_place(np.multiply)
    plus_ = in_place(np.add)

    def add_(self, other: Any, alpha: float = 1) -> Block:
        """`self += alpha * other`."""
        return self.plus_(other if alpha == 1 else alpha * other)

    def lerp_(self, end: Block, weight: float) -> Block:
        """`self += weight * (end - self)`, as exact as `Tensor.lerp_`."""
        way = end - self
        if weight < 0.5:
            return self.plus_(way.mul_(weight))
        np.subtract(end.array, way.mul_(1 - weight).array, self.array)
        self.writes += 1
        return self

    def copy_(self, other: Block) -> Block:
        """The values of another one."""
        self.array[...] = other.array
        self.writes += 1
        return self

    def fill_(self, value: float) -> Block:
        """One value."""
        self.array[...] = value
        self.writes += 1
        return self

    def clamp_(self, low: float, high: float) -> Block:
        """Not below `low` and not above `high`."""
        np.maximum(self.array, low, out=self.array)
        np.minimum(self.array, high, out=self.array)
        self.writes += 1
        return self

    def masked_fill_(self, mask: Any, value: float) -> Block:
        """`value` where `mask`."""
        np.copyto(self.array, value, where=mask)
        self.writes += 1
        return self


class Result(Block):
    """A block of scratch memory, which takes it back when this is gone."""

    __slots__ = ("pile",)

    def __init__(self, scratch: Scratch) -> None:
        pile = self.pile = scratch.pile
        self.array = pile.pop() if pile else np.empty_like(scratch.like)
        self.scratch, self.writes = scratch, 0

    def __del__(self) -> None:
        self.pile.append(self.array)
