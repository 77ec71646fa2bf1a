"""Neural networks: mirrors `torch/nn`."""

# ruff: noqa: F403 - `modules` says in its `__all__` what is public

from minigrad.nn import functional, init, modules, parameter
from minigrad.nn.modules import *
from minigrad.nn.parameter import Parameter

__all__ = ["Parameter", "functional", "init", "modules", "parameter"]
__all__ += modules.__all__
