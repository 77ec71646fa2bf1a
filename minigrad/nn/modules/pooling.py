"""Pooling: mirrors `torch/nn/modules/pooling.py`."""

from typing import Any

from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer, _single

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "MaxPool1d", "MaxPool2d"]


class _PoolNd(Layer, printed=("kernel_size", "stride", "padding")):
    """Pooling over windows; without a `stride` the windows lie side by side."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0

    def __post_init__(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride


class _MaxPoolNd(_PoolNd, arguments=("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"),
                 printed=("kernel_size", "stride", "padding", "dilation", "ceil_mode")):
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d):
    """The largest element of each window: (N, C, L) or (C, L)."""


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d):
    """The largest element of each window: (N, C, H, W) or (C, H, W)."""


class _AvgPoolNd(_PoolNd, printed=("kernel_size", "stride", "padding")):
    ceil_mode: bool = False
    count_include_pad: bool = True


class AvgPool1d(_AvgPoolNd, function=F.avg_pool1d):
    """The mean of each window: (N, C, L) or (C, L)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kernel_size, self.stride = _single(self.kernel_size), _single(self.stride)
        self.padding = _single(self.padding)


class AvgPool2d(_AvgPoolNd, function=F.avg_pool2d):
    """The mean of each window, or its sum over `divisor_override`: (N, C, H, W) or (C, H, W)."""

    divisor_override: int | None = None


class _AdaptivePoolNd(Layer, printed=("output_size",)):
    output_size: Any


class _AdaptiveMaxPoolNd(_AdaptivePoolNd, printed=("output_size",)):
    return_indices: bool = False


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool1d):
    """The largest element of each of `output_size` windows that together cover the input: (N, C, L) or (C, L)."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool2d):
    """The largest element of each of `output_size` windows that together cover (N, C, H, W) or (C, H, W)."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool3d):
    """The largest element of each of `output_size` windows that together cover (N, C, D, H, W) or (C, D, H, W)."""


class AdaptiveAvgPool1d(_AdaptivePoolNd, function=F.adaptive_avg_pool1d):
    """The mean of each of `output_size` windows that together cover the input: (N, C, L) or (C, L)."""


class AdaptiveAvgPool2d(_AdaptivePoolNd, function=F.adaptive_avg_pool2d):
    """The mean of each of `output_size` windows that together cover the input: (N, C, H, W) or (C, H, W)."""


class AdaptiveAvgPool3d(_AdaptivePoolNd, function=F.adaptive_avg_pool3d):
    """The mean of each of `output_size` windows that together cover the input: (N, C, D, H, W) or (C, D, H, W)."""
