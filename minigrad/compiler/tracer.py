"""Arrays that compute with NumPy and note each call that writes memory: one more backend beside NumPy's and CuPy's.

No op is changed, and no rule per op is written. NumPy hands each call to the type of the array (NEPs 13, 18 and 35), as
it does with CuPy's arrays (NOTE 9 in minigrad/backends/registry.py), so that forward passes, formulas, the
engine's sums and optimisers are all seen. A traced step is a real step: it changes what an eager one would change. What
a program cannot repeat, such as a condition on data, is therefore no error. The step goes on with the real numbers, and
the trace remembers the reason for which it is of no use (`Trace.broken`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from minigrad.compiler.origin import Calls, asked
from minigrad.compiler.program import NOBODY, Asked, Formula, Memory, Statement, View, contiguous_strides, parts_of
from minigrad.compiler.scalars import TracedFloat, combined, value_of

__all__ = ["RULES", "Active", "GraphBreak", "Trace", "Traced", "apply", "arrays_in", "call", "fresh", "plain"]

BASIC = (int, slice, type(None), type(...))
# Functions of NumPy that look at shapes and dtypes, not at numbers.
ABOUT_TYPES = {"result_type", "ndim", "shape", "size", "may_share_memory", "shares_memory"}
# Functions whose results have shapes that depend on numbers.
SHAPED_BY_DATA = {"nonzero", "flatnonzero", "argwhere", "unique", "unique_values", "unique_all", "unique_counts",
                  "unique_inverse", "compress", "extract", "bincount", "trim_zeros", "union1d", "intersect1d",
                  "setdiff1d", "setxor1d", "histogram_bin_edges"}


class GraphBreak(RuntimeError):
    """A step does what no program can repeat, and `fullgraph=True` asks for an error."""


class Trace:
    """The statements of one step, as they are noted, and the conditions under which they hold."""

    def __init__(self, fullgraph: bool = False, composite: Callable[..., Any] = lambda *args: None) -> None:
        self.composite = composite  # what makes one statement of a whole op, or None
        self.statements: list[Statement] = []
        self.calls = Calls()
        self.guards: dict[str, None] = {}  # conditions on the scalars that the step reads
        self.scalars: dict[str, Callable[..., float]] = {}  # by the name in formulas: what reads it of a call's tensors
        self.inputs: dict[Memory, int] = {}  # the numbers of the tensors from outside
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
        operands, others = self.operand(tuple(args)), {k: self.operand(v) for k, v in (options or {}).items()}
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
        """An argument of a statement: views for arrays, formulas for traced numbers, the rest as it is."""
        if isinstance(value, Traced):
            return value.view_of()
        if isinstance(value, TracedFloat):
            return value.formula
        if isinstance(value, np.ndarray):
            return self.outside(value).view_of()
        if type(value) in (tuple, list):
            return type(value)([self.operand(part) for part in value])
        return value

    def outside(self, array: Any) -> Traced:
        """An array of NumPy's that meets traced ones. What the step made of sizes and numbers is a constant; since it
        may be changed later, the program begins with a copy of it."""
        owner = array if array.base is None or not isinstance(array.base, np.ndarray) else array.base
        if id(owner) not in self.memories:
            constant = Memory(owner.copy(), "constant", f"c{len(self.memories)}")
            memory = Memory(owner, "temporary")
            self.memories[id(owner)] = owner, memory
            kept = Traced(constant.array, constant)
            self.add("copy", "copyto", np.copyto, (kept,), (Traced(owner, memory),))
        return Traced(array, self.memories[id(owner)][1])

    def as_input(self, array: Any, name: str, number: int) -> Traced:
        """An array of a tensor from outside, as an input of its own: others may have the same array in this call."""
        memory = Memory(array, "input", name)
        self.memories[id(array)], self.inputs[memory] = (array, memory), number
        if array.size == 1 and array.dtype.kind == "f":
            now = self.scalar(array.item(), f"{name}_now", lambda tensors: tensors[number].array.item())
            memory.value = now.formula
        return Traced(array, memory)


HALF = "a tensor is of bfloat16, which programs do not compute"


class Active:
    """The trace that is being made, and the thread that makes it."""

    trace: Trace
    thread: int | None = None

    @classmethod
    def here(cls) -> bool:
        """Whether this thread traces a step."""
        return cls.thread == get_ident()


def plain(value: Any) -> Any:
    """An argument with arrays of NumPy's in the place of traced ones."""
    if isinstance(value, Traced):
        return value.value
    if type(value) in (tuple, list):
        return type(value)([plain(part) for part in value])
    return value_of(value)  # a subclass of float would not take the dtype of the array that it meets


def fresh(array: Any) -> Traced:
    """A new array, in memory of its own."""
    array = np.asarray(array)
    if array.base is not None:
        array = array.copy("K")
    return Traced(array, Memory(array, "temporary"))


def traced_result(result: Any, sources: list[Traced], note: Callable[[list[Traced]], None]) -> Any:
    """What a function gave, traced: a view of memory that is known, or new memory, which `note` is told of."""
    new: list[Traced] = []

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
                return Traced(array, source.memory)
        new.append(fresh(array))
        return new[-1]

    wrapped = wrap(result)
    if new:
        note(new)
    return wrapped


def arrays_in(value: Any) -> list[Traced]:
    """The traced arrays of an argument."""
    return [part for part in parts_of(value) if isinstance(part, Traced)]


def call(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    """Call a function of NumPy, and note it as a statement if it makes a new array or changes one."""
    trace = Active.trace
    real = [plain(a) for a in args], {k: plain(v) for k, v in options.items()}
    result = function(*real[0], **real[1])
    if name in ABOUT_TYPES:
        return result
    if name in SHAPED_BY_DATA:
        trace.stop(f"the shape that {name} gives depends on data")
    sources = arrays_in((args, tuple(options.values())))
    if result is None:  # it has changed its first argument
        first = args[0] if isinstance(args[0], Traced) else trace.outside(args[0])
        trace.add("call", name, function, args, [first], options, updates=True)
        return None
    if not isinstance(result, (np.ndarray, np.generic, tuple, list)):
        trace.stop(f"{name} looks at numbers")
        return result
    if name in ("copy", "astype", "ravel", "reshape"):
        return traced_result(result, sources, lambda new: copied(args[0], new[0]))
    return traced_result(result, sources, lambda new: trace.add("call", name, function, args, new, options))


def copied(source: Any, out: Traced) -> None:
    """Note a copy, of another shape or dtype perhaps: a copy is written in the shape of what it copies."""
    value, shape = out.value, source.shape
    if value.shape != shape:
        value = as_strided(value, shape, contiguous_strides(shape, value.itemsize))
    Active.trace.add("copy", "copyto", np.copyto, (source,), [Traced(value, out.memory)])


def looked_at(name: str, reason: str) -> Any:
    """A method of arrays that gives what no program knows before it runs."""
    def method(self: Traced, *args: Any, **options: Any) -> Any:
        Active.trace.stop(reason)
        return getattr(self.value, name)(*args, **options)
    return method


class Traced(NDArrayOperatorsMixin):
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
    T = property(lambda self: Traced(self.value.T, self.memory))
    base = property(lambda self: None if self.value.base is None else self.memory)

    def view_of(self) -> View:
        """Where it lies."""
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

    __bool__ = looked_at("__bool__", "a condition on data")
    __float__ = looked_at("__float__", "a number is read from a tensor")
    __int__ = looked_at("__int__", "a number is read from a tensor")
    __index__ = looked_at("__index__", "a number is read from a tensor")
    __complex__ = looked_at("__complex__", "a number is read from a tensor")
    tolist = looked_at("tolist", "values are handed to Python")
    __array__ = looked_at("__array__", "values are handed to NumPy")

    # views, copies, elements
    def copy(self, order: Any = "C") -> Traced:
        copy: Traced = call("copy", np.ndarray.copy, (self, order), {})
        return copy

    def astype(self, dtype: Any, copy: bool = True, **options: Any) -> Any:
        if not copy and self.dtype == dtype:
            return self
        return call("astype", np.ndarray.astype, (self, dtype), options)

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if all(isinstance(part, BASIC) for part in parts):
            whole = parts if any(part is ... for part in parts) else (*parts, ...)
            return Traced(self.value[whole], self.memory)
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
        if isinstance(new, Traced) and new.view_of() == target.view_of():
            return  # `x[i] += y` puts back what it has changed in place
        same = isinstance(new, Traced) and new.size == target.size == 1 and new.dtype == target.dtype
        formula = new.memory.value if same else None
        kind = "copy" if isinstance(new, Traced) or (isinstance(new, np.ndarray) and new.ndim) else "fill"
        Active.trace.add(kind, "copyto", np.copyto, (new,), [target])
        self.memory.value = formula

    def __getattr__(self, name: str) -> Any:
        """Any other method of NumPy's arrays."""
        function = getattr(np.ndarray, name, None)
        if function is None or name.startswith("__"):
            raise AttributeError(f"'Traced' object has no attribute '{name}'")
        return lambda *args, **options: apply(name, function, (self, *args), options)

    # NumPy's dispatch
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        trace, name = Active.trace, ufunc.__name__
        if method == "at":
            return call(f"{name}.at", ufunc.at, inputs, options)
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        kind = "product" if ufunc is np.matmul else {"__call__": "ufunc", "reduce": "reduce"}.get(method, "call")
        name = name if method == "__call__" else f"{name}.{method}"
        outs = [trace.outside(o) if isinstance(o, np.ndarray) else o for o in out]
        result = function(*plain(inputs), **{k: plain(v) for k, v in options.items()}, out=plain(tuple(outs)) or None)
        results = result if isinstance(result, tuple) else (result,)
        outs = [fresh(each) if o is None else o for o, each in zip(outs or [None] * len(results), results)]
        formula = scalar_formula(name, inputs, outs[0])
        trace.add(kind, name, function, inputs, outs, options, updates="where" in options)
        outs[0].memory.value = formula
        return tuple(outs) if isinstance(result, tuple) else outs[0]

    def __array_function__(self, function: Any, types: Any, args: Any, options: dict[str, Any]) -> Any:
        return apply(function.__name__, function, args, options)


RULES: dict[str, Callable[..., Any]] = {}  # by the name of a function of NumPy's (functions.py fills it)


def apply(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    """A function of NumPy on traced arrays."""
    rule: Callable[..., Any] = RULES.get(name, call)
    return rule(name, function, args, {k: v for k, v in options.items() if k not in ("like", "device")})


def scalar_formula(name: str, inputs: Any, out: Traced) -> Formula | None:
    """How one number follows from others whose formulas are known: Adam's count, after one was added."""
    if out.ndim or out.dtype.kind != "f" or len(inputs) != 2:
        return None
    return combined(name, [v.memory.value if isinstance(v, Traced) else v for v in inputs], out.dtype.itemsize)
