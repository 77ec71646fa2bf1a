"""Initialisation: mirrors `torch/nn/init.py`. Random numbers are drawn as PyTorch draws them, so that seeds match."""

from __future__ import annotations

import math

from minigrad._tensor import Tensor, plain
from minigrad.autograd.grad_mode import no_grad
from minigrad.backends import random as draws

__all__ = ["calculate_gain", "kaiming_uniform_", "uniform_"]


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By what a nonlinearity should be made up for: linear 1, tanh 5/3, relu √2, leaky_relu √(2 / (1 + slope²))."""
    if nonlinearity in ("linear", "sigmoid"):
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with numbers drawn uniformly from [a, b)."""
    with no_grad():
        tensor.copy_(plain(draws.uniform(draws.DEFAULT, tensor.shape, tensor.array.dtype, a, b)))
    return tensor


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill uniformly from [-bound, bound), bound = gain √(3 / fan) (He et al. 2015).

    Raises:
        ValueError: for a tensor of fewer than two dimensions, or another mode.
    """
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    field = tensor[0, 0].numel() if tensor.ndim > 2 else 1
    fan = tensor.shape[1 if mode == "fan_in" else 0] * field
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(fan)
    return uniform_(tensor, -bound, bound)
