"""A weight as its norm and its direction: w = g * v / |v|. Mirrors PyTorch's `WeightNorm.cpp`."""

from typing import Any

import numpy as np

from minigrad.core import Node, Tensor, record2
from minigrad.ops.linalg.norms import norm
from minigrad.ops.pointwise.arithmetic import Div, Mul


class WeightNormInterface(Node):
    """The op where each row or each column has a norm; `axes` are the other dimensions."""

    saves = ("v", "g")
    constants = ("dim",)

    @staticmethod
    def forward(v: Tensor, g: Tensor, dim: int) -> Tensor:
        axes = tuple([i for i in range(v.array.ndim) if i != dim])
        result = v.array * (g.array / np.sqrt((v.array * v.array).sum(axes, keepdims=True)))
        return record2(WeightNormInterface, result, v, g, (v, g), (dim, axes))

    def backward(self, xp: Any, gw: Any, v: Any, g: Any, dim: int, axes: tuple[int, ...]) -> tuple[Any, Any]:
        length = xp.sqrt(xp.sum(v * v, axes, True))
        along = xp.sum(gw * v, axes, True) / length
        return g / length * (gw - v * (along / length)), along


def lengths(v: Tensor, dim: int) -> Tensor:
    """The norms over all dimensions but `dim`, which are kept; over all if `dim` is -1."""
    if dim == -1:
        return norm(v, 2)
    count, size = v.array.ndim, v.array.shape[dim]
    if dim == 0:
        return norm(v.contiguous().view(size, -1), 2, 1).view(size, *(1,) * (count - 1))
    if dim == count - 1:
        return norm(v.contiguous().view(-1, size), 2, 0).view(*(1,) * (count - 1), size)
    return lengths(v.transpose(0, dim), 0).transpose(0, dim)


def normalised(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """g * v / |v|."""
    if dim in (0, v.array.ndim - 1):
        return WeightNormInterface.forward(v, g, dim)
    return Mul.forward(v, Div.forward(g, lengths(v, dim)))
