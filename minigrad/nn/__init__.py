"""Neural networks: mirrors `torch/nn`."""

# ruff: noqa: F403 - `modules` says in its `__all__` what is public

from typing import TYPE_CHECKING

from minigrad._base.optional import module_getattr
from minigrad.nn import functional, init, modules, parallel, parameter, utils
from minigrad.nn.modules import *
from minigrad.nn.parallel import DataParallel
from minigrad.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter",
           "functional", "init", "modules", "parallel", "parameter", "utils"]
__all__ += modules.__all__

if not TYPE_CHECKING:  # a type checker reports missing names by itself
    __getattr__ = module_getattr(__name__)
