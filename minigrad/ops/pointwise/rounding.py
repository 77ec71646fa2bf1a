"""Rounding: `floor`, `ceil`, `trunc`, `round` to integers or decimals, and `frac`.

Mirrors PyTorch's `UnaryOps.cpp` and the rows of `derivatives.yaml`: all are constant between their steps, so their
derivative is 0, except for `frac`, whose derivative is 1. Integers are unchanged.
"""

from typing import Any

import numpy as np

from minigrad.backends.numpy import XP
from minigrad.core import Node, Tensor, record1
from minigrad.ops._dispatch import OfOne, check_kind, op, unary_function

__all__ = ["ceil", "fix", "floor", "frac", "round", "sgn", "trunc"]


class Flat(OfOne, number=None):
    """A step function."""

    integers = True

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
        scale = x.dtype.type(10.0 ** abs(decimals))
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


ceil = op(method=True, in_place=True, in_place_function=True, name="ceil")(
    unary_function(Ceil, "Each element rounded up."))
floor = op(method=True, in_place=True, in_place_function=True, name="floor")(
    unary_function(Floor, "Each element rounded down."))


@op(method=True, in_place_function=True)
def round(input: Tensor, *, decimals: int | None = None) -> Tensor:
    """Each element rounded to `decimals` digits (default: 0), halves to the even one.

    Raises:
        NotImplementedError: for bools, and for integers if `decimals` is given.
    """
    return Round.forward(input) if decimals is None else RoundDecimals.forward(input, decimals)


trunc = op(method=True, in_place=True, in_place_function=True, aliases=("fix",), name="trunc")(
    unary_function(Trunc, "Each element rounded towards 0."))
frac = op(method=True, in_place=True, in_place_function=True, name="frac")(
    unary_function(Frac, "The fraction of each element, with its sign."))
sgn = op(method=True, in_place=True, name="sgn")(unary_function(Sgn, "-1, 0 or 1 for each element."))
fix = trunc
