"""Activations."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from minigrad._tensor import Tensor
from minigrad.autograd.graph import Node
from minigrad.autograd.record import record1, record2
from minigrad.backends.numpy import WORDS
from minigrad.ops._meet import meet
from minigrad.ops.pointwise import floating


@functools.lru_cache(maxsize=32)
def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros to compare with, kept for the shapes used last; nobody may write into them."""
    made = np.zeros(shape, dtype)
    made.flags.writeable = False
    return made[()]


def above_zero(x: Any) -> Any:
    """max(0, x); NaN stays NaN and, because the 0 comes first or ties, -0.0 stays -0.0 in float32 and float64.

    NumPy 2.4 has fast code for the maximum of two arrays, but not of a number and an array, which takes twice as long
    at 64 × 64 and three times as long at 1024 × 1024. On NumPy's scalars Python's own is faster still.
    """
    if type(x) is not np.ndarray:
        return max(x, zeros((), x.dtype))
    if x.ndim == 0:
        return above_zero(x[()])
    if not x.flags.c_contiguous:
        return np.maximum(zeros((), x.dtype), x)  # lies in memory as `x` does
    if x.size <= 1 << 15:
        return np.maximum(zeros(x.shape, x.dtype), x)
    out = np.zeros(x.shape, x.dtype)
    return np.maximum(out, x, out=out)


class Relu(Node):
    """max(x, 0); NaN stays NaN, and where the result is 0 no gradient passes, not even an infinite one."""

    __slots__ = ()
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = a.array
        if x.dtype.kind == "b":
            raise RuntimeError("Boolean inputs not supported for relu")
        y = above_zero(x)
        return record1(Relu, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return xp.threshold_backward(g, y)


class ThresholdBackward(Node):
    """What relu's derivative does: the gradient where the result `y` is above 0 or NaN, else 0.

    The word of a recorded pass. As in PyTorch `y` is an input, of gradient zero: what follows is connected to the leaf.
    """

    __slots__ = ()
    saves = ("self",)
    constants = ("threshold",)

    @staticmethod
    def forward(g: Tensor, y: Tensor) -> Tensor:
        z, x, fit = meet(y.array, g.array)  # a hook on what relu saved may have unpacked another shape
        return record2(ThresholdBackward, WORDS.threshold_backward(x, z), g, y, (y,), (0,), fit[::-1])

    def backward(self, xp: Any, g: Any, y: Any, threshold: int) -> tuple[Any, Any]:
        return xp.threshold_backward(g, y), xp.zeros(g.shape, xp.dtype(g))


class Sigmoid(Node):
    __slots__ = ()
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = WORDS.sigmoid(floating(a.array))
        return record1(Sigmoid, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * ((1 - y) * y)


class Tanh(Node):
    __slots__ = ()
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = np.tanh(floating(a.array))
        return record1(Tanh, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * (1 - y * y)
