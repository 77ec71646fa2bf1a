"""PixelShuffle and PixelUnshuffle, between channels and pixels: mirrors `torch/nn/modules/pixelshuffle.py`."""

from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Layer, function=F.pixel_shuffle):
    """(*, C r², H, W) → (*, C, H r, W r)."""

    upscale_factor: int


class PixelUnshuffle(Layer, function=F.pixel_unshuffle):
    """(*, C, H r, W r) → (*, C r², H, W)."""

    downscale_factor: int
