"""Folds a batch norm into the layer before it: mirrors `torch/nn/utils/fusion.py`.

In evaluation a batch norm is y = (x - mean) · weight / √(variance + eps) + bias: a scale and a shift of each channel,
which the weight and bias of the layer before can include.
"""

import copy
from typing import TypeVar

from minigrad.core import Tensor
from minigrad.nn.modules.batchnorm import _BatchNorm
from minigrad.nn.modules.conv import _ConvNd
from minigrad.nn.modules.linear import Linear
from minigrad.nn.parameter import Parameter
from minigrad.ops.factory import ones_like, zeros_like
from minigrad.ops.pointwise.unary import rsqrt

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

C = TypeVar("C", bound=_ConvNd)
Fused = tuple[Parameter, Parameter]


def statistics(layer: _ConvNd | Linear, bn: _BatchNorm) -> tuple[Tensor, Tensor]:
    """Return the running mean and variance of a norm; raise PyTorch's errors for what cannot be folded."""
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return bn.running_mean, bn.running_var


def fused_weights(weight: Tensor, bias: Tensor | None, mean: Tensor, variance: Tensor, eps: float,
                  bn_weight: Tensor | None, bn_bias: Tensor | None, shape: tuple[int, ...]) -> Fused:
    """Return the weight scaled by each channel's factor, given this shape, and the bias scaled and shifted."""
    given = zeros_like(mean) if bias is None else bias
    scale = rsqrt(variance + eps) * (ones_like(mean) if bn_weight is None else bn_weight)
    shift = zeros_like(mean) if bn_bias is None else bn_bias
    bias_dtype = weight.dtype if bias is None else bias.dtype
    new_weight = (weight * scale.reshape(shape)).to(weight.dtype)
    new_bias = ((given - mean) * scale + shift).to(bias_dtype)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, given.requires_grad)


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                         bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False) -> Fused:
    """Return the weight and bias of a convolution that does what a convolution and a batch norm did.

    `bn_rm`: the running mean, and `bn_rv` the running variance, of each output channel. `transpose`: whether the
    convolution is transposed: its output channels are dimension 1 of its weight.
    """
    shape = ((1, -1) if transpose else (-1, 1)) + (1,) * (conv_w.ndim - 2)
    return fused_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                           bn_w: Tensor | None, bn_b: Tensor | None) -> Fused:
    """Return the weight and bias of a linear layer that does what a linear layer and a batch norm did."""
    return fused_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def fuse_conv_bn_eval(conv: C, bn: _BatchNorm, transpose: bool = False) -> C:
    """Return a convolution that does what `conv` and `bn` do in evaluation. Raises AssertionError if one of them is in
    training, or `bn` has no running statistics."""
    mean, variance = statistics(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, mean, variance, bn.eps, bn.weight,
                                                    bn.bias, transpose)
    return fused


def fuse_linear_bn_eval(linear: Linear, bn: _BatchNorm) -> Linear:
    """Return a linear layer that does what `linear` and `bn` do in evaluation. Raises AssertionError as
    `fuse_conv_bn_eval`, and if their numbers of features do not match."""
    mean, variance = statistics(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, mean, variance, bn.eps,
                                                      bn.weight, bn.bias)
    return fused
