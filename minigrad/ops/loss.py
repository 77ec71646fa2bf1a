"""Losses."""

from __future__ import annotations

import warnings
from typing import Any

from minigrad._dtype import Size, from_numpy_dtype, result_dtype
from minigrad._tensor import Tensor
from minigrad.autograd.graph import Node
from minigrad.autograd.record import record2
from minigrad.backends.numpy import total
from minigrad.ops._meet import broadcast_shape, meet
from minigrad.ops.pointwise import Abs, Sub
from minigrad.ops.reduce import mean, sum
from minigrad.ops.shape import Expand

__all__ = ["l1_loss", "mse_loss"]


class MseLoss(Node):
    """The squares of the differences; `count` is by what their sum is divided, None where they are not summed."""

    __slots__ = ()
    saves = ("self", "target")

    @staticmethod
    def forward(a: Tensor, b: Tensor, reduction: str) -> Tensor:
        x, y, fit = meet(a.array, b.array)
        d = x - y
        d = d * d
        if reduction != "none":
            count = d.size if reduction == "mean" else 1
            d = total(d, None, count=count)
            fit = tuple([(v.array.shape, v.array.dtype) for v in (a, b)])
        else:
            count = 1
        return record2(MseLoss, d, a, b, (a, b), (2 / count if count else float("nan"),), fit)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, factor: float) -> tuple[Any, Any]:
        d = (a - b) * (g * factor)
        return d, -d


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that is asked for, be it by the two flags of early PyTorch, with its warning."""
    if size_average is None and reduce is None:
        return reduction
    averaged, reduced = size_average is None or bool(size_average), reduce is None or bool(reduce)
    old = "none" if not reduced else "mean" if averaged else "sum"
    warnings.warn("size_average and reduce args will be deprecated, please use "
                  f"reduction='{old}' instead.", UserWarning, stacklevel=3)
    return old


def checked(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """One of PyTorch's reductions; a ValueError else."""
    reduction = reduction_of(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def together(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both operands in one shape; with PyTorch's warning where they have to be broadcast to it."""
    m, n = input.array.shape, target.array.shape
    if m != n:
        warnings.warn(f"Using a target size ({Size(target.array.shape)}) that is different to the input size "
                      f"({Size(input.array.shape)}). This will likely lead to incorrect results due to broadcasting. "
                      "Please ensure they have the same size.", UserWarning, stacklevel=3)
        shape = broadcast_shape(m, n)
        input = input if m == shape else Expand.forward(input, shape)
        target = target if n == shape else Expand.forward(target, shape)
    return input, target


def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
             reduction: str = "mean") -> Tensor:
    """The mean (or sum, or none) of the squared differences; `size_average` and `reduce` are old words for it.

    Raises:
        ValueError: for another reduction.
        RuntimeError: if the shapes do not broadcast.
    """
    reduction = checked(size_average, reduce, reduction)
    input, target = together(input, target)
    dtype = from_numpy_dtype(result_dtype(input.array, target.array))
    if not dtype.is_floating_point:
        raise NotImplementedError(f"\"mse_cpu\" not implemented for '{dtype.type_name}'")
    return MseLoss.forward(input, target, reduction)


def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
            reduction: str = "mean") -> Tensor:
    """The mean (or sum, or none) of the absolute differences; errors as `mse_loss`."""
    reduction = checked(size_average, reduce, reduction)
    apart = Abs.forward(Sub.forward(*together(input, target)))
    return apart if reduction == "none" else mean(apart) if reduction == "mean" else sum(apart)
