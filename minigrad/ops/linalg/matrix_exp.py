"""The exponential of a matrix, by scaling and squaring (N. Higham, "The scaling and squaring method for the matrix
exponential revisited", 2005), in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.backends.registry import beside
from minigrad.core.graph import Node
from minigrad.core.record import record1
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op
from minigrad.ops.linalg.matrix_checks import check_float, check_square

__all__ = ["matrix_exp"]

LARGEST = 5.371920351148152  # of the 1-norm, for which the quotient of degree 13 is exact to rounding
DEGREE = 13


def coefficients() -> list[float]:
    """Those of the numerator of the quotient of polynomials: `(26 - k)! 13! / (26! k! (13 - k)!)`."""
    found = [1.0]
    for k in range(DEGREE):
        found.append(found[-1] * (DEGREE - k) / ((2 * DEGREE - k) * (k + 1)))
    return found


class LinalgMatrixExp(Node):
    """Its derivative is a block of the exponential of a matrix twice as large."""

    __slots__ = ()
    saves = ("self",)

    @staticmethod
    def values(x: Any) -> Any:
        """On arrays."""
        wide = x.astype(np.float64)
        size = abs(wide).sum(-2).max() if wide.size else 0.0
        size = float(size)
        if not math.isfinite(size):
            return np.full_like(x, np.nan)
        halvings = math.ceil(math.log2(size / LARGEST)) if size > LARGEST else 0
        a = wide / 2.0 ** halvings
        eye = np.eye(x.shape[-1], like=beside(x))
        power, square = np.broadcast_to(eye, x.shape), a @ a
        even, odd, scales = np.zeros_like(wide), np.zeros_like(wide), coefficients()
        for k in range(0, DEGREE, 2):
            even, odd = even + scales[k] * power, odd + scales[k + 1] * power
            power = power @ square
        odd = a @ odd
        y = np.linalg.solve(even - odd, even + odd) if x.size else eye * wide
        for _ in range(halvings):
            y = y @ y
        return y.astype(x.dtype)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(LinalgMatrixExp, LinalgMatrixExp.values(a.array), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        n, turned = a.shape[-1], xp.swapaxes(a, -1, -2)
        top = xp.concatenate([turned, g], -1)
        bottom = xp.concatenate([xp.zeros(a.shape, a), turned], -1)
        whole = xp.apply(LinalgMatrixExp, xp.concatenate([top, bottom], -2))
        return xp.getitem(whole, (..., slice(n), slice(n, 2 * n)))


@op(method=True)
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of a square matrix, `1 + A + A @ A / 2 + …`."""
    check_square(input, "linalg.matrix_exp")
    check_float(input, "linalg.matrix_exp")
    return LinalgMatrixExp.forward(input)
