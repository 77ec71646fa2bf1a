"""Batch normalisation of each channel, and the running mean and variance that replace the batch's in evaluation.

Mirrors PyTorch's `Normalization.cpp`. The code shared by all normalisations is in normalization.py.
"""

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import Size, as_dtype
from minigrad.core import Node, Tensor, attributes, counter_of, record_n
from minigrad.ops._dispatch import check_kind, op, widened
from minigrad.ops.nn.normalization import Norm, Shape, check_dtypes, finished, mean_of, of_affine
from minigrad.ops.shape.repeat import Repeat
from minigrad.ops.shape.views import View
from minigrad.ops.tensor.copy import Clone, contiguous
from minigrad.ops.tensor.storage import size

__all__ = ["batch_norm", "instance_norm"]


class NativeBatchNorm(Norm):
    """Normalisation of each channel over the batch."""

    constants = ("", "", "eps")
    shows = attributes(training=lambda node: True)

    kernel = "batch_norm"


class BatchNormOf(Node, name="NativeBatchNorm"):
    """Normalisation by a given mean and variance."""

    saves = ("input", "weight")
    constants = ("", "", "", "eps")
    shows = attributes(training=lambda node: False)

    @staticmethod
    def forward(a: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Any, variance: Any, along: Shape,
                eps: float) -> Tensor:
        x = a.array
        wide, mean, variance = map(widened, (x, mean, variance))
        scale = as_dtype((1 / np.sqrt(variance + variance.dtype.type(eps))).reshape(along), wide.dtype)
        y = as_dtype(wide - mean.reshape(along), wide.dtype) * scale
        kept, scale = as_dtype(mean.reshape(along), x.dtype), as_dtype(scale, x.dtype, copy=False)
        return finished(BatchNormOf, y, a, weight, bias, along, (along, kept, scale, eps))

    def backward(self, xp: Any, g: Any, a: Any, w: Any, along: Shape, mean: Any, scale: Any,
                 _: float) -> tuple[Any, Any, Any]:
        x = xp.apply(Shifted, a, mean, scale)
        return of_affine(self, xp, g, x, w, along, lambda scaled: xp.apply(Shifted, scaled, None, scale))


class Shifted(Node):
    """A tensor minus an array (None: 0), times another."""

    @staticmethod
    def values(x: Any, less: Any, factor: Any) -> Any:
        return (x if less is None else x - less) * factor

    @staticmethod
    def forward(a: Tensor, less: Any, factor: Any) -> Tensor:
        return record_n(Shifted, Shifted.values(a.array, less, factor), (a,), (), (factor,))

    def backward(self, xp: Any, g: Any, factor: Any) -> Any:
        return xp.apply(Shifted, g, None, factor)


@op
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalise each channel of (N, C, …): by the batch in training, otherwise by the running mean and variance.

    Training moves the running values by `momentum` towards those of the batch, in place.

    Raises:
        RuntimeError: if a parameter lacks one element per channel, or a running mean or variance is missing.
        ValueError: if, in training, a channel has only one element or `eps` is not positive.
    """
    shape = input.array.shape
    if training:
        if shape[0] * math.prod(shape[2:]) == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {Size(shape)}")
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps:g}")
    return batch_norm_of(input, running_mean, running_var, weight, bias, training, momentum, eps)


def batch_norm_of(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None,
                  bias: Tensor | None, training: bool, momentum: float, eps: float) -> Tensor:
    """`batch_norm` without the errors for training."""
    shape = input.array.shape
    channels = shape[1] if len(shape) > 1 else 0
    if not input.array.size:
        result = Clone.forward(input) if weight is None else Clone.forward(input) * weight[0]  # as PyTorch does
        return result if bias is None else result + bias[0]
    if not training and (running_mean is None or running_var is None):
        name = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{name} must be defined in evaluation mode")
    for name, part in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                       ("bias", bias)):
        if part is not None and part.array.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {part.array.size}")
    size(input, 1)  # raises if there is no such dimension
    check_kind(input.array, "bui", "batch_norm")
    check_dtypes(input, weight, bias, running_mean, running_var)
    for part in (running_mean, running_var):
        if part is not None and part.array.ndim != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {part.array.ndim}")
    along = (channels, *(1,) * (len(shape) - 2))
    if not training and running_mean is not None and running_var is not None:
        return BatchNormOf.forward(input, weight, bias, running_mean.array, running_var.array, along, eps)
    inner = (shape[0], channels, math.prod(shape[2:]))
    if running_mean is not None and running_var is not None:
        move_running(input.array.reshape(inner), running_mean, running_var, momentum)
    return NativeBatchNorm.forward(input, weight, bias, (0, 2), along, eps, inner)


def move_running(x: Any, running_mean: Tensor, running_var: Tensor, momentum: float) -> None:
    """Move the running values towards those of the batch, an array of shape (N, C, L).

    This comes before the op is recorded: what is called then, a hook on saved tensors or a checkpoint that has all it
    needs, may stop the op there. As in PyTorch, these writes do not bump the version counters.
    """
    count = x.size // max(x.shape[1], 1)
    mean = mean_of(x, (0, 2))
    variance = mean_of((x - mean) ** 2, (0, 2)) * (count / (count - 1))
    for running, of_batch in ((running_mean, mean), (running_var, variance)):
        running.array[...] = (1 - momentum) * running.array + momentum * of_batch.reshape(-1)


@op
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalise each channel of each sample of (N, C, …): a batch norm of (1, N * C, …), as in PyTorch.

    Raises:
        ValueError: if there is only one element per channel of a sample.
        RuntimeError: as `batch_norm`.
    """
    shape = input.array.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {Size(shape)}")
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, c = shape[0], shape[1]
    weight, bias, mean, variance = [None if v is None else Repeat.forward(v, (n,))
                                    for v in (weight, bias, running_mean, running_var)]
    rows = View.forward(contiguous(input), (1, n * c, *shape[2:]))
    result = batch_norm_of(rows, mean, variance, weight, bias, use_input_stats, momentum, eps)
    for running, moved in ((running_mean, mean), (running_var, variance)):
        if running is not None and moved is not None and use_input_stats:
            running.array[...] = moved.array.reshape(n, c).mean(0)
            counter_of(running).value += 1
    return View.forward(result, shape)
