"""Special functions: the error function, the gamma function, Bessel functions and functions composed of them.

Mirrors `torch.special` (users find them in minigrad/special.py). The functions on arrays are in error_function.py,
gamma_function.py and bessel.py, which state their accuracy; results are computed in float64 and rounded.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.core import Node, Tensor, plain, record1
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import OfOne, floating, op, refuse, tensor_method, unary_function
from minigrad.ops.pointwise.scalar import AddScalar, MulScalar
from minigrad.ops.special import bessel as _bessel
from minigrad.ops.special import error_function as _erf
from minigrad.ops.special import gamma_function as _gamma

__all__ = ["digamma", "erf", "erfc", "erfinv", "i0", "lgamma", "logit", "mvlgamma", "polygamma"]


def precisely(values: Callable[..., Any]) -> Callable[..., Any]:
    """A function on arrays, computed in float64 and rounded to the dtype of the first argument."""

    def computed(x: Any, *args: Any) -> Any:
        return as_dtype(values(x.astype(np.float64), *args), x.dtype)

    return computed


def erf_of(x: Any) -> Any:
    """erf on an array; for float32 and float16 by the faster method."""
    if x.dtype == np.float64:
        return _erf.erf(x)
    return as_dtype(_erf.erf_single(x.astype(np.float32, copy=False)), x.dtype)


class Erf(OfOne, of=erf_of):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * (xp.exp(-a * a) * (2 / math.sqrt(math.pi)))


class Erfc(OfOne, of=precisely(_erf.erfc)):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * (xp.exp(-a * a) * (-2 / math.sqrt(math.pi)))


class Erfinv(OfOne, of=precisely(_erf.erfinv)):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        y = xp.apply(Erfinv, a)
        return g * (xp.exp(y * y) * (math.sqrt(math.pi) / 2))


class SpecialErfcx(OfOne, of=precisely(_erf.erfcx)):
    """exp(x²) erfc(x)."""

    refuses = ("e", "erfcx_cpu")
    saves = ("self", "result")

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Any:
        return g * (2 * a * y - 2 / math.sqrt(math.pi))


class SpecialNdtri(OfOne, of=precisely(_erf.ndtri)):
    refuses = ("e", "ndtri_cpu")
    saves = ("result",)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * (xp.exp(y * y / 2) * math.sqrt(2 * math.pi))


class SpecialLogNdtr(OfOne, of=precisely(_erf.log_ndtr)):
    refuses = ("e", "log_ndtr_cpu")
    saves = ("self", "result")

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Any:
        return g / xp.apply(SpecialErfcx, a * -math.sqrt(0.5)) * math.sqrt(2 / math.pi)


def entropy(x: Any) -> Any:
    """-x log x on an array; 0 at 0, -∞ below."""
    return as_dtype(np.where(x > 0, -x * np.log(x), np.where(x == 0, 0, np.where(x < 0, -np.inf, x))), x.dtype)


class SpecialEntr(OfOne, of=entropy):
    """-x log x; 0 at 0, -∞ below."""

    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * (-1 - xp.log(a))


class Lgamma(OfOne, of=precisely(_gamma.lgamma)):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.apply(Digamma, a)


class Digamma(OfOne, of=precisely(_gamma.digamma)):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.apply(Polygamma, a, 1)


class Polygamma(Node):
    """The derivative of order n + 1 of log Γ."""

    saves = ("self",)
    constants = ("n",)

    @staticmethod
    def values(x: Any, n: int) -> Any:
        return precisely(lambda v: _gamma.polygamma(n, v))(x)

    @staticmethod
    def forward(a: Tensor, n: int) -> Tensor:
        if n < 0:
            raise RuntimeError("polygamma(n, x) does not support negative n.")
        return record1(Polygamma, Polygamma.values(floating(a.array), n), a, (a,), (n,))

    def backward(self, xp: Any, g: Any, a: Any, n: int) -> Any:
        return g * xp.apply(Polygamma, a, n + 1)


class PolygammaInPlace(Polygamma, name="Polygamma", number=1):
    """`polygamma_`."""

    @staticmethod
    def forward(a: Tensor, n: int) -> Tensor:
        return record1(PolygammaInPlace, Polygamma.forward(plain(a.array), n).array, a, (a,), (n,))


class Mvlgamma(Node):
    """The sum of log Γ(a - j/2) for j < p, and p(p - 1)/4 log π."""

    saves = ("self",)
    constants = ("p",)

    @staticmethod
    def forward(a: Tensor, p: int) -> Tensor:
        if p < 1:
            raise RuntimeError("p has to be greater than or equal to 1")
        if a.array.dtype.kind == "b":
            raise RuntimeError("The input tensor may not be a boolean tensor.")
        x = floating(a.array)
        terms = [Lgamma.values(x - x.dtype.type(j / 2)) for j in range(p)]
        return record1(Mvlgamma, as_dtype(sum(terms) + p * (p - 1) / 4 * math.log(math.pi), x.dtype), a, (a,), (p,))

    def backward(self, xp: Any, g: Any, a: Any, p: int) -> Any:
        return g * sum([xp.apply(Digamma, a - j / 2) for j in range(p)])


class I0(OfOne, of=precisely(_bessel.i0)):
    saves = ("self",)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.apply(SpecialI1, a)


class SpecialI0E(OfOne, of=precisely(_bessel.i0e)):
    saves = ("self", "result")

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Any:
        return g * (xp.apply(SpecialI1E, a) - xp.sign(a) * y)


class SpecialI1(OfOne, of=precisely(_bessel.i1)):
    saves = ("self", "result")

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Any:
        away = far_from_zero(xp, a, "i1_backward")
        safe = xp.where(away, a, 1.0)
        return g * xp.where(away, xp.apply(I0, a) - y / safe, 0.5)


class SpecialI1E(OfOne, of=precisely(_bessel.i1e)):
    saves = ("self", "result")

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Any:
        away = far_from_zero(xp, a, "i1e_backward")
        safe = xp.where(away, a, 1.0)
        return g * xp.where(away, xp.apply(SpecialI0E, a) - y * (xp.sign(a) + 1 / safe), 0.5)


EPSILON = {name: float(np.finfo(name).eps) for name in ("float32", "float64")}


def far_from_zero(xp: Any, a: Any, kernel: str) -> Any:
    """Where a quotient by `a` is precise; an error of PyTorch's for the dtypes that its derivative refuses."""
    dtype = xp.dtype(a)
    if dtype.name not in EPSILON:
        refuse(kernel, dtype)
    return abs(a) > EPSILON[dtype.name]


class Logit(Node):
    """log(x / (1 - x)) of x clamped to [eps, 1 - eps]."""

    saves = ("self",)
    constants = ("eps",)

    @staticmethod
    def forward(a: Tensor, eps: float | None) -> Tensor:
        x = floating(a.array)
        z = x if eps is None or eps < 0 else np.minimum(np.maximum(x, x.dtype.type(eps)), x.dtype.type(1 - eps))
        return record1(Logit, np.log(z / (1 - z)), a, (a,), (eps,))

    def backward(self, xp: Any, g: Any, a: Any, eps: float | None) -> Any:
        slope = g / (a * (1 - a))
        if eps is None or eps < 0:
            return xp.where((a >= 0) & (a <= 1), slope, math.nan)
        return xp.masked((a >= eps) & (a <= 1 - eps), slope)


erf = op(method=True, in_place=True, in_place_function=True, name="erf")(
    unary_function(Erf, "The error function of each element."))
erfc = op(method=True, in_place=True, in_place_function=True, name="erfc")(
    unary_function(Erfc, "1 - erf(input), with full relative precision where it is small."))
erfinv = op(method=True, in_place=True, name="erfinv")(
    unary_function(Erfinv, "The inverse of `erf`, for elements between -1 and 1."))
lgamma = op(method=True, in_place=True, name="lgamma")(
    unary_function(Lgamma, "The logarithm of the absolute value of the gamma function of each element."))
digamma = op(method=True, in_place=True, name="digamma")(unary_function(Digamma, "The derivative of `lgamma`."))


@op
def polygamma(n: int, input: Tensor) -> Tensor:
    """The derivative of order `n` of `digamma`.

    Raises:
        RuntimeError: if `n` is negative.
    """
    return Polygamma.forward(input, n)


@tensor_method(name="polygamma")
def polygamma_of(input: Tensor, n: int) -> Tensor:
    """`polygamma(n, input)`: the method of Tensor."""
    return Polygamma.forward(input, n)


@tensor_method
def polygamma_(self: Tensor, n: int) -> Tensor:
    """`polygamma`, in place."""
    return in_place(PolygammaInPlace.forward, self, n)


@op(method=True, in_place=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`.

    Raises:
        RuntimeError: if `p` is less than 1, and for bools.
    """
    return Mvlgamma.forward(input, p)


@op(method=True, in_place_function=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(input / (1 - input)); if `eps` is given, of elements clamped to [eps, 1 - eps]."""
    return Logit.forward(input, eps)


i0 = op(method=True, in_place=True, in_place_function=True, name="i0")(
    unary_function(I0, "The modified Bessel function of the first kind, of order 0."))


def ndtr(input: Tensor) -> Tensor:
    """The probability that a standard normal variable is below each element."""
    return MulScalar.forward(AddScalar.forward(Erf.forward(MulScalar.forward(input, math.sqrt(0.5))), 1), 0.5)
