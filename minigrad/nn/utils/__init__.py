"""Tools around modules and their gradients: mirrors `torch/nn/utils/__init__.py`."""

from minigrad.nn.utils import rnn

__all__ = ["rnn"]
