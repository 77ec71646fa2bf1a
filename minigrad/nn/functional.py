"""Functions of layers: mirrors `torch/nn/functional.py`."""

from __future__ import annotations

from minigrad._tensor import Tensor
from minigrad.ops import activation
from minigrad.ops.inplace import relu_
from minigrad.ops.linalg import linear
from minigrad.ops.loss import l1_loss, mse_loss

__all__ = ["l1_loss", "linear", "mse_loss", "relu", "relu_", "sigmoid", "tanh"]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0); `inplace` writes the result into the input."""
    return relu_(input) if inplace else activation.Relu.forward(input)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
    return activation.Sigmoid.forward(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return activation.Tanh.forward(input)
