"""Elementary functions of one tensor: powers of 2 and 10, trigonometry, hyperbolic functions and their inverses.

Mirrors the rows of PyTorch's `derivatives.yaml` with one input. Each is a class followed by its derivative; integers
become float32. Shared code is in `ops/_dispatch/elementwise.py`.
"""

import math
from typing import Any

import numpy as np

from minigrad.core import Tensor
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import OfOne, op, unary_function

__all__ = ["acos", "acosh", "acosh_", "arccos", "arccosh", "arccosh_", "arcsin", "arcsinh", "arcsinh_", "arctan",
           "arctanh", "arctanh_", "asin", "asinh", "asinh_", "atan", "atanh", "atanh_", "cosh", "deg2rad", "exp2",
           "expm1", "log10", "log1p", "log2", "rad2deg", "rsqrt", "sinc", "sinh", "tan"]

LOG_2, LOG_10 = math.log(2), math.log(10)


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


exp2 = op(method=True, in_place=True, in_place_function=True, name="exp2")(
    unary_function(Exp2, "2 to the power of each element."))
expm1 = op(method=True, in_place=True, in_place_function=True, name="expm1")(
    unary_function(Expm1, "exp(input) - 1, accurate for small elements too."))
log2 = op(method=True, in_place=True, in_place_function=True, name="log2")(
    unary_function(Log2, "The base-2 logarithm of each element."))
log10 = op(method=True, in_place=True, in_place_function=True, name="log10")(
    unary_function(Log10, "The base-10 logarithm of each element."))
log1p = op(method=True, in_place=True, in_place_function=True, name="log1p")(
    unary_function(Log1P, "log(1 + input), accurate for small elements too."))
rsqrt = op(method=True, in_place=True, in_place_function=True, name="rsqrt")(
    unary_function(Rsqrt, "The reciprocal square root of each element."))
tan = op(method=True, in_place=True, in_place_function=True, name="tan")(
    unary_function(Tan, "The tangent of each element, an angle in radians."))
asin = op(method=True, in_place=True, in_place_function=True, aliases=("arcsin",), name="asin")(
    unary_function(Asin, "The inverse of `sin`: an angle in radians."))
acos = op(method=True, in_place=True, in_place_function=True, aliases=("arccos",), name="acos")(
    unary_function(Acos, "The inverse of `cos`: an angle in radians."))
atan = op(method=True, in_place=True, in_place_function=True, aliases=("arctan",), name="atan")(
    unary_function(Atan, "The inverse of `tan`: an angle in radians."))
sinh = op(method=True, in_place=True, in_place_function=True, name="sinh")(
    unary_function(Sinh, "The hyperbolic sine of each element."))
cosh = op(method=True, in_place=True, in_place_function=True, name="cosh")(
    unary_function(Cosh, "The hyperbolic cosine of each element."))
asinh = op(method=True, aliases=("arcsinh",), name="asinh")(unary_function(Asinh, "The inverse of `sinh`."))
acosh = op(method=True, aliases=("arccosh",), name="acosh")(
    unary_function(Acosh, "The inverse of `cosh`, for elements of at least 1."))
atanh = op(method=True, aliases=("arctanh",), name="atanh")(
    unary_function(Atanh, "The inverse of `tanh`, for elements between -1 and 1."))


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


sinc = op(method=True, in_place=True, in_place_function=True, name="sinc")(
    unary_function(Sinc, "sin(π input) / (π input); 1 where an element is 0."))
deg2rad = op(method=True, in_place=True, in_place_function=True, name="deg2rad")(
    unary_function(Deg2Rad, "Degrees converted to radians."))
rad2deg = op(method=True, in_place=True, in_place_function=True, name="rad2deg")(
    unary_function(Rad2Deg, "Radians converted to degrees."))
arcsin, arccos, arctan = asin, acos, atan
arcsinh, arccosh, arctanh = asinh, acosh, atanh
arcsinh_, arccosh_, arctanh_ = asinh_, acosh_, atanh_
