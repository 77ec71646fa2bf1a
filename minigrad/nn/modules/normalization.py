"""Norms of each sample separately: mirrors `torch/nn/modules/normalization.py`."""

from collections.abc import Sequence
from typing import Any

from minigrad._base.dtype import dtype as dtype_type
from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.utils import Family, Layer, _single, attributes, empty_parameter
from minigrad.nn.parameter import Parameter

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Affine(Family):
    """A norm whose result may be scaled by `weight`, ones at first, and shifted by `bias`, zeros at first."""

    weight: Parameter | None
    bias: Parameter | None

    def _add_affine(self, shape: int | tuple[int, ...], weight: bool, bias: bool, device: Any,
                    dtype: dtype_type | None) -> None:
        self.register_parameter("weight", empty_parameter(shape, device, dtype) if weight else None)
        self.register_parameter("bias", empty_parameter(shape, device, dtype) if weight and bias else None)

    def reset_parameters(self) -> None:
        """Reset the scale to 1 and the shift to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _attributes(self, *names: str) -> str:
        return f"{attributes(self, *names)}, bias={self.bias is not None}"


class LayerNorm(_Affine):
    """(x - mean) / √(variance + eps) · weight + bias, over the last dimensions, of shape `normalized_shape`."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, device: Any = None, dtype: dtype_type | None = None) -> None:
        super().__init__()
        self.normalized_shape = _single(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._add_affine(self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, {self._attributes('eps', 'elementwise_affine')}"


class GroupNorm(_Affine):
    """(x - mean) / √(variance + eps) · weight + bias, over each of the groups of channels: input (N, C, *)."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: dtype_type | None = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._add_affine(num_channels, affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, {self._attributes('eps', 'affine')}"


class RMSNorm(Module):
    """x / √(mean of x² + eps) · weight, over the last dimensions; eps is by default that of the dtype."""

    weight: Parameter | None

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None,
                 elementwise_affine: bool = True, device: Any = None, dtype: dtype_type | None = None) -> None:
        super().__init__()
        self.normalized_shape = _single(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = empty_parameter(self.normalized_shape, device, dtype) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the scale to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, {attributes(self, 'eps', 'elementwise_affine')}"


class LocalResponseNorm(Layer, function=F.local_response_norm):
    """input / (k + alpha · mean)^beta, with the mean of the squares of `size` channels around each one: (N, C, *)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def extra_repr(self) -> str:
        return f"{self.size}, {attributes(self, 'alpha', 'beta', 'k')}"
