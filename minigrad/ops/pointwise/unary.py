"""Functions of one tensor: exponentials, logarithms, trigonometry, hyperbolic functions, rounding.

Mirrors the rows of PyTorch's `derivatives.yaml` with one input, and `UnaryOps.cpp`. Each is a class followed by its
derivative (the conventions for formulas are those of add.py); the functions are at the end. Integers become
float32; what rounds leaves them as they are. What rounds is constant between its steps, so its derivative is 0, except
for `frac`, whose derivative is 1.
"""

import builtins
import math
from typing import Any

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad.backends.numpy import XP
from minigrad.core import Node, Tensor, record1
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import OfOne, check_kind, floating, op, unary_op

__all__ = [
    "abs", "absolute", "acos", "acosh", "acosh_", "arccos", "arccosh", "arccosh_", "arcsin", "arcsinh", "arcsinh_",
    "arctan", "arctanh", "arctanh_", "asin", "asinh", "asinh_", "atan", "atanh", "atanh_", "ceil", "cos", "cosh",
    "deg2rad", "exp", "exp2", "expm1", "fix", "floor", "frac", "log", "log10", "log1p", "log2", "neg", "negative",
    "positive", "rad2deg", "reciprocal", "round", "rsqrt", "sgn", "sign", "sin", "sinc", "sinh", "sqrt", "tan",
    "trunc",
]

LOG_2, LOG_10 = math.log(2), math.log(10)
NO_NEGATION = ("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
               "the `~` or `logical_not()` operator instead.")


class Reciprocal(Node):
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = floating(a.array)
        y = x.dtype.type(1) / x
        return record1(Reciprocal, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return -g * (y * y)


class Neg(Node):
    @staticmethod
    def forward(a: Tensor) -> Tensor:
        if a.array.dtype.kind == "b":
            raise RuntimeError(NO_NEGATION)
        return record1(Neg, -a.array, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return -g


class Exp(Node):
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        try:
            y = np.exp(floating(a.array))
            return record1(Exp, y, a, (y,))
        except SIGNALS as error:
            return silently(error, Exp.forward, a)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * y


class Log(Node):
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Log, np.log(floating(a.array)), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / a


class Sqrt(Node):
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = np.sqrt(floating(a.array))
        return record1(Sqrt, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g / (2 * y)


class Sin(Node):
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Sin, np.sin(floating(a.array)), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.cos(a)


class Cos(Node):
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Cos, np.cos(floating(a.array)), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * -xp.sin(a)


class Abs(Node):
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        if a.array.dtype.kind == "b":
            raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'")
        return record1(Abs, builtins.abs(a.array), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.sign(a)


class Sign(Node):
    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Sign, XP.sign(a.array), a)

    def backward(self, xp: Any, g: Any) -> Any:
        return xp.zeros(g.shape, g)


class Exp2(OfOne, of=np.exp2):
    saves = ("result",)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * (y * LOG_2)


class Expm1(OfOne, of=np.expm1):
    saves = ("result",)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * (y + 1)


class Log2(OfOne, of=np.log2):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (a * LOG_2)


class Log10(OfOne, of=np.log10):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (a * LOG_10)


class Log1P(OfOne, of=np.log1p):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (a + 1)


class Rsqrt(OfOne, of=lambda x: x.dtype.type(1) / np.sqrt(x)):
    saves = ("result",)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * -0.5 * (y * y * y)


class Tan(OfOne, of=np.tan):
    saves = ("result",)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * (1 + y * y)


class Asin(OfOne, of=np.arcsin):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / xp.sqrt(1 - a * a)


class Acos(OfOne, of=np.arccos):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return -g / xp.sqrt(1 - a * a)


class Atan(OfOne, of=np.arctan):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (a * a + 1)


class Sinh(OfOne, of=np.sinh):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.apply(Cosh, a)


class Cosh(OfOne, of=np.cosh):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.apply(Sinh, a)


class Asinh(OfOne, of=np.arcsinh):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / xp.sqrt(a * a + 1)


class Acosh(OfOne, of=np.arccosh):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / xp.sqrt(a * a - 1)


class Atanh(OfOne, of=np.arctanh):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (1 - a * a)


def sinc_of(x: Any) -> Any:
    """sin(πx) / (πx), 1 at 0."""
    p = x * x.dtype.type(math.pi)
    return np.where(x == 0, x.dtype.type(1), np.sin(p) / p)


class Sinc(OfOne, of=sinc_of):
    """sin(πx) / (πx), 1 at 0."""

    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        p = math.pi * a
        return xp.masked(p != 0, g * ((p * xp.cos(p) - xp.sin(p)) / (p * a)))


class Deg2Rad(OfOne, of=np.deg2rad):
    def backward(self, xp: Any, g: Any) -> Any:
        return g * (math.pi / 180)


class Rad2Deg(OfOne, of=np.rad2deg):
    def backward(self, xp: Any, g: Any) -> Any:
        return g * (180 / math.pi)


def no_derivative(self: OfOne, xp: Any, g: Any, a: Any) -> Any:
    """Raise PyTorch's error for the in-place ops without a derivative."""
    raise NotImplementedError(f"the derivative for 'inplace version of {self.op.lower()}' is not implemented.")


class AsinhInPlace(Asinh, name="Asinh", number=1):
    backward = no_derivative


class AcoshInPlace(Acosh, name="Acosh", number=1):
    backward = no_derivative


class AtanhInPlace(Atanh, name="Atanh", number=1):
    backward = no_derivative


class Flat(OfOne, number=None):
    """A step function. An integer is its own result: NumPy before 2.1 made it float64."""

    integers = True

    @classmethod
    def forward(cls, a: Tensor) -> Tensor:
        return record1(cls, a.array.copy("K"), a) if a.array.dtype.kind in "iu" else super().forward(a)

    def backward(self, xp: Any, g: Any) -> Any:
        return xp.zeros(g.shape, g)


class Ceil(Flat, of=np.ceil):
    refuses = ("b", "ceil_vml_cpu")


class Floor(Flat, of=np.floor):
    refuses = ("b", "floor_vml_cpu")


class Round(Flat, of=np.round):
    """Rounds to the nearest integer, halves to the even one."""

    refuses = ("b", "round_vml_cpu")


class RoundDecimals(Node, name="Round", number=1):
    """Rounds to `decimals` digits after the point, or before it if `decimals` is negative."""

    @staticmethod
    def forward(a: Tensor, decimals: int) -> Tensor:
        x = a.array
        check_kind(x, "bui", "round_cpu")
        scale = x.dtype.type(10.0 ** builtins.abs(decimals))
        y = np.round(x * scale) / scale if decimals >= 0 else np.round(x / scale) * scale
        return record1(RoundDecimals, y, a)

    backward = Flat.backward


class Trunc(Flat, of=np.trunc):
    """Rounds towards 0."""

    refuses = ("b", "trunc_vml_cpu")


class Frac(OfOne, of=lambda x: x - np.trunc(x)):
    """The fraction that `trunc` removes."""

    integers = True
    refuses = ("bui", "frac_cpu")

    def backward(self, xp: Any, g: Any) -> Any:
        return g


class Sgn(OfOne, of=XP.sign):
    """-1, 0 or 1; 0 for NaN. In PyTorch, the form of `sign` that supports complex numbers."""

    integers = True
    saves = ("self", "result")

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Any:
        return xp.zeros(g.shape, g)


abs = unary_op("abs", Abs, "The absolute value of each element; the derivative at 0 is 0.")
absolute = op(name="absolute", method=True, in_place=True)(abs)  # PyTorch has no torch.absolute_
cos = unary_op("cos", Cos, "The cosine of each element, an angle in radians.")
exp = unary_op("exp", Exp, "The exponential of each element.", direct_method=True)
log = unary_op("log", Log, "The natural logarithm of each element.")
neg = negative = unary_op("neg", Neg, "`-input`.", aliases=("negative",))
reciprocal = unary_op("reciprocal", Reciprocal, "`1 / input`; integers become float32.")
sign = unary_op("sign", Sign, "-1, 0 or 1 for each element.", in_place_function=False)
sin = unary_op("sin", Sin, "The sine of each element, an angle in radians.")
sqrt = unary_op("sqrt", Sqrt, "The square root of each element.")
exp2 = unary_op("exp2", Exp2, "2 to the power of each element.")
expm1 = unary_op("expm1", Expm1, "exp(input) - 1, accurate for small elements too.")
log2 = unary_op("log2", Log2, "The base-2 logarithm of each element.")
log10 = unary_op("log10", Log10, "The base-10 logarithm of each element.")
log1p = unary_op("log1p", Log1P, "log(1 + input), accurate for small elements too.")
rsqrt = unary_op("rsqrt", Rsqrt, "The reciprocal square root of each element.")
tan = unary_op("tan", Tan, "The tangent of each element, an angle in radians.")
asin = arcsin = unary_op("asin", Asin, "The inverse of `sin`: an angle in radians.", aliases=("arcsin",))
acos = arccos = unary_op("acos", Acos, "The inverse of `cos`: an angle in radians.", aliases=("arccos",))
atan = arctan = unary_op("atan", Atan, "The inverse of `tan`: an angle in radians.", aliases=("arctan",))
sinh = unary_op("sinh", Sinh, "The hyperbolic sine of each element.")
cosh = unary_op("cosh", Cosh, "The hyperbolic cosine of each element.")
asinh = arcsinh = unary_op("asinh", Asinh, "The inverse of `sinh`.", aliases=("arcsinh",), in_place=False)
acosh = arccosh = unary_op(
    "acosh", Acosh, "The inverse of `cosh`, for elements of at least 1.", aliases=("arccosh",), in_place=False)
atanh = arctanh = unary_op(
    "atanh", Atanh, "The inverse of `tanh`, for elements between -1 and 1.", aliases=("arctanh",), in_place=False)
sinc = unary_op("sinc", Sinc, "sin(π input) / (π input); 1 where an element is 0.")
deg2rad = unary_op("deg2rad", Deg2Rad, "Degrees converted to radians.")
rad2deg = unary_op("rad2deg", Rad2Deg, "Radians converted to degrees.")
ceil = unary_op("ceil", Ceil, "Each element rounded up.")
floor = unary_op("floor", Floor, "Each element rounded down.")
trunc = fix = unary_op("trunc", Trunc, "Each element rounded towards 0.", aliases=("fix",))
frac = unary_op("frac", Frac, "The fraction of each element, with its sign.")
sgn = unary_op("sgn", Sgn, "-1, 0 or 1 for each element.", in_place_function=False)


@op(method=True, aliases=("arcsinh_",))
def asinh_(self: Tensor) -> Tensor:
    """`asinh`, in place; as in PyTorch without a derivative."""
    return in_place(AsinhInPlace.forward, self)


@op(method=True, aliases=("arccosh_",))
def acosh_(self: Tensor) -> Tensor:
    """`acosh`, in place; as in PyTorch without a derivative."""
    return in_place(AcoshInPlace.forward, self)


@op(method=True, aliases=("arctanh_",))
def atanh_(self: Tensor) -> Tensor:
    """`atanh`, in place; as in PyTorch without a derivative."""
    return in_place(AtanhInPlace.forward, self)


arcsinh_, arccosh_, arctanh_ = asinh_, acosh_, atanh_


@op(method=True, in_place_function=True)
def round(input: Tensor, *, decimals: int | None = None) -> Tensor:
    """Each element rounded to `decimals` digits (default: 0), halves to the even one. Raises NotImplementedError for
    bools, and for integers if `decimals` is given."""
    return Round.forward(input) if decimals is None else RoundDecimals.forward(input, decimals)


@op(method=True)
def positive(input: Tensor) -> Tensor:
    """The tensor itself. Raises RuntimeError for bools."""
    if input.array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
