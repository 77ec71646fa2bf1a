"""Dropout: sets some elements, or whole channels, to 0 and scales up the others.

With the same seed it drops what PyTorch drops on the CPU. On a GPU plain dropout is an op of its own, as in PyTorch,
with a mask of bools.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends import curand, draws
from minigrad.backends.numpy import FLOAT32
from minigrad.backends.random import Stream
from minigrad.backends.registry import backend_of
from minigrad.core import Node, Tensor, plain, record1
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import check_cast, op, promote_scalar
from minigrad.ops._dispatch.memory_order import in_memory_order, memory_order
from minigrad.ops.index.flat_indexing import raw
from minigrad.ops.pointwise.add import Add
from minigrad.ops.pointwise.mul import Mul
from minigrad.ops.random import stream_beside

__all__ = ["alpha_dropout", "alpha_dropout_", "dropout", "dropout_", "feature_alpha_dropout", "feature_alpha_dropout_",
           "feature_dropout", "feature_dropout_"]

ALPHA = 1.7580993408473766  # minus the limit of selu at minus infinity


def mask_of(input: Tensor, p: float, channels: bool) -> Any:
    """1 where an element is kept, else 0; one for each channel if whole channels are dropped."""
    shape = input.array.shape
    if channels:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *(1,) * (len(shape) - 2))

    def draw(size: Any) -> Any:
        return draws.bernoulli(stream_beside(input.array), 1 - p, size, input.array.dtype)

    return draw(shape) if channels else in_memory_order(raw(input), draw)


class NativeDropout(Node):
    """Dropout on a GPU: the mask is of bools, one byte for each element."""

    @staticmethod
    def forward(a: Tensor, p: float) -> Tensor:
        x, chance = a.array, 1 - p
        vector = vector_of(x)

        def draw(shape: tuple[int, ...]) -> Any:
            return curand.dropout_mask(stream_beside(x), x.size, chance, x.dtype, vector).reshape(shape)

        mask = in_memory_order(x, draw) if vector > 1 else draw(x.shape)
        scale = (np.float64 if x.dtype == np.float64 else np.float32)(1 / chance)
        return record1(NativeDropout, as_dtype(x * mask * scale, x.dtype), a, (plain(mask),), (float(scale),))

    def backward(self, xp: Any, g: Any, mask: Any, scale: float) -> Any:
        return g * xp.cast(mask, xp.dtype(g)) * scale


def vector_of(x: Any) -> int:
    """How many elements PyTorch's kernel processes at once: as many as 16 bytes hold if memory is contiguous, aligned
    to them, and no element is left over; else half as many, and so on."""
    order = memory_order(x.shape, x.strides)
    if not x.transpose(order).flags.c_contiguous:
        return 1
    backend: Any = backend_of(x)
    vector = 16 // int(x.itemsize)
    while vector > 1 and (x.size % vector or backend.address(x) % (vector * x.itemsize)):
        vector //= 2
    return vector


def multiplied(input: Tensor, factor: Any, inplace: bool) -> Tensor:
    other = plain(factor)
    result: Tensor = in_place(Mul.forward, input, other) if inplace else Mul.forward(input, other)
    return result


def check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropped(input: Tensor, p: float, train: bool, channels: bool = False, inplace: bool = False,
            alpha: bool = False) -> Tensor:
    """Dropout, composed as in PyTorch; `channels`: whole channels are dropped.

    `alpha`: mean and variance are kept, for selu: dropped elements become selu's lower limit.
    """
    check_probability(p)
    if p == 0 or not train or not input.array.size:
        return input
    if p == 1:
        return multiplied(input, input.array.dtype.type(0), inplace)
    if type(stream_beside(input.array)) is not Stream and not channels and not inplace and not alpha:
        return NativeDropout.forward(input, p)
    check_cast(FLOAT32, promote_scalar(input.array, -1)[0].dtype if alpha else input.array.dtype)
    noise = mask_of(input, p, channels)
    if not alpha:
        noise /= noise.dtype.type(1 - p)
        return multiplied(input, noise, inplace)
    scale = 1 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    shift = plain((noise - 1) * noise.dtype.type(ALPHA * scale) + noise.dtype.type(ALPHA * scale * p))
    scaled = multiplied(input, noise * noise.dtype.type(scale), inplace)
    result: Tensor = in_place(Add.forward, scaled, shift) if inplace else Add.forward(scaled, shift)
    return result


def variant(name: str, doc: str, **options: bool) -> Callable[[Tensor, float, bool], Tensor]:
    """One of PyTorch's operators; `options` are those of `dropped`."""
    def call(input: Tensor, p: float, train: bool) -> Tensor:
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
        return dropped(input, p, train, **options)
    call.__doc__ = doc
    return op(name=name)(call)


dropout = variant("dropout", """Zero each element with probability `p` and divide the others by 1 - p, if `train`.
    Raises RuntimeError if `p` is not a probability.""")
dropout_ = variant("dropout_", "`dropout`, in place.", inplace=True)
feature_dropout = variant("feature_dropout", "`dropout` of whole channels of (N, C, …).", channels=True)
feature_dropout_ = variant("feature_dropout_", "`feature_dropout`, in place.", channels=True, inplace=True)
alpha_dropout = variant("alpha_dropout", "`dropout` for networks with selu: it keeps mean and variance.", alpha=True)
alpha_dropout_ = variant("alpha_dropout_", "`alpha_dropout`, in place.", alpha=True, inplace=True)
feature_alpha_dropout = variant("feature_alpha_dropout", "`alpha_dropout` of whole channels of (N, C, …).",
                                alpha=True, channels=True)
feature_alpha_dropout_ = variant("feature_alpha_dropout_", "`feature_alpha_dropout`, in place.",
                                 alpha=True, channels=True, inplace=True)

DROPOUT2D_OF_3D = (
    "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input "
    "is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
    "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
    "dropout behavior, please switch to using dropout1d instead."
)


def dropout_of(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p` and divide the others by 1 - p; nothing happens unless `training`."""
    return dropped(input, p, training, inplace=inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, L) or (C, L)."""
    check_probability(p)
    ndim = input.array.ndim
    if ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d "
                           "exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
                           "dimension, and an optional batch dimension (i.e. 2D or 3D inputs).")
    return without_batch(input, p, training, inplace, 3)


def without_batch(input: Tensor, p: float, training: bool, inplace: bool, ndim: int) -> Tensor:
    """Drop channels of an (N, C, …) input of `ndim` dimensions; any other input gets a batch dimension."""
    if input.array.ndim == ndim:
        return dropped(input, p, training, True, inplace)
    result = dropped(input.unsqueeze(0), p, training, True, inplace)
    return input if inplace and training and p else result.squeeze(0)


def warn_of_dims(k: int, ndim: int) -> None:
    """Issue PyTorch's warning unless the input is `k`-dimensional channels, with or without a batch dimension."""
    if ndim not in (k + 1, k + 2):
        warnings.warn(f"dropout{k}d: Received a {ndim}-D input to dropout{k}d, which is deprecated and will result in "
                      "an error in a future release. To retain the behavior and silence this warning, please use "
                      f"dropout instead. Note that dropout{k}d exists to provide channel-wise dropout on inputs with "
                      f"{k} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. {k + 1}D or "
                      f"{k + 2}D inputs).", UserWarning, stacklevel=3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, H, W); with fewer dimensions it warns, as in PyTorch."""
    check_probability(p)
    warn_of_dims(2, input.array.ndim)
    if input.array.ndim == 3:
        warnings.warn(DROPOUT2D_OF_3D, UserWarning, stacklevel=2)
    return dropped(input, p, training, True, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    check_probability(p)
    warn_of_dims(3, input.array.ndim)
    return without_batch(input, p, training, inplace, 5)


def alpha_dropout_of(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`dropout` for networks with selu: it keeps mean and variance."""
    return dropped(input, p, training, False, inplace, alpha=True)


def feature_alpha_dropout_of(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, …)."""
    return dropped(input, p, training, True, inplace, alpha=True)
