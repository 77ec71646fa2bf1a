"""Special functions: the error function, the gamma function, Bessel functions, zeta, and functions composed of them.

Mirrors `torch.special` (users find them in minigrad/special.py). Results are computed in float64 by formulas.py, which
states their accuracy, and rounded. A function of two operands has, as in PyTorch, a separate node for a number in each
position: node 1 if the first is a number, node 2 if the second is.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends.registry import is_array
from minigrad.core import Node, Tensor, plain, record1
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import (
    ByNumber,
    OfOne,
    OfTwo,
    check_kind,
    floating,
    op,
    refuse,
    tensor_method,
    unary_op,
)
from minigrad.ops._dispatch.elementwise import OfNumber
from minigrad.ops.pointwise.add import AddScalar
from minigrad.ops.pointwise.mul import MulScalar
from minigrad.ops.special import formulas as _bessel
from minigrad.ops.special import formulas as _erf
from minigrad.ops.special import formulas as _gamma

__all__ = ["digamma", "erf", "erfc", "erfinv", "i0", "lgamma", "logit", "mvlgamma", "polygamma", "xlogy"]

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
    def values(x: Any, eps: float | None) -> Any:
        """On arrays."""
        z = x if eps is None or eps < 0 else np.minimum(np.maximum(x, x.dtype.type(eps)), x.dtype.type(1 - eps))
        return np.log(z / (1 - z))

    @staticmethod
    def forward(a: Tensor, eps: float | None) -> Tensor:
        return record1(Logit, Logit.values(floating(a.array), eps), a, (a,), (eps,))

    def backward(self, xp: Any, g: Any, a: Any, eps: float | None) -> Any:
        slope = g / (a * (1 - a))
        if eps is None or eps < 0:
            return xp.where((a >= 0) & (a <= 1), slope, math.nan)
        return xp.masked((a >= eps) & (a <= 1 - eps), slope)


erf = unary_op("erf", Erf, "The error function of each element.")
erfc = unary_op("erfc", Erfc, "1 - erf(input), with full relative precision where it is small.")
erfinv = unary_op("erfinv", Erfinv, "The inverse of `erf`, for elements between -1 and 1.", in_place_function=False)
lgamma = unary_op(
    "lgamma", Lgamma, "The logarithm of the absolute value of the gamma function of each element.",
    in_place_function=False)
digamma = unary_op("digamma", Digamma, "The derivative of `lgamma`.", in_place_function=False)


@op
def polygamma(n: int, input: Tensor) -> Tensor:
    """The derivative of order `n` of `digamma`. Raises RuntimeError if `n` is negative."""
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
    """The logarithm of the multivariate gamma function of dimension `p`. Raises RuntimeError if `p` is less than 1, and
    for bools."""
    return Mvlgamma.forward(input, p)


@op(method=True, in_place_function=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(input / (1 - input)); if `eps` is given, of elements clamped to [eps, 1 - eps]."""
    return Logit.forward(input, eps)


i0 = unary_op("i0", I0, "The modified Bessel function of the first kind, of order 0.")


def ndtr(input: Tensor) -> Tensor:
    """The probability that a standard normal variable is below each element."""
    return MulScalar.forward(AddScalar.forward(Erf.forward(MulScalar.forward(input, math.sqrt(0.5))), 1), 0.5)


Operand = Any  # a Tensor or a Python number
Grads = tuple[Any, Any]


def x_log_y(x: Any, y: Any) -> Any:
    """x log y; 0 where x is 0 and y is not NaN."""
    return np.where((x == 0) & (y == y), x.dtype.type(0), x * np.log(y))


def x_log1p_y(x: Any, y: Any) -> Any:
    """x log(1 + y); 0 where x is 0 and y is not NaN."""
    return np.where((x == 0) & (y == y), x.dtype.type(0), x * np.log1p(y))


class Xlogy(OfTwo, of=x_log_y):
    saves = ("self", "other")

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return xp.masked((a != 0) | ~(b <= 0), xp.apply(Xlogy, g, b)), g * a / b


class XlogyOfNumber(OfNumber, of=lambda c, y: x_log_y(y.dtype.type(c), y), name="Xlogy", number=1):
    saves = ("other",)
    constants = ("self",)

    def backward(self, xp: Any, g: Any, b: Any, c: float) -> Any:
        return g * c / b


class XlogyByNumber(ByNumber, of=lambda x, c: x_log_y(x, x.dtype.type(c)), name="Xlogy", number=2):
    saves = ("self",)
    constants = ("other",)

    def backward(self, xp: Any, g: Any, a: Any, c: float) -> Any:
        slope = xp.apply(XlogyByNumber, g, c)
        return xp.masked(a != 0, slope) if c <= 0 else slope


class SpecialXlog1Py(OfTwo, of=x_log1p_y):
    saves = ("self", "other")

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return xp.masked((a != 0) | ~(b <= -1), xp.apply(SpecialXlog1Py, g, b)), g * a / (b + 1)


class Xlog1PyOfNumber(OfNumber, of=lambda c, y: x_log1p_y(y.dtype.type(c), y), name="SpecialXlog1Py", number=1):
    saves = ("other",)
    constants = ("self",)

    def backward(self, xp: Any, g: Any, b: Any, c: float) -> Any:
        return g * c / (b + 1)


class Xlog1PyByNumber(ByNumber, of=lambda x, c: x_log1p_y(x, x.dtype.type(c)), name="SpecialXlog1Py", number=2):
    saves = ("self",)
    constants = ("other",)

    def backward(self, xp: Any, g: Any, a: Any, c: float) -> Any:
        slope = xp.apply(Xlog1PyByNumber, g, c)
        return xp.masked(a != 0, slope) if c <= -1 else slope


def zeta_of(s: Any, q: Any) -> Any:
    """Hurwitz's zeta function of two arrays, or of an array and a number, in the dtype of the array."""
    like = s if is_array(s) else q
    dtype = like.dtype
    check_kind(like, "e", "zeta_cpu")
    wide = [v.astype(np.float64) if is_array(v) else np.full_like(like, v, np.float64) for v in (s, q)]
    return as_dtype(_gamma.zeta(*wide), dtype)


NO_SLOPE = "the derivative for 'zeta' is not implemented."


class SpecialZeta(OfTwo, of=zeta_of):
    """Hurwitz's zeta function; as in PyTorch it has no derivative for its first argument."""

    saves = ("self", "other")

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        if self.next[0] is not None:
            raise NotImplementedError(NO_SLOPE)
        return None, g * -a * xp.apply(SpecialZeta, a + 1, b)


class ZetaOfNumber(OfNumber, of=zeta_of, name="SpecialZeta", number=1):
    saves = ("other",)
    constants = ("self",)

    def backward(self, xp: Any, g: Any, b: Any, s: float) -> Any:
        return g * (-s * xp.apply(ZetaOfNumber, s + 1, b))


class ZetaAtNumber(ByNumber, of=zeta_of, name="SpecialZeta", number=2):
    def backward(self, xp: Any, g: Any) -> Any:
        raise NotImplementedError(NO_SLOPE)


@op(method=True, in_place_function=True)
def xlogy(input: Operand, other: Operand) -> Tensor:
    """input log(other), 0 where `input` is 0; one of them may be a number."""
    if not isinstance(input, Tensor):
        return XlogyOfNumber.forward(input, other)
    return Xlogy.forward(input, other) if isinstance(other, Tensor) else XlogyByNumber.forward(input, other)


def xlog1py(input: Operand, other: Operand) -> Tensor:
    """input log(1 + other), 0 where `input` is 0; one of them may be a number."""
    if not isinstance(input, Tensor):
        return Xlog1PyOfNumber.forward(input, other)
    return SpecialXlog1Py.forward(input, other) if isinstance(other, Tensor) else Xlog1PyByNumber.forward(input, other)


def zeta(input: Operand, other: Operand) -> Tensor:
    """The sum of (k + other)^-input over k = 0, 1, 2, …; one of them may be a number."""
    if not isinstance(input, Tensor):
        return ZetaOfNumber.forward(input, other)
    return SpecialZeta.forward(input, other) if isinstance(other, Tensor) else ZetaAtNumber.forward(input, other)
