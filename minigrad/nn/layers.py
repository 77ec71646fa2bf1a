"""Layers: mirrors `torch/nn/modules/{linear,activation,loss}.py`, as far as the first lessons use them."""

from __future__ import annotations

import math

from minigrad._dtype import dtype as dtype_type
from minigrad._tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.create import empty
from minigrad.ops.loss import reduction_of

__all__ = ["L1Loss", "Linear", "MSELoss", "ReLU", "Sigmoid", "Tanh"]


class Linear(Module):
    """y = x @ weight.T + bias; `weight` is (out_features, in_features), drawn from ±1/√in_features."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: str | None = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty((out_features, in_features), dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(out_features, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """`F.linear` with this weight and bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class ReLU(Module):
    """max(x, 0)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """`F.relu`."""
        return F.relu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        """`F.sigmoid`."""
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """`F.tanh`."""
        return F.tanh(input)


class _Loss(Module):
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction_of(size_average, reduce, reduction)


class MSELoss(_Loss):
    """The mean (or sum, or none) of squared differences."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """`F.mse_loss`."""
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """The mean (or sum, or none) of absolute differences."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """`F.l1_loss`."""
        return F.l1_loss(input, target, reduction=self.reduction)
