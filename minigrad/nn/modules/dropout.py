"""Dropout: mirrors `torch/nn/modules/dropout.py`. In evaluation all of them hand their input on."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Layer):
    _settings = ("p", "inplace")
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd):
    """Each element is 0 with probability p; the others grow by 1 / (1 - p), so that the mean stays."""

    _function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels: input (N, C, L) or (C, L)."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels: input (N, C, H, W)."""

    _function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels: input (N, C, D, H, W) or (C, D, H, W)."""

    _function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Dropout to SELU's lowest value, scaled and moved so that mean and variance stay."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
