"""Padding: mirrors `torch/nn/modules/padding.py`.

`padding` is one number for all sides, or two for each dimension, before and after, the last dimension first.
"""

from __future__ import annotations

from typing import Any, ClassVar

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.utils import _ntuple, attributes

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]


class _PadNd(Module):
    _dims: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _CircularPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.ndim}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """What leaves on one side comes in on the other: (N, C, L) or (C, L)."""

    _dims, _mode = 1, "circular"


class CircularPad2d(_CircularPadNd):
    """What leaves on one side comes in on the other: (N, C, H, W) or (C, H, W)."""

    _dims, _mode = 2, "circular"


class CircularPad3d(_CircularPadNd):
    """What leaves on one side comes in on the other: (N, C, D, H, W) or (C, D, H, W)."""

    _dims, _mode = 3, "circular"


class ReflectionPad1d(_PadNd):
    """As in a mirror, without the border itself: (N, C, L) or (C, L)."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    """As in a mirror, without the border itself: (N, C, H, W) or (C, H, W)."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    """As in a mirror, without the border itself: (N, C, D, H, W) or (C, D, H, W)."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    """The border again and again: (N, C, L) or (C, L)."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """The border again and again: (N, C, H, W) or (C, H, W)."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """The border again and again: (N, C, D, H, W) or (C, D, H, W)."""

    _dims, _mode = 3, "replicate"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return attributes(self, "padding", "value")


class ConstantPad1d(_ConstantPadNd):
    """One value around the last dimension."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """One value around the last two dimensions."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """One value around the last three dimensions."""

    _dims = 3


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Zeros around the last dimension."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Zeros around the last two dimensions."""


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Zeros around the last three dimensions."""
