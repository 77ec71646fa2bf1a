"""Runs an update rule on small blocks of the arrays, in place and in scratch memory that is reused.

An update rule (`ElementwiseOptimizer.update`) is written once, with the methods of Tensor:
`v.mul_(beta).add_((1 - beta) * g * g)`. On tensors, each operation makes a new array, and reads memory from one end to
the other. A `Block` has the same methods but is a part of an array, small enough to stay in the cache while the whole
rule runs on it. Its operators write into scratch memory, which is free again as soon as nothing holds the result: a
rule of any length needs two or three arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.core import Tensor, counter_of

BLOCK = 1 << 19  # bytes: parameter, gradient, state and results then fit into a typical L3 cache; measured
MAX_CACHED = 32  # how many shapes, or numbers, are kept
SCALAR_STATE = ("step", "mu_product", "eta", "mu")  # one number each in a state, whatever the parameter's shape
NUMPY_TYPES = (np.ndarray, np.generic)
FAST_DTYPES = (np.dtype("float32"), np.dtype("float64"))


class Numbers(dict[float, Any]):
    """Numbers as arrays without dimensions, of one dtype, which ufuncs accept faster."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __missing__(self, value: float) -> Any:
        array = self[value] = np.array(value, self.dtype)
        return array


class Scratch:
    """Memory for results, of one shape and dtype at a time, and numbers of that dtype."""

    def __init__(self) -> None:
        self.pools: dict[Any, list[Any]] = {}
        self.numbers_of: dict[str, Numbers] = {}
        self.begin(np.empty(()))

    def begin(self, like: Any) -> None:
        """Use this array's shape and dtype for all results from now on."""
        kind = like.dtype.char
        pool, numbers = self.pools.get((like.shape, kind)), self.numbers_of.get(kind)
        if pool is None:
            if len(self.pools) > MAX_CACHED:
                self.pools.clear()
            pool = self.pools[like.shape, kind] = []
        if numbers is None or len(numbers) > MAX_CACHED:
            numbers = self.numbers_of[kind] = Numbers(like.dtype)
        self.like, self.pool, self.numbers = like, pool, numbers


def operator(ufunc: Any) -> Callable[[Block, Any], Block]:
    """Make a method that returns `ufunc(self, other)` in scratch memory."""

    def method(self: Block, other: Any) -> Block:
        result = Result(self.scratch)
        ufunc(self.array, other.array if isinstance(other, Block) else self.scratch.numbers[other], result.array)
        return result

    return method


def function(ufunc: Any) -> Callable[[Block], Block]:
    """Make a method that returns `ufunc(self)` in scratch memory."""

    def method(self: Block) -> Block:
        result = Result(self.scratch)
        ufunc(self.array, result.array)
        return result

    return method


def in_place(ufunc: Any) -> Callable[[Block, Any], Block]:
    """Make a method that sets `self` to `ufunc(self, other)`."""

    def method(self: Block, other: Any) -> Block:
        ufunc(self.array, other.array if isinstance(other, Block) else self.scratch.numbers[other], out=self.array)
        self.writes += 1
        return self

    return method


class Block:
    """A part of an array; `writes` counts the operations that have changed it."""

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
        """Return the elementwise maximum. Not an `operator`: NumPy wants this output by name."""
        result = Result(self.scratch)
        np.maximum(self.array, other.array, out=result.array)
        return result

    def masked_fill(self, mask: Any, value: float) -> Block:
        return self.clone().masked_fill_(mask, value)

    # masks: new arrays of bools
    def gt(self, other: float) -> Any:
        return self.array > other

    def lt(self, other: float) -> Any:
        return self.array < other

    def eq(self, other: float) -> Any:
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
        difference = end - self
        if weight < 0.5:
            return self.plus_(difference.mul_(weight))
        np.subtract(end.array, difference.mul_(1 - weight).array, self.array)
        self.writes += 1
        return self

    def copy_(self, other: Block) -> Block:
        self.array[...] = other.array
        self.writes += 1
        return self

    def clamp_(self, low: float, high: float) -> Block:
        np.maximum(self.array, low, out=self.array)
        np.minimum(self.array, high, out=self.array)
        self.writes += 1
        return self

    def masked_fill_(self, mask: Any, value: float) -> Block:
        np.copyto(self.array, value, where=mask)
        self.writes += 1
        return self


class Result(Block):
    """A block in scratch memory, which becomes free when the block is deleted."""

    __slots__ = ("pool",)

    def __init__(self, scratch: Scratch) -> None:
        pool = scratch.pool
        self.array = pool.pop() if pool else np.empty_like(scratch.like)
        self.scratch, self.writes = scratch, 0
        self.pool = pool

    def __del__(self) -> None:
        if hasattr(self, "pool"):  # an interrupt may have ended `__init__`
            self.pool.append(self.array)


class BlockwiseUpdate:
    """Runs an update rule on a parameter and its state, block by block; `SCALAR_STATE` is the same for all blocks.

    It can be reused as long as the tensors keep their arrays. It does not handle arrays with gaps or of another type,
    other dtypes, or tensors of inference mode: for these the rule runs on the tensors themselves.
    """

    def __init__(self, p: Tensor, state: dict[str, Any], scratch: Scratch) -> None:
        self.scratch, self.size = scratch, len(state)
        self.tensors = [(k, v, v.array) for k, v in state.items() if isinstance(v, Tensor)]
        keys = [k for k, _, _ in self.tensors if k not in SCALAR_STATE]
        changed = [p, *[state[k] for k in keys]]
        self.like = p.array
        self.possible = bool(self.like.size) and all(self.can_write(t) for t in changed)
        self.counters = [counter_of(t) for t in changed] if self.possible else []
        self.blocks = [Block(t.array, scratch) for t in changed]
        self.block_state = {**state, **dict(zip(keys, self.blocks[1:]))}
        self.grad = Block(self.like, scratch)

    def can_write(self, t: Tensor) -> bool:
        """Return whether the rule can write to a tensor's array directly."""
        a = t.array
        simple = type(a) is np.ndarray and a.flags.c_contiguous and a.flags.writeable and a.dtype in FAST_DTYPES
        return simple and self.is_like_parameter(a) and (t._extras is None or not t._extras.inference)

    def is_like_parameter(self, array: Any) -> bool:
        """Return whether an array has the parameter's shape and dtype."""
        like = self.like
        return isinstance(array, NUMPY_TYPES) and array.dtype is like.dtype and array.shape == like.shape

    def stale(self, p: Tensor, state: dict[str, Any]) -> bool:
        """Return whether a tensor or its array has been replaced since."""
        if p.array is not self.like or len(state) != self.size:
            return True
        for key, t, array in self.tensors:
            if state.get(key) is not t or t.array is not array:
                return True
        return False

    def can_run(self, g: Any) -> bool:
        """Return whether it can run now with this gradient, whose memory may be in any order."""
        if not self.possible or not self.is_like_parameter(g):
            return False
        for counter in self.counters:
            if counter.before_write is not None:
                return False
        return True

    def run(self, rule: Callable[..., None], g: Any, group: dict[str, Any]) -> None:
        """Run the rule on all blocks; each of its operations counts as one change of a tensor, as on tensors."""
        blocks = self.blocks
        for block in blocks:
            block.writes = 0
        self.grad.array = g
        if g.nbytes <= BLOCK:
            self.scratch.begin(self.like)
            rule(blocks[0], self.grad, self.block_state, group)
        else:
            self.run_parts(rule, g, group)
        for counter, block in zip(self.counters, blocks):
            counter.value += block.writes

    def run_parts(self, rule: Callable[..., None], g: Any, group: dict[str, Any]) -> None:
        """Run the rule on parts of the flattened arrays, or of their rows if the gradient is not contiguous."""
        blocks = [self.grad, *self.blocks]
        arrays = [g, *[b.array for b in self.blocks]]
        parts = [a.reshape(-1) for a in arrays] if g.flags.c_contiguous else arrays
        rows = max(1, BLOCK * len(parts[0]) // g.nbytes)
        for start in range(0, len(parts[0]), rows):
            for block, part in zip(blocks, parts):
                block.array, block.writes = part[start:start + rows], 0
            self.scratch.begin(self.grad.array)
            rule(self.blocks[0], self.grad, self.block_state, group)
        for block, array in zip(blocks, arrays):
            block.array = array
