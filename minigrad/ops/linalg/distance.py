"""Distances of tensors, of rows, and of each row from each other row: mirrors PyTorch's Distance.cpp."""

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import HALVES, from_numpy_dtype, promote_types
from minigrad.backends.numpy import XP
from minigrad.core import Node, Tensor, record2, record_n
from minigrad.ops._dispatch import broadcast_and_promote, broadcast_shape, check_minus, op, same_device
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.matrices import mT, system_metadata
from minigrad.ops.linalg.norms import LinalgVectorNorm, VectorNorm, norm_gradient, p_norm
from minigrad.ops.pointwise.arithmetic import Sub
from minigrad.ops.pointwise.scalar import AddScalar
from minigrad.ops.reduce.sums import sum
from minigrad.ops.shape.views import Expand, View, dim_of, reshape
from minigrad.ops.tensor.copy import Clone, cast

__all__ = ["cdist", "cosine_similarity", "dist", "pairwise_distance"]

MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": True,
         "donot_use_mm_for_euclid_dist": False}
MANY = 25  # rows, above which distances are computed by a matrix product


class Dist(Node):
    saves = ("self", "other", "result")
    constants = ("p",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, p: float) -> Tensor:
        x, y, _ = broadcast_and_promote(a.array, b.array)
        z = p_norm(x - y, p, tuple(range(max(x.ndim, y.ndim))), False)
        return record2(Dist, z, a, b, (a, b, z), (p,), tuple([(v.array.shape, v.array.dtype) for v in (a, b)]))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, z: Any, p: float) -> tuple[Any, Any]:
        if p == 0:
            return None, None
        difference = a - b
        if xp.dtype(difference) in HALVES:
            difference = xp.cast(difference, xp.dtype(difference))  # rounded, as when its norm was computed
        d = norm_gradient(xp, g, difference, z, p, tuple(range(difference.ndim)))
        return d, -d


class NormDim(VectorNorm, name="Norm", number=1):
    """The node name of the p-norm inside a distance."""

    constants = ("p", "", "", "dim", "keepdim")


class Cdist(Node):
    saves = ("x1", "x2", "result")
    constants = ("p",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, p: float) -> Tensor:
        x, y = a.array, b.array
        z = np.zeros((*broadcast_shape(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-2]), x.dtype, like=x)
        if z.size and x.shape[-1]:
            z = p_norm(x[..., :, None, :] - y[..., None, :, :], p, (-1,), False)
        return record2(Cdist, z, a, b, (a, b, z), (p,), system_metadata(z, x, y))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, z: Any, p: float) -> tuple[Any, Any]:
        return xp.apply(CdistBackward, g, a, b, z, p), xp.apply(CdistBackward, mT(xp, g), b, a, mT(xp, z), p)


class CdistBackward(Node):
    """The gradient of the first rows; it has no derivative, as in PyTorch."""

    @staticmethod
    def values(g: Any, a: Any, b: Any, z: Any, p: float) -> Any:
        if p == 0 or 0 in (*z.shape, a.shape[-1]):
            return np.zeros((*z.shape[:-2], *a.shape[-2:]), a.dtype, like=a)
        if p not in (1, math.inf):  # equal rows have the gradient 0, even where `g` is infinite
            g = XP.masked(z != 0, g)
        difference = a[..., :, None, :] - b[..., None, :, :]
        last = difference.ndim - 1
        return XP.sum(norm_gradient(XP, g[..., None], difference, z[..., None], p, (last,)), (last - 1,), False)

    @staticmethod
    def forward(g: Tensor, a: Tensor, b: Tensor, z: Tensor, p: float) -> Tensor:
        y = CdistBackward.values(g.array, a.array, b.array, z.array, p)
        return record_n(CdistBackward, y, (g, a, b, z))

    def backward(self, xp: Any, g: Any) -> Any:
        raise NotImplementedError("the derivative for '_cdist_backward' is not implemented.")


class EuclideanDist(Node):
    """All pairs at once: `|a - b|**2 == |a|**2 + |b|**2 - 2 * a @ b`."""

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
        transposed = mT(xp, ratio)
        return (a * xp.sum(ratio, (z.ndim - 1,), True) - xp.matmul(ratio, b),
                b * xp.sum(transposed, (z.ndim - 1,), True) - xp.matmul(transposed, a))


@op
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distance of each row of `x1` from each of `x2`; shapes (…, n, m), (…, k, m), result (…, n, k).

    For p = 2, `compute_mode` may force or exclude a matrix product; by default it is used for many rows.

    Raises:
        ValueError: for another `compute_mode`.
        RuntimeError: if the numbers of columns differ, p is negative, or there are fewer than two dimensions.
    """
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, v in (("X1", x1), ("X2", x2)):
        if v.array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {v.array.ndim}D")
    for name, v in (("X1", x1), ("X2", x2)):
        if v.array.dtype.kind != "f":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {v.dtype.type_name}")
    m, n = x1.array.shape, x2.array.shape
    if m[-1] != n[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {m[-1]} X2: {n[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    lead = broadcast_shape(m[:-2], n[:-2])
    if 0 not in (*lead, *m, *n):
        checks.product_dtypes(x1, x2, "bmm")
    by_product = MODES[compute_mode]
    if by_product is None:
        by_product = m[-2] > MANY or n[-2] > MANY
    size = math.prod(lead)
    if p != 2 or not by_product or 0 in (*m, *n) or not size:
        if 0 not in (*lead, *m, *n):
            checks.kernel(x1, "cdist")
        return Cdist.forward(x1, x2, p)
    if size > 1:
        x1, x2 = [reshape(Expand.forward(v, (*lead, *v.array.shape[-2:])), (size, *v.array.shape[-2:]))
                  for v in (x1, x2)]
    return View.forward(EuclideanDist.forward(x1, x2), (*lead, m[-2], n[-2]))


@op(method=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of `input - other`.

    Raises:
        RuntimeError: if the shapes do not broadcast, or both have an integer or bool dtype.
    """
    check_minus(input.array, other.array)
    if "f" not in (input.array.dtype.kind, other.array.dtype.kind):
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{input.dtype.type_name} instead.")
    return Dist.forward(input, other, p)


@op
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of `x1 - x2 + eps` over the last dimension."""
    difference = AddScalar.forward(Sub.forward(x1, x2), eps)
    ndim = difference.array.ndim
    return NormDim.forward(difference, float(p), (ndim - 1,) if ndim else (), keepdim)


@op
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms are at least `eps`.

    Raises:
        RuntimeError: for integers, or shapes that do not broadcast.
        IndexError: if `dim` is out of range.
    """
    shape = broadcast_shape(x1.array.shape, x2.array.shape)
    dtype = from_numpy_dtype(promote_types(x1.array.dtype, x2.array.dtype))
    if not dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtype.type_name}")
    axis = dim_of(dim, len(shape))
    rows = []
    for tensor in (x1, x2):
        x = cast(tensor, dtype.numpy)
        x = x if x.array.shape == shape else Expand.forward(x, shape)
        norm = Clone.forward(LinalgVectorNorm.forward(x, 2.0, (axis,)[:len(shape)], True))
        norm.array = np.maximum(norm.array, norm.array.dtype.type(eps))  # as in PyTorch not part of the graph
        rows.append(x / norm)
    return sum(rows[0] * rows[1], axis)
