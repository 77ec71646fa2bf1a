"""Puts statements into loops: those over the same elements run element by element, in one loop.

A statement can be in a loop if it computes each element by itself, or adds up along dimensions. What it makes is known
at one of three levels:

- "element": for each element, when the loop is there;
- "row": for each row, once the innermost dimensions have been walked through; what needs it goes into another walk
  over the same row, which still lies in the first cache. So are normalisations and softmax;
- "late": only when the whole loop has ended, as a sum over a batch is. Others of the loop cannot read it.

Statements are taken in order. Each goes into the last loop that reads or writes what it does, if none of what it needs
comes later, and the loop makes none of it too late; else it begins a loop of its own. What nobody outside a loop reads
is never written.

A loop walks through a space of so many elements, row by row. How it is divided into dimensions is known by its cuts:
those of (16, 64, 10) are 10, 640 and 10,240, the elements that one, two and three inner dimensions hold. Two divisions
of one space have a common refinement if each cut divides the next, so that statements on (1024, 64), on (16, 64, 64)
and on 65,536 elements can share a loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from minigrad.compiler.program.passes import axes_of, memory_order
from minigrad.compiler.program.statements import Asked, Formula, Memory, Program, Statement, View

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


ARITHMETIC = {"add", "subtract", "multiply", "divide", "maximum", "minimum", "negative", "square", "sqrt", "exp",
              "tanh", "log", "absolute"}
COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
LOGIC = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "logical_and", "logical_or", "logical_not"}
SUMS = {"add.reduce": 0.0, "maximum.reduce": -np.inf, "minimum.reduce": np.inf}
MOST = 48  # statements in a loop: what is longer takes long to compile
MOST_ARRAYS = 24


class Part(NamedTuple):
    """A statement in a loop: what it reads (numbers as they are), and what it writes."""

    statement: Statement
    reads: tuple[Any, ...]
    write: Access
    level: str

    @property
    def accesses(self) -> list[Access]:
        return [a for a in self.reads if isinstance(a, Access)]

    @property
    def sums(self) -> bool:
        return self.statement.kind == "reduce"

    def on(self, change: Callable[[Access], Access]) -> Part:
        """The same on other elements."""
        return self._replace(reads=tuple([change(a) if isinstance(a, Access) else a for a in self.reads]),
                             write=change(self.write))


@dataclass
class Group:
    """Statements in one loop. `row`: how many elements are a row, if something is known by row."""

    cuts: Cuts
    row: int | None = None
    parts: list[Part] = field(default_factory=list)

    def touched(self) -> set[Memory]:
        """What it reads or writes, single numbers apart."""
        return {a.memory for p in self.parts for a in (*p.accesses, p.write) if a.memory.nbytes > 8}

    def fitted(self, part: Part) -> tuple[Cuts, int | None, Part] | None:
        """How a statement would be in this loop: dimensions, rows, and itself; None if it cannot be."""
        row = self.row
        if part.write.cuts[-1] != self.cuts[-1]:
            if row is None or part.sums or part.write.cuts[-1] * row != self.cuts[-1]:
                return None
            length = row  # one number a row
            part = part.on(lambda access: access.within(length))._replace(level="row")
        cuts = tuple(sorted({*self.cuts, *part.write.cuts}))  # the common refinement, if there is one
        if any(b % a for a, b in itertools.pairwise(cuts)):
            return None
        if part.level == "row" and part.sums:  # it is known what a row is, or it may be said
            along = next(cut for cut, step in reversed(list(zip(part.write.cuts, part.write.strides))) if step == 0)
            if row in (None, along):
                row = along
            else:
                part = part._replace(level="late")
        part = part.on(lambda access: access.refined(cuts))
        return (cuts, row, part) if self.readable(part, cuts) and self.writable(part, cuts) else None

    def readable(self, part: Part, cuts: Cuts) -> bool:
        """Whether what the statement reads is there when it runs."""
        reads_row = False
        for access in part.accesses:
            for other in self.parts:
                if other.write.memory is access.memory:
                    if other.level == "late" or other.write.refined(cuts) != access:
                        return False
                    if part.level == "row" and not part.sums and other.level != "row":
                        return False
                    reads_row = reads_row or other.level == "row"
        return part.level != "row" or part.sums or reads_row

    def writable(self, part: Part, cuts: Cuts) -> bool:
        """Whether those before it in the loop have done what they do with the memory that it writes."""
        for other in self.parts:
            for access in (*other.accesses, other.write):
                if access.memory is part.write.memory and (
                        not part.level == other.level == "element" or access.refined(cuts) != part.write) and not (
                        access.refined(cuts).apart(part.write)):
                    return False
        return True


def part_of(statement: Statement) -> Part | None:
    """A statement as it would be in a loop; None if it cannot be in one."""
    name, out, args = statement.name, statement.out, statement.args
    if statement.updates or len(statement.outs) > 1 or out.dtype.kind not in "fb" or out.size < 2 and name not in SUMS:
        return None
    if name in SUMS:
        return sum_of(statement)
    if statement.kind == "copy":
        if not isinstance(args[0], View) or args[0].shape != out.shape or args[0].dtype.kind not in "fb":
            return None
    elif statement.kind != "ufunc" or not as_in_numpy(statement):
        return None
    return part_in(statement, args, out, out.shape, "element")


def as_in_numpy(statement: Statement) -> bool:
    """Whether a loop computes the same as NumPy: floats of one width, comparisons, and logic of bools."""
    name, out = statement.name, statement.out
    mask, args = (statement.args[0], statement.args[1:]) if name == "where" else (None, statement.args)
    if any(v is not None for v in statement.options.values()) or any(
            isinstance(a, (list, tuple, np.ndarray)) and not isinstance(a, (View, Formula)) for a in args):
        return False
    dtypes: set[Any] = {a.dtype for a in args if isinstance(a, (View, np.generic))}
    if name == "where":
        return isinstance(mask, View) and mask.dtype == np.bool_ and out.dtype.kind == "f" and dtypes <= {out.dtype}
    if name in ARITHMETIC:
        return out.dtype.kind == "f" and dtypes == {out.dtype}
    if name in COMPARISONS:
        return out.dtype == np.bool_ and len(dtypes) == 1 and next(iter(dtypes)).kind in "fi"
    return name in LOGIC and dtypes == {out.dtype} == {np.dtype(np.bool_)}


def sum_of(statement: Statement) -> Part | None:
    """A sum, or a maximum, along dimensions."""
    x, out = statement.args[0], statement.out
    axes = axes_of(statement, x) if isinstance(x, View) else None
    if axes is None or x.size < 2 or x.dtype != out.dtype or x.dtype.kind != "f" or not out.whole:
        return None
    shape = [1 if k in axes else n for k, n in enumerate(x.shape)]
    if len(out.shape) != len(shape):
        kept = iter(out.strides)
        strides = [0 if k in axes else next(kept) for k in range(len(shape))]
        out = out._replace(shape=tuple(shape), strides=tuple(strides))
    part = part_in(statement, (x,), out, x.shape, "late")
    if part is None:
        return None
    steps = part.write.strides
    inner = next((k for k, step in enumerate(steps) if step), len(steps))
    is_row = 0 < inner < len(steps) and all(steps[inner:])
    return part._replace(level="row") if is_row else part


def part_in(statement: Statement, args: Sequence[object], out: View, shape: Sequence[int], level: str) -> Part | None:
    """The statement with each array as an access of a space of this shape."""
    views = [*[a for a in args if isinstance(a, View)], out]
    found = [access_of(v, shape) for v in views]
    if any(f is None for f in found) or any(v.dtype.itemsize == 2 for v in views):
        return None
    order = memory_order(out if level == "element" else views[0])
    cuts, strides = cuts_of([shape[k] for k in order], [[f[0][k] for k in order] for f in found if f is not None])
    accesses = iter([Access(v.memory, cuts, tuple(s), f[1], v.dtype) for v, s, f in zip(views, strides, found) if f])
    reads = tuple([next(accesses) if isinstance(a, View) else a for a in args])
    return Part(statement, reads, next(accesses), level)


class Grouping:
    """The statements of a program as they go into loops, in order."""

    def __init__(self, program: Program) -> None:
        self.items: list[Statement | Group] = []
        self.written: dict[Memory, int] = {}  # the number of the last item that writes a memory
        self.read: dict[Memory, int] = {}  # that of the last item that reads it
        self.kept = {v.memory for v in program.kept}
        self.may_fail = -1
        self.recomputes, self.recomputation = False, 0  # the number of the item with which a recomputation begins
        for statement in program.statements:
            self.add(statement)

    def add(self, statement: Statement) -> None:
        if statement.recomputed and not self.recomputes:
            self.recomputation = len(self.items)
        self.recomputes = statement.recomputed
        part = part_of(statement)
        at = None if part is None else self.joins(part)
        if at is None:
            at = len(self.items)
            self.items.append(statement if part is None else Group(part.write.cuts))
            if part is not None:
                self.put(at, part)
        if statement.kind in ("call", "draw", "state"):
            self.may_fail = at
        for view in statement.reads():
            self.read[view.memory] = max(at, self.read.get(view.memory, -1))
        for view in statement.outs:
            self.written[view.memory] = max(at, self.written.get(view.memory, -1))

    def joins(self, part: Part) -> int | None:
        """Put a statement into a loop that there is already; the number of that."""
        memory = part.write.memory
        earliest = max([self.written.get(a.memory, -1) for a in (*part.accesses, part.write)])
        earliest = max(earliest, self.read.get(memory, -1), 0)
        if memory.kind != "temporary" or memory in self.kept:  # what others see is not written before what may fail
            earliest = max(earliest, self.may_fail)
        if self.recomputes:  # what is computed earlier than that is kept in memory until it is needed
            earliest = max(earliest, self.recomputation)
        wanted = {a.memory for a in (*part.accesses, part.write)}
        for at in range(len(self.items) - 1, earliest - 1, -1):
            group = self.items[at]
            if isinstance(group, Group) and len(group.parts) < MOST and wanted & group.touched() and len(
                    group.touched() | wanted) <= MOST_ARRAYS and self.put(at, part):
                return at
        return None

    def put(self, at: int, part: Part) -> bool:
        group = self.items[at]
        assert isinstance(group, Group)
        if found := group.fitted(part):
            group.cuts, group.row, part = found
            group.parts.append(part)
        return found is not None


def loop_groups(program: Program) -> Iterator[tuple[Statement | Group, set[Memory]]]:
    """The statements and loops of a program, in order; with each loop what others read of what it writes. What would be
    alone in a loop is left to NumPy."""
    grouping = Grouping(program)
    readers: dict[Memory, set[int]] = {}
    for i, item in enumerate(grouping.items):
        for statement in statements_of(item):
            for view in statement.reads():
                readers.setdefault(view.memory, set()).add(i)
    for i, item in enumerate(grouping.items):
        if isinstance(item, Group) and len(item.parts) > 1:
            yield item, {p.write.memory for p in item.parts if p.write.memory.kind != "temporary"
                         or p.write.memory in grouping.kept or readers.get(p.write.memory, set()) - {i}}
        else:
            for statement in statements_of(item):
                yield statement, set()


def statements_of(item: Statement | Group) -> list[Statement]:
    return [item] if isinstance(item, Statement) else [p.statement for p in item.parts]


def asked_by(group: Group) -> Asked:
    """Who asked for a loop: all ops that have a part in it, and the line of the first."""
    ops = list(dict.fromkeys([p.statement.asked.op for p in group.parts]))
    first = group.parts[0].statement.asked
    return first._replace(op=" + ".join(ops[:4]) + (" + …" if len(ops) > 4 else ""))
