"""The modules, each in PyTorch's file: mirrors `torch/nn/modules/__init__.py`."""

from minigrad.nn.modules.container import Sequential
from minigrad.nn.modules.module import Module

__all__ = ["Module", "Sequential"]
