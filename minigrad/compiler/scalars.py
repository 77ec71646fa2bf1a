"""Numbers that change from one call of a step to the next: learning rates, Adam's count of steps.

While a step is traced, such a number is a `TracedFloat`. It has a value, so that the step runs as always, and a formula
that says how it follows from what the step reads at its start. Arithmetic on it makes longer formulas. A comparison
gives a plain bool, and becomes a guard: the program holds as long as the comparison has the same outcome.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.compiler.program import Formula

__all__ = ["TracedFloat", "combined", "value_of"]


def text_of(value: Any) -> str:
    """A number as a part of a formula."""
    return value.formula.text if isinstance(value, TracedFloat) else repr(value)


def value_of(value: Any) -> Any:
    """A number without its formula."""
    return float.__float__(value) if isinstance(value, TracedFloat) else value


OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
             "//": operator.floordiv, "%": operator.mod, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
             "<=": operator.le, ">": operator.gt, ">=": operator.ge}
UFUNCS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**"}


def combined(ufunc: str, operands: list[Any], itemsize: int) -> Formula | None:
    """The formula of what a function of NumPy makes of two numbers, in floats of so many bytes; None if an operand has
    none."""
    if ufunc not in UFUNCS or not all(isinstance(v, (bool, int, float, np.generic, Formula)) for v in operands):
        return None
    x, y = [v.text if isinstance(v, Formula) else text_of(v if isinstance(v, TracedFloat) else float(v))
            for v in operands]
    return Formula(f"({x} {UFUNCS[ufunc]} {y})" if itemsize == 8 else f"rounded({x} {UFUNCS[ufunc]} {y})")


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

    def __int__(self) -> int:
        return int(self.plain())

    def __round__(self, digits: Any = None) -> Any:
        return round(self.plain(), digits)

    def __repr__(self) -> str:
        return repr(self.plain())

    def __format__(self, spec: str) -> str:
        return format(self.plain(), spec)
