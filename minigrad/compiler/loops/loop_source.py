"""A loop as Python source, which numba compiles: one line for each statement, with the op that asked for it.

The names are the same in all loops: `x1`, `x2` … are arrays that are read, `y1` … those that are written, each as one
line of elements; `v1` … are values of one element or of one row. So loops that do the same have the same text, and are
compiled once, also when the model has ten layers that are alike.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.compiler.loops.grouping import SUMS, Access, Group, Part, asked_by, loop_groups, sizes_of
from minigrad.compiler.program.passes import PASSES
from minigrad.compiler.program.statements import Formula, Memory, Program, Statement, View

INDICES = "ijklmnopq"
EXPRESSIONS = {
    "add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "divide": "{} / {}", "negative": "-{}",
    "square": "{0} * {0}", "equal": "{} == {}", "not_equal": "{} != {}", "less": "{} < {}", "less_equal": "{} <= {}",
    "greater": "{} > {}", "greater_equal": "{} >= {}", "bitwise_and": "{} & {}", "bitwise_or": "{} | {}",
    "bitwise_xor": "{} ^ {}", "logical_and": "{} & {}", "logical_or": "{} | {}", "invert": "not {}",
    "logical_not": "not {}", "absolute": "abs({})", "where": "select({}, {}, {})"}
SUMMED = {"add.reduce": "plus", "maximum.reduce": "maximum", "minimum.reduce": "minimum"}


class Loop:
    """A loop: `text` with comments, for the reader; `code` without, for numba; `arrays`: what it is called with."""

    def __init__(self, group: Group, outside: set[Memory]) -> None:
        self.parts, self.row = [p.on(lambda access: access.refined(group.cuts)) for p in group.parts], group.row
        self.cuts, self.sizes = group.cuts, sizes_of(group.cuts)
        self.indices = INDICES[:len(group.cuts)][::-1]  # their names, the innermost first
        self.inner = 1 if self.row is None else group.cuts.index(self.row) + 1
        self.stored = outside | {p.write.memory for p in self.parts if p.level == "late"}
        self.made: dict[Memory, Part] = {}  # by memory: the last part before this one that writes it
        self.values: dict[Memory, str] = {}
        self.scalars: list[Formula] = []
        self.stages = self.staged()
        self.stage_of: dict[Memory, int] = {}
        self.name_arrays()
        self.make_scratch()
        self.before: list[str] = []
        self.walks: list[list[str]] = [[] for _ in range(max(self.stages) + 1)]
        self.starts: list[list[str]] = [[] for _ in self.walks]
        self.ends: list[list[str]] = [[] for _ in self.walks]
        for k in range(len(self.parts)):
            self.write_part(k)
        self.text, self.code = self.source(True), self.source(False)

    def staged(self) -> list[int]:
        """Which walk over the rows each part belongs to."""
        stages: list[int] = []
        for k, part in enumerate(self.parts):
            stage = 0
            for j, other in enumerate(self.parts[:k]):
                reads = any(a.memory is other.write.memory for a in part.accesses)
                waits = any(a.memory is part.write.memory for a in (*other.accesses, other.write))
                if reads or waits:
                    after = other.level == "row" and not (part.level == "row" and not part.sums)
                    stage = max(stage, stages[j] + after)
            stages.append(stage)
        return stages

    # names
    def name_arrays(self) -> None:
        """Names for the memory that is read and written, the same for all loops that do the same."""
        read: dict[Memory, int] = {}
        written: dict[Memory, int] = {}
        local: set[Memory] = set()
        self.types: dict[Memory, Any] = {}
        for part in self.parts:
            for access in part.accesses:
                self.types[access.memory] = access.dtype
                if access.memory not in local:
                    read[access.memory] = max(access.extent, read.get(access.memory, 0))
            self.types[part.write.memory] = part.write.dtype
            if part.write.memory in self.stored:
                written[part.write.memory] = max(part.write.extent, written.get(part.write.memory, 0))
            local.add(part.write.memory)
        self.updates = any(m in read for m in written)
        self.arrays: dict[Memory, str] = {}
        for memory in read:
            if memory not in written:
                self.arrays[memory] = f"x{len(self.arrays) + 1}"
        for i, memory in enumerate(written):
            self.arrays[memory] = f"y{i + 1}"
        self.views = {m: line_of(m, max(read.get(m, 0), written.get(m, 0)), self.types[m]) for m in self.arrays}

    def index(self, access: Access) -> str:
        """The place of an element in its line of memory."""
        terms = [f"{step} * {k}" if step != 1 else k for step, k in zip(access.strides, self.indices) if step][::-1]
        if access.offset or not terms:
            terms.append(str(access.offset))
        return " + ".join(terms)

    def element(self, access: Any, stage: int, dtype: Any) -> str:
        """An operand, as it is written in a walk."""
        if isinstance(access, Formula):
            if access not in self.scalars:
                self.scalars.append(access)
            return f"{dtype}(s{self.scalars.index(access) + 1})"
        if not isinstance(access, Access):
            return number(access, dtype)
        part = self.made.get(access.memory)
        if part is not None and (part.level == "row" or self.stage_of[access.memory] == stage):
            return self.values[access.memory]
        if part is not None and access.memory not in self.stored:
            return f"{self.scratch[access.memory][1]}[{self.row_index()}]"
        return f"{self.arrays[access.memory]}[{self.index(access)}]"

    def row_index(self) -> str:
        """The place in a row."""
        terms = zip((1, *self.cuts), self.indices[:self.inner])
        return " + ".join([name if step == 1 else f"{step} * {name}" for step, name in terms][::-1])

    def make_scratch(self) -> None:
        """Memory for one row of what a later walk over the row reads again, if it is not written for others anyway."""
        self.scratch: dict[Memory, tuple[Memory, str]] = {}
        for j, part in enumerate(self.parts):
            memory = part.write.memory
            if part.level != "element" or memory in self.stored:
                continue
            if any(self.stages[k] > self.stages[j] and any(a.memory is memory for a in self.parts[k].accesses)
                   for k in range(j + 1, len(self.parts))):
                row = Memory(np.empty(self.cuts[self.inner - 1], part.write.dtype), "temporary")
                self.scratch.setdefault(memory, (row, f"z{len(self.scratch) + 1}"))

    # lines
    def write_part(self, k: int) -> None:
        part, stage = self.parts[k], self.stages[k]
        memory, dtype = part.write.memory, part.write.dtype
        views = [a.dtype.name for a in part.accesses if a.dtype.kind != "b"]
        like = views[0] if views else dtype.name
        operands = [self.element(a, stage, like) for a in part.reads]
        value = self.values[memory] = f"v{len(self.values) + 1}" if memory not in self.values else self.values[memory]
        comment = f"  # {part.statement.asked}"
        if part.sums:
            self.write_sum(part, stage, value, operands[0], dtype, comment)
        else:
            lines = self.ends[stage] if part.level == "row" else self.walks[stage]
            lines.append(f"{value} = {expression(part.statement, operands, dtype)}{comment}")
            if memory in self.stored:
                lines.append(f"{self.arrays[memory]}[{self.index(part.write)}] = {value}")
            elif memory in self.scratch:
                lines.append(f"{self.scratch[memory][1]}[{self.row_index()}] = {value}")
        self.made[memory], self.stage_of[memory] = part, stage

    def write_sum(self, part: Part, stage: int, value: str, x: str, dtype: Any, comment: str) -> None:
        """The lines of a sum: by row, or where it ends up in memory."""
        name, memory = SUMMED[part.statement.name], part.write.memory
        start = f"{dtype.name}({SUMS[part.statement.name]})"
        place = f"{self.arrays[memory]}[{self.index(part.write)}]" if memory in self.stored else ""
        if part.level == "late":
            line = self.arrays[memory]
            self.before.append(f"{line}[:] = {start}")
        if part.level == "late" and any(part.write.strides[:self.inner]):
            self.walks[stage].append(f"{place} = {name}({place}, {x}){comment}")
            return
        self.starts[stage].append(f"{value} = {start}")
        self.walks[stage].append(f"{value} = {name}({value}, {x}){comment}")
        if part.level == "late":
            self.ends[stage].append(f"{place} = {name}({place}, {value})")
        elif place:
            self.ends[stage].append(f"{place} = {value}")

    def source(self, comments: bool) -> str:
        names = [*self.arrays.values(), *[name for _, name in self.scratch.values()],
                 *[f"s{k + 1}" for k in range(len(self.scalars))]]
        lines = [f"def loop({', '.join(names)}):", *["    " + line for line in self.before]]
        depth = "    "
        for k in range(len(self.cuts) - 1, self.inner - 1, -1):
            lines.append(f"{depth}for {self.indices[k]} in range({self.sizes[k]}):")
            depth += "    "
        for start, walk, end in zip(self.starts, self.walks, self.ends):
            lines += [depth + line for line in start]
            inside = depth
            for k in range(self.inner - 1, -1, -1) if walk else ():
                lines.append(f"{inside}for {self.indices[k]} in range({self.count(k)}):")
                inside += "    "
            lines += [inside + line for line in walk]
            lines += [depth + line for line in end]
        parts = [line.partition("  # ") for line in lines]
        width = min(max([len(code) for code, _, _ in parts]), 88)
        return "".join([f"{code:<{width}}  # {comment}\n" if comment and comments else f"{code}\n"
                        for code, _, comment in parts])

    def count(self, k: int) -> str:
        """How often a walk goes round: where all is one line, by its length, so that one loop does for all lengths."""
        whole = next((n for m, n in self.arrays.items() if self.views[m].size == self.cuts[-1]), None)
        return str(self.sizes[k]) if len(self.cuts) > 1 or whole is None else f"len({whole})"

    # the statement
    def operands(self) -> tuple[tuple[Any, ...], tuple[View, ...]]:
        read = [self.views[m] for m, name in self.arrays.items() if name[0] == "x"]
        written = [self.views[m] for m, name in self.arrays.items() if name[0] == "y"]
        rows = [line_of(row, self.cuts[self.inner - 1], self.types[m]) for m, (row, _) in self.scratch.items()]
        return (*read, *self.scalars), (*written, *rows)

    def kinds(self) -> tuple[Any, ...]:
        """What numba has to know of the operands: the dtypes of arrays, None for a number."""
        args, outs = self.operands()
        return (*[v.dtype for v in (*args, *outs) if isinstance(v, View)], *[None for _ in self.scalars])


def line_of(memory: Memory, extent: int, dtype: Any) -> View:
    return View(memory, (extent,), (dtype.itemsize,), 0, dtype)


def number(value: Any, dtype: str) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or dtype.startswith(("int", "bool")):
        return repr(value)
    return f"{dtype}({float(value)!r})"


def expression(statement: Statement, operands: Sequence[str], dtype: Any) -> str:
    """What a statement computes, of one element."""
    name = statement.name
    if statement.kind == "copy":
        view: Any = statement.args[0]
        return operands[0] if view.dtype == dtype else f"{dtype.name}({operands[0]})"
    if name in EXPRESSIONS:
        return EXPRESSIONS[name].format(*operands)
    wide = "64" if dtype.itemsize == 8 and name in ("exp", "tanh") else ""
    return f"{name}{wide}({', '.join(operands)})"


def loop_fusion(program: Program) -> Program:
    """Statements that run over the same elements as one loop."""
    found = []
    for item, outside in loop_groups(program):
        if isinstance(item, Statement):
            found.append(item)
            continue
        loop = Loop(item, outside)
        args, outs = loop.operands()
        found.append(Statement("loop", "loop", loop, args, outs, {}, asked_by(item), loop.updates))
    return program.replaced(found)


AT = list(PASSES).index("layouts of operands")  # from here on they help NumPy alone
WITH_LOOPS = dict([*list(PASSES.items())[:AT], ("loops", loop_fusion), *list(PASSES.items())[AT:]])
