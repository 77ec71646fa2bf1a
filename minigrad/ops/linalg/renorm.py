"""`renorm`: scales each slice whose norm exceeds a bound down to that bound."""

from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.core import Node, Tensor, record1
from minigrad.ops._dispatch import Scaled, op
from minigrad.ops._dispatch.memory_order import row_by_row
from minigrad.ops.index.flat_indexing import raw
from minigrad.ops.shape.views import dim_of

__all__ = ["renorm"]

EPSILON = 1e-7  # added to the norm before dividing by it, as in PyTorch


class Renorm(Node):
    """Scales a slice v whose norm exceeds the bound m to v · m / (|v| + ε). The derivative is that factor, plus the
    effect of the norm: -(g · v) · m / (|v| + ε)² · ∂|v|/∂v."""

    saves = ("self",)
    constants = ("p", "dim", "maxnorm")

    @staticmethod
    def forward(a: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
        x = a.array
        axes = tuple([d for d in range(x.ndim) if d != dim])
        size = np.abs(x)
        if np.isfinite(p) or not x.size:
            norm = (size ** p).sum(axes, keepdims=True) ** (1 / p)
        else:
            norm = size.max(axes, keepdims=True)
        factor = as_dtype(np.where(norm > maxnorm, maxnorm / (norm + EPSILON), 1), x.dtype)
        return record1(Renorm, row_by_row(x * factor), a, (a,), (p, dim, maxnorm))

    def backward(self, xp: Any, g: Any, x: Any, p: float, dim: int, maxnorm: float) -> Any:
        axes = tuple([d for d in range(len(x.shape)) if d != dim])
        size = xp.where(x < 0, -x, x)
        if np.isfinite(p):
            norm = xp.power(xp.sum(xp.power(size, p), axes, True), 1 / p)
            slope = xp.sign(x) * xp.power(size, p - 1) * xp.power(norm, 1 - p)
        else:  # that of the largest element, divided among equal ones
            lengths = np.abs(raw(x))
            largest = lengths == lengths.max(axes, keepdims=True)
            share = as_dtype(largest / largest.sum(axes, keepdims=True), xp.dtype(x))
            norm = xp.sum(xp.apply(Scaled, size, share), axes, True)
            slope = xp.apply(Scaled, xp.sign(x), share)
        long, length = norm > maxnorm, norm + EPSILON
        factor = xp.where(long, maxnorm / length, norm * 0 + 1)
        turned = xp.sum(g * x, axes, True) * maxnorm / (length * length) * slope
        return g * factor - xp.masked(xp.broadcast_to(long, tuple(x.shape)), turned)


@op(method=True, in_place=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale each slice along `dim` whose p-norm exceeds `maxnorm` down to it; other slices are unchanged.

    Raises:
        RuntimeError: if `p` is not positive, `maxnorm` is negative, or the tensor has fewer than two dimensions.
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.array.ndim} dimensions")
    if input.array.dtype.kind != "f":
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{input.dtype.type_name}")
    return Renorm.forward(input, float(p), dim_of(dim, input.array.ndim), float(maxnorm))
