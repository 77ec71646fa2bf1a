"""What a program is made of: memory, views of memory, and statements that write it.

A traced step is a list of statements. Each one calls a function of NumPy on operands and writes its result to one or
more views. Views themselves cost nothing when the program runs: they are known while it is built. The passes in
`passes.py` are functions from one list of statements to a shorter one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from minigrad._base.files import is_cell


class Memory:
    """A piece of memory that statements read or write.

    `kind`: "input" (it belongs to a tensor from outside), "constant" (it is filled once, when the program is built) or
    "temporary" (the memory plan decides where it lies). `array` is there for inputs and constants only.
    """

    __slots__ = ("address", "array", "kind", "name", "nbytes", "value")

    def __init__(self, array: Any, kind: str, name: str = "") -> None:
        self.kind, self.name, self.nbytes = kind, name, array.nbytes
        self.array: Any = None if kind == "temporary" else array
        self.address: int = array.__array_interface__["data"][0]
        self.value: Formula | None = None  # for one number: how it follows from the inputs of the step

    def another(self) -> Memory:
        memory = copy(self)
        memory.kind, memory.array, memory.name, memory.value = "temporary", None, "", None
        return memory

    def __repr__(self) -> str:
        return self.name or f"a {self.kind} without a name"


class View(NamedTuple):
    """An array as a part of memory: `strides` and `offset` are in bytes."""

    memory: Memory
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: Any

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def contiguous(self) -> bool:
        """Whether its elements lie row by row without gaps."""
        return self.size < 2 or all(n == 1 or s == c for n, s, c in zip(
            self.shape, self.strides, contiguous_strides(self.shape, self.dtype.itemsize)))

    @property
    def whole(self) -> bool:
        """Whether it covers all of its memory, each byte once, in whatever order."""
        steps = sorted((s, n) for n, s in zip(self.shape, self.strides) if n > 1)
        expected = self.dtype.itemsize
        for step, n in steps:
            if step != expected:
                return False
            expected *= n
        return self.offset == 0 and expected == self.memory.nbytes and self.size > 0

    @property
    def T(self) -> View:
        return self._replace(shape=self.shape[::-1], strides=self.strides[::-1])

    def __repr__(self) -> str:
        return f"{self.memory}{list(self.shape)}"


class Formula(NamedTuple):
    """A number that is computed anew before each call, as Python source over the scalars that the step reads."""

    text: str


class Asked(NamedTuple):
    """Who asked for a statement: an op, and the line of the user's program that called it.

    `phase`: "forward", "backward", "recompute" (a checkpoint runs a function again) or "optimizer", whichever part of a
    step it was called in.
    """

    op: str
    file: str
    line: int
    phase: str = "forward"

    def __str__(self) -> str:
        """The op, and the line by the name of its file, or of a cell of a notebook; whether a checkpoint runs it."""
        name = "cell" if is_cell(self.file) else Path(self.file).name
        again = ", recomputed" if self.phase == "recompute" else ""
        return f"{self.op}, {name}:{self.line}{again}" if self.file else self.op

    def located(self, reason: str) -> str:
        if not self.file:
            return reason
        return f"{reason}, at " + (f"line {self.line} of a cell" if is_cell(self.file) else f"{self.file}:{self.line}")


NOBODY = Asked("", "", 0)


@dataclass(eq=False)
class Statement:
    """One call that writes memory.

    `kind`: "ufunc", "reduce", "product", "copy", "fill", "draw", "state" (of a random stream), "call", or "loop" for
    what numba compiles. `function` is what is called, `name` how the source writes it. Operands are views, formulas,
    and constants of Python or NumPy, also inside tuples and lists.
    """

    kind: str
    name: str
    function: Any
    args: tuple[Any, ...]
    outs: tuple[View, ...]
    options: dict[str, Any] = field(default_factory=dict)
    asked: Asked = NOBODY
    updates: bool = False  # whether it changes a part of what its outputs held before, and so reads them too
    number: int = -1  # its place in the trace, which passes keep: so it is known again in a shorter program

    @property
    def out(self) -> View:
        return self.outs[0]

    @property
    def recomputed(self) -> bool:
        return self.asked.phase == "recompute"

    def reads(self) -> list[View]:
        read = [part for part in parts_of((self.args, self.options)) if type(part) is View]
        return [*read, *self.outs] if self.updates else read

    def uses(self) -> list[View]:
        return self.reads() if self.updates else [*self.reads(), *self.outs]

    def reading(self, change: Callable[[View], View]) -> Statement:
        args, options = mapped((self.args, self.options), lambda part: change(part) if type(part) is View else part)
        return replace(self, args=args, options=options)

    def on(self, change: Callable[[View], View]) -> Statement:
        return replace(self.reading(change), outs=tuple([change(v) for v in self.outs]))

    def __repr__(self) -> str:
        return f"{', '.join(map(repr, self.outs))} = {self.name}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True)
class Program:
    """Statements, and the views that somebody looks at when they have run: results and gradients.

    Of a joint graph, the statements from the number `boundary` on are those of the backward pass.
    """

    statements: tuple[Statement, ...]
    kept: tuple[View, ...]
    boundary: int | None = None

    def replaced(self, statements: Iterable[Statement], change: Callable[[View], View] = lambda v: v) -> Program:
        """The program with other statements, and other views of what is kept."""
        return Program(tuple(statements), tuple([change(v) for v in self.kept]), self.boundary)

    def backward(self, statement: Statement) -> bool:
        """Whether a statement is one of the backward pass of a joint graph."""
        return self.boundary is not None and statement.number >= self.boundary

    def formulas(self) -> list[str]:
        """The texts of the formulas in it, each once."""
        operands = parts_of([(s.args, s.options) for s in self.statements])
        return list(dict.fromkeys([part.text for part in operands if type(part) is Formula]))

    def writes(self) -> dict[Memory, list[int]]:
        """By memory: the numbers of the statements that write it."""
        found = defaultdict(list)
        for i, statement in enumerate(self.statements):
            for memory in dict.fromkeys([v.memory for v in statement.outs]):
                found[memory].append(i)
        return found


def parts_of(value: Any) -> Iterator[Any]:
    """What an operand is made of, also in tuples, lists and dictionaries."""
    if type(value) in (tuple, list, dict):
        for part in value.values() if type(value) is dict else value:
            yield from parts_of(part)
    else:
        yield value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """An operand with each of its parts replaced, also in tuples, lists and dictionaries."""
    if type(value) in (tuple, list):
        return type(value)([mapped(part, change) for part in value])
    return {key: mapped(part, change) for key, part in value.items()} if type(value) is dict else change(value)


def contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))
