"""Activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._tensor import Tensor
from minigrad.autograd.graph import Node
from minigrad.autograd.record import record1
from minigrad.backends.numpy import WORDS
from minigrad.ops.pointwise import floating


class Relu(Node):
    """max(x, 0); NaN stays NaN, and where the result is 0 no gradient passes, not even an infinite one."""

    __slots__ = ()
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = a.array
        if x.dtype.kind == "b":
            raise RuntimeError("Boolean inputs not supported for relu")
        y = np.maximum(x, x.dtype.type(0))
        return record1(Relu, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return xp.masked(~(y <= 0), g)


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
