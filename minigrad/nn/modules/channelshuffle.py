"""ChannelShuffle: mirrors `torch/nn/modules/channelshuffle.py`."""

from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Layer

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Layer, function=F.channel_shuffle):
    """Reorders channels: the first of each group, then the second of each, and so on."""

    groups: int
