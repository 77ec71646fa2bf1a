"""Padding: mirrors `torch/nn/modules/padding.py`.

`padding` is one number for all sides, or two for each dimension, before and after, the last dimension first.
"""

from dataclasses import field
from typing import Any

from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer, _ntuple, attributes

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]


class _PadNd(Layer, mode="constant"):
    padding: Any

    def __post_init__(self) -> None:
        self.padding = _ntuple(2 * self._dims)(self.padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _CircularPadNd(_PadNd, mode="circular"):
    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.ndim}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd, dims=1):
    """Wraps around, padding each side from the opposite one: (N, C, L) or (C, L)."""


class CircularPad2d(_CircularPadNd, dims=2):
    """Wraps around, padding each side from the opposite one: (N, C, H, W) or (C, H, W)."""


class CircularPad3d(_CircularPadNd, dims=3):
    """Wraps around, padding each side from the opposite one: (N, C, D, H, W) or (C, D, H, W)."""


class ReflectionPad1d(_PadNd, dims=1, mode="reflect"):
    """Mirrors the input, without the border itself: (N, C, L) or (C, L)."""


class ReflectionPad2d(_PadNd, dims=2, mode="reflect"):
    """Mirrors the input, without the border itself: (N, C, H, W) or (C, H, W)."""


class ReflectionPad3d(_PadNd, dims=3, mode="reflect"):
    """Mirrors the input, without the border itself: (N, C, D, H, W) or (C, D, H, W)."""


class ReplicationPad1d(_PadNd, dims=1, mode="replicate"):
    """Repeats the border: (N, C, L) or (C, L)."""


class ReplicationPad2d(_PadNd, dims=2, mode="replicate"):
    """Repeats the border: (N, C, H, W) or (C, H, W)."""


class ReplicationPad3d(_PadNd, dims=3, mode="replicate"):
    """Repeats the border: (N, C, D, H, W) or (C, D, H, W)."""


class _ConstantPadNd(_PadNd, mode="constant"):
    value: float

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return attributes(self, "padding", "value")


class ConstantPad1d(_ConstantPadNd, dims=1):
    """One value around the last dimension."""


class ConstantPad2d(_ConstantPadNd, dims=2):
    """One value around the last two dimensions."""


class ConstantPad3d(_ConstantPadNd, dims=3):
    """One value around the last three dimensions."""


class _ZeroPadNd(_ConstantPadNd, mode="constant"):
    value: float = field(init=False, default_factory=float)
    extra_repr = _PadNd.extra_repr


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Zeros around the last dimension."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Zeros around the last two dimensions."""


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Zeros around the last three dimensions."""
