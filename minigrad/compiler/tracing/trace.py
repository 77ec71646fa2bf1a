"""Arrays and numbers that note what is done with them: one more backend beside NumPy's and CuPy's.

No op is changed, and no rule per op is written. NumPy hands each call to the type of the array (NEPs 13, 18 and 35), as
it does with CuPy's arrays (NOTE 9 in minigrad/backends/registry.py), so that forward passes, formulas, the
engine's sums and optimisers are all seen. A traced step is a real step: it changes what an eager one would change. What
a program cannot repeat, such as a condition on data, is therefore no error. The step goes on with the real numbers, and
the trace remembers the reason for which it is of no use (`Trace.broken`).

Numbers that change from one call of a step to the next, such as learning rates and Adam's count of steps, are traced
too. A `TracedFloat` has a value, so that the step runs as always, and a formula that says how it follows from what the
step reads at its start. Arithmetic on it makes longer formulas. A comparison gives a plain bool, and becomes a guard:
the program holds as long as the comparison has the same outcome.

Each statement knows who asked for it: the op of minigrad, and the line of the user's program.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from minigrad._base.contexts import contextmanager
from minigrad._base.files import is_cell
from minigrad.compiler.program.statements import (
    NOBODY,
    Asked,
    Formula,
    Memory,
    Statement,
    View,
    contiguous_strides,
    mapped,
    parts_of,
)

PACKAGE = str(Path(__file__).resolve().parents[2]) + "/"
HERE, OPTIM, ENGINE = PACKAGE + "compiler/", PACKAGE + "optim/", PACKAGE + "core/engine.py"
CHECKPOINT, RUNS_AGAIN = PACKAGE + "utils/checkpoint.py", ("recompute", "backward")  # functions that run a call again
AUTOGRAD = "torch::autograd::"  # before the names of nodes that belong to no op
TYPED = ("<stdin>", "<string>", "<python-input", "<doctest")  # what a user types, or runs with -c


def callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def of_library(frame: FrameType) -> bool:
    """Whether a frame runs code of minigrad, or of NumPy on its behalf."""
    file = frame.f_code.co_filename
    return file.startswith(PACKAGE) or "/numpy/" in file or file == contextlib.__file__ or (
        file.startswith("<") and not file.startswith(TYPED) and not is_cell(file))


def asked() -> Asked:
    """The innermost op, node or optimiser on the stack, and the line of the first frame that is not minigrad's."""
    op, outermost, phase = "", "", "forward"
    for frame in callers(sys._getframe(1)):
        code = frame.f_code
        if not of_library(frame):
            if phase == "forward" and in_recomputation(frame):
                phase = "recompute"
            return Asked((op or outermost).removeprefix(AUTOGRAD), code.co_filename, frame.f_lineno, phase)
        if code.co_filename.startswith(HERE):
            continue
        outermost = code.co_name
        if phase == "forward" and code.co_filename.startswith((OPTIM, ENGINE)):
            phase = "backward" if code.co_filename == ENGINE else "optimizer"
        owner, _, method = code.co_qualname.rpartition(".")
        if not op and code.co_filename.startswith(OPTIM) and method in ("update", "step_one", "step"):
            op = type(frame.f_locals["self"]).__name__ if "self" in frame.f_locals else owner
        elif not op and method == "forward" and "/ops/" in code.co_filename:
            op = owner
        elif not op and method in ("evaluate_function", "evaluate_fully") and "node" in frame.f_locals:
            op = frame.f_locals["node"].name()
    return Asked(op or outermost, "", 0, phase)


def in_recomputation(frame: FrameType) -> bool:
    """Whether a checkpoint runs the function of this frame once more."""
    above = itertools.takewhile(lambda each: each.f_code.co_filename != ENGINE, callers(frame))
    return any(each.f_code.co_filename.startswith(CHECKPOINT) and each.f_code.co_name in RUNS_AGAIN for each in above)


class Call(NamedTuple):
    """An eager op of a step, or a node of its backward pass."""

    asked: Asked
    node: bool = False
    recorded_by: int = -1  # for a node: the number of the op that recorded it


class Calls:
    """What an eager step calls, in order, as it is noted while the step is traced.

    Not every call writes memory: a view has no statement.
    """

    def __init__(self) -> None:
        self.found: list[Call] = []
        self.running = -1  # the number of the call that runs
        self.owners: list[int] = []  # by statement: the number of its call
        self.recorders: Any = WeakKeyDictionary()  # by node: the number of the call that recorded it

    @contextmanager
    def entered(self, op: str, node: Any = None) -> Iterator[None]:
        """A block in which an op runs, or a node, which is noted."""
        before = self.running
        if node is not None or before < 0 or self.found[before].node:  # an op that another one calls is a part of it
            self.running = len(self.found)
            recorded_by = -1 if node is None else self.recorders.get(node, -1)
            self.found.append(Call(asked()._replace(op=op.removeprefix(AUTOGRAD)), node is not None, recorded_by))
        try:
            yield
        finally:
            self.running = before

    def recorded(self, origin: Asked) -> Asked:
        """Where a statement of a backward pass that nobody has called yet comes from: the line that recorded its node.

        The gradients that leave the pass are copied where they have to be, for `AccumulateGrad`.
        """
        if self.running < 0:
            return origin._replace(op=origin.op or "AccumulateGrad", phase="backward")
        number = self.found[self.running].recorded_by
        return origin if number < 0 else origin._replace(
            file=self.found[number].asked.file, line=self.found[number].asked.line)

    def own(self, origin: Asked) -> None:
        """Note that a statement belongs to the call that runs; where none does, to what asked for it."""
        if self.running < 0 and (not self.found or self.found[-1].asked != origin):
            self.found.append(Call(origin))  # an optimizer, or what sums gradients
        self.owners.append(self.running if self.running >= 0 else len(self.found) - 1)


def text_of(value: Any) -> str:
    return value.formula.text if isinstance(value, TracedFloat) else repr(value)


def value_of(value: Any) -> Any:
    return float.__float__(value) if isinstance(value, TracedFloat) else value


OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
             "//": operator.floordiv, "%": operator.mod, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
             "<=": operator.le, ">": operator.gt, ">=": operator.ge}
UFUNCS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**"}


def method_of(symbol: str, swapped: bool = False) -> Callable[..., Any]:
    """An operator of two numbers, as a method; the outcome of a comparison becomes a guard."""
    def method(self: TracedFloat, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        x, y = (other, self) if swapped else (self, other)
        value, text = OPERATORS[symbol](value_of(x), value_of(y)), f"({text_of(x)} {symbol} {text_of(y)})"
        if isinstance(value, bool):
            self.guard(f"{text} is {value}")
            return value
        return TracedFloat(value, text, self.guard)
    return method


def settled(function: Any) -> Callable[..., Any]:
    """What Python asks of a number, of the number alone."""
    return lambda self, *args: function(self.plain(), *args)


class TracedFloat(float):
    """A number with a formula; `guard` is called with each condition that the traced step has come to rely on."""

    formula: Formula
    guard: Callable[[str], None]

    def __new__(cls, value: float, text: str, guard: Callable[[str], None]) -> TracedFloat:
        self = super().__new__(cls, value)
        self.formula, self.guard = Formula(text), guard
        return self

    __add__, __radd__ = method_of("+"), method_of("+", True)
    __sub__, __rsub__ = method_of("-"), method_of("-", True)
    __mul__, __rmul__ = method_of("*"), method_of("*", True)
    __truediv__, __rtruediv__ = method_of("/"), method_of("/", True)
    __floordiv__, __rfloordiv__ = method_of("//"), method_of("//", True)
    __mod__, __rmod__ = method_of("%"), method_of("%", True)
    __pow__, __rpow__ = method_of("**"), method_of("**", True)
    __eq__, __ne__, __lt__, __le__, __gt__, __ge__ = map(method_of, ("==", "!=", "<", "<=", ">", ">="))
    __hash__ = float.__hash__

    def __neg__(self) -> TracedFloat:
        return TracedFloat(-value_of(self), f"(-{text_of(self)})", self.guard)

    def __pos__(self) -> TracedFloat:
        return self

    def __abs__(self) -> TracedFloat:
        return TracedFloat(abs(value_of(self)), f"abs({text_of(self)})", self.guard)

    def plain(self) -> float:
        """The number alone; from now on the program holds for this value only."""
        value: float = value_of(self)
        self.guard(f"{text_of(self)} == {value!r}")
        return value

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    __float__ = plain
    __int__, __round__, __repr__, __format__ = map(settled, (int, round, repr, format))


BASIC = (int, slice, type(None), type(...))
# Functions of NumPy that look at shapes and dtypes, not at numbers.
ABOUT_TYPES = {"result_type", "ndim", "shape", "size", "may_share_memory", "shares_memory"}
# Functions whose results have shapes that depend on numbers.
SHAPED_BY_DATA = {"nonzero", "flatnonzero", "argwhere", "unique", "unique_values", "unique_all", "unique_counts",
                  "unique_inverse", "compress", "extract", "bincount", "trim_zeros", "union1d", "intersect1d",
                  "setdiff1d", "setxor1d", "histogram_bin_edges"}


class GraphBreak(RuntimeError):
    """A step does what no program can repeat, and `fullgraph=True` asks for an error."""


class Slot(NamedTuple):
    """Which tensor of a call: `place` counts in the list of all of them, the same for each call.

    `kind`: "outside" (the step reaches it by itself), "argument", or "grad", which is the gradient that the tensor in
    the slot `owner` has when the call begins.
    """

    kind: str
    place: int
    name: str
    owner: Slot | None = None


class Trace:
    """The statements of one step, as they are noted, and the conditions under which they hold."""

    def __init__(self, fullgraph: bool = False, composite: Callable[..., Any] = lambda *args: None) -> None:
        self.composite = composite  # what makes one statement of a whole op, or None
        self.statements: list[Statement] = []
        self.calls = Calls()
        self.guards: dict[str, None] = {}  # conditions on the scalars that the step reads
        self.scalars: dict[str, Callable[..., float]] = {}  # by the name in formulas: what reads it of a call's tensors
        self.inputs: dict[Memory, Slot] = {}  # the tensors that were there before
        self.states: dict[str, bytes] = {}  # states of the default stream that a program keeps while it runs
        self.known_states: dict[bytes, str] = {}  # those that the step has looked at, as a checkpoint does: their names
        self.drawn_until = b""  # the state of the default stream behind the last draw that was noted
        self.broken: tuple[str, Asked] | None = None
        self.fullgraph = fullgraph
        self.boundary: int | None = None  # the number of the first statement of the backward pass of a joint graph
        self.memories: dict[int, tuple[Any, Memory]] = {}  # by the id of an array from outside: it, and its memory

    def add(self, kind: str, name: str, function: Any, args: Any, outs: Any, options: dict[str, Any] | None = None,
            updates: bool = False) -> None:
        """Note a call; arguments may be traced arrays, `outs` are."""
        operands, others = mapped((tuple(args), options or {}), self.operand)
        origin = asked() if self.boundary is None else self.calls.recorded(asked())
        self.calls.own(origin)
        self.statements.append(Statement(kind, name, function, operands, tuple([o.view_of() for o in outs]), others,
                                         origin, updates, len(self.statements)))
        for out in outs:
            out.memory.value = None

    def stop(self, reason: str) -> None:
        """Remember why this step is no program, and who asked for it; the first reason counts."""
        if self.broken is None:
            self.broken = reason, asked()
        if self.fullgraph:
            reason, where = self.broken
            raise GraphBreak(where.located(reason))

    def refuse(self, reason: str | None) -> None:
        """Remember why a step that has run is no program, if there is a reason."""
        if self.broken is None and reason is not None:
            self.broken = reason, NOBODY

    def guard(self, condition: str) -> None:
        self.guards[condition] = None

    def scalar(self, value: float, name: str, read: Callable[..., float]) -> TracedFloat:
        """A number that is read anew before each call."""
        name = re.sub(r"\W+", "_", name).strip("_")
        while name in self.scalars:
            name += "_"
        self.scalars[name] = read
        return TracedFloat(value, name, self.guard)

    def operand(self, value: Any) -> Any:
        """A part of an argument: a view for an array, a formula for a traced number, anything else as it is."""
        if isinstance(value, TracedArray):
            return value.view_of()
        if isinstance(value, TracedFloat):
            return value.formula
        if isinstance(value, np.ndarray):
            return self.outside(value).view_of()
        return value

    def outside(self, array: Any) -> TracedArray:
        """An array of NumPy's that meets traced ones. What the step made of sizes and numbers is a constant; since it
        may be changed later, the program begins with a copy of it."""
        owner = array if array.base is None or not isinstance(array.base, np.ndarray) else array.base
        if id(owner) not in self.memories:
            constant = Memory(owner.copy(), "constant", f"c{len(self.memories)}")
            memory = Memory(owner, "temporary")
            self.memories[id(owner)] = owner, memory
            kept = TracedArray(constant.array, constant)
            self.add("copy", "copyto", np.copyto, (kept,), (TracedArray(owner, memory),))
        return TracedArray(array, self.memories[id(owner)][1])

    def adopt(self, tensor: Any) -> TracedArray:
        """The traced array of a tensor, which may have been made as one of NumPy's, as `zeros` and its kind are."""
        if not isinstance(tensor.array, TracedArray):
            tensor.array = self.outside(np.asarray(tensor.array))
        array: TracedArray = tensor.array
        return array

    def as_input(self, array: Any, slot: Slot) -> TracedArray:
        """The array of a tensor as an input of its own: others may have the same array in this call."""
        memory = Memory(array, "input", slot.name)
        self.memories[id(array)], self.inputs[memory] = (array, memory), slot
        if array.size == 1 and array.dtype.kind == "f":
            now = self.scalar(array.item(), f"{slot.name}_now", lambda tensors: tensors[slot.place].array.item())
            memory.value = now.formula
        return TracedArray(array, memory)


HALF = "a tensor is of bfloat16, which programs do not compute"


class Active:
    """The trace that is being made, and the thread that makes it."""

    trace: Trace
    thread: int | None = None

    @classmethod
    def here(cls) -> bool:
        return cls.thread == get_ident()


def plain(value: Any) -> Any:
    """An argument with arrays of NumPy's in the place of traced ones."""
    # a subclass of float would not take the dtype of the array that it meets
    return mapped(value, lambda part: part.value if isinstance(part, TracedArray) else value_of(part))


def new_array(array: Any) -> TracedArray:
    """A new array, in memory of its own."""
    array = np.asarray(array)
    if array.base is not None:
        array = array.copy("K")
    return TracedArray(array, Memory(array, "temporary"))


def traced_result(result: Any, sources: list[TracedArray], note: Callable[[list[TracedArray]], None]) -> Any:
    """What a function gave, traced: a view of memory that is known, or new memory, which `note` is told of."""
    new: list[TracedArray] = []

    def wrap(array: Any) -> Any:
        if type(array) in (tuple, list):
            return type(array)([wrap(part) for part in array])
        if isinstance(array, tuple):
            return type(array)(*[wrap(part) for part in array])
        if not isinstance(array, (np.ndarray, np.generic)):
            return array
        for source in sources:
            if array is source.value:
                return source
            if isinstance(array, np.ndarray) and array.base is not None and array.size and source.holds(array):
                return TracedArray(array, source.memory)
        new.append(new_array(array))
        return new[-1]

    wrapped = wrap(result)
    if new:
        note(new)
    return wrapped


def call(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    """Call a function of NumPy, and note it as a statement if it makes a new array or changes one."""
    trace = Active.trace
    result = function(*plain(args), **plain(options))
    if name in ABOUT_TYPES:
        return result
    if name in SHAPED_BY_DATA:
        trace.stop(f"the shape that {name} gives depends on data")
    sources = [part for part in parts_of((args, options)) if isinstance(part, TracedArray)]
    if result is None:  # it has changed its first argument
        first = args[0] if isinstance(args[0], TracedArray) else trace.outside(args[0])
        trace.add("call", name, function, args, [first], options, updates=True)
        return None
    if not isinstance(result, (np.ndarray, np.generic, tuple, list)):
        trace.stop(f"{name} looks at numbers")
        return result
    if name in ("copy", "astype", "ravel", "reshape"):
        return traced_result(result, sources, lambda new: note_copy(args[0], new[0]))
    return traced_result(result, sources, lambda new: trace.add("call", name, function, args, new, options))


def note_copy(source: Any, out: TracedArray) -> None:
    """Note a copy, of another shape or dtype perhaps: a copy is written in the shape of what it copies."""
    value, shape = out.value, source.shape
    if value.shape != shape:
        value = as_strided(value, shape, contiguous_strides(shape, value.itemsize))
    Active.trace.add("copy", "copyto", np.copyto, (source,), [TracedArray(value, out.memory)])


def breaking_method(name: str, reason: str) -> Any:
    """A method of arrays that gives what no program knows before it runs."""
    def method(self: TracedArray, *args: Any, **options: Any) -> Any:
        Active.trace.stop(reason)
        return getattr(self.value, name)(*args, **options)
    return method


class TracedArray(NDArrayOperatorsMixin):
    """An array whose operations are noted: `value` holds its numbers, `memory` is the memory that they lie in."""

    __slots__ = ("memory", "value")
    __array_priority__ = 100

    def __init__(self, value: Any, memory: Memory) -> None:
        self.value, self.memory = value, memory

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    nbytes = property(lambda self: self.value.nbytes)
    itemsize = property(lambda self: self.value.itemsize)
    strides = property(lambda self: self.value.strides)
    flags = property(lambda self: self.value.flags)
    T = property(lambda self: TracedArray(self.value.T, self.memory))
    base = property(lambda self: None if self.value.base is None else self.memory)

    def view_of(self) -> View:
        value = self.value
        at = value.__array_interface__["data"][0] - self.memory.address if value.size else 0
        return View(self.memory, value.shape, value.strides, at, value.dtype)

    def holds(self, array: Any) -> bool:
        """Whether an array lies in the memory of this one."""
        low, high = byte_bounds(array)
        return low >= self.memory.address and high <= self.memory.address + self.memory.nbytes

    def __len__(self) -> int:
        return len(self.value)

    # what looks at numbers
    def item(self, *index: Any) -> Any:
        """The number; where an optimiser reads one of its own, as a formula, else it is a break."""
        formula, value = self.memory.value, self.value.item(*index)
        if formula is not None and self.size == 1 and isinstance(value, float) and asked().phase == "optimizer":
            return TracedFloat(value, formula.text, Active.trace.guard)
        Active.trace.stop("a number is read from a tensor, as by .item()")
        return value

    __bool__ = breaking_method("__bool__", "a condition on data")
    __float__, __int__, __index__, __complex__ = (breaking_method(name, "a number is read from a tensor") for name in (
        "__float__", "__int__", "__index__", "__complex__"))
    tolist = breaking_method("tolist", "values are handed to Python")
    __array__ = breaking_method("__array__", "values are handed to NumPy")

    # views, copies, elements
    def copy(self, order: Any = "C") -> TracedArray:
        copy: TracedArray = call("copy", np.ndarray.copy, (self, order), {})
        return copy

    def astype(self, dtype: Any, copy: bool = True, **options: Any) -> Any:
        if not copy and self.dtype == dtype:
            return self
        return call("astype", np.ndarray.astype, (self, dtype), options)

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if all(isinstance(part, BASIC) for part in parts):
            whole = parts if any(part is ... for part in parts) else (*parts, ...)
            return TracedArray(self.value[whole], self.memory)
        if any(getattr(part, "dtype", None) == np.bool_ for part in parts):
            Active.trace.stop("the shape of x[mask] depends on data")
        return call("getitem", np.ndarray.__getitem__, (self, index), {})

    def __setitem__(self, index: Any, new: Any) -> None:
        self.value[plain(index)] = plain(new)
        parts = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(part, BASIC) for part in parts):
            Active.trace.add("call", "setitem", np.ndarray.__setitem__, (index, new), [self], updates=True)
            return
        target = self[index]
        if isinstance(new, TracedArray) and new.view_of() == target.view_of():
            return  # `x[i] += y` puts back what it has changed in place
        same = isinstance(new, TracedArray) and new.size == target.size == 1 and new.dtype == target.dtype
        formula = new.memory.value if same else None
        kind = "copy" if isinstance(new, TracedArray) or (isinstance(new, np.ndarray) and new.ndim) else "fill"
        Active.trace.add(kind, "copyto", np.copyto, (new,), [target])
        self.memory.value = formula

    def __getattr__(self, name: str) -> Any:
        function = getattr(np.ndarray, name, None)
        if function is None or name.startswith("__"):
            raise AttributeError(f"'TracedArray' object has no attribute '{name}'")
        return lambda *args, **options: dispatch(name, function, (self, *args), options)

    # NumPy's dispatch
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        trace, name = Active.trace, ufunc.__name__
        if method == "at":
            return call(f"{name}.at", ufunc.at, inputs, options)
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        kind = "product" if ufunc is np.matmul else {"__call__": "ufunc", "reduce": "reduce"}.get(method, "call")
        name = name if method == "__call__" else f"{name}.{method}"
        outs = [trace.outside(o) if isinstance(o, np.ndarray) else o for o in out]
        result = function(*plain(inputs), **plain(options), out=plain(tuple(outs)) or None)
        results = result if isinstance(result, tuple) else (result,)
        outs = [new_array(each) if o is None else o for o, each in zip(outs or [None] * len(results), results)]
        formula = scalar_formula(name, inputs, outs[0])
        trace.add(kind, name, function, inputs, outs, options, updates="where" in options)
        outs[0].memory.value = formula
        return tuple(outs) if isinstance(result, tuple) else outs[0]

    def __array_function__(self, function: Any, types: Any, args: Any, options: dict[str, Any]) -> Any:
        return dispatch(function.__name__, function, args, options)


def fill_rule(number: Any) -> Callable[[str, Any, Any, dict[str, Any]], Any]:
    """`zeros` and its kind: new memory, and a statement that fills it."""
    def make(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
        value = number if number != "given" else args[1] if len(args) > 1 else options["fill_value"]
        out = new_array(function(*plain(args), **plain(options)))
        if value is not None:
            Active.trace.add("fill", "copyto", np.copyto, (value,), [out])
        return out
    return make


def constant_rule(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    """What is made of sizes and numbers alone; of a traced array a copy, or itself."""
    if any(isinstance(part, TracedArray) for part in parts_of(args)):
        if not isinstance(args[0], TracedArray):
            return call(name, function, args, options)
        x, dtype = args[0], options.get("dtype", args[1] if len(args) > 1 else None)
        same = dtype is None or x.dtype == dtype
        if same and name != "array" and (name == "asarray" or x.flags.c_contiguous):
            return x
        return x.astype(x.dtype if dtype is None else dtype, order="C" if name == "ascontiguousarray" else "K")
    made_of = function(*plain(args), **options)
    return Active.trace.outside(made_of if made_of.base is None else made_of.copy())


def where_rule(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    if len(args) < 3:
        return call("nonzero", function, args, options)
    out = new_array(np.where(*plain(args)))
    Active.trace.add("ufunc", "where", np.where, args, [out])
    return out


def copyto_rule(name: str, function: Any, args: Any, options: dict[str, Any]) -> None:
    out, x = args
    if "where" not in options:
        out[...] = x
        return
    target = out if isinstance(out, TracedArray) else Active.trace.outside(out)
    np.copyto(target.value, plain(x), where=plain(options["where"]))
    Active.trace.add("call", "copyto", np.copyto, (x,), [target], {"where": options["where"]}, updates=True)


def product_rule(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    """`dot` and `matmul`; of vectors too."""
    a, b = args[:2]
    out = args[2] if len(args) > 2 else options.get("out")
    result = function(plain(a), plain(b))
    if out is not None:
        out.value[...] = result
    target = new_array(result) if out is None else out
    if np.ndim(plain(a)) and np.ndim(plain(b)):
        Active.trace.add("product", name, function, (a, b), [target])
    else:
        Active.trace.add("ufunc", "multiply", np.multiply, (a, b), [target])
    return target


def reduction_rule(ufunc: Any, *names: str) -> Callable[[str, Any, Any, dict[str, Any]], Any]:
    """`sum` and its kind, as the `reduce` that they are; `names`: of the arguments behind the axis."""
    def reduced(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
        x, *others = args
        return ufunc.reduce(x, **{"axis": None, **dict(zip(("axis", *names), others)), **options})
    return reduced


# By the name of a function of NumPy's: where more is known than that it makes a new array.
RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("zeros", "zeros_like"), fill_rule(0)), **dict.fromkeys(("ones", "ones_like"), fill_rule(1)),
    **dict.fromkeys(("empty", "empty_like"), fill_rule(None)),
    **dict.fromkeys(("full", "full_like"), fill_rule("given")),
    "where": where_rule, "copyto": copyto_rule, "dot": product_rule, "matmul": product_rule,
    **dict.fromkeys(("asarray", "array", "ascontiguousarray", "arange", "eye", "identity", "tri"), constant_rule),
    "copy": lambda name, function, args, options: args[0].copy("K"),
    "sum": reduction_rule(np.add, "dtype", "out", "keepdims"),
    "prod": reduction_rule(np.multiply, "dtype", "out", "keepdims"),
    "any": reduction_rule(np.logical_or, "out", "keepdims"), "all": reduction_rule(np.logical_and, "out", "keepdims"),
    **dict.fromkeys(("max", "amax"), reduction_rule(np.maximum, "out", "keepdims")),
    **dict.fromkeys(("min", "amin"), reduction_rule(np.minimum, "out", "keepdims"))}


def dispatch(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    """A function of NumPy on traced arrays."""
    rule: Any = RULES.get(name, call)
    return rule(name, function, args, {k: v for k, v in options.items() if k not in ("like", "device")})


def scalar_formula(name: str, inputs: Any, out: TracedArray) -> Formula | None:
    """How one number follows from others whose formulas are known: Adam's count, after one was added."""
    operands: list[Any] = [v.memory.value if isinstance(v, TracedArray) else v for v in inputs]
    if out.ndim or out.dtype.kind != "f" or len(operands) != 2 or name not in UFUNCS or not all(
            isinstance(v, (bool, int, float, np.generic, Formula)) for v in operands):
        return None
    x, y = [v.text if isinstance(v, Formula) else text_of(v if isinstance(v, TracedFloat) else float(v))
            for v in operands]
    return Formula(f"({x} {UFUNCS[name]} {y})" if out.itemsize == 8 else f"rounded({x} {UFUNCS[name]} {y})")
