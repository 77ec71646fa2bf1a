"""`cdist`: how far each row of one matrix is from each row of another. Mirrors PyTorch's Distance.cpp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.backends.numpy import WORDS
from minigrad.core.graph import Node
from minigrad.core.record import record2, record_n
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op
from minigrad.ops._dispatch.same_device import same_device
from minigrad.ops._dispatch.type_promotion import broadcast_shape
from minigrad.ops.linalg.distance import length, slope
from minigrad.ops.linalg.matrix_checks import check_kernel, fit_of_system
from minigrad.ops.linalg.product_checks import same_dtype
from minigrad.ops.shape.views import Expand, View, reshape

__all__ = ["cdist"]

MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": True,
         "donot_use_mm_for_euclid_dist": False}
MANY = 25  # rows, from which on distances are computed by a product of matrices


class Cdist(Node):
    """Of each pair of rows by itself."""

    __slots__ = ()
    saves = ("x1", "x2", "result")
    constants = ("p",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, p: float) -> Tensor:
        x, y = a.array, b.array
        z = np.zeros((*broadcast_shape(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-2]), x.dtype, like=x)
        if z.size and x.shape[-1]:
            z = length(x[..., :, None, :] - y[..., None, :, :], p, (-1,), False)
        return record2(Cdist, z, a, b, (a, b, z), (p,), fit_of_system(z, x, y))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, z: Any, p: float) -> tuple[Any, Any]:
        turned = [xp.swapaxes(v, -1, -2) for v in (g, z)]
        return (xp.apply(CdistBackward, g, a, b, z, p), xp.apply(CdistBackward, turned[0], b, a, turned[1], p))


class CdistBackward(Node):
    """The gradient of the first rows; as in PyTorch it has no derivative."""

    __slots__ = ()

    @staticmethod
    def values(g: Any, a: Any, b: Any, z: Any, p: float) -> Any:
        """On arrays."""
        if p == 0 or 0 in (*z.shape, a.shape[-1]):
            return np.zeros((*z.shape[:-2], *a.shape[-2:]), a.dtype, like=a)
        apart = a[..., :, None, :] - b[..., None, :, :]
        last = apart.ndim - 1
        return WORDS.sum(slope(WORDS, g[..., None], apart, z[..., None], p, (last,)), (last - 1,), False)

    @staticmethod
    def forward(g: Tensor, a: Tensor, b: Tensor, z: Tensor, p: float) -> Tensor:
        y = CdistBackward.values(g.array, a.array, b.array, z.array, p)
        return record_n(CdistBackward, y, (g, a, b, z))

    def backward(self, xp: Any, g: Any) -> Any:
        raise NotImplementedError("the derivative for '_cdist_backward' is not implemented.")


class EuclideanDist(Node):
    """Of all pairs at once: `|a - b|**2 == |a|**2 + |b|**2 - 2 * a @ b`."""

    __slots__ = ()
    saves = ("x1", "x2", "result")

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        x, y = a.array, b.array
        same_device(x, y)
        squares = (x * x).sum(-1)[..., :, None] + (y * y).sum(-1)[..., None, :] - 2 * (x @ y.swapaxes(-1, -2))
        z = np.sqrt(np.maximum(squares, 0))
        return record2(EuclideanDist, z, a, b, (a, b, z))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, z: Any) -> tuple[Any, Any]:
        ratio = xp.masked(z != 0, g / z)
        turned = xp.swapaxes(ratio, -1, -2)
        return (a * xp.sum(ratio, (z.ndim - 1,), True) - xp.matmul(ratio, b),
                b * xp.sum(turned, (z.ndim - 1,), True) - xp.matmul(turned, a))


@op
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0,
          compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distance of each row of `x1` from each of `x2`; shapes (…, n, m), (…, k, m), result (…, n, k).

    By a product of matrices if `compute_mode` says so, or leaves it open and there are many rows, for p = 2.

    Raises:
        RuntimeError: if the columns differ in number, or p is negative.
    """
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, v in (("X1", x1), ("X2", x2)):
        if v.array.dtype.kind != "f":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {v.dtype.type_name}")
        if v.array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {v.array.ndim}D")
    m, n = x1.array.shape, x2.array.shape
    if m[-1] != n[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {m[-1]} X2: {n[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    lead = broadcast_shape(m[:-2], n[:-2])
    if 0 not in (*lead, *m, *n):
        same_dtype(x1, x2, "bmm")
    check_kernel(x1, "cdist")
    by_product = MODES[compute_mode]
    if by_product is None:
        by_product = m[-2] > MANY or n[-2] > MANY
    size = math.prod(lead)
    if p != 2 or not by_product or 0 in (*m, *n) or not size:
        return Cdist.forward(x1, x2, p)
    if size > 1:
        x1, x2 = [reshape(Expand.forward(v, (*lead, *v.array.shape[-2:])), (size, *v.array.shape[-2:]))
                  for v in (x1, x2)]
    return View.forward(EuclideanDist.forward(x1, x2), (*lead, m[-2], n[-2]))
