"""Basic activations: relu, sigmoid and tanh."""

import functools
from typing import Any

import numpy as np

from minigrad.backends.numpy import XP
from minigrad.backends.registry import BACKEND_OF, by_kernel
from minigrad.core import Node, Tensor, record1, record2
from minigrad.ops._dispatch import broadcast_and_promote, floating

SMALL, LARGE = 64, 1 << 15  # elements: between these sizes relu keeps an array of zeros
ZEROS = {np.dtype(name): np.zeros((), name) for name in ("f2", "f4", "f8", "u1", "i1", "i2", "i4", "i8")}
SCALAR_ZEROS = {dtype.type: zero[()] for dtype, zero in ZEROS.items()}  # by the types of 0-d results


def above_zero(x: Any) -> Any:
    """max(0, x), in the memory layout of `x`; on a GPU, row-major."""
    zero = SCALAR_ZEROS.get(type(x))
    if zero is not None:
        return max(x, zero)  # for NumPy scalars Python's own `max` is faster
    zero = ZEROS.get(x.dtype)
    if zero is None or type(x) is not np.ndarray:
        if x.dtype.kind == "b":
            raise RuntimeError("Boolean inputs not supported for relu")
        return np.maximum(x.dtype.type(0), x)
    if x.size > SMALL and x.flags.c_contiguous:
        # NumPy has fast code for the maximum of two arrays, but not for that of a number and an array.
        zero = zeros(x.shape, x.dtype) if x.size <= LARGE else np.zeros(x.shape, x.dtype)
    return np.maximum(zero, x)


@functools.lru_cache(maxsize=64)
def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros for `above_zero` to compare with, kept for the next array of this shape."""
    return np.zeros(shape, dtype)


class Relu(Node):
    """max(0, x); where the result is 0 no gradient passes, not even an infinite one.

    NaN stays NaN and, because the 0 comes first or ties, -0.0 stays -0.0 in float32 and float64.
    """

    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = above_zero(a.array)
        return record1(Relu, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return xp.threshold_backward(g, y)


class ThresholdBackward(Node):
    """The derivative of relu as an op: the gradient where the result `y` is above 0 or NaN, else 0.

    Recorded passes use it. As in PyTorch, `y` is an input with gradient zero, which connects the pass to the leaf.
    """

    saves = ("self",)
    constants = ("threshold",)

    @staticmethod
    def forward(g: Tensor, y: Tensor) -> Tensor:
        # a hook on what relu saved may have unpacked another shape
        z, x, input_metadata = broadcast_and_promote(y.array, g.array)
        return record2(ThresholdBackward, XP.threshold_backward(x, z), g, y, (y,), (0,), input_metadata[::-1])

    def backward(self, xp: Any, g: Any, y: Any, threshold: int) -> tuple[Any, Any]:
        return xp.threshold_backward(g, y), xp.zeros(g.shape, g)


class Sigmoid(Node):
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = XP.sigmoid(floating(a.array))
        return record1(Sigmoid, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * ((1 - y) * y)


class Tanh(Node):
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = np.tanh(floating(a.array))
        return record1(Tanh, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return xp.apply(TanhBackward, g, y)


class TanhBackward(Node):
    """The derivative of tanh as an op, g * (1 - y * y); `y` is the result of tanh."""

    saves = ("grad_output", "output")

    @staticmethod
    def values(g: Any, y: Any) -> Any:
        """On arrays, in a single new array instead of two."""
        if type(g) is np.ndarray and g.ndim and g.shape == y.shape:
            out = y * y
            return np.multiply(g, np.subtract(1, out, out), out)
        result = by_kernel("tanh_backward", g, y) if type(g) in BACKEND_OF else None
        return g * (1 - y * y) if result is None else result

    @staticmethod
    def forward(g: Tensor, y: Tensor) -> Tensor:
        x, z, input_metadata = broadcast_and_promote(g.array, y.array)
        return record2(TanhBackward, TanhBackward.values(x, z), g, y, (g if y._requires_grad else None, y), (),
                       input_metadata)

    def backward(self, xp: Any, h: Any, g: Any, y: Any) -> tuple[Any, Any]:
        return xp.apply(TanhBackward, h, y), None if g is None else h * (-2 * y * g)
