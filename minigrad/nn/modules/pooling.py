"""Pooling: mirrors `torch/nn/modules/pooling.py`."""

from typing import Any

from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Family, Layer, _ntuple, _single

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d",
           "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _PoolNd(Layer, printed=("kernel_size", "stride", "padding")):
    """Pooling over windows; without a `stride` the windows are side by side."""

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


class MaxPool3d(_MaxPoolNd, function=F.max_pool3d):
    """The largest element of each window: (N, C, D, H, W) or (C, D, H, W)."""


class _MaxUnpoolNd(Family):
    """Puts each element where a pool with the same windows took it from: `forward(input, indices, output_size)`."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        tuple_of = _ntuple(self._dims)
        self.kernel_size, self.padding = tuple_of(kernel_size), tuple_of(padding)
        self.stride = tuple_of(kernel_size if stride is None else stride)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd, dims=1, function=F.max_unpool1d):
    """Undoes MaxPool1d, given its indices: (N, C, L) or (C, L)."""


class MaxUnpool2d(_MaxUnpoolNd, dims=2, function=F.max_unpool2d):
    """Undoes MaxPool2d, given its indices: (N, C, H, W) or (C, H, W)."""


class MaxUnpool3d(_MaxUnpoolNd, dims=3, function=F.max_unpool3d):
    """Undoes MaxPool3d, given its indices: (N, C, D, H, W) or (C, D, H, W)."""


class _LPPoolNd(Layer, printed=("norm_type", "kernel_size", "stride", "ceil_mode")):
    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


class LPPool1d(_LPPoolNd, function=F.lp_pool1d):
    """The p-norm of each window, p = `norm_type`: (N, C, L) or (C, L)."""


class LPPool2d(_LPPoolNd, function=F.lp_pool2d):
    """The p-norm of each window, p = `norm_type`: (N, C, H, W) or (C, H, W)."""


class LPPool3d(_LPPoolNd, function=F.lp_pool3d):
    """The p-norm of each window, p = `norm_type`: (N, C, D, H, W) or (C, D, H, W)."""


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


class AvgPool3d(_AvgPoolNd, function=F.avg_pool3d):
    """The mean of each window, or its sum over `divisor_override`: (N, C, D, H, W) or (C, D, H, W)."""

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
