"""Special functions of two tensors, or of a tensor and a number: x log y, x log(1 + y), Hurwitz's zeta function.

Mirrors the part of `torch.special` that has two inputs. As in PyTorch, there is a separate node for a number in each
position: node 1 if the first is a number, node 2 if the second is.
"""

from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends.registry import is_array
from minigrad.core import Tensor
from minigrad.ops._dispatch import ByNumber, OfTwo, check_kind, op
from minigrad.ops._dispatch.elementwise import OfNumber
from minigrad.ops.special import gamma_function as _gamma

__all__ = ["xlogy"]

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
