"""How alike rows are: cosine_similarity, pairwise_distance, and rows made as long as 1 (normalize)."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._base.dtype import from_numpy_dtype, result_dtype
from minigrad.core.graph import Node
from minigrad.core.record import record1
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op
from minigrad.ops._dispatch.type_promotion import broadcast_shape
from minigrad.ops.linalg.distance import LinalgVectorNorm, length, slope, vector_norm
from minigrad.ops.pointwise.arithmetic import Div, Mul, Sub
from minigrad.ops.pointwise.minmax import ClampMin
from minigrad.ops.pointwise.scalar import AddScalar
from minigrad.ops.reduce.sums import kept_shape, sum
from minigrad.ops.shape.views import Expand, dim_of
from minigrad.ops.tensor.copy import Clone, cast

__all__ = ["cosine_similarity", "pairwise_distance"]

Shape = tuple[int, ...]


class NormDim(Node, name="Norm", number=1):
    """The p-norm over dimensions, under the name that it has inside of a distance."""

    __slots__ = ()
    saves = ("self", "result")
    constants = ("p",)

    @staticmethod
    def forward(a: Tensor, p: float, axes: Shape, keepdim: bool) -> Tensor:
        y = length(a.array, p, axes, keepdim)
        return record1(NormDim, y, a, (a, y), (p, axes, kept_shape(a.array.shape, axes)))

    def backward(self, xp: Any, g: Any, a: Any, y: Any, p: float, axes: Shape, kept: Shape) -> Any:
        return slope(xp, xp.reshape(g, kept), a, xp.reshape(y, kept), p, axes)


@op
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of `x1 - x2 + eps` over the last dimension."""
    apart = AddScalar.forward(Sub.forward(x1, x2), eps)
    last = max(apart.array.ndim - 1, 0)
    return NormDim.forward(apart, float(p), (last,)[:apart.array.ndim], keepdim)


@op
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms below `eps` count as `eps`.

    Raises:
        RuntimeError: for integers, or shapes that do not broadcast.
        IndexError: if `dim` is out of range.
    """
    shape = broadcast_shape(x1.array.shape, x2.array.shape)
    dtype = from_numpy_dtype(result_dtype(x1.array, x2.array))
    if not dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtype.type_name}")
    axis = dim_of(dim, len(shape))
    rows = []
    for given in (x1, x2):
        x = cast(given, dtype.numpy)
        x = x if x.array.shape == shape else Expand.forward(x, shape)
        norm = Clone.forward(LinalgVectorNorm.forward(x, 2.0, (axis,)[:len(shape)], True))
        norm.array = np.maximum(norm.array, norm.array.dtype.type(eps))  # as in PyTorch not part of the graph
        rows.append(Div.forward(x, norm))
    return sum(Mul.forward(*rows), axis)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """The tensor over its p-norm along `dim`; norms below `eps` count as `eps`."""
    norm = ClampMin.forward(vector_norm(input, float(p), dim, True, None), eps)
    return Div.forward(input, Expand.forward(norm, input.array.shape))
