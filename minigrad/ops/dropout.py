"""Dropout: some elements, or whole channels, become 0, and the others larger in turn.

The same seed drops what PyTorch drops on the CPU (on Intel processors PyTorch draws from another stream).
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from minigrad._tensor import Tensor, plain
from minigrad.autograd.inplace import in_place
from minigrad.backends import random as draws
from minigrad.backends.numpy import FLOAT32
from minigrad.ops._meet import check_cast, weak
from minigrad.ops.fill import in_memory_order
from minigrad.ops.pointwise import Add, Mul

__all__ = ["alpha_dropout", "alpha_dropout_", "dropout", "dropout_", "feature_alpha_dropout", "feature_alpha_dropout_",
           "feature_dropout", "feature_dropout_"]

ALPHA = 1.7580993408473766  # the limit of selu far below 0


def kept(input: Tensor, p: float, channels: bool) -> Any:
    """1 where something is kept, else 0; one for each channel where these are dropped as a whole."""
    shape = input.array.shape
    if channels:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *(1,) * (len(shape) - 2))

    def draw(size: Any) -> Any:
        return draws.bernoulli(draws.DEFAULT, 1 - p, size, input.array.dtype)

    return draw(shape) if channels else in_memory_order(np.asarray(input.array), draw)


def multiplied(input: Tensor, factor: Any, inplace: bool) -> Tensor:
    """The tensor times an array."""
    other = plain(factor)
    made: Tensor = in_place(Mul.forward, input, other) if inplace else Mul.forward(input, other)
    return made


def dropped(input: Tensor, p: float, train: bool, channels: bool, inplace: bool) -> Tensor:
    """Dropout, as PyTorch puts it together."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or not input.array.size:
        return input
    if p == 1:
        return multiplied(input, np.zeros((), input.array.dtype), inplace)
    check_cast(FLOAT32, input.array.dtype)
    noise = kept(input, p, channels)
    noise /= noise.dtype.type(1 - p)
    return multiplied(input, noise, inplace)


def alpha_dropped(input: Tensor, p: float, train: bool, channels: bool, inplace: bool) -> Tensor:
    """Dropout that leaves mean and variance as they are, for selu: what is dropped gets selu's lower limit."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or not input.array.size:
        return input
    if p == 1:
        return multiplied(input, np.zeros((), input.array.dtype), inplace)
    check_cast(FLOAT32, weak(input.array, -1)[0].dtype)
    noise = kept(input, p, channels)
    scale = 1 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    shift = plain((noise - 1) * noise.dtype.type(ALPHA * scale) + noise.dtype.type(ALPHA * scale * p))
    scaled = multiplied(input, noise * noise.dtype.type(scale), inplace)
    made: Tensor = in_place(Add.forward, scaled, shift) if inplace else Add.forward(scaled, shift)
    return made


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Each element becomes 0 with probability `p`, else it is divided by 1 - p; nothing happens unless `train`.

    Raises:
        ValueError: if `p` is no probability.
    """
    return dropped(input, p, train, False, False)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout`, in place."""
    return dropped(input, p, train, False, True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` of whole channels of (N, C, …)."""
    return dropped(input, p, train, True, False)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout`, in place."""
    return dropped(input, p, train, True, True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` for networks of selu: it keeps mean and variance."""
    return alpha_dropped(input, p, train, False, False)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout`, in place."""
    return alpha_dropped(input, p, train, False, True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, …)."""
    return alpha_dropped(input, p, train, True, False)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout`, in place."""
    return alpha_dropped(input, p, train, True, True)


NOT_TWO = (
    "dropout2d: Received a {}-D input to dropout2d, which is deprecated and will result in an error in a future "
    "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d exists "
    "to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional batch "
    "dimension (i.e. 3D or 4D inputs)."
)
THREE = (
    "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input "
    "is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
    "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
    "dropout behavior, please switch to using dropout1d instead."
)


def dropout_of(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element becomes 0 with probability `p`, else it is divided by 1 - p; nothing happens unless `training`."""
    return dropped(input, p, training, False, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, L) or (C, L)."""
    ndim = input.array.ndim
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d "
                           "exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
                           "dimension, and an optional batch dimension (i.e. 2D or 3D inputs).")
    return without_batch(input, p, training, inplace, 3)


def without_batch(input: Tensor, p: float, training: bool, inplace: bool, ndim: int) -> Tensor:
    """Channels dropped of (N, C, …) of `ndim` dimensions; what has another number of them gets a batch dimension."""
    if input.array.ndim == ndim:
        return dropped(input, p, training, True, inplace)
    made = dropped(input.unsqueeze(0), p, training, True, inplace)
    return input if inplace and training and p else made.squeeze(0)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, H, W); of fewer dimensions with a warning, as in PyTorch."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    ndim = input.array.ndim
    if ndim not in (3, 4):
        warnings.warn(NOT_TWO.format(ndim), UserWarning, stacklevel=2)
    if ndim == 3:
        warnings.warn(THREE, UserWarning, stacklevel=2)
    return dropped(input, p, training, True, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    ndim = input.array.ndim
    if ndim not in (4, 5):
        warnings.warn(NOT_TWO.format(ndim).replace("2d", "3d").replace("2 spatial", "3 spatial").replace("3D or 4D",
                      "4D or 5D"), UserWarning, stacklevel=2)
    return without_batch(input, p, training, inplace, 5)


def alpha_dropout_of(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`dropout` for networks of selu: it keeps mean and variance."""
    return alpha_dropped(input, p, training, False, inplace)


def feature_alpha_dropout_of(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, …)."""
    return alpha_dropped(input, p, training, True, inplace)
