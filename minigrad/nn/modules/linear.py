"""Linear layers: mirrors `torch/nn/modules/linear.py`."""

import math
from typing import Any

from minigrad._base.dtype import dtype as dtype_type
from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.utils import attributes, empty_parameter, reset_weight_and_bias
from minigrad.nn.parameter import Parameter

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Returns its input; takes any arguments, so that it can replace any other module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """y = x @ weight.T + bias; `weight` is (out_features, in_features), drawn from ±1/√in_features."""

    weight: Parameter
    bias: Parameter | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = empty_parameter((out_features, in_features), device, dtype)
        self.register_parameter("bias", empty_parameter(out_features, device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{attributes(self, 'in_features', 'out_features')}, bias={self.bias is not None}"


class Bilinear(Module):
    """y[o] = x1 @ weight[o] @ x2 + bias[o]; `weight` is (out, in1, in2), drawn from ±1/√in1."""

    weight: Parameter
    bias: Parameter | None

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = empty_parameter((out_features, in1_features, in2_features), device, dtype)
        self.register_parameter("bias", empty_parameter(out_features, device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{attributes(self, 'in1_features', 'in2_features', 'out_features')}, bias={self.bias is not None}"
