"""Fold and Unfold, between images and columns of their windows: mirrors `torch/nn/modules/fold.py`."""

from typing import Any

from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer

__all__ = ["Fold", "Unfold"]


class Unfold(Layer, function=F.unfold):
    """(N, C, *) → (N, C · elements of a window, windows): each window a column."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


class Fold(Layer, function=F.fold):
    """Adds the windows of `Unfold`, each where it came from, to an image of `output_size`."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
