"""Functions of layers: mirrors `torch/nn/functional.py`.

Most are ops in `minigrad.ops`, each a class with its derivative below its forward: activations (basic, piecewise,
smooth, softmax). This file defines those that PyTorch, too, has only here.
"""

# ruff: noqa: F403, F405 - all losses are functions of this module; mypy still reports a name that none of them has

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad._base.contexts import SIGNALS, quiet, silently
from minigrad._base.dtype import as_dtype
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.optional import module_getattr
from minigrad._base.tensor_errors import check_tensor
from minigrad.backends import draws
from minigrad.core import Tensor, plain
from minigrad.nn._multi_head import multi_head_attention_forward
from minigrad.ops import activation
from minigrad.ops._dispatch.arg_parser import guardable, parse_module_functions, parses_arguments
from minigrad.ops._dispatch.op_wrappers import OPS
from minigrad.ops._dispatch.torch_function import overridable_module
from minigrad.ops.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    logsigmoid,
    mish,
    prelu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    silu,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
    threshold_,
)
from minigrad.ops.linalg.matmul import linear
from minigrad.ops.linalg.norms import cosine_similarity, normalize, pairwise_distance
from minigrad.ops.nn import softmax as soft
from minigrad.ops.nn.attention import scaled_dot_product_attention
from minigrad.ops.nn.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from minigrad.ops.nn.cross_entropy import cross_entropy, nll_loss
from minigrad.ops.nn.cross_entropy import ctc_loss_of as ctc_loss
from minigrad.ops.nn.dropout import alpha_dropout_of as alpha_dropout
from minigrad.ops.nn.dropout import dropout1d, dropout2d, dropout3d
from minigrad.ops.nn.dropout import dropout_of as dropout
from minigrad.ops.nn.dropout import feature_alpha_dropout_of as feature_alpha_dropout
from minigrad.ops.nn.embedding import bilinear, embedding_bag
from minigrad.ops.nn.embedding import embedding_of as embedding
from minigrad.ops.nn.fold import channel_shuffle, fold, pixel_shuffle, pixel_unshuffle, unfold
from minigrad.ops.nn.interpolate import affine_grid, grid_sample, interpolate
from minigrad.ops.nn.loss import *
from minigrad.ops.nn.normalization import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from minigrad.ops.nn.pad import pad
from minigrad.ops.nn.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from minigrad.ops.nn.pooling import adaptive_max_pool1d_of as adaptive_max_pool1d
from minigrad.ops.pointwise import unary
from minigrad.ops.random import stream_beside
from minigrad.ops.reduce.count import one_hot

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "affine_grid", "alpha_dropout", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "celu", "celu_", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss", "dropout",
    "dropout1d", "dropout2d", "dropout3d", "elu", "elu_", "embedding", "embedding_bag", "feature_alpha_dropout",
    "fold", "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm", "gumbel_softmax", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "hinge_embedding_loss", "huber_loss", "instance_norm",
    "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_", "linear", "local_response_norm",
    "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss", "max_pool1d",
    "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss",
    "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle",
    "poisson_nll_loss", "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu", "rrelu_",
    "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold",
]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0); `inplace` writes the result into the input."""
    try:
        return relu_(input) if inplace else activation.Relu.forward(input)
    except AttributeError:
        check_tensor(input, "relu")
        raise


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
    return activation.Sigmoid.forward(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return activation.Tanh.forward(input)


def dim_for(name: str, dim: int | None, ndim: int, stacklevel: int) -> int:
    """Return the dimension, or the implied one if none is given, with PyTorch's warning."""
    if dim is not None:
        return dim
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", UserWarning, stacklevel=stacklevel)
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype_type | None = None) -> Tensor:
    """`exp(input) / exp(input).sum(dim)`; `dtype` converts the input first."""
    try:
        return soft.softmax(input, dim_for("softmax", dim, input.array.ndim, _stacklevel), dtype)
    except SIGNALS as error:
        return silently(error, softmax, input, dim, _stacklevel, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype_type | None = None) -> Tensor:
    """`softmax(-input)`."""
    return soft.softmax(unary.Neg.forward(input), dim_for("softmin", dim, input.array.ndim, _stacklevel), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype_type | None = None) -> Tensor:
    """`log(softmax(input, dim))`."""
    try:
        return soft.log_softmax(input, dim_for("log_softmax", dim, input.array.ndim, _stacklevel), dtype)
    except SIGNALS as error:
        return silently(error, log_softmax, input, dim, _stacklevel, dtype)


@quiet
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw a random choice along `dim` by these logits, as softmax with noise (the numbers that PyTorch draws).

    `tau`: the smaller, the closer to one-hot. `hard`: exactly one-hot, with the gradient of the soft choice. `eps` does
    nothing.
    """
    noise = plain(-np.log(draws.exponential(stream_beside(logits.array), logits.array.shape, logits.array.dtype)))
    chosen = soft.softmax((logits + noise) / tau, dim)
    if not hard:
        return chosen
    one = plain(as_dtype(chosen.array == chosen.array.max(dim, keepdims=True), chosen.array.dtype))
    return one - chosen.detach() + chosen


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """input / (k + alpha · mean)^beta, with the mean of the squares of `size` channels around each one.

    Input (N, C, …), with at least three dimensions (AlexNet's normalisation, Krizhevsky et al., 2012).
    """
    ndim = input.array.ndim
    if ndim < 3:
        raise ValueError("Expected 3D or higher dimensionality                          input (got "
                         f"{ndim} dimensions)")
    if not input.array.size:
        return input
    shape, squares, around = input.shape, input.mul(input), (size // 2, (size - 1) // 2)
    if ndim == 3:
        means = avg_pool2d(pad(squares.unsqueeze(1), (0, 0, *around)), (size, 1), stride=1).squeeze(1)
    else:
        volumes = squares.view(shape[0], 1, shape[1], shape[2], -1)
        means = avg_pool3d(pad(volumes, (0, 0, 0, 0, *around)), (size, 1, 1), stride=1).squeeze(1).view(shape)
    return input / means.mul(alpha).add(k).pow(beta)


# What PyTorch has only in C++, with its errors for arguments of a wrong type; `linear` goes without them, for speed.
IN_C = ("adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "celu_", "channel_shuffle",
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "elu_", "gelu",
        "hardshrink", "hardtanh_", "leaky_relu_", "one_hot", "pixel_shuffle", "pixel_unshuffle", "prelu", "rrelu_",
        "selu_", "softplus", "softshrink", "threshold_")
globals().update(parse_module_functions(IN_C, globals()), logsigmoid=parses_arguments(logsigmoid, "log_sigmoid"))

# What PyTorch has in Python, with an operator's error if the first argument is not a tensor: the operator's name and
# that of its parameter, where they are not the function's and "input".
HANDED_ON = {name: (name,) for name in (
    "batch_norm", "celu", "dropout", "elu", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "kl_div",
    "layer_norm", "leaky_relu", "max_pool1d", "max_pool2d", "mish", "multi_margin_loss", "pad", "poisson_nll_loss",
    "relu6", "rms_norm", "rrelu", "selu", "silu", "soft_margin_loss", "threshold")}
OTHERWISE: dict[str, tuple[Any, ...]] = {
    "cosine_embedding_loss": ("cosine_embedding_loss", "input1"), "cosine_similarity": ("cosine_similarity", "x1"),
    "cross_entropy": ("cross_entropy_loss",), "embedding": ("embedding", "indices", 2), "fold": ("col2im",),
    "nll_loss": ("nll_loss_nd",), "pairwise_distance": ("pairwise_distance", "x1"),
    "scaled_dot_product_attention": ("scaled_dot_product_attention", "query"),
    "triplet_margin_loss": ("triplet_margin_loss", "anchor"), "unfold": ("im2col",)}
globals().update({name: guardable(globals()[name], name, __name__, *operator)
                  for name, operator in (HANDED_ON | OTHERWISE).items()})

# What has no frame and computes outside its ops: with several GPUs it needs a guard, and NumPy may interrupt it.
GUARDED = ("adaptive_avg_pool2d", "adaptive_avg_pool3d", "affine_grid", "alpha_dropout", "binary_cross_entropy",
           "binary_cross_entropy_with_logits", "ctc_loss", "dropout1d", "dropout2d", "dropout3d", "embedding_bag",
           "feature_alpha_dropout", "gaussian_nll_loss", "glu", "grid_sample", "group_norm", "gumbel_softmax",
           "huber_loss", "instance_norm", "interpolate", "l1_loss", "local_response_norm", "lp_pool1d", "lp_pool2d",
           "lp_pool3d", "margin_ranking_loss", "multi_head_attention_forward", "multilabel_soft_margin_loss",
           "normalize", "smooth_l1_loss", "softmin", "softsign", "tanhshrink", "triplet_margin_with_distance_loss")
globals().update({name: guardable(globals()[name], name, __name__) for name in GUARDED})
OPS.wrap_new()  # those that are loaded with this module
overridable_module(globals(), {*__all__} - {*IN_C, *HANDED_ON, *OTHERWISE, *GUARDED, "logsigmoid"}, ("linear",))

if not TYPE_CHECKING:  # a type checker reports missing names by itself
    __getattr__ = module_getattr(__name__)
