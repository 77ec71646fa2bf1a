"""Notes the arithmetic of an op: each result as an expression in its operands, which the inspectors evaluate.

It mirrors nothing in PyTorch. While a program is recorded, only the function that ran and its arguments are noted.
After the program has ended, that function runs over symbols (`minigrad.backends.symbolic`), once for all equal calls.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import BuiltinFunctionType, CellType, CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.dtype import BFLOAT16, BFloat16, numpy_dtype_of
from minigrad.backends.registry import BACKEND_OF, serving
from minigrad.backends.symbolic import BACKEND, SHORTEST, SYMBOLS, Limit, NotSymbolic, Symbol, expression_of
from minigrad.core import LOCAL, ManyOutputs, Tensor, plain
from minigrad.history.inplace import in_place
from minigrad.recording.backward_formulas import Meta, calls_formula, constant_names, fitted, new, saved_names
from minigrad.recording.encoder import CALLS

__all__ = ["Arithmetic", "Call", "Reader", "call_named", "metas_of"]

# What stands between an op and its observer.
RECORDING = ("minigrad.core.record", "minigrad.core.new_leaf", "minigrad.history.views")
LONGEST = 300  # functions in an expression that is evaluated, not read
OPS = ("minigrad.ops.", "minigrad.nn.")
PLAIN = (bool, int, float, str, type(None), slice, type(...), np.dtype, np.generic, type, BFloat16)


class Operand(NamedTuple):
    """Stands for a tensor among the arguments of a function: what an expression calls it."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    requires_grad: bool


class Fixed(NamedTuple):
    """Stands for a short tensor that existed before the recording."""

    shape: tuple[int, ...]
    dtype: Any
    entries: tuple[Any, ...]


class Listed(NamedTuple):
    """Stands for a list, which as an index differs from a tuple."""

    parts: tuple[Any, ...]


class Routine(NamedTuple):
    """A function as its frame shows it."""

    code: CodeType
    module: str
    cells: tuple[Any, ...]

    def function(self) -> Any:
        """Return the function."""
        cells = tuple([CellType(value) for value in self.cells])
        return FunctionType(self.code, vars(sys.modules[self.module]), closure=cells)


# Those of the ops, without the variables around them, by the `id()` of their code. It stays alive here. (The hash of a
# code would be computed from all that it has.)
ROUTINES: dict[int, Routine] = {}


class Call(NamedTuple):
    """A function that an op ran, and its arguments. It holds no tensor, and no array of many elements."""

    routine: Any
    args: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]
    outputs: tuple[tuple[tuple[int, ...], Any], ...]  # shape and dtype of each result

    def arithmetic(self) -> "Arithmetic | None":
        """Return the expressions of the op; None if its function does what no expression can say."""
        try:
            return arithmetic(self)
        except TypeError:  # a slice cannot be looked up in Python 3.11
            return arithmetic.__wrapped__(self)


class Arithmetic(NamedTuple):
    """The expressions of an op."""

    results: list[Any]  # of each result
    parameters: dict[str, Any]  # of what its node saved, and of the other arrays that its formula is called with
    node: str | None  # what its node is called
    derivatives: list[Any] | None  # of the gradient of each input, in operands of the op


class Reader:
    """Finds the call of an op, and the tensors that it read."""

    def __init__(self, inputs: Sequence[Any], seen: Any) -> None:
        # the first name of each counts
        self.known = dict(zip(map(id, reversed(inputs)), names_backwards(len(inputs)), strict=True))
        self.seen = seen
        self.reads: list[int] = []

    def call(self, frame: Any, metas: tuple[Meta, ...]) -> Call | None:
        """The call of the innermost function that got only tensors and numbers, no arrays; `frame`: of the function
        that called the observer; `metas`: shape and dtype of each result."""
        if frame.f_code is in_place.__code__:  # what was written is what the function returns out of place
            given = frame.f_locals
            args, metas = (given["x"], *given["args"]), metas_of((given["x"],))
            try:
                return Call(self.routine(given["forward"]), self.parts(args), self.named(given["options"]), metas)
            except TypeError:
                return None
        while frame is not None and (module := frame.f_globals.get("__name__", "")) in RECORDING:
            frame = frame.f_back
        while frame is not None and (module := frame.f_globals.get("__name__", "")).startswith(OPS):
            try:
                routine, args, options, cells = arguments_of(frame, module)
                if cells:
                    routine = routine._replace(cells=self.parts(cells))
                return new(Call, (routine, self.parts(args), self.named(options) if options else (), metas))
            except TypeError:
                frame = frame.f_back
        return None

    def routine(self, function: Any) -> Any:
        """Return a function as a `Routine`, or as a pair of it and the class that it is called on. Raises TypeError for
        any other callable."""
        owner = getattr(function, "__self__", None)
        function = self.plain(getattr(function, "__func__", function))
        return function if owner is None else (function, self.plain(owner))

    def parts(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([self.operand(value) if isinstance(value, Tensor) else self.plain(value) for value in values])

    def named(self, options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple([(name, self.plain(value)) for name, value in options.items()])

    def plain(self, value: Any) -> Any:
        """Return an argument with names in place of tensors. Raises TypeError for an array, a long tensor that the
        recorder has not seen, or anything that is not a number."""
        if isinstance(value, Tensor):
            return self.operand(value)
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, list):
            return Listed(self.parts(value))
        if isinstance(value, tuple):
            parts = self.parts(value)
            return type(value)(*parts) if hasattr(value, "_fields") else parts
        if isinstance(value, (np.ufunc, BuiltinFunctionType)) or type(value) is type(np.argmax):
            return value
        if isinstance(value, FunctionType) and value.__module__.startswith(OPS):
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            self.parts([each for each in cells if each is not value])  # it holds no tensor either
            return value
        raise TypeError(f"an argument of type {type(value).__name__}")

    def operand(self, tensor: Tensor) -> Any:
        """A tensor: an operand of the op, another one that the recorder knows, or one from before."""
        array = tensor.array
        name = self.known.get(id(tensor))
        if name is None:
            number = self.seen.tensor_number(tensor)
            constant = number is None and not self.seen.is_unexplained(tensor)
            if constant and array.size <= SHORTEST and type(array) not in BACKEND_OF:
                return Fixed(array.shape, array.dtype, tuple(array.ravel().tolist()))
            if number is None:
                raise TypeError("a tensor that the recorder has not seen")
            name = self.known[id(tensor)] = f"reads[{len(self.reads)}]"
            self.reads.append(number)
        return new(Operand, (name, array.shape, array.dtype, tensor._requires_grad))


def call_named(name: str, args: Sequence[Any], options: Mapping[str, Any], described: Callable[[Any], Any],
               outputs: Sequence[tuple[tuple[int, ...], str]]) -> Call | None:
    """Return the call of minigrad's public function that matches one of another library; None if there is none.

    Args:
        name: the function's, `add`, or `Tensor.add`.
        args: its positional arguments; `options`: its keyword arguments.
        described: says what an argument is: `("tensor", which operand, shape, dtype, requires_grad)`,
            `("dtype", name)`, or None for what stays unchanged.
        outputs: shape and dtype of each result.
    """
    library = importlib.import_module("minigrad")
    function: Any = library
    for part in name.split("."):
        function = getattr(function, part, None)

    def argument(value: Any) -> Any:
        kind, *facts = described(value) or (None,)
        if kind == "tensor":
            number, shape, dtype, requires_grad = facts
            return Operand(f"inputs[{number}]", shape, numpy_dtype_of(dtype), requires_grad)
        if kind == "dtype":
            return getattr(library, facts[0])
        if isinstance(value, list):
            return Listed(tuple(map(argument, value)))
        if isinstance(value, tuple):
            return tuple(map(argument, value))
        if isinstance(value, PLAIN):
            return value
        raise TypeError(f"an argument of type {type(value).__name__}")

    try:
        return None if function is None else Call(
            function, argument(tuple(args)), tuple([(key, argument(value)) for key, value in options.items()]),
            tuple([(shape, numpy_dtype_of(dtype)) for shape, dtype in outputs]))
    except (AttributeError, TypeError):  # an argument that minigrad does not have
        return None


@functools.cache
def names_backwards(count: int) -> tuple[str, ...]:
    """Return what expressions call the operands of an op, the last one first."""
    return tuple([f"inputs[{i}]" for i in reversed(range(count))])


def metas_of(tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Return shape and dtype of each tensor."""
    return tuple([(tensor.array.shape, tensor.array.dtype) for tensor in tensors])


def arguments_of(frame: Any, module: str) -> tuple[Routine, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
    """Return the function that a frame runs, its arguments, and the variables around it that it uses."""
    code, values = frame.f_code, frame.f_locals
    routine = ROUTINES.get(id(code))
    if routine is None or routine.module != module:
        routine = ROUTINES[id(code)] = Routine(code, module, ())
    count, at, flags = code.co_argcount, code.co_argcount + code.co_kwonlyargcount, code.co_flags
    names = code.co_varnames
    value_of = values.__getitem__
    args, options = tuple(map(value_of, names[:count])), {}
    if count != at:
        options = dict(zip(names[count:at], map(value_of, names[count:at]), strict=True))
    if flags & CO_VARARGS:
        args += values[names[at]]
        at += 1
    if flags & CO_VARKEYWORDS:
        options |= values[names[at]]
    return routine, args, options, tuple(map(value_of, code.co_freevars)) if code.co_freevars else ()


def with_symbols(value: Any) -> Any:
    """Return an argument with symbols for its operands."""
    if isinstance(value, Operand):
        tensor = plain(Symbol(value.name, value.shape, value.dtype))
        tensor._requires_grad = value.requires_grad
        return tensor
    if isinstance(value, Fixed):
        dtype = numpy_dtype_of(value.dtype)
        array = np.array(value.entries, "float32" if dtype is BFLOAT16 else dtype).reshape(value.shape)
        return plain(BACKEND.from_host(array).astype(dtype))
    if isinstance(value, Listed):
        return [with_symbols(part) for part in value.parts]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple([with_symbols(part) for part in value])
    return value


class Count:
    """Observes how many ops run."""

    def __init__(self) -> None:
        self.ops = 0

    def forward(self, *args: Any) -> None:
        """An op ran."""
        self.ops += 1

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args: None


@contextmanager
def observed(observer: Any) -> Iterator[None]:
    """A block in which `observer` observes this thread, and symbols count as arrays."""
    before = LOCAL.observer, LOCAL.grad_enabled, LOCAL.inference, LOCAL.saved_tensors_hooks, LOCAL.dispatch_modes
    LOCAL.observer, LOCAL.grad_enabled, LOCAL.inference = observer, True, False
    LOCAL.saved_tensors_hooks, LOCAL.dispatch_modes = (), ()
    LOCAL.update()
    try:
        with serving(BACKEND), Limit.of(LONGEST), np.errstate(all="ignore"):
            yield
    finally:
        (LOCAL.observer, LOCAL.grad_enabled, LOCAL.inference, LOCAL.saved_tensors_hooks,
         LOCAL.dispatch_modes) = before
        LOCAL.update()


@functools.lru_cache(1024)
def arithmetic(call: Call) -> Arithmetic | None:
    """`Call.arithmetic`, once for all calls that are alike."""
    count = Count()
    try:
        with observed(count):
            result = run(call)
        if count.ops != 1 and isinstance(call.routine, Routine):
            raise NotSymbolic("several ops")
        results = result if isinstance(result, (tuple, list)) else (result,)
        expressions = [expression_in(one.array, meta) for one, meta in zip(results, call.outputs, strict=False)]
        node = results[0]._current_grad_fn
        derivatives = derivatives_of(node, results[0].array)
        return Arithmetic(expressions, parameters_of(node), node and node.name(), derivatives)
    except Exception:  # noqa: BLE001 (a function may do what no symbol can, and then there is nothing to evaluate)
        return None


def parameters_of(node: Any) -> dict[str, Any]:
    """Return the expressions of the arrays that a formula is called with, by their names."""
    if node is None or not calls_formula(type(node)):
        return {}
    saved = [getattr(each, "array", each) for each in node.saved or ()]
    names = [*saved_names(type(node), len(saved)), *constant_names(type(node), len(saved), len(node.const))]
    found = [pair for value, name in zip((*saved, *node.const), names, strict=True) for pair in symbols_in(value, name)]
    return dict(found)


def derivatives_of(node: Any, result: Any) -> list[Any] | None:
    """The expression of the gradient of each input of a node that saved symbols; None without a node, or for a node
    with several outputs."""
    if node is None or not calls_formula(type(node)) or isinstance(node, ManyOutputs):
        return None
    try:
        with serving(BACKEND), np.errstate(all="ignore"):  # people read these, so they are shorter
            saved = [getattr(each, "array", each) for each in node.saved or ()]
            grads = node.backward(SYMBOLS, Symbol("grad", result.shape, result.dtype), *saved, *node.const)
            grads = grads if isinstance(grads, tuple) else (grads,)
            likes = (None if node._extras is None else node._extras.input_metadata) or (None,) * len(grads)
            return [None if grad is None else fitted(grad, like).expression
                    for grad, like in zip(grads, likes, strict=True)]
    except Exception:  # noqa: BLE001 (a formula may do what no symbol can)
        return None


def symbols_in(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the symbols in a parameter, by the names that they have in the expressions of gradients."""
    if isinstance(value, Symbol):
        yield name, value.expression
    elif isinstance(value, np.ndarray) and value.size <= SHORTEST:
        yield name, expression_of(value)
    elif type(value) is tuple:
        for i, part in enumerate(value):
            yield from symbols_in(part, f"{name}[{i}]")


def run(call: Call) -> Any:
    """Run the function of a call over symbols."""
    routine, args = call.routine, [with_symbols(arg) for arg in call.args]
    options = {name: with_symbols(value) for name, value in call.options}
    if isinstance(routine, Routine):
        return routine.function()(*args, **options)
    if isinstance(routine, tuple):  # of a class
        function, owner = routine
        return function(owner, *args, **options)
    return routine(*args, **options)


def expression_in(array: Any, meta: tuple[tuple[int, ...], Any]) -> Any:
    """Return the expression of a result. Raises ValueError if the result is not what was recorded."""
    if not isinstance(array, Symbol) or array.shape != meta[0] or array.dtype != meta[1]:
        raise ValueError("another result than that which was recorded")
    return array.expression


CALLS.append(call_named)
