"""Activations: mirrors `torch/nn/modules/activation.py` (MultiheadAttention is apart, in `attention.py`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from minigrad._base.dtype import dtype as dtype_type
from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.init import constant_
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.utils import Layer, attributes, empty_parameter
from minigrad.nn.parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]


class _Activation(Layer):
    """An activation calls its function, prints its settings, and last `inplace` if it overwrites its input."""

    _function: ClassVar[Callable[..., Tensor]]
    inplace: bool = False

    def extra_repr(self) -> str:
        return attributes(self, *self._settings, *["inplace"] * self.inplace)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input)


class _InPlace(_Activation):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.inplace)


class ReLU(_InPlace):
    """max(x, 0)."""

    _function = staticmethod(F.relu)


class SELU(_InPlace):
    """scale · (max(x, 0) + min(α (exp(x) - 1), 0)), α ≈ 1.673, scale ≈ 1.051."""

    _function = staticmethod(F.selu)


class SiLU(_InPlace):
    """x · sigmoid(x)."""

    _function = staticmethod(F.silu)


class Mish(_InPlace):
    """x · tanh(softplus(x))."""

    _function = staticmethod(F.mish)


class Hardsigmoid(_InPlace):
    """min(max(x + 3, 0), 6) / 6."""

    _function = staticmethod(F.hardsigmoid)
    extra_repr = Module.extra_repr


class Hardswish(_InPlace):
    """x · min(max(x + 3, 0), 6) / 6."""

    _function = staticmethod(F.hardswish)
    extra_repr = Module.extra_repr


class Sigmoid(_Activation):
    """1 / (1 + exp(-x))."""

    _function = staticmethod(F.sigmoid)


class Tanh(_Activation):
    """The hyperbolic tangent."""

    _function = staticmethod(F.tanh)


class LogSigmoid(_Activation):
    """log(1 / (1 + exp(-x)))."""

    _function = staticmethod(F.logsigmoid)


class Softsign(_Activation):
    """x / (1 + |x|)."""

    _function = staticmethod(F.softsign)


class Tanhshrink(_Activation):
    """x - tanh(x)."""

    _function = staticmethod(F.tanhshrink)


class Threshold(_Activation):
    """x where x > threshold, else `value`."""

    _settings = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class RReLU(_Activation):
    """x where x ≥ 0, else x times a slope: drawn from [lower, upper] in training, their middle in evaluation."""

    _settings = ("lower", "upper")

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Activation):
    """min(max(x, min_val), max_val)."""

    _settings: tuple[str, ...] = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        super().__init__()
        for old, given in (("min_value", min_value), ("max_value", max_value)):
            if given is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{old[:-2]}`", FutureWarning,
                              stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)."""

    _settings = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class _Alpha(_Activation):
    _settings = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.alpha, self.inplace)


class ELU(_Alpha):
    """x where x > 0, else α (exp(x) - 1)."""

    _function = staticmethod(F.elu)


class CELU(_Alpha):
    """max(x, 0) + min(0, α (exp(x / α) - 1))."""

    _function = staticmethod(F.celu)


class LeakyReLU(_Activation):
    """max(x, 0) + negative_slope · min(x, 0)."""

    _settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class GELU(Module):
    """x · Φ(x), Φ that of the normal distribution; `approximate` is 'none' or 'tanh'."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(_Activation):
    """log(1 + exp(β x)) / β, and x itself where β x > threshold."""

    _settings = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class _Shrink(_Activation):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.lambd)


class Hardshrink(_Shrink):
    """x where |x| > λ, else 0."""

    _function = staticmethod(F.hardshrink)


class Softshrink(_Shrink):
    """x drawn towards 0 by λ: sign(x) · max(|x| - λ, 0)."""

    _function = staticmethod(F.softshrink)


class PReLU(_Activation):
    """max(x, 0) + weight · min(x, 0): one slope for all, or one per channel, that is learned."""

    _settings = ("num_parameters",)
    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = empty_parameter(num_parameters, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to `init`."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class GLU(_Activation):
    """a · sigmoid(b), a and b the halves of the input along `dim`."""

    _settings = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class _AlongDim(_Activation):
    _settings = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """softmax(-x) along `dim`."""

    _function = staticmethod(F.softmin)


class Softmax(_AlongDim):
    """exp(x) / Σ exp(x) along `dim`."""

    _function = staticmethod(F.softmax)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along `dim`."""

    _function = staticmethod(F.log_softmax)


class Softmax2d(Module):
    """Softmax over the channels, at each place of a picture: (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)
