"""The p-norm of vectors, `torch.linalg.vector_norm`, and `normalize`, which divides by it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.numpy import FLOAT16, FLOAT32, total
from minigrad.core.graph import Node
from minigrad.core.record import record1
from minigrad.core.tensor import Tensor
from minigrad.ops.pointwise.arithmetic import Div
from minigrad.ops.pointwise.minmax import ClampMin
from minigrad.ops.reduce.sums import Dims, axes_of, kept_shape, one_of, share_evenly
from minigrad.ops.shape.views import Expand

__all__: list[str] = []  # torch.linalg.vector_norm, nn.functional.normalize

Shape = tuple[int, ...]


def p_norm(x: Any, p: float, axes: Shape, keepdim: bool) -> Any:
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


def norm_gradient(xp: Any, g: Any, a: Any, y: Any, p: float, axes: Shape) -> Any:
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


class VectorNorm(Node, number=None):
    """(sum |x|^p)^(1/p) over some dimensions, and its limits: how many are not 0, the largest, the smallest."""

    __slots__ = ()
    saves = ("self", "result")

    @classmethod
    def forward(cls, a: Tensor, p: float, axes: Shape | None, keepdim: bool, dtype: Any = None) -> Tensor:
        """The norm of a Tensor."""
        x = a.array if dtype is None else a.array.astype(dtype, copy=False)
        axes = tuple(range(x.ndim)) if axes is None else axes
        y = p_norm(x, p, axes, keepdim)
        input_metadata = None if x.dtype is a.array.dtype else ((x.shape, a.array.dtype),)
        return record1(cls, y, a, (a, y), (p, axes, kept_shape(x.shape, axes)), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, y: Any, p: float, axes: Shape, kept: Shape) -> Any:
        return norm_gradient(xp, xp.reshape(g, kept), a, xp.reshape(y, kept), p, axes) if p else None


class LinalgVectorNorm(VectorNorm):
    """The norm as an op of its own."""

    __slots__ = ()
    constants = ("ord",)


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


def vector_norm(x: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *,
                dtype: dtype_type | None = None) -> Tensor:
    """The norm of order `ord` of the elements, over all dimensions or over `dim`.

    Raises:
        RuntimeError: for a tensor of integers or bools, a `dtype` that is narrower than the input's, and for the
            largest or the smallest of no elements.
    """
    if not x.dtype.is_floating_point:
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{x.dtype.type_name}")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError("linalg.vector_norm: dtype should be floating point or complex, but got "
                           f"{dtype.type_name}")
    if dtype is not None and dtype.itemsize < x.dtype.itemsize:
        raise RuntimeError(f"linalg.vector_norm: the dtype of the input ({x.dtype.type_name}) should be "
                           f"convertible without narrowing to the specified dtype ({dtype.type_name})")
    check_filled(ord, x.array.shape, dim)
    axes = axes_of(dim, x.array.ndim)
    return LinalgVectorNorm.forward(x, ord, axes, keepdim, None if dtype is None else dtype.numpy)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """The tensor over its p-norm along `dim`; norms below `eps` count as `eps`."""
    norm = ClampMin.forward(vector_norm(input, float(p), dim, True), eps)
    return Div.forward(input, Expand.forward(norm, input.array.shape))
