"""Tools around modules and their gradients: mirrors `torch/nn/utils/__init__.py`."""

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
