"""Channels in another order: mirrors `torch/nn/modules/channelshuffle.py`."""

from __future__ import annotations

from minigrad.core.tensor import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Layer):
    """The first channel of each group, then the second of each, and so on."""

    _settings = ("groups",)

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
