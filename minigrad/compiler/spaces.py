"""Where a loop finds the elements of an array: spaces that are walked through, and how arrays lie in them.

A loop walks through a space of so many elements, row by row. How it is divided into dimensions is known by its cuts:
those of (16, 64, 10) are 10, 640 and 10,240, the elements that one, two and three inner dimensions hold. Two divisions
of one space have a common refinement if each cut divides the next, so that statements on (1024, 64), on (16, 64, 64)
and on 65,536 elements can share a loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from minigrad.compiler.program import Memory, View

__all__ = ["Access", "Cuts", "access_of", "cuts_of", "joined", "sizes_of"]

Cuts = tuple[int, ...]


class Access(NamedTuple):
    """The elements that a loop reads or writes: `strides` by dimension, the innermost first, and `offset`, counted in
    elements of `memory`; `cuts` say what the dimensions are."""

    memory: Memory
    cuts: Cuts
    strides: tuple[int, ...]
    offset: int
    dtype: Any

    def refined(self, cuts: Cuts) -> Access:
        """The same elements by finer dimensions."""
        strides = []
        for below in (1, *cuts[:-1]):
            k = sum(cut <= below for cut in self.cuts)  # the dimension of mine that the finer one is a part of
            start = self.cuts[k - 1] if k else 1
            strides.append(self.strides[k] * (below // start))
        return self._replace(cuts=cuts, strides=tuple(strides))

    def within(self, row: int) -> Access:
        """The elements for one number a row, seen from a loop over rows of so many elements."""
        return self._replace(cuts=(row, *[row * cut for cut in self.cuts]), strides=(0, *self.strides))

    def apart(self, other: Access) -> bool:
        """Whether it has no element in common with another one that lies like it, but elsewhere."""
        axes = sorted([(step, n) for step, n in zip(self.strides, sizes_of(self.cuts)) if step], reverse=True)
        return self.strides == other.strides and not meets(other.offset - self.offset, axes)

    @property
    def extent(self) -> int:
        """One more than the last element."""
        return 1 + self.offset + sum([(n - 1) * s for n, s in zip(sizes_of(self.cuts), self.strides)])


def meets(distance: int, axes: Sequence[tuple[int, int]]) -> bool:
    """Whether so many steps to and fro along axes (their step and number, the longest first) cover a distance."""
    if not axes:
        return distance == 0
    (step, n), *rest = axes
    reach = sum([s * (m - 1) for s, m in rest])
    least, most = -((reach - distance) // step), (distance + reach) // step
    return any(meets(distance - k * step, rest) for k in range(max(least, 1 - n), min(most, n - 1) + 1))


def sizes_of(cuts: Cuts) -> list[int]:
    """The sizes of the dimensions, the innermost first."""
    return [cut // below for below, cut in zip((1, *cuts[:-1]), cuts)]


def cuts_of(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[Cuts, list[list[int]]]:
    """The fewest dimensions that say where arrays of a shape lie, and their strides by these."""
    cuts: list[int] = []
    found: list[list[int]] = [[] for _ in strides]
    for axis in reversed(range(len(shape))):
        n, steps = shape[axis], [s[axis] for s in strides]
        if n == 1:
            continue
        below = cuts[-2] if len(cuts) > 1 else 1
        if cuts and all(step == last[-1] * (cuts[-1] // below) for step, last in zip(steps, found)):
            cuts[-1] *= n
            continue
        cuts.append(n * (cuts[-1] if cuts else 1))
        for last, step in zip(found, steps):
            last.append(step)
    return (tuple(cuts), found) if cuts else ((1,), [[0] for _ in strides])


def access_of(view: View, shape: Sequence[int]) -> tuple[list[int], int] | None:
    """The strides of a view that is broadcast to a shape, and its offset, in elements; None if it lies askew."""
    size = view.dtype.itemsize
    lead = len(shape) - len(view.shape)
    if lead < 0 or view.offset % size or view.offset < 0 or any(
            n != 1 and (s % size or s < 0) for n, s in zip(view.shape, view.strides)):
        return None
    if any(n not in (1, m) for n, m in zip(view.shape, shape[lead:])):
        return None
    return [0] * lead + [0 if n == 1 else s // size for n, s in zip(view.shape, view.strides)], view.offset // size


def joined(one: Cuts, other: Cuts) -> Cuts | None:
    """The common refinement of two divisions of one space."""
    cuts = tuple(sorted({*one, *other}))
    return None if any(b % a for a, b in itertools.pairwise(cuts)) else cuts
