"""A program as Python source: one line for each statement, which calls NumPy with `out=`; and the plan of its memory.

The source is what runs. A `Source` is made once for a program; `bind` gives its functions, with the arrays that
their names stand for. `Lines` alone are for what is only read. The plan says where each temporary lies, and from which
statement to which.
"""

from __future__ import annotations

import keyword
import linecache
import re
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minigrad.compiler.program.statements import Formula, Memory, Program, Statement, View

ALIGNED = 64  # bytes of a cache line


class Placement(NamedTuple):
    """A temporary in the buffer of a plan: it is needed from statement `first` to statement `last`."""

    memory: Memory
    offset: int
    first: int
    last: int


class Plan(NamedTuple):
    """Where temporaries lie in one buffer of `size` bytes; `apart`: the bytes that they would take each by itself."""

    held: tuple[Placement, ...]
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


def aligned_size(nbytes: int) -> int:
    return max(ALIGNED, -(-nbytes // ALIGNED) * ALIGNED)


def in_place(statement: Statement, memory: Memory) -> bool:
    """Whether a function of elements may write where it reads an operand: each element lies where its result will."""
    out = statement.out
    return statement.kind == "ufunc" and len(statement.outs) == 1 and out.whole and all(
        v.shape == out.shape and v.strides == out.strides and v.dtype.itemsize == out.dtype.itemsize and v.whole
        for v in statement.reads() if v.memory is memory)


def plan_memory(program: Program) -> Plan:
    """A place for each temporary: the smallest gap that is large enough, of those who are not needed any more.

    What is kept after the step has memory of its own, and is not part of the plan.
    """
    kept = {v.memory for v in program.kept}
    used = [list(dict.fromkeys([v.memory for v in statement.uses()])) for statement in program.statements]
    first: dict[Memory, int] = {}
    last: dict[Memory, int] = {}
    for i, memories in enumerate(used):
        for memory in memories:
            if memory.kind == "temporary" and memory not in kept:
                first.setdefault(memory, i)
                last[memory] = i
    free: list[tuple[int, int]] = []  # offset and size of gaps
    size = 0
    places: dict[Memory, int] = {}
    for i, (statement, memories) in enumerate(zip(program.statements, used)):
        ending = [m for m in memories if last.get(m) == i and first[m] < i]
        early = [m for m in ending if in_place(statement, m)]
        free = merge_gaps([*free, *[(places[m], aligned_size(m.nbytes)) for m in early]])
        for memory in memories:
            if first.get(memory) == i:
                places[memory], free, size = allocate(free, size, aligned_size(memory.nbytes))
                if last[memory] == i:
                    ending.append(memory)
        free = merge_gaps([*free, *[(places[m], aligned_size(m.nbytes)) for m in ending if m not in early]])
    held = tuple([Placement(m, places[m], first[m], last[m]) for m in first])
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


def merge_gaps(free: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for offset, size in sorted(free):
        if found and sum(found[-1]) == offset:
            found[-1] = (found[-1][0], found[-1][1] + size)
        else:
            found.append((offset, size))
    return found


RESERVED = {"step", "forward", "backward", "assign", "rounded", "view", "abs", *dir(np)}


def rounded(value: float) -> float:
    """A number as float32 holds it."""
    return float(np.float32(value))


def assign(outs: Sequence[Any], results: Any) -> None:
    """Copy several results to where they belong."""
    for out, result in zip(outs, results, strict=True):
        np.copyto(out, result, casting="unsafe")


def view(array: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any) -> Any:
    """A view of the memory of an array; the offset counts from its first element."""
    if array.flags.c_contiguous:
        return np.ndarray(shape, dtype, array, offset, strides)
    flat = as_strided(array, (offset // array.itemsize + 1,), (array.itemsize,))[-1:]
    return as_strided(flat.view(dtype), shape, strides)


class Function(NamedTuple):
    """A function of a source: its name, its statements, and views of the memory that it is given at each call."""

    name: str
    statements: tuple[Statement, ...]
    parameters: Sequence[View]


class Lines:
    """The statements of a program as lines, and what their names stand for; `like`: lines whose names they share.

    `functions`: those that the statements are divided into.
    """

    def __init__(self, program: Program, functions: Sequence[Function], formulas: Sequence[str],
                 like: Lines | None = None) -> None:
        self.program, self.functions, self.scalars = program, functions, list(formulas)
        self.parameters = {v.memory: v for function in functions for v in function.parameters}
        self.names: dict[View, str] = {}
        self.taken: set[str] = set(RESERVED) | set(keyword.kwlist) | set(formulas)
        self.constants: dict[str, Any] = {"copyto": np.copyto, "assign": assign, "rounded": rounded, "view": view}
        self.by_value: dict[Any, str] = {}  # the names of constants, by what is the same for equal ones
        self.by_memory: dict[Memory, str] = {}
        self.loops: dict[str, tuple[str, Any]] = {}  # by the code of a loop: its name, and itself
        self.formulas: dict[str, str] = {}
        self.counted = 0
        if like is not None:
            for name in ("names", "taken", "constants", "by_value", "by_memory", "loops", "formulas"):
                getattr(self, name).update(getattr(like, name))
        for text in program.formulas():
            self.formulas.setdefault(text, f"s{len(self.formulas)}")
        self.calls = [self.line(s) for s in program.statements]  # they name memory, in their order
        for memory in self.parameters:
            self.memory_name(memory)
        self.kept = [self.name(v) for v in program.kept]

    # names
    def unique(self, wanted: str) -> str:
        wanted = re.sub(r"\W+", "_", wanted).strip("_") or "x"
        wanted = f"x{wanted}" if wanted[0].isdigit() else wanted
        name, i = wanted, 2
        while name in self.taken:
            name, i = f"{wanted}_{i}", i + 1
        self.taken.add(name)
        return name

    def memory_name(self, memory: Memory) -> str:
        if memory not in self.by_memory:
            while not memory.name:
                self.counted += 1
                memory.name = "" if f"t{self.counted}" in self.taken else f"t{self.counted}"
            self.by_memory[memory] = self.unique(memory.name)
        return self.by_memory[memory]

    def name(self, view: View) -> str:
        """The name of a view: that of its memory if it is the first view, or shows what the first does."""
        if view not in self.names:
            base = self.memory_name(view.memory)
            others = [v for v in self.names if v.memory is view.memory]
            is_base = view == self.parameters[view.memory] if view.memory in self.parameters else not others
            array = view.memory.array
            turned = any(v.T == view for v in others) or (
                array is not None and len(view.shape) == 2 and view.shape == array.shape[::-1])
            self.names[view] = base if is_base else self.unique(f"{base}_T" if turned else f"{base}_v")
        return self.names[view]

    def constant(self, value: Any, wanted: str) -> str:
        """The name of an object; of an array of one number that of all that are equal."""
        number = isinstance(value, np.ndarray) and not value.ndim
        key = (value.dtype, value.tobytes()) if number else id(value)
        if key not in self.by_value:
            self.by_value[key] = name = self.unique(wanted)
            self.constants[name] = value
        return self.by_value[key]

    # text
    def text_of(self, value: Any, dtype: Any = None) -> str:
        """An operand; a number that meets arrays of a dtype is an array of it, which NumPy takes in half the time."""
        if isinstance(value, View):
            return self.name(value)
        if isinstance(value, Formula):
            return self.formulas[value.text]
        if isinstance(value, np.generic) or (dtype is not None and isinstance(value, (bool, int, float))):
            number = np.asarray(value, value.dtype if isinstance(value, np.generic) else dtype)
            wanted = re.sub(r"\W", lambda m: {".": "_", "-": "m", "+": ""}[m[0]], repr(number.item()))
            return self.constant(number, f"k{wanted}")
        if isinstance(value, tuple):
            return f"({', '.join([self.text_of(v) for v in value])}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join([self.text_of(v) for v in value])}]"
        if value is None or value is Ellipsis or isinstance(value, (bool, int, float, str, slice)):
            return repr(value)
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.size and value[0] == 1 and value[-1] == 1:
            return self.constant(value, f"ones{value.size}")
        return self.constant(value, getattr(value, "__name__", "k"))

    def function(self, statement: Statement) -> str:
        root, _, method = statement.name.partition(".")
        target = getattr(np, root) if method else statement.function
        name = root if self.constants.get(root, target) is target else self.constant(target, f"{root}_2")
        self.constants[name] = target
        self.taken.add(name)
        return f"{name}.{method}" if method else name

    def line(self, statement: Statement) -> str:
        kind, args, out = statement.kind, statement.args, self.name(statement.out)
        if kind == "copy" or kind == "fill":
            value = args[0]
            same = not isinstance(value, View) or value.dtype == statement.out.dtype
            if kind == "fill" and not isinstance(value, View):
                return f"{out}.fill({self.text_of(value) if isinstance(value, Formula) else self.literal(value)})"
            return f"copyto({out}, {self.text_of(value)}{'' if same else ', casting=' + repr('unsafe')})"
        if statement.name == "getitem":
            return f"copyto({out}, {self.text_of(args[0])}[{self.index(args[1])}])"
        if statement.name == "setitem":
            return f"{out}[{self.index(args[0])}] = {self.text_of(args[1])}"
        if kind == "loop":
            operands = [self.text_of(v) for v in (*[a for a in args if isinstance(a, View)], *statement.outs,
                                                  *[a for a in args if not isinstance(a, View)])]
            return f"{self.loop_name(statement.function)}({', '.join(operands)})"
        options = "".join([f", {k}={self.text_of(v)}" for k, v in statement.options.items() if v is not None
                           or k == "axis"])
        if kind == "product" and statement.name != "vecdot":
            return self.product(statement)
        if statement.updates:
            named = args and isinstance(args[0], View) and args[0].memory is statement.out.memory
            first = "" if statement.name.endswith(".at") or (named and statement.name != "copyto") else f"{out}, "
            return f"{self.function(statement)}({first}{', '.join([self.text_of(a) for a in args])}{options})"
        if kind in ("ufunc", "reduce") and statement.name != "where":
            floats = [a.dtype for a in args if isinstance(a, View) and a.dtype.kind == "f"]
            like = floats[0] if floats and len(set(floats)) == 1 else None
            outs = out if len(statement.outs) == 1 else f"({', '.join([self.name(v) for v in statement.outs])})"
            texts = [self.text_of(a, like) for a in args]
            return f"{self.function(statement)}({', '.join(texts)}{options}, out={outs})"
        return self.call(statement, options)

    def loop_name(self, loop: Any) -> str:
        """The name of a loop; those with the same code are one."""
        if loop.code not in self.loops:
            self.loops[loop.code] = self.unique(f"loop{len(self.loops) + 1}"), loop
        return self.loops[loop.code][0]

    def loop_texts(self) -> dict[str, str]:
        return {name: loop.text.replace("loop", name, 1) for name, loop in self.loops.values()}

    def call(self, statement: Statement, options: str) -> str:
        """What takes no `out=`: its results are copied to where they belong."""
        called = f"{self.function(statement)}({', '.join([self.text_of(a) for a in statement.args])}{options})"
        if statement.kind in ("draw", "state"):
            called += f".reshape({statement.out.shape})"
        if len(statement.outs) == 1:
            return f"copyto({self.name(statement.out)}, {called})"
        return f"assign(({', '.join([self.name(v) for v in statement.outs])},), {called})"

    def literal(self, value: Any) -> str:
        value = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
        return repr(value) if value == value and abs(value) != float("inf") else f"float('{value}')"

    def index(self, index: Any) -> str:
        return ", ".join(map(self.text_of, index if type(index) is tuple else (index,)))

    def product(self, statement: Statement) -> str:
        """`dot` where it can write its result; of what is to lie the other way round, the product turned."""
        (a, b), out = statement.args, statement.out
        ndims = [len(v.shape) if isinstance(v, (View, np.ndarray)) else 0 for v in (a, b)]
        function = statement.name
        if max(ndims) <= 2 and function == "matmul":
            function = "dot"
        if not out.contiguous and isinstance(a, View) and isinstance(b, View) and ndims == [2, 2]:
            a, b, out = b.T, a.T, out.T
        self.constants[function] = getattr(np, function)
        return f"{function}({self.text_of(a)}, {self.text_of(b)}, out={self.name(out)})"


class Source(Lines):
    """The text of a program, which is what runs, and the plan of its memory."""

    count = 0

    def __init__(self, program: Program, functions: Sequence[Function], formulas: Sequence[str]) -> None:
        super().__init__(program, functions, formulas)
        self.plan: Plan = plan_memory(program)
        width = min(max([len(line) for line in self.calls], default=0), 88)
        written = iter([f"{line:<{width}}  # {s.asked}" for line, s in zip(self.calls, program.statements)])
        bodies = [[next(written) for _ in function.statements] for function in functions]
        self.heads = [self.head_of(function, lines) for function, lines in zip(functions, bodies)]
        texts = ["\n    ".join([*head, *lines, "return"]) + "\n" for head, lines in zip(self.heads, bodies)]
        loops = "".join([f"{text}\n\n" for text in self.loop_texts().values()])
        self.text = loops + "\n\n".join(texts)
        self.first_line = loops.count("\n") + 1 + len(self.heads[0])
        Source.count += 1
        self.file = f"<minigrad.compile {Source.count}>"
        self.codes = self.compiled()

    def head_of(self, function: Function, lines: Sequence[str]) -> list[str]:
        """The first lines of a function: its parameters, formulas, and the views that it uses of what it is given."""
        given = {v.memory: self.by_memory[v.memory] for v in function.parameters}
        used = set(re.findall(r"\w+", " ".join(lines)))
        found = [f"def {function.name}({', '.join([*given.values(), *self.scalars])}):",
                 *[f"{s} = {text}" for text, s in self.formulas.items()]]
        for v, name in self.names.items():
            if v.memory in given and name in used and name != given[v.memory]:
                found.append(f"{name} = {self.shown(v, self.parameters[v.memory], given[v.memory])}")
        return found

    def shown(self, view: View, base: View, name: str) -> str:
        if view.T == base:
            return f"{name}.T"
        if view.contiguous and base.contiguous and view.dtype == base.dtype and view.size == base.size:
            return f"{name}.reshape({', '.join(map(str, view.shape)) or '()'})"
        dtype = self.constant(view.dtype, view.dtype.name)
        return f"view({name}, {view.shape}, {view.strides}, {view.offset}, {dtype})"

    def compiled(self) -> list[Any]:
        """The codes of the functions; tracebacks find their lines."""
        linecache.cache[self.file] = len(self.text), None, self.text.splitlines(True), self.file
        space: dict[str, Any] = {}
        exec(compile(self.text, self.file, "exec"), space)
        return [space[function.name].__code__ for function in self.functions]

    def bind(self, arrays: dict[Memory, Any]) -> list[Callable[..., None]]:
        """The functions, on a buffer of their own; `arrays`: those of inputs that stay."""
        builtins = {"abs": abs, "float": float, "slice": slice, "Ellipsis": Ellipsis}
        space = {**self.constants, "__name__": "minigrad.compiled", "__builtins__": builtins}
        buffer = np.zeros(self.plan.size + ALIGNED, np.uint8)
        start = -buffer.__array_interface__["data"][0] % ALIGNED
        places = {h.memory: h.offset for h in self.plan.held}
        for v, name in self.names.items():
            if v.memory in places:
                space[name] = np.ndarray(v.shape, v.dtype, buffer, start + places[v.memory] + v.offset, v.strides)
            elif v.memory.array is not None and v.memory not in self.parameters:
                array = arrays.get(v.memory, v.memory.array)
                same = (v.shape, v.strides, v.offset, v.dtype) == (array.shape, array.strides, 0, array.dtype)
                space[name] = array if same else view(array, v.shape, v.strides, v.offset, v.dtype)
        return [FunctionType(code, space, code.co_name) for code in self.codes]
