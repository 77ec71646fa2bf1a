"""Maxima and minima of two tensors, and clamping: `maximum`, `fmax`, `clamp`, `nan_to_num` and others.

Mirrors PyTorch's `TensorCompare.cpp` and `BinaryOps.cpp`. Where two operands are equal, `maximum` and `minimum` give
each half of the gradient; at a bound, `clamp` gives all of it to the input.
"""

from typing import Any

import numpy as np

from minigrad.core import SCALAR_OPERAND, Node, Tensor, record1, record_n
from minigrad.ops._dispatch import (
    OfTwo,
    binary_op,
    broadcast_and_promote_all,
    check_kind,
    number_in,
    op,
    promote_scalar,
)
from minigrad.ops._dispatch.memory_order import in_order_of

__all__ = ["clamp", "clamp_max", "clamp_min", "clip", "fmax", "fmin", "maximum", "minimum", "nan_to_num"]

MANY = 4096  # elements, from which NumPy's clip is faster than its maximum and minimum with numbers
Bound = Any  # a Tensor, a Python number or None
Grads = tuple[Any, Any]


class Maximum(OfTwo, of=np.maximum):
    saves = ("self", "other")
    integers = True

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        shared = xp.where(a == b, g / 2, g)
        return xp.masked(~(a < b), shared), xp.masked(~(a > b), shared)


class Minimum(OfTwo, of=np.minimum):
    saves = ("self", "other")
    integers = True

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        shared = xp.where(a == b, g / 2, g)
        return xp.masked(~(a > b), shared), xp.masked(~(a < b), shared)


class Fmax(OfTwo, of=np.fmax):
    """The larger one, or the one that is not NaN."""

    saves = ("self", "other")
    integers = True

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        first = (a >= b) | (b != b)
        return xp.masked(first, g), xp.masked(~first, g)


class Fmin(OfTwo, of=np.fmin):
    """The smaller one, or the one that is not NaN."""

    saves = ("self", "other")
    integers = True

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        first = (a <= b) | (b != b)
        return xp.masked(first, g), xp.masked(~first, g)


class Clamp(Node, number=1):
    """The input clamped to two numbers, one of which may be None."""

    saves = ("self",)
    constants = ("min", "max")

    @staticmethod
    def forward(a: Tensor, low: Any, high: Any) -> Tensor:
        kernel = "clamp" if None not in (low, high) else "clamp_min" if high is None else "clamp_max"
        return record1(Clamp, bounded(a.array, low, high, f"{kernel}_scalar_cpu"), a, (a,), (low, high))

    def backward(self, xp: Any, g: Any, a: Any, low: Any, high: Any) -> Any:
        if low is None:
            return xp.masked(a <= high, g)
        return xp.masked(a >= low if high is None else (a >= low) & (a <= high), g)


class ClampMin(Node):
    """The input, but at least a number."""

    saves = ("self",)
    constants = ("min",)

    @staticmethod
    def forward(a: Tensor, low: Any) -> Tensor:
        return record1(ClampMin, bounded(a.array, low, None, "clamp_min_scalar_cpu"), a, (a,), (low,))

    def backward(self, xp: Any, g: Any, a: Any, low: Any) -> Any:
        return xp.masked(a >= low, g)


class ClampMax(Node):
    """The input, but at most a number."""

    saves = ("self",)
    constants = ("max",)

    @staticmethod
    def forward(a: Tensor, high: Any) -> Tensor:
        return record1(ClampMax, bounded(a.array, None, high, "clamp_max_scalar_cpu"), a, (a,), (high,))

    def backward(self, xp: Any, g: Any, a: Any, high: Any) -> Any:
        return xp.masked(a <= high, g)


def bounded(x: Any, low: Any, high: Any, kernel: str) -> Any:
    """An array clamped to two numbers, in the dtype to which all are promoted."""
    for bound in (low, high):
        x = x if bound is None else promote_scalar(x, bound)[0]
    check_kind(x, "b", kernel)
    low, high = (v if v is None else number_in(v, x.dtype) for v in (low, high))
    if x.size > MANY and x.dtype.kind == "f":
        return np.clip(x, -np.inf if low is None else low, np.inf if high is None else high)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


class ClampTensors(Node, name="Clamp"):
    """The input clamped to two tensors, one of which may be None."""

    saves = ("self", "min", "max")

    @staticmethod
    def forward(a: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
        arrays = [v.array for v in (a, low, high) if v is not None]
        (x, *bounds), input_metadata = broadcast_and_promote_all(*arrays)
        if len(bounds) == 2:
            check_kind(x, "b", "clamp_cpu")
        if low is not None:
            x = np.maximum(x, bounds[0])
        if high is not None:
            x = np.minimum(x, bounds[-1])
        if low is None or high is None:
            missing = 1 if low is None else 2
            input_metadata = (*input_metadata[:missing], None, *input_metadata[missing:])
        inputs = [SCALAR_OPERAND if v is None else v for v in (a, low, high)]
        return record_n(ClampTensors, x, inputs, (a, low, high), (), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
        if low is None:
            return xp.masked(a <= high, g), None, xp.masked(a > high, g)
        if high is None:
            return xp.masked(a >= low, g), xp.masked(a < low, g), None
        return (xp.masked((a >= low) & (a <= high), g), xp.masked((a < low) & (low < high), g),
                xp.masked((a > high) | (low > high), g))


class ClampMinTensor(OfTwo, of=np.maximum, name="ClampMin", number=1):
    """The input, but at least a tensor."""

    saves = ("self", "min")
    integers = True

    def backward(self, xp: Any, g: Any, a: Any, low: Any) -> Grads:
        return xp.masked(a >= low, g), xp.masked(a < low, g)


class ClampMaxTensor(OfTwo, of=np.minimum, name="ClampMax", number=1):
    """The input, but at most a tensor."""

    saves = ("self", "max")
    integers = True

    def backward(self, xp: Any, g: Any, a: Any, high: Any) -> Grads:
        return xp.masked(a <= high, g), xp.masked(a > high, g)


class NanToNum(Node):
    """NaN and both infinities replaced by numbers; their gradient is 0."""

    saves = ("self",)

    @staticmethod
    def forward(a: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Tensor:
        y = np.nan_to_num(a.array, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
        return record1(NanToNum, in_order_of(y, a.array) if y.ndim else y, a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return xp.masked(a - a == 0, g)


maximum = binary_op(
    "maximum", Maximum, "The larger of each two elements, NaN if one is; equal ones share the gradient.")
minimum = binary_op(
    "minimum", Minimum, "The smaller of each two elements, NaN if one is; equal ones share the gradient.")
fmax = binary_op("fmax", Fmax, "The larger of each two elements, or the one that is not NaN.")
fmin = binary_op("fmin", Fmin, "The smaller of each two elements, or the one that is not NaN.")


@op(method=True, in_place_function=True, aliases=("clip",))
def clamp(input: Tensor, min: Bound = None, max: Bound = None) -> Tensor:
    """Each element, or the nearest number between `min` and `max`: two numbers or two tensors; one may be None.

    Where `min` is above `max`, the result is `max`. Raises RuntimeError if both are None.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return ClampTensors.forward(input, min, max)
    return Clamp.forward(input, min, max)


@op(method=True, in_place_function=True)
def clamp_min(input: Tensor, min: Bound) -> Tensor:
    """Each element, but at least `min`, a number or a tensor."""
    return ClampMinTensor.forward(input, min) if isinstance(min, Tensor) else ClampMin.forward(input, min)


@op(method=True, in_place_function=True)
def clamp_max(input: Tensor, max: Bound) -> Tensor:
    """Each element, but at most `max`, a number or a tensor."""
    return ClampMaxTensor.forward(input, max) if isinstance(max, Tensor) else ClampMax.forward(input, max)


@op(method=True, in_place_function=True)
def nan_to_num(input: Tensor, nan: float | None = None, posinf: float | None = None,
               neginf: float | None = None) -> Tensor:
    """NaN, inf and -inf replaced by `nan`, `posinf` and `neginf`; None: 0, and the dtype's maximum and minimum."""
    return NanToNum.forward(input, nan, posinf, neginf)


clip = clamp
