"""Dropout: mirrors `torch/nn/modules/dropout.py`. In evaluation mode they all return their input."""

from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Layer, arguments=("p", "training", "inplace"), printed=("p", "inplace")):
    p: float = 0.5
    inplace: bool = False

    def __post_init__(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")


class Dropout(_DropoutNd, function=F.dropout):
    """Sets each element to 0 with probability p; the others are scaled by 1 / (1 - p), so that the mean stays."""


class Dropout1d(_DropoutNd, function=F.dropout1d):
    """Dropout of whole channels: input (N, C, L) or (C, L)."""


class Dropout2d(_DropoutNd, function=F.dropout2d):
    """Dropout of whole channels: input (N, C, H, W)."""


class Dropout3d(_DropoutNd, function=F.dropout3d):
    """Dropout of whole channels: input (N, C, D, H, W) or (C, D, H, W)."""


class AlphaDropout(_DropoutNd, function=F.alpha_dropout, arguments=("p", "training")):
    """Dropout to SELU's lowest value, then scaled and shifted so that mean and variance stay."""


class FeatureAlphaDropout(_DropoutNd, function=F.feature_alpha_dropout, arguments=("p", "training")):
    """AlphaDropout of whole channels."""
