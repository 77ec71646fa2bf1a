"""Channels into pixels and back: mirrors `torch/nn/modules/pixelshuffle.py`."""

from __future__ import annotations

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Layer):
    """(*, C r², H, W) → (*, C, H r, W r)."""

    _settings = ("upscale_factor",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Layer):
    """(*, C, H r, W r) → (*, C r², H, W)."""

    _settings = ("downscale_factor",)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
