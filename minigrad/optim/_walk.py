"""How an update rule goes through the arrays of a parameter, block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.core.tensor import Tensor, counter_of
from minigrad.optim._blocks import BLOCK, Block, Scratch

__all__ = ["Walk"]

ONE = ("step", "mu_product", "eta", "mu")  # what is one number in a state, whatever the parameter's shape
HERE = (np.ndarray, np.generic)
FAST = (np.dtype("float32"), np.dtype("float64"))


class Walk:
    """A parameter and its state, but for what is one number there (`ONE`), ready to be gone through.

    Made once, it holds as long as the tensors keep their arrays. What a walk cannot do is left to the tensors' own ops:
    arrays with gaps or of another kind, other dtypes, tensors of inference mode.
    """

    def __init__(self, p: Tensor, state: dict[str, Any], scratch: Scratch) -> None:
        self.scratch, self.size = scratch, len(state)
        self.kept = [(k, v, v.array) for k, v in state.items() if isinstance(v, Tensor)]
        keys = [k for k, _, _ in self.kept if k not in ONE]
        tensors = [p, *[state[k] for k in keys]]
        self.like = p.array
        self.possible = bool(self.like.size) and all(self.can_write(t) for t in tensors)
        self.counters = [counter_of(t) for t in tensors] if self.possible else []
        self.blocks = [Block(t.array, scratch) for t in tensors]
        self.inner = {**state, **dict(zip(keys, self.blocks[1:]))}
        self.g = Block(self.like, scratch)

    def can_write(self, t: Tensor) -> bool:
        """Whether a tensor has an array that can be written to without more ado."""
        a = t.array
        plain = type(a) is np.ndarray and a.flags.c_contiguous and a.flags.writeable and a.dtype in FAST
        return plain and self.like_it(a) and (t._extras is None or not t._extras.inference)

    def like_it(self, array: Any) -> bool:
        """Whether an array has the parameter's shape and dtype."""
        like = self.like
        return isinstance(array, HERE) and array.dtype is like.dtype and array.shape == like.shape

    def stale(self, p: Tensor, state: dict[str, Any]) -> bool:
        """Whether a tensor or its array is not the one that was here before."""
        if p.array is not self.like or len(state) != self.size:
            return True
        for key, t, array in self.kept:
            if state.get(key) is not t or t.array is not array:
                return True
        return False

    def fits(self, g: Any) -> bool:
        """Whether one can go now, with this gradient; it may lie in memory in any order."""
        if not self.possible or not self.like_it(g):
            return False
        for counter in self.counters:
            if counter.before_write is not None:
                return False
        return True

    def run(self, rule: Callable[..., None], g: Any, group: dict[str, Any]) -> None:
        """Go through all blocks; each word of the rule counts as one change of a tensor, as its own ops would."""
        blocks = self.blocks
        for block in blocks:
            block.writes = 0
        self.g.array = g
        if g.nbytes <= BLOCK:
            self.scratch.begin(self.like)
            rule(blocks[0], self.g, self.inner, group)
        else:
            self.run_parts(rule, g, group)
        for counter, block in zip(self.counters, blocks):
            counter.value += block.writes

    def run_parts(self, rule: Callable[..., None], g: Any, group: dict[str, Any]) -> None:
        """One part after the other: of the arrays laid flat, or of their rows where the gradient's lie elsewhere."""
        blocks = [self.g, *self.blocks]
        arrays = [g, *[b.array for b in self.blocks]]
        parts = [a.reshape(-1) for a in arrays] if g.flags.c_contiguous else arrays
        rows = max(1, BLOCK * len(parts[0]) // g.nbytes)
        for start in range(0, len(parts[0]), rows):
            for block, part in zip(blocks, parts):
                block.array, block.writes = part[start:start + rows], 0
            self.scratch.begin(self.g.array)
            rule(self.blocks[0], self.g, self.inner, group)
        for block, array in zip(blocks, arrays):
            block.array = array
