"""Runs formulas on symbols: its functions compute nothing, they record the formula as an expression.

This is the third namespace besides that of arrays (`minigrad.backends.numpy`) and that of Tensors
(`minigrad.ops.backward_namespace`). A formula run on symbols returns, for each input, its gradient as an expression,
which the inspectors show with names and with numbers. The forward of an op calls NumPy instead, which passes a call to
its arguments (`__array_ufunc__`, `__array_function__`: NEPs 13 and 18), so that forwards run on symbols unchanged.

An expression is plain data: a string names an operand, a number, a bool and null stand for themselves, and a list is
the name of a function and its arguments: `["mul", "grad", "other"]`. docs/trace.md lists the names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from types import SimpleNamespace
from typing import Any

import numpy as np

from minigrad._base.dtype import BFLOAT16, BFloat16, number_array, numpy_dtype_of, promote_types
from minigrad.backends.numpy import XP

__all__ = ["BACKEND", "SYMBOLS", "Limit", "NotSymbolic", "Symbol", "expression_of", "zeros_like"]

Expression = Any  # str | int | float | bool | None | list[Expression]
SMALL = 10_000  # elements, up to which an op inside a formula runs on zeros to find the shape of its result
SHORTEST = 16  # elements, up to which an array that a formula creates from sizes is written out
LONGEST = 60  # functions in the expression of a gradient; a longer one explains nothing


RENAMED = {"negative": "neg", "absolute": "abs", "subtract": "sub", "multiply": "mul", "divide": "div",
           "power": "pow", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
           "not_equal": "ne", "bitwise_and": "and", "bitwise_or": "or"}  # NumPy's names and ours
REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin", "logical_and": "all",
              "logical_or": "any"}
VIEWS = ("getitem", "reshape", "transpose", "swapaxes", "broadcast_to", "diagonal", "moveaxis")
C_ORDER = SimpleNamespace(c_contiguous=True, f_contiguous=False, fnc=False, forc=True, owndata=True, writeable=True)


class NotSymbolic(Exception):
    """A formula that no expression can represent: it reads numbers, or calls a function outside the namespace."""


class Limit:
    """The maximum number of functions in one expression."""

    longest = LONGEST

    @classmethod
    @contextmanager
    def of(cls, longest: int) -> Iterator[None]:
        """A block in which expressions may be longer."""
        before, cls.longest = cls.longest, longest
        try:
            yield
        finally:
            cls.longest = before


def result_type(*types: Any) -> Any:
    """`numpy.result_type` of dtypes and Python numbers, including bfloat16."""
    if not any(each is BFLOAT16 for each in types):
        return np.result_type(*types)
    return reduce(promote_types, [each for each in types if isinstance(each, np.dtype)], BFLOAT16)


def zeros_like(value: Any) -> Any:
    """Zeros in place of a symbol, also within a tuple; they take no memory."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)([zeros_like(part) for part in value])
    if isinstance(value, Symbol):
        return np.broadcast_to(number_array(0, value.dtype), value.shape)
    return value


def reduction(name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    return getattr(np, name)(x, axis=axis, keepdims=keepdims)


class Symbol:
    """An array with an expression, a dtype and, unless it is unknown, a shape, but without numbers."""

    flags, base = C_ORDER, None

    def __init__(self, expression: Any, shape: tuple[int, ...] | None, dtype: Any) -> None:
        self.expression, self.known_shape, self.dtype = expression, shape, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        if self.known_shape is None:
            raise NotSymbolic("the shape of a large result")
        return self.known_shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple([math.prod(self.shape[i + 1:]) * self.itemsize for i in range(self.ndim)])

    @property
    def T(self) -> Any:
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if index is Ellipsis or (isinstance(index, tuple) and not index):
            return self
        return SYMBOLS.getitem(self, index)

    def __bool__(self) -> bool:
        raise NotSymbolic("a truth value")

    def __iter__(self) -> Any:
        raise NotSymbolic("a loop over elements")

    # methods of arrays
    def astype(self, dtype: Any, copy: bool = True) -> Any:
        dtype = numpy_dtype_of(dtype)
        return self if self.dtype == dtype else SYMBOLS.cast(self, dtype)

    def reshape(self, *shape: Any) -> Any:
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return SYMBOLS.reshape(self, tuple(sizes))

    def ravel(self) -> Any:
        return self.reshape(-1)

    def transpose(self, *axes: Any) -> Any:
        dims = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return SYMBOLS.transpose(self, tuple(dims or reversed(range(self.ndim))))

    def swapaxes(self, i: int, j: int) -> Any:
        return SYMBOLS.swapaxes(self, i, j)

    def squeeze(self, axis: Any = None) -> Any:
        return self.reshape(zeros_like(self).squeeze(axis).shape)

    def dot(self, other: Any) -> Any:
        return self @ other

    def __abs__(self) -> Symbol:
        return Symbol(["abs", self.expression], self.known_shape, self.dtype)

    def __neg__(self) -> Symbol:
        return Symbol(["neg", self.expression], self.known_shape, self.dtype)

    def __invert__(self) -> Symbol:
        return Symbol(["invert", self.expression], self.known_shape, self.dtype)

    def __matmul__(self, other: Any) -> Any:
        return SYMBOLS.matmul(self, other)

    def copy(self, order: str = "C") -> Any:
        return self

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("sum", axis, dtype, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("amax", axis, None, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("amin", axis, None, keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("prod", axis, dtype, keepdims)

    def take(self, index: Any, axis: Any = None) -> Any:
        return record_call("take", np.take, self, index, axis)

    def all(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("all", axis, None, keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("any", axis, None, keepdims)

    def argmax(self, axis: Any = None, keepdims: bool = False) -> Any:
        return record_call("argmax", partial(reduction, "argmax"), self, axis, keepdims)

    def argmin(self, axis: Any = None, keepdims: bool = False) -> Any:
        return record_call("argmin", partial(reduction, "argmin"), self, axis, keepdims)

    def reduced(self, name: str, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """A reduction over some dimensions, or all."""
        x = self if dtype is None else self.astype(dtype)
        axes = (axis,) if isinstance(axis, int) else axis
        axes = None if axes is None else tuple([each % max(x.ndim, 1) for each in axes])
        if name == "sum":
            x = x.astype(np.int64) if x.dtype.kind == "b" else x
            return SYMBOLS.sum(x, axes, keepdims)
        return record_call(name, partial(reduction, name), x, axes, keepdims)

    # NumPy's functions
    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        """NumPy's ufuncs, where an op calls them instead of the namespace's functions."""
        if method == "reduce" and ufunc.__name__ in REDUCTIONS:
            x, *rest = args
            return x.reduced(REDUCTIONS[ufunc.__name__], *(rest or (options.pop("axis", 0),)), **options)
        dtype, out = options.pop("dtype", None), options.pop("out", (None,))[0]
        operands = list(args)
        if len(operands) > ufunc.nin:
            out = operands.pop()
        if method != "__call__" or options or ufunc.nout != 1:
            return NotImplemented
        if dtype is not None:
            operands = [a.astype(dtype) if isinstance(a, Symbol) else a for a in operands]
        result = (SYMBOLS.matmul(*operands) if ufunc is np.matmul else
                  self.elementwise(RENAMED.get(ufunc.__name__, ufunc.__name__), ufunc, operands))
        return result if out is None else out.overwritten(result)

    def overwritten(self, part: Any, index: Any = ...) -> Any:
        """This array after a write; no other name may refer to it. Raises NotSymbolic if it may be a view, or the
        operand of an op."""
        if not isinstance(self.expression, list) or self.expression[0] in VIEWS:
            raise NotSymbolic("a view that is written to")
        whole = index is Ellipsis and getattr(part, "shape", None) == self.shape
        result = part.astype(self.dtype) if whole else SYMBOLS.put(self, index, part)
        self.expression = result.expression
        return self

    def __setitem__(self, index: Any, part: Any) -> None:
        self.overwritten(part, index)

    def elementwise(self, name: str, ufunc: Any, args: Any) -> Any:
        """An elementwise function; NumPy determines the dtype of the result."""
        kinds = [number_array(0, a.dtype) if isinstance(a, Symbol) else a for a in args]
        with np.errstate(all="ignore"):
            return SYMBOLS.elementwise(name, ufunc(*kinds).dtype)(*args)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        own = OWN.get(function.__name__)
        if own is not None:
            return own(SYMBOLS, *args, **options)
        if function.__name__ not in PLAIN:
            raise NotSymbolic(f"np.{function.__name__}")
        order = PLAIN[function.__name__]
        if options.get("kind") == "stable":  # as all sorting in an expression
            del options["kind"]
        if options.get("dtype", 0) is None:
            del options["dtype"]
        if len(args) == len(order) + 1 and args[-1] is None:  # a dtype
            args = args[:-1]
        extra = [options.pop(name, None) for name in order[len(args):]]
        if options or len(args) > len(order):
            raise NotSymbolic(f"np.{function.__name__} with further arguments")
        while extra and extra[-1] is None:
            extra.pop()
        return record_call(function.__name__, function, *args, *extra)


def expression_of(value: Any) -> Expression:
    """An argument as part of an expression. Raises NotSymbolic for anything but a symbol, number, dtype, text or short
    array, or a tuple or slice of these."""
    if isinstance(value, Symbol):
        return value.expression
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, np.generic) or (getattr(value, "dtype", None) is BFLOAT16 and not value.ndim):
        return expression_of(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else ["float", str(value)]
    if isinstance(value, str):
        return ["text", value]
    if isinstance(value, (tuple, list)):
        name = type(value).__name__ if hasattr(value, "_fields") else "tuple"
        return [name, *[expression_of(part) for part in value]]
    if isinstance(value, slice):
        return ["slice", value.start, value.stop, value.step]
    if value is Ellipsis:
        return ["ellipsis"]
    if isinstance(value, (np.dtype, BFloat16)):
        return ["dtype", value.name]
    if isinstance(value, np.ndarray) and value.size <= SHORTEST:
        return ["array", ["dtype", value.dtype.name], expression_of(value.shape), *map(expression_of, value.flat)]
    raise NotSymbolic(f"an argument of type {type(value).__name__}")


def length_of(expression: Expression) -> int:
    """The number of functions in an expression."""
    return 1 + sum(map(length_of, expression[1:])) if isinstance(expression, list) else 0


def call(name: str, args: Sequence[Any], shape: tuple[int, ...] | None, dtype: Any) -> Symbol:
    """A symbol for the result of a function."""
    expression = [name, *[expression_of(arg) for arg in args]]
    if length_of(expression) > Limit.longest:
        raise NotSymbolic("a long formula")
    return Symbol(expression, shape, dtype)


def result_dtype(values: Sequence[Any]) -> Any:
    """The dtype of an elementwise result; a Python number takes that of the arrays."""
    return result_type(*[value.dtype if isinstance(value, Symbol) else value for value in values])


def broadcast(values: Sequence[Any]) -> tuple[int, ...] | None:
    """The common shape of all values, None if one is unknown."""
    shapes = [value.known_shape for value in values if isinstance(value, Symbol)]
    return None if None in shapes else np.broadcast_shapes(*[shape for shape in shapes if shape is not None])


def elementwise(name: str, dtype: Any = None) -> Callable[..., Symbol]:
    """A recorded elementwise function; its dtype follows from its arguments, unless it is given."""
    return lambda *args: call(name, args, broadcast(args), dtype or result_dtype(args))


def operators(names: dict[str, str], dtype: Any = None) -> None:
    """Give Symbol these binary operators, and where Python has them their reflected forms."""
    for method, name in names.items():
        function = elementwise(name, dtype)
        setattr(Symbol, f"__{method}__", function)
        setattr(Symbol, f"__r{method}__", lambda self, other, function=function: function(other, self))


operators({"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "and": "and", "or": "or",
           "mod": "remainder", "floordiv": "floor_divide"})
operators({"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne"}, np.dtype(bool))


def run_on_zeros(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The result of a function for zeros, to find shape and dtype.

    Raises NotSymbolic if the function fails on zeros.
    """
    try:
        with np.errstate(all="ignore"):
            return function(*[zeros_like(arg) for arg in args])
    except NotSymbolic:
        raise
    except Exception as error:  # linear algebra and others refuse zeros, each with its own error
        raise NotSymbolic("an op that refuses zeros") from error


def written_out(op: Any, args: Sequence[Any]) -> Symbol | None:
    """An op as the operators that it applies to its arguments, if it applies nothing else, like tanh's derivative."""
    try:
        result = op.values(*args)
    except Exception:  # noqa: BLE001 (NumPy's functions refuse symbols, each with its own error)
        return None
    return result if isinstance(result, Symbol) else None


def views(name: str) -> Callable[..., Symbol]:
    """A function of `ArrayNamespace` that returns a view; zeros, which take no memory, give its shape."""
    def function(x: Symbol, *args: Any) -> Symbol:
        return call(name, (x, *args), run_on_zeros(getattr(XP, name), (x, *args)).shape, x.dtype)
    return function


def product_shape(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    batch = np.broadcast_shapes(x[:-2], y[:-2])
    return (*batch, *x[-2:-1], *(y[-1:] if len(y) > 1 else ()))


class SymbolNamespace:
    """The functions of `ArrayNamespace`, each of which records itself."""

    exp, log, sqrt, sin, cos, sign, sigmoid = map(elementwise, ("exp", "log", "sqrt", "sin", "cos", "sign", "sigmoid"))
    power, elementwise = elementwise("pow"), staticmethod(elementwise)
    broadcast_to, transpose = map(views, ("broadcast_to", "transpose"))

    @staticmethod
    def getitem(x: Symbol, index: Any) -> Symbol:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, Symbol) and part.dtype == bool for part in parts):  # how many it selects is unknown
            return call("getitem", (x, index), None, x.dtype)
        return views("getitem")(x, index)

    @staticmethod
    def matmul(x: Symbol, y: Symbol) -> Symbol:
        return call("matmul", (x, y), product_shape(x.shape, y.shape), result_dtype((x, y)))

    bmm = matmul

    @staticmethod
    def stack(parts: Sequence[Symbol], axis: int) -> Symbol:
        shape = list(parts[0].shape)
        shape.insert(axis % (len(shape) + 1), len(parts))
        return call("stack", (parts, axis), tuple(shape), result_dtype(parts))

    @staticmethod
    def concatenate(parts: Sequence[Symbol], axis: int) -> Symbol:
        shape = list(parts[0].shape)
        shape[axis] = sum([part.shape[axis] for part in parts])
        return call("concatenate", (parts, axis), tuple(shape), result_dtype(parts))

    @staticmethod
    def scatter(x: Symbol, index: Any, shape: tuple[int, ...]) -> Symbol:
        if x.size + math.prod(shape) <= SMALL:  # check the index where it costs nothing
            run_on_zeros(XP.scatter, (x, index, shape))
        return call("scatter", (x, index, shape), tuple(shape), x.dtype)

    @staticmethod
    def put(x: Symbol, index: Any, part: Any) -> Symbol:
        return call("put", (x, index, part), x.shape, x.dtype)

    @staticmethod
    def swapaxes(x: Symbol, i: int, j: int) -> Symbol:
        """Swapping twice restores the symbol."""
        result = views("swapaxes")(x, i, j)
        if isinstance(x.expression, list) and x.expression[0] == "swapaxes" and x.expression[2:] == [i, j]:
            return Symbol(x.expression[1], result.shape, x.dtype)
        return result

    @staticmethod
    def t(x: Symbol) -> Symbol:
        return SYMBOLS.swapaxes(x, -1, -2)

    @staticmethod
    def turned_product(x: Symbol, y: Symbol) -> Symbol:
        """`(x @ y).T`, written as `y.T @ x.T`."""
        return SYMBOLS.matmul(SYMBOLS.t(y), SYMBOLS.t(x))

    @staticmethod
    def reshape(x: Symbol, shape: Any) -> Symbol:
        """A sum that kept its dimensions, and loses just these, is a sum that does not keep them."""
        result = views("reshape")(x, shape)
        if isinstance(x.expression, list) and x.expression[0] == "sum" and x.expression[3] is True:
            _, of, axes, _ = x.expression
            if axes is not None and result.shape == tuple([n for i, n in enumerate(x.shape) if i not in axes[1:]]):
                return Symbol(["sum", of, axes, False], result.shape, x.dtype)
        return result

    @staticmethod
    def where(condition: Symbol, x: Any, y: Any) -> Symbol:
        return call("where", (condition, x, y), broadcast((condition, x, y)), result_dtype((x, y)))

    @staticmethod
    def masked(mask: Symbol, x: Symbol) -> Symbol:
        return call("masked", (mask, x), broadcast((mask, x)), x.dtype)

    @staticmethod
    def threshold_backward(g: Symbol, y: Any) -> Symbol:
        return SYMBOLS.masked(~(y <= 0), g)

    @staticmethod
    def sum(x: Symbol, axes: tuple[int, ...] | None, keepdims: bool) -> Symbol:
        kept = [1 if axes is None or i in axes else n for i, n in enumerate(x.shape)]
        shape = kept if keepdims else [n for i, n in enumerate(x.shape) if axes is not None and i not in axes]
        return call("sum", (x, axes, keepdims), tuple(shape), x.dtype)

    @staticmethod
    def zeros(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Symbol:
        dtype = dtype or like.dtype
        return call("zeros", (shape, dtype), tuple(shape), dtype)

    @staticmethod
    def full(shape: tuple[int, ...], value: Any, dtype: Any) -> Symbol:
        return call("full", (shape, value, dtype), shape, dtype)

    @staticmethod
    def cast(x: Symbol, dtype: Any) -> Symbol:
        return call("cast", (x, dtype), x.known_shape, dtype)

    @staticmethod
    def copy(x: Symbol) -> Symbol:
        return x

    @staticmethod
    def moved(x: Symbol, device: Any) -> Symbol:
        return x

    @staticmethod
    def dtype(x: Symbol) -> Any:
        return x.dtype

    @staticmethod
    def apply(op: Any, *args: Any) -> Any:
        """An op inside a formula: the operators that it consists of, or else the name of its class.

        If the result is large and the operators are unknown, so is its shape.
        """
        written = written_out(op, args)
        if written is not None:
            return written
        symbols = [arg for arg in args if isinstance(arg, Symbol)]
        if sum([symbol.size for symbol in symbols]) > SMALL:
            return call(op.__name__, args, None, result_dtype(symbols))
        result = run_on_zeros(op.values, args)
        if not isinstance(result, tuple):
            return call(op.__name__, args, result.shape, result.dtype)
        whole = call(op.__name__, args, None, None)
        return tuple([None if each is None else call("output", (whole, i), each.shape, each.dtype)
                      for i, each in enumerate(result)])


def record_call(name: str, function: Callable[..., Any], *args: Any) -> Symbol:
    """A NumPy function recorded under a name; its result for zeros gives shape and dtype."""
    if sum([arg.size for arg in args if isinstance(arg, Symbol)]) > SMALL:
        raise NotSymbolic("a large array")
    result = run_on_zeros(function, args)
    return call(name, args, result.shape, result.dtype)


SYMBOLS = SymbolNamespace  # its functions are called on the class


class SymbolBackend:
    """`minigrad.backends.registry.Backend`, as far as a forward needs it on symbols: a device that computes nothing."""

    type, array_type = "meta", Symbol

    class module:
        """The module that creates arrays next to symbols: recorded zeros, and short NumPy arrays."""

        arange, array, asarray, eye = np.arange, np.array, np.asarray, np.eye

        @staticmethod
        def full(shape: Any, value: Any, dtype: Any = None, order: str = "C") -> Symbol:
            return SYMBOLS.full(tuple(shape), value, numpy_dtype_of(dtype or np.result_type(value)))

        @staticmethod
        def ones(shape: Any, dtype: Any = float, order: str = "C") -> Symbol:
            return SYMBOLS.full((shape,) if isinstance(shape, int) else tuple(shape), 1, numpy_dtype_of(dtype))

        @staticmethod
        def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Symbol:
            shape = (N, N if M is None else M)
            return call("tri", (*shape, k, numpy_dtype_of(dtype)), shape, numpy_dtype_of(dtype))

        @staticmethod
        def zeros(shape: Any, dtype: Any = float, order: str = "C") -> Symbol:
            return SYMBOLS.zeros((shape,) if isinstance(shape, int) else tuple(shape), None, numpy_dtype_of(dtype))

    def current_device(self) -> int:
        return 0

    def index_of(self, array: Any) -> int:
        return 0

    def capturing(self) -> bool:
        return False

    def device_count(self) -> int:
        return 1

    def from_host(self, array: Any, index: int | None = None) -> Symbol:
        """A short array, written out."""
        return Symbol(expression_of(np.asarray(array)), array.shape, array.dtype)

    def as_strided(self, array: Any, shape: Any, strides: Any) -> Symbol:
        """A broadcast, if the strides mean one."""
        broadcast = SYMBOLS.broadcast_to(array, shape)
        if strides != broadcast.strides:
            raise NotSymbolic("a view by strides")
        return broadcast

    def composite(self, function: Callable[..., Any], *args: Any) -> None:
        """The array code is used."""

    def fused(self, name: str) -> None:
        return None

    def fused_rows(self, name: str) -> None:
        return None

    def matmul(self, x: Any, y: Any) -> Symbol:
        return SYMBOLS.matmul(x, y)


BACKEND: Any = SymbolBackend()  # a forward that needs more does not run on symbols


def in_dtype(parts: Any, dtype: Any) -> list[Any]:
    return [part if dtype is None else part.astype(dtype) for part in parts]


# Functions that are recorded under NumPy's name, with the parameters in an expression, in their order.
PLAIN = {"clip": ("a", "a_min", "a_max"), "cumsum": ("a", "axis"), "cumprod": ("a", "axis"), "flip": ("m", "axis"),
         "roll": ("a", "shift", "axis"), "tril": ("m", "k"),
         "triu": ("m", "k"), "repeat": ("a", "repeats", "axis"), "tile": ("A", "reps"), "isclose": ("a", "b"),
         "take_along_axis": ("arr", "indices", "axis"), "take": ("a", "indices", "axis"), "sort": ("a", "axis"),
         "argsort": ("a", "axis"), "diagonal": ("a", "offset", "axis1", "axis2"), "moveaxis": ("a", "source",
         "destination"), "nan_to_num": ("x",), "dot": ("a", "b"), "outer": ("a", "b")}
OWN: dict[str, Callable[..., Any]] = {
    "where": lambda xp, mask, x, y: xp.where(mask, x, y),
    "concatenate": lambda xp, parts, axis=0, out=None, dtype=None, casting="": xp.concatenate(
        in_dtype(parts, dtype), axis),
    "stack": lambda xp, parts, axis=0, out=None, dtype=None, casting="": xp.stack(in_dtype(parts, dtype), axis),
    "broadcast_to": lambda xp, x, shape: xp.broadcast_to(x, tuple(shape)),
    "transpose": lambda xp, x, axes=None: x.transpose(*(axes or ())),
    "swapaxes": lambda xp, x, i, j: x.swapaxes(i, j),
    "reshape": lambda xp, x, shape: x.reshape(shape),
    "ravel": lambda xp, x: x.ravel(),
    "expand_dims": lambda xp, x, axis: x.reshape(np.expand_dims(zeros_like(x), axis).shape),
    "squeeze": lambda xp, x, axis=None: x.squeeze(axis),
    "sum": lambda xp, x, axis=None, dtype=None, keepdims=False: x.sum(axis, dtype, keepdims),
    "amax": lambda xp, x, axis=None, keepdims=False: x.max(axis, keepdims),
    "max": lambda xp, x, axis=None, keepdims=False: x.max(axis, keepdims),
    "amin": lambda xp, x, axis=None, keepdims=False: x.min(axis, keepdims),
    "min": lambda xp, x, axis=None, keepdims=False: x.min(axis, keepdims),
    "any": lambda xp, x, axis=None, keepdims=False: x.any(axis, keepdims),
    "all": lambda xp, x, axis=None, keepdims=False: x.all(axis, keepdims),
    "prod": lambda xp, x, axis=None, keepdims=False: x.reduced("prod", axis, None, keepdims),
    "mean": lambda xp, x, axis=None, keepdims=False: x.sum(axis, None, keepdims) / (
        x.size // max(x.sum(axis).size, 1)),
    "argmax": lambda xp, x, axis=None, out=None, keepdims=False: x.argmax(axis, keepdims),
    "argmin": lambda xp, x, axis=None, out=None, keepdims=False: x.argmin(axis, keepdims),
    "copy": lambda xp, x, order="K": x,
    "ascontiguousarray": lambda xp, x, dtype=None: x if dtype is None else x.astype(dtype),
    "zeros_like": lambda xp, x, dtype=None: xp.zeros(x.shape, x, dtype),
    "shape": lambda xp, x: x.shape,
    "ndim": lambda xp, x: x.ndim,
    "size": lambda xp, x: x.size,
    "full_like": lambda xp, x, value, dtype=None: xp.full(x.shape, value, dtype or x.dtype),
    "round": lambda xp, x, decimals=0: record_call("round", np.round, x, decimals),
    "result_type": lambda xp, *args: result_type(*[getattr(a, "dtype", a) for a in args]),
}
