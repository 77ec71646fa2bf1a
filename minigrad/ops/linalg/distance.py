"""Norms: how long a vector is, and how far apart two are, in the p-norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.numpy import FLOAT16, FLOAT32, total
from minigrad.core.graph import Node
from minigrad.core.record import record1, record2
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op
from minigrad.ops._dispatch.type_promotion import broadcast_and_promote, check_minus
from minigrad.ops.reduce.sums import Dims, axes_of, kept_shape, one_of, share_evenly

__all__ = ["dist"]

Shape = tuple[int, ...]


def length(x: Any, p: float, axes: Shape, keepdim: bool) -> Any:
    """The p-norm of an array; of float16 in float32, since squares would overflow."""
    size = abs(x.astype(FLOAT32) if x.dtype is FLOAT16 else x)
    if p == 0:
        y = total((x != 0).astype(size.dtype), axes, keepdims=keepdim)
    elif p == 1:
        y = total(size, axes, keepdims=keepdim)
    elif p == 2:
        y = np.sqrt(total(size * size, axes, keepdims=keepdim))
    elif math.isinf(p):
        y = size.max(axes, keepdims=keepdim) if p > 0 else size.min(axes, keepdims=keepdim)
    else:
        y = np.power(total(np.power(size, p), axes, keepdims=keepdim), 1 / p)
    return y.astype(x.dtype, copy=False)


def slope(xp: Any, g: Any, a: Any, y: Any, p: float, axes: Shape) -> Any:
    """The gradient of `a`, whose p-norm over `axes` is `y`, the reduced dimensions kept; 0 where the norm is 0."""
    if p == 1:
        return g * xp.sign(a)
    if p == 2:
        return a * xp.masked(y != 0, g / y)
    if math.isinf(p):
        return xp.sign(a) * share_evenly(xp, g, (a == y) | (a == -y) | (a != a), axes)
    sign = xp.sign(a)
    steep = xp.masked(a != 0, sign * xp.power(a * sign, p - 1))
    return steep * xp.masked(y != 0, g / xp.power(y, p - 1))


class LinalgVectorNorm(Node):
    """(sum |x|^p)^(1/p) over some dimensions, and its limits: how many are not 0, the largest, the smallest."""

    __slots__ = ()
    saves = ("self", "result")
    constants = ("ord",)

    @staticmethod
    def forward(a: Tensor, p: float, axes: Shape | None, keepdim: bool, dtype: Any = None) -> Tensor:
        x = a.array if dtype is None else a.array.astype(dtype, copy=False)
        axes = tuple(range(x.ndim)) if axes is None else axes
        y = length(x, p, axes, keepdim)
        input_metadata = None if x.dtype is a.array.dtype else ((x.shape, a.array.dtype),)
        return record1(LinalgVectorNorm, y, a, (a, y), (p, axes, kept_shape(x.shape, axes)), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, y: Any, p: float, axes: Shape, kept: Shape) -> Any:
        return slope(xp, xp.reshape(g, kept), a, xp.reshape(y, kept), p, axes) if p else None


class Dist(Node):
    """The p-norm of a difference."""

    __slots__ = ()
    saves = ("self", "other", "result")
    constants = ("p",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, p: float) -> Tensor:
        x, y, _ = broadcast_and_promote(a.array, b.array)
        z = length(x - y, p, tuple(range(max(x.ndim, y.ndim))), False)
        return record2(Dist, z, a, b, (a, b, z), (p,), tuple([(v.array.shape, v.array.dtype) for v in (a, b)]))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, z: Any, p: float) -> tuple[Any, Any]:
        if p == 0:
            return None, None
        apart = a - b
        d = slope(xp, g, apart, z, p, tuple(range(apart.ndim)))
        return d, -d


def check_filled(p: float, shape: Shape, dim: Dims) -> None:
    """PyTorch's errors where the largest or the smallest of no elements is asked for."""
    if 0 <= p < math.inf or 0 not in shape:
        return
    if dim is None or dim == ():
        raise RuntimeError(f"linalg.vector_norm cannot compute the {p:g} norm on an empty tensor because the "
                           "operation does not have an identity")
    for each in (dim,) if isinstance(dim, int) else dim:
        if shape[one_of(each, len(shape))] == 0:
            raise RuntimeError(f"linalg.vector_norm cannot compute the {p:g} norm on the dimension {each}because this "
                               "dimension is empty and the operation does not have an identity")


def vector_norm(input: Tensor, p: float, dim: Dims, keepdim: bool, dtype: dtype_type | None) -> Tensor:
    """`torch.linalg.vector_norm`, and what `norm` is for all orders but `nuc`.

    Raises:
        RuntimeError: for a tensor of integers or bools, a `dtype` that is narrower than the input's, and for the
            largest or the smallest of no elements.
    """
    if not input.dtype.is_floating_point:
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{input.dtype.type_name}")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError("linalg.vector_norm: dtype should be floating point or complex, but got "
                           f"{dtype.type_name}")
    if dtype is not None and dtype.itemsize < input.dtype.itemsize:
        raise RuntimeError(f"linalg.vector_norm: the dtype of the input ({input.dtype.type_name}) should be "
                           f"convertible without narrowing to the specified dtype ({dtype.type_name})")
    check_filled(p, input.array.shape, dim)
    axes = axes_of(dim, input.array.ndim)
    return LinalgVectorNorm.forward(input, p, axes, keepdim, None if dtype is None else dtype.numpy)


@op(method=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of `input - other`.

    Raises:
        RuntimeError: if the shapes do not broadcast, or both are of integers or bools.
    """
    check_minus(input.array, other.array)
    if "f" not in (input.array.dtype.kind, other.array.dtype.kind):
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{input.dtype.type_name} instead.")
    return Dist.forward(input, other, p)
