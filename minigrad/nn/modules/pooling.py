"""Pooling: mirrors `torch/nn/modules/pooling.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer, _single

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "MaxPool1d", "MaxPool2d"]


class _MaxPoolNd(Layer):
    _settings = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
    _function: ClassVar[Callable[..., Any]]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self._function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                              self.return_indices)


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window: (N, C, L) or (C, L)."""

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window: (N, C, H, W) or (C, H, W)."""

    _function = staticmethod(F.max_pool2d)


class _AvgPoolNd(Layer):
    _settings = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad


class AvgPool1d(_AvgPoolNd):
    """The mean of each window: (N, C, L) or (C, L)."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        stride = kernel_size if stride is None else stride
        super().__init__(_single(kernel_size), _single(stride), _single(padding), ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window, or its sum over `divisor_override`: (N, C, H, W) or (C, H, W)."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)


class _AdaptivePoolNd(Layer):
    _settings = ("output_size",)
    _function: ClassVar[Callable[..., Any]]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        output: Tensor = self._function(input, self.output_size)
        return output


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return self._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest element of each of `output_size` windows that together cover the input: (N, C, L) or (C, L)."""

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest element of each of `output_size` windows that together cover (N, C, H, W) or (C, H, W)."""

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest element of each of `output_size` windows that together cover (N, C, D, H, W) or (C, D, H, W)."""

    _function = staticmethod(F.adaptive_max_pool3d)


class AdaptiveAvgPool1d(_AdaptivePoolNd):
    """The mean of each of `output_size` windows that together cover the input: (N, C, L) or (C, L)."""

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptivePoolNd):
    """The mean of each of `output_size` windows that together cover the input: (N, C, H, W) or (C, H, W)."""

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptivePoolNd):
    """The mean of each of `output_size` windows that together cover the input: (N, C, D, H, W) or (C, D, H, W)."""

    _function = staticmethod(F.adaptive_avg_pool3d)
