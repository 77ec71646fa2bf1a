"""The memory plan: where each temporary lies, and from which statement to which."""

from __future__ import annotations

from typing import NamedTuple

from minigrad.compiler.program import Memory, Program, Statement

__all__ = ["ALIGNED", "Held", "Plan", "planned"]

ALIGNED = 64  # bytes of a cache line


class Held(NamedTuple):
    """A temporary in the buffer of a plan: it is needed from statement `first` to statement `last`."""

    memory: Memory
    offset: int
    first: int
    last: int


class Plan(NamedTuple):
    """Where temporaries lie in one buffer of `size` bytes; `apart`: the bytes that they would take each by itself."""

    held: tuple[Held, ...]
    size: int
    apart: int

    def picture(self) -> str:
        """One line for each temporary: its bytes in the buffer, and a bar over the statements that need it."""
        end = max([h.last for h in self.held], default=0) + 1
        scale = max(1, -(-end // 72))
        column = "one statement" if scale == 1 else f"{scale} statements"
        lines = [f"{self.size:,} bytes hold what would take {self.apart:,}; a column is {column}"]
        for held in sorted(self.held, key=lambda h: (h.offset, h.first)):
            bar = " " * (held.first // scale) + "█" * (held.last // scale - held.first // scale + 1)
            lines.append(f"{held.offset:>10,} +{held.memory.nbytes:<9,} {held.memory!r:<6} {bar}".rstrip())
        return "\n".join(lines)


def rounded(nbytes: int) -> int:
    return max(ALIGNED, -(-nbytes // ALIGNED) * ALIGNED)


def in_place(statement: Statement, memory: Memory) -> bool:
    """Whether a function of elements may write where it reads an operand: each element lies where its result will."""
    out = statement.out
    read = [v for v in statement.reads() if v.memory is memory]
    return statement.kind == "ufunc" and len(statement.outs) == 1 and out.whole and all(
        v.shape == out.shape and v.strides == out.strides and v.dtype.itemsize == out.dtype.itemsize and v.whole
        for v in read)


def planned(program: Program) -> Plan:
    """A place for each temporary: the smallest gap that is large enough, of those who are not needed any more.

    What is kept after the step has memory of its own, and is not part of the plan.
    """
    kept = {v.memory for v in program.kept}
    first: dict[Memory, int] = {}
    last: dict[Memory, int] = {}
    for i, statement in enumerate(program.statements):
        for view in statement.uses():
            if view.memory.kind == "temporary" and view.memory not in kept:
                first.setdefault(view.memory, i)
                last[view.memory] = i
    free: list[tuple[int, int]] = []  # offset and size of gaps
    size = 0
    places: dict[Memory, int] = {}
    for i, statement in enumerate(program.statements):
        ending = [m for m in dict.fromkeys([v.memory for v in statement.uses()]) if last.get(m) == i and first[m] < i]
        early = [m for m in ending if in_place(statement, m)]
        free = merged([*free, *[(places[m], rounded(m.nbytes)) for m in early]])
        for memory in dict.fromkeys([v.memory for v in statement.uses()]):
            if first.get(memory) == i:
                places[memory], free, size = allocate(free, size, rounded(memory.nbytes))
                if last[memory] == i:
                    ending.append(memory)
        free = merged([*free, *[(places[m], rounded(m.nbytes)) for m in ending if m not in early]])
    held = tuple([Held(m, places[m], first[m], last[m]) for m in first])
    return Plan(held, size, sum([m.nbytes for m in first]))


def allocate(free: list[tuple[int, int]], size: int, wanted: int) -> tuple[int, list[tuple[int, int]], int]:
    """A place of so many bytes, and the gaps and the size of the buffer from now on."""
    fitting = [gap for gap in free if gap[1] >= wanted]
    if fitting:
        offset, room = min(fitting, key=lambda gap: gap[1])
        free = [gap for gap in free if gap != (offset, room)]
        return offset, free if room == wanted else [*free, (offset + wanted, room - wanted)], size
    if free and sum(free[-1]) == size:  # the last gap, and what is added to the buffer
        offset = free[-1][0]
        return offset, free[:-1], offset + wanted
    return size, free, size + wanted


def merged(free: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Gaps in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for offset, size in sorted(free):
        if found and sum(found[-1]) == offset:
            found[-1] = (found[-1][0], found[-1][1] + size)
        else:
            found.append((offset, size))
    return found

