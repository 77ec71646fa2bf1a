"""Runs formulas on symbols: its functions compute nothing, they record the formula as an expression.

This is the third namespace besides that of arrays (`minigrad.backends.numpy`) and that of Tensors
(`minigrad.ops.backward_namespace`). A formula run on symbols returns, for each input, its gradient as an expression,
which the inspectors show with names and with numbers.

An expression is plain data: a string names an operand, a number, a bool and null stand for themselves, and a list is
the name of a function and its arguments: `["mul", "grad", "other"]`. docs/trace.md lists the names.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from minigrad._base.dtype import BFLOAT16, BFloat16, numpy_dtype_of
from minigrad.backends.numpy import XP
from minigrad.backends.symbolic_array import NotSymbolic, SymbolicArray, result_type, zeros_like

__all__ = ["BACKEND", "SYMBOLS", "Limit", "NotSymbolic", "Symbol", "expression_of"]

Expression = Any  # str | int | float | bool | None | list[Expression]
SMALL = 10_000  # elements, up to which an op inside a formula runs on zeros to find the shape of its result
SHORTEST = 16  # elements, up to which an array that a formula creates from sizes is written out
LONGEST = 60  # functions in the expression of a gradient; a longer one explains nothing


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


class Symbol(SymbolicArray):
    """An array with an expression, a dtype and, unless it is unknown, a shape, but without numbers."""

    def __abs__(self) -> "Symbol":
        return Symbol(["abs", self.expression], self.known_shape, self.dtype)

    def __neg__(self) -> "Symbol":
        return Symbol(["neg", self.expression], self.known_shape, self.dtype)

    def __invert__(self) -> "Symbol":
        return Symbol(["invert", self.expression], self.known_shape, self.dtype)


def expression_of(value: Any) -> Expression:
    """An argument as part of an expression.

    Raises:
        NotSymbolic: for anything but a symbol, number, dtype, text or short array, or a tuple or slice of these.
    """
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

    Raises:
        NotSymbolic: if the function fails on zeros.
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
    """The shape of `x @ y`."""
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


def noted(name: str, function: Callable[..., Any], *args: Any) -> Symbol:
    """A NumPy function recorded under a name; its result for zeros gives shape and dtype."""
    if sum([arg.size for arg in args if isinstance(arg, Symbol)]) > SMALL:
        raise NotSymbolic("a large array")
    result = run_on_zeros(function, args)
    return call(name, args, result.shape, result.dtype)


SYMBOLS = SymbolNamespace  # its functions are called on the class
SymbolicArray.namespace, SymbolicArray.noted = SYMBOLS, staticmethod(noted)


class SymbolBackend:
    """`minigrad.backends.protocol.Backend`, as far as a forward needs it on symbols: a device that computes nothing."""

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
