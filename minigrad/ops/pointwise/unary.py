"""Elementary functions of one tensor: powers of 2 and 10, trigonometry, hyperbolic functions and their inverses.

Mirrors the rows of PyTorch's `derivatives.yaml` that have one input. Each is a class with its derivative under it;
integers become float32. What all share is in _elementwise.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.autograd.inplace import in_place
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.elementwise import OfOne
from minigrad.ops._dispatch.registration import op

__all__ = ["acos", "acosh", "acosh_", "arccos", "arccosh", "arccosh_", "arcsin", "arcsinh", "arcsinh_", "arctan",
           "arctanh", "arctanh_", "asin", "asinh", "asinh_", "atan", "atanh", "atanh_", "cosh", "deg2rad", "exp2",
           "expm1", "log10", "log1p", "log2", "rad2deg", "rsqrt", "sinc", "sinh", "tan"]

LOG_2, LOG_10 = math.log(2), math.log(10)


class Exp2(OfOne, of=np.exp2):
    __slots__ = ()
    saves = ("result",)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * (y * LOG_2)


class Expm1(OfOne, of=np.expm1):
    __slots__ = ()
    saves = ("result",)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * (y + 1)


class Log2(OfOne, of=np.log2):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (a * LOG_2)


class Log10(OfOne, of=np.log10):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (a * LOG_10)


class Log1P(OfOne, of=np.log1p):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (a + 1)


class Rsqrt(OfOne, of=lambda x: x.dtype.type(1) / np.sqrt(x)):
    __slots__ = ()
    saves = ("result",)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * -0.5 * (y * y * y)


class Tan(OfOne, of=np.tan):
    __slots__ = ()
    saves = ("result",)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * (1 + y * y)


class Asin(OfOne, of=np.arcsin):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / xp.sqrt(1 - a * a)


class Acos(OfOne, of=np.arccos):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return -g / xp.sqrt(1 - a * a)


class Atan(OfOne, of=np.arctan):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (a * a + 1)


class Sinh(OfOne, of=np.sinh):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.apply(Cosh, a)


class Cosh(OfOne, of=np.cosh):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.apply(Sinh, a)


class Asinh(OfOne, of=np.arcsinh):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / xp.sqrt(a * a + 1)


class Acosh(OfOne, of=np.arccosh):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / xp.sqrt(a * a - 1)


class Atanh(OfOne, of=np.arctanh):
    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / (1 - a * a)


def sinc_of(x: Any) -> Any:
    """sin(πx) / (πx), 1 at 0."""
    p = x * x.dtype.type(math.pi)
    return np.where(x == 0, x.dtype.type(1), np.sin(p) / p)


class Sinc(OfOne, of=sinc_of):
    """sin(πx) / (πx), 1 at 0."""

    __slots__ = ()
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        p = math.pi * a
        return xp.masked(p != 0, g * ((p * xp.cos(p) - xp.sin(p)) / (p * a)))


class Deg2Rad(OfOne, of=np.deg2rad):
    __slots__ = ()

    def backward(self, xp: Any, g: Any) -> Any:
        return g * (math.pi / 180)


class Rad2Deg(OfOne, of=np.rad2deg):
    __slots__ = ()

    def backward(self, xp: Any, g: Any) -> Any:
        return g * (180 / math.pi)


class AsinhInPlace(Asinh, name="Asinh", number=1):
    """`asinh_`, which in PyTorch has no derivative."""

    __slots__ = ()

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        raise NotImplementedError("the derivative for 'inplace version of asinh' is not implemented.")


class AcoshInPlace(Acosh, name="Acosh", number=1):
    """`acosh_`, which in PyTorch has no derivative."""

    __slots__ = ()

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        raise NotImplementedError("the derivative for 'inplace version of acosh' is not implemented.")


class AtanhInPlace(Atanh, name="Atanh", number=1):
    """`atanh_`, which in PyTorch has no derivative."""

    __slots__ = ()

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        raise NotImplementedError("the derivative for 'inplace version of atanh' is not implemented.")


@op(method=True, in_place_function=True)
def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element."""
    return Exp2.forward(input)


@op(method=True, in_place_function=True)
def expm1(input: Tensor) -> Tensor:
    """exp(input) - 1, exact for small elements too."""
    return Expm1.forward(input)


@op(method=True, in_place_function=True)
def log2(input: Tensor) -> Tensor:
    """The logarithm of each element to the base 2."""
    return Log2.forward(input)


@op(method=True, in_place_function=True)
def log10(input: Tensor) -> Tensor:
    """The logarithm of each element to the base 10."""
    return Log10.forward(input)


@op(method=True, in_place_function=True)
def log1p(input: Tensor) -> Tensor:
    """log(1 + input), exact for small elements too."""
    return Log1P.forward(input)


@op(method=True, in_place_function=True)
def rsqrt(input: Tensor) -> Tensor:
    """1 over the square root of each element."""
    return Rsqrt.forward(input)


@op(method=True, in_place_function=True)
def tan(input: Tensor) -> Tensor:
    """The tangent of each element, in radians."""
    return Tan.forward(input)


@op(method=True, in_place_function=True, aliases=("arcsin",))
def asin(input: Tensor) -> Tensor:
    """The angle, in radians, whose sine each element is."""
    return Asin.forward(input)


@op(method=True, in_place_function=True, aliases=("arccos",))
def acos(input: Tensor) -> Tensor:
    """The angle, in radians, whose cosine each element is."""
    return Acos.forward(input)


@op(method=True, in_place_function=True, aliases=("arctan",))
def atan(input: Tensor) -> Tensor:
    """The angle, in radians, whose tangent each element is."""
    return Atan.forward(input)


@op(method=True, in_place_function=True)
def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine of each element."""
    return Sinh.forward(input)


@op(method=True, in_place_function=True)
def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine of each element."""
    return Cosh.forward(input)


@op(method=True, aliases=("arcsinh",))
def asinh(input: Tensor) -> Tensor:
    """The inverse of `sinh`."""
    return Asinh.forward(input)


@op(method=True, aliases=("arccosh",))
def acosh(input: Tensor) -> Tensor:
    """The inverse of `cosh`, for elements of 1 and more."""
    return Acosh.forward(input)


@op(method=True, aliases=("arctanh",))
def atanh(input: Tensor) -> Tensor:
    """The inverse of `tanh`, for elements between -1 and 1."""
    return Atanh.forward(input)


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


@op(method=True, in_place_function=True)
def sinc(input: Tensor) -> Tensor:
    """sin(π input) / (π input), and 1 where an element is 0."""
    return Sinc.forward(input)


@op(method=True, in_place_function=True)
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians."""
    return Deg2Rad.forward(input)


@op(method=True, in_place_function=True)
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees."""
    return Rad2Deg.forward(input)


arcsin, arccos, arctan = asin, acos, atan
arcsinh, arccosh, arctanh = asinh, acosh, atanh
arcsinh_, arccosh_, arctanh_ = asinh_, acosh_, atanh_
