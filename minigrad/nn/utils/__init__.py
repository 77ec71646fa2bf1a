"""Tools around modules and their gradients: mirrors `torch/nn/utils/__init__.py`."""

import importlib
from typing import Any

from minigrad._base.optional import module_getattr
from minigrad.nn.utils import rnn
from minigrad.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from minigrad.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from minigrad.nn.utils.init import skip_init
from minigrad.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
           "parameters_to_vector", "remove_weight_norm", "rnn", "skip_init", "vector_to_parameters", "weight_norm"]
LATER = {"fuse_conv_bn_eval": "fusion", "fuse_conv_bn_weights": "fusion", "fuse_linear_bn_eval": "fusion",
         "fuse_linear_bn_weights": "fusion", "remove_spectral_norm": "spectral_norm", "spectral_norm": "spectral_norm"}


def __getattr__(name: str) -> Any:
    """Import rarely used functions on first access: `import minigrad.nn` does not load them."""
    if name in LATER:
        function = getattr(importlib.import_module(f"{__name__}.{LATER[name]}"), name)
        globals()[name] = function  # otherwise the name would be that of the file `spectral_norm`
        return function
    return module_getattr(__name__)(name)
