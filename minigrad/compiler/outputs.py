"""What a program gives back: results and gradients lie in new memory at each call, so that they are the caller's own.

What a backward program needs of its forward program is new memory too. Only temporaries lie in the buffer of the memory
plan, which all calls share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.compiler.program import Memory, Program, View
from minigrad.compiler.source import view
from minigrad.core import Tensor
from minigrad.core.tensor import counter_of, plain

__all__ = ["Outputs", "allocator", "outputs_of"]


class Outputs(NamedTuple):
    """`views`: what is returned, each with the place of its memory in `fresh`; `fresh`: all memory that outlives a
    call, each as a view of all of it; `allocate` makes arrays for these."""

    views: tuple[tuple[int, View], ...]
    fresh: tuple[View, ...]
    allocate: Callable[[], list[Any]]

    def tensors(self, arrays: Sequence[Any]) -> list[Tensor]:
        """The views as tensors; those of the same memory share a version counter."""
        found, first = [], dict[int, Tensor]()
        for k, each in self.views:
            tensor = plain(arrays[k] if each is self.fresh[k] else view(
                arrays[k], each.shape, each.strides, each.offset, each.dtype))
            if first.setdefault(k, tensor) is not tensor:
                tensor._version_counter = counter_of(first[k])
            found.append(tensor)
        return found


def outputs_of(program: Program, count: int, saved: Collection[Memory]) -> Outputs:
    """What a program keeps; the first `count` views are returned, and the memories that are `saved` for backward."""
    bases = {v.memory: View(v.memory, (v.memory.nbytes,), (1,), 0, np.dtype(np.uint8)) for v in program.kept}
    uses = [*program.kept, *[v for s in program.statements for v in s.uses()]]
    bases |= {v.memory: v for v in reversed(uses) if v.memory in bases and v.whole}  # else its bytes
    places = {memory: k for k, memory in enumerate(bases)}
    views = [*program.kept[:count], *[v for v in bases.values() if v.memory in saved]]
    return Outputs(tuple([(places[v.memory], v) for v in views]), tuple(bases.values()), allocator(bases.values()))


def allocator(views: Iterable[View]) -> Callable[[], list[Any]]:
    """What makes new arrays that lie as these views do, each of which shows all of its memory."""
    found = [(v.shape, v.dtype, None if v.contiguous else v.strides) for v in views]
    return lambda: [np.empty(shape, dtype) if strides is None else np.ndarray(
        shape, dtype, np.empty(math.prod(shape), dtype), 0, strides) for shape, dtype, strides in found]
