"""The pass that puts statements into loops: those over the same elements run element by element, in one loop.

A statement can be in a loop if it computes each element by itself, or adds up along dimensions. What it makes is known
at one of three levels:

- "element": for each element, when the loop is there;
- "row": for each row, once the innermost dimensions have been walked through; what needs it goes into another walk
  over the same row, which still lies in the first cache. So are normalisations and softmax;
- "late": only when the whole loop has ended, as a sum over a batch is. Others of the loop cannot read it.

Statements are taken in order. Each goes into the last loop that reads or writes what it does, if none of what it needs
comes later, and the loop makes none of it too late; else it begins a loop of its own. What nobody outside a loop reads
is never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from minigrad.compiler.layouts import memory_order
from minigrad.compiler.passes import axes_of
from minigrad.compiler.program import Asked, Formula, Memory, Program, Statement, View
from minigrad.compiler.spaces import Access, Cuts, access_of, cuts_of, joined

__all__ = ["Group", "Part", "grouped"]

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

    def refined(self, cuts: Cuts) -> Part:
        return self._replace(reads=tuple([a.refined(cuts) if isinstance(a, Access) else a for a in self.reads]),
                             write=self.write.refined(cuts))

    def within(self, row: int) -> Part:
        """A statement on one number a row, in a loop over rows."""
        return self._replace(reads=tuple([a.within(row) if isinstance(a, Access) else a for a in self.reads]),
                             write=self.write.within(row), level="row")


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
            part = part.within(row)
        cuts = joined(self.cuts, part.write.cuts)
        if cuts is None:
            return None
        if part.level == "row" and part.sums:  # it is known what a row is, or it may be said
            along = row_of(part)
            if row in (None, along):
                row = along
            else:
                part = part._replace(level="late")
        part = part.refined(cuts)
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


def row_of(part: Part) -> int:
    """The elements of a row, for a sum along rows."""
    return next(cut for cut, step in reversed(list(zip(part.write.cuts, part.write.strides))) if step == 0)


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
    elif statement.kind != "ufunc" or any(v is not None for v in statement.options.values()) or not typed(statement):
        return None
    return placed(statement, args, out, out.shape, "element")


def typed(statement: Statement) -> bool:
    """Whether a loop computes the same as NumPy: floats of one width, comparisons, and logic of bools."""
    name, out = statement.name, statement.out
    mask, args = (statement.args[0], statement.args[1:]) if name == "where" else (None, statement.args)
    if any(isinstance(a, (list, tuple, np.ndarray)) and not isinstance(a, (View, Formula)) for a in args):
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
    part = placed(statement, (x,), out, x.shape, "late")
    if part is None:
        return None
    steps = part.write.strides
    inner = next((k for k, step in enumerate(steps) if step), len(steps))
    is_row = 0 < inner < len(steps) and all(steps[inner:])
    return part._replace(level="row") if is_row else part


def placed(statement: Statement, args: Iterable[object], out: View, shape: tuple[int, ...], level: str) -> Part | None:
    """The statement with each array as an access of a space of this shape."""
    args = list(args)
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
            self.items.append(statement if part is None else Group(part.write.cuts, None, []))
            at = len(self.items) - 1
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
        found = group.fitted(part)
        if found is None:
            return False
        group.cuts, group.row, part = found
        group.parts.append(part)
        return True


def grouped(program: Program) -> Iterator[tuple[Statement | Group, set[Memory]]]:
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
    """The statements of an item."""
    return [item] if isinstance(item, Statement) else [p.statement for p in item.parts]


def asked_by(group: Group) -> Asked:
    """Who asked for a loop: all ops that have a part in it, and the line of the first."""
    ops = list(dict.fromkeys([p.statement.asked.op for p in group.parts]))
    first = group.parts[0].statement.asked
    return first._replace(op=" + ".join(ops[:4]) + (" + …" if len(ops) > 4 else ""))
