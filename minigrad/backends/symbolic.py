"""The functions of a formula on symbols, which compute nothing: they note the expression that the formula is.

This is the third namespace beside that of arrays (`minigrad.backends.numpy`) and that of Tensors
(`minigrad.ops.backward_namespace`). A formula that runs over symbols gives, for each input, its gradient as an
expression, which the inspectors show with names and with numbers.

An expression is plain data: a string names an operand, a number, a bool and null stand for themselves, and a list is
the name of a function and its arguments: `["mul", "grad", "other"]`. docs/trace.md has the names.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.backends.numpy import XP

__all__ = ["SYMBOLS", "NotSymbolic", "Symbol", "expression_of"]

Expression = Any  # str | int | float | bool | None | list[Expression]
SMALL = 10_000  # elements up to which an op inside a formula runs on zeros, to learn the shape of its result
SHORTEST = 16  # elements up to which an array that a formula has made of sizes is written out
LONGEST = 60  # functions in one expression; a longer one explains nothing


class NotSymbolic(Exception):
    """A formula does what no expression says: it looks at numbers, or calls what is no function of the namespace."""


class Symbol:
    """An array that has an expression, a dtype and, unless it is not known, a shape, but no numbers."""

    __array_ufunc__ = None  # NumPy leaves an operator to this class

    def __init__(self, expression: Expression, shape: tuple[int, ...] | None, dtype: Any) -> None:
        self.expression, self._shape, self.dtype = expression, shape, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        if self._shape is None:
            raise NotSymbolic("the shape of a large result")
        return self._shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def T(self) -> "Symbol":
        return SYMBOLS.transpose(self, tuple(reversed(range(self.ndim))))

    @property
    def known_shape(self) -> tuple[int, ...] | None:
        """The shape; None if it is not known."""
        return self._shape

    def __bool__(self) -> bool:
        raise NotSymbolic("a truth value")

    def __iter__(self) -> Any:
        raise NotSymbolic("a loop over elements")

    def __abs__(self) -> "Symbol":
        return Symbol(["abs", self.expression], self._shape, self.dtype)

    def __neg__(self) -> "Symbol":
        return Symbol(["neg", self.expression], self._shape, self.dtype)

    def __invert__(self) -> "Symbol":
        return Symbol(["invert", self.expression], self._shape, self.dtype)


def expression_of(value: Any) -> Expression:
    """An argument as part of an expression.

    Raises:
        NotSymbolic: for what is no symbol, number, dtype, text or short array, nor a tuple or slice of such.
    """
    if isinstance(value, Symbol):
        return value.expression
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, np.generic):
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
    if isinstance(value, np.dtype):
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
    if length_of(expression) > LONGEST:
        raise NotSymbolic("a long formula")
    return Symbol(expression, shape, dtype)


def result_dtype(values: Sequence[Any]) -> Any:
    """The dtype of an elementwise result; a Python number takes that of the arrays."""
    return np.result_type(*[value.dtype if isinstance(value, Symbol) else value for value in values])


def broadcast(values: Sequence[Any]) -> tuple[int, ...] | None:
    """The shape that all values take together, None if one is not known."""
    shapes = [value.known_shape for value in values if isinstance(value, Symbol)]
    return None if None in shapes else np.broadcast_shapes(*[shape for shape in shapes if shape is not None])


def elementwise(name: str, dtype: Any = None) -> Callable[..., Symbol]:
    """A function of elements under its name; its dtype follows from its arguments, unless it is given."""
    return lambda *args: call(name, args, broadcast(args), dtype or result_dtype(args))


def operators(names: dict[str, str], dtype: Any = None) -> None:
    """Give Symbol these operators of two operands, and where Python has them their mirror images."""
    for method, name in names.items():
        function = elementwise(name, dtype)
        setattr(Symbol, f"__{method}__", function)
        setattr(Symbol, f"__r{method}__", lambda self, other, function=function: function(other, self))


operators({"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "and": "and", "or": "or",
           "mod": "remainder", "floordiv": "floor_divide"})
operators({"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne"}, np.dtype(bool))


def zeros_like(value: Any) -> Any:
    """Zeros in the place of a symbol; they take no memory. In a tuple too."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)([zeros_like(part) for part in value])
    return np.broadcast_to(np.zeros((), value.dtype), value.shape) if isinstance(value, Symbol) else value


def run_on_zeros(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What a function gives for zeros, to learn shape and dtype.

    Raises:
        NotSymbolic: if it gives nothing for zeros.
    """
    try:
        with np.errstate(all="ignore"):
            return function(*[zeros_like(arg) for arg in args])
    except NotSymbolic:
        raise
    except Exception as error:  # linear algebra and others refuse zeros, each with its own error
        raise NotSymbolic("an op that refuses zeros") from error


def moves_elements(name: str) -> Callable[..., Symbol]:
    """A function of `ArrayNamespace` that only moves elements; zeros show where to."""
    def function(*args: Any) -> Symbol:
        result = run_on_zeros(getattr(XP, name), args)
        return call(name, args, result.shape, result.dtype)
    return function


class SymbolNamespace:
    """Each function of `ArrayNamespace`, as a note of itself."""

    exp, log, sqrt, sin, cos, sign, sigmoid = map(elementwise, ("exp", "log", "sqrt", "sin", "cos", "sign", "sigmoid"))
    power, threshold_backward = map(elementwise, ("pow", "threshold_backward"))
    broadcast_to, transpose, getitem, stack, concatenate, scatter, put, matmul = map(
        moves_elements, ("broadcast_to", "transpose", "getitem", "stack", "concatenate", "scatter", "put", "matmul"))

    @staticmethod
    def swapaxes(x: Symbol, i: int, j: int) -> Symbol:
        """Swapped twice is as it was."""
        result = run_on_zeros(XP.swapaxes, (x, i, j))
        if isinstance(x.expression, list) and x.expression[0] == "swapaxes" and x.expression[2:] == [i, j]:
            return Symbol(x.expression[1], result.shape, x.dtype)
        return call("swapaxes", (x, i, j), result.shape, x.dtype)

    @staticmethod
    def turned_product(x: Symbol, y: Symbol) -> Symbol:
        """`(x @ y).T`, as what it is: `y.T @ x.T`."""
        x, y = [SYMBOLS.swapaxes(each, -1, -2) for each in (x, y)]
        return SYMBOLS.matmul(y, x)

    @staticmethod
    def reshape(x: Symbol, shape: Any) -> Symbol:
        """A sum that kept its dimensions, and loses just these, is a sum that does not keep them."""
        result = run_on_zeros(XP.reshape, (x, shape))
        if isinstance(x.expression, list) and x.expression[0] == "sum" and x.expression[3] is True:
            _, of, axes, _ = x.expression
            if axes is not None and result.shape == tuple([n for i, n in enumerate(x.shape) if i not in axes[1:]]):
                return Symbol(["sum", of, axes, False], result.shape, x.dtype)
        return call("reshape", (x, shape), result.shape, x.dtype)

    @staticmethod
    def where(condition: Symbol, x: Any, y: Any) -> Symbol:
        return call("where", (condition, x, y), broadcast((condition, x, y)), result_dtype((x, y)))

    @staticmethod
    def masked(mask: Symbol, x: Symbol) -> Symbol:
        return call("masked", (mask, x), broadcast((mask, x)), x.dtype)

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
        """An op inside a formula, under the name of its class; of a large result the shape stays unknown."""
        symbols = [arg for arg in args if isinstance(arg, Symbol)]
        if sum([symbol.size for symbol in symbols]) > SMALL:
            return call(op.__name__, args, None, result_dtype(symbols))
        result = run_on_zeros(op.values, args)
        if not isinstance(result, tuple):
            return call(op.__name__, args, result.shape, result.dtype)
        whole = call(op.__name__, args, None, None)
        return tuple([None if each is None else call("output", (whole, i), each.shape, each.dtype)
                      for i, each in enumerate(result)])


SYMBOLS = SymbolNamespace  # its functions are called on the class
