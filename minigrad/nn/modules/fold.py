"""Windows of a picture as columns, and back: mirrors `torch/nn/modules/fold.py`."""

from __future__ import annotations

from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer

__all__ = ["Fold", "Unfold"]


class _Windows(Layer):
    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride


class Unfold(_Windows):
    """(N, C, *) → (N, C · elements of a window, windows): each window a column."""

    _settings = ("kernel_size", "dilation", "padding", "stride")

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Windows):
    """The windows of `Unfold`, each added where it came from, into a picture of `output_size`."""

    _settings = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
                 stride: Any = 1) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
