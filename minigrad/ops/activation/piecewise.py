"""Piecewise activations, such as leaky_relu and hardtanh. Mirrors part of `torch.nn.functional`.

At a kink each derivative is the side that PyTorch takes; the second derivative is 0 everywhere.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype, float_info
from minigrad.backends import draws
from minigrad.backends.registry import backend_of
from minigrad.core import Node, Tensor, record1, record2
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import OfInput, OfResult, input_metadata_of, op, refuse, same_device, underived
from minigrad.ops._dispatch.elementwise import Gate
from minigrad.ops.random import stream_beside
from minigrad.ops.shape.views import View

__all__ = ["hardshrink", "prelu", "rrelu", "rrelu_", "threshold", "threshold_"]


class InPlace(OfResult, number=None):
    """An op that works in place: its derivative is computed from its result, since the input is overwritten."""

    def __init_subclass__(cls, of: Any, **kwargs: Any) -> None:
        cls.kernel, cls.constants, cls.values = of.kernel, of.constants, of.values
        super().__init_subclass__(name=of.op, number=1, **kwargs)
        of.in_place = cls


class LeakyRelu(OfInput):
    kernel = "leaky_relu_cpu"
    constants = ("negative_slope",)

    @staticmethod
    def values(x: Any, slope: float) -> Any:
        return np.maximum(x, x * slope) if 0 <= slope <= 1 else np.where(x > 0, x, x * slope)

    def backward(self, xp: Any, g: Any, a: Any, slope: float) -> Any:
        return xp.apply(Gate, g, a, a > 0, slope)


class LeakyReluInPlace(InPlace, of=LeakyRelu):
    def backward(self, xp: Any, g: Any, y: Any, slope: float) -> Any:
        if slope < 0:
            raise RuntimeError("In-place leakyReLu backward calculation is triggered with a negative slope which is "
                               "not supported. This is caused by calling in-place forward function with a negative "
                               "slope, please call out-of-place version instead. File an issue at "
                               "https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
                               "backward calculation with negative slope")
        return xp.apply(Gate, g, y, y > 0, slope)


class Hardtanh(Node):
    """The input clamped to `low` and `high`; integers are accepted too."""

    saves = ("self",)
    constants = ("min_val", "max_val")

    @staticmethod
    def forward(a: Tensor, low: float, high: float) -> Tensor:
        x = a.array
        if x.dtype.kind == "b":
            raise RuntimeError("Bool inputs not supported for hardtanh")
        if x.dtype.kind == "u" and low < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        if x.dtype.kind != "f":
            low, high = int(low), int(high)
        return record1(Hardtanh, np.minimum(np.maximum(x, low), high), a, (a,), (low, high))

    def backward(self, xp: Any, g: Any, a: Any, low: float, high: float) -> Any:
        return xp.apply(Gate, g, a, ~((a <= low) | (a >= high)))


class Hardsigmoid(OfInput):
    kernel = "hardsigmoid_cpu"

    @staticmethod
    def values(x: Any) -> Any:
        return np.minimum(np.maximum(x + 3, 0), 6) / 6

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return xp.apply(HardsigmoidBackward, g, a)


class HardsigmoidBackward:
    """The derivative of hardsigmoid, without a derivative itself, as in PyTorch, whose 1 / 6 is rounded to float32."""

    @staticmethod
    def values(g: Any, a: Any) -> Any:
        """On arrays."""
        return np.where((a > -3) & (a < 3), g * g.dtype.type(np.float32(1 / 6)), g.dtype.type(0))

    @staticmethod
    def forward(g: Tensor, a: Tensor) -> Tensor:
        """On Tensors."""
        return underived("hardsigmoid_backward", HardsigmoidBackward.values(g.array, a.array), g, a)


class Hardswish(OfInput):
    kernel = "hardswish_cpu"

    @staticmethod
    def values(x: Any) -> Any:
        return x * np.minimum(np.maximum(x + 3, 0), 6) / 6

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return xp.where(a < 3, xp.masked(a > -3, g * (a / 3 + 0.5)), g)


class Hardshrink(OfInput):
    kernel = "hardshrink_cpu"
    constants = ("lambd",)

    @staticmethod
    def values(x: Any, limit: float) -> Any:
        return np.where((x >= -limit) & (x <= limit), x.dtype.type(0), x)

    def backward(self, xp: Any, g: Any, a: Any, limit: float) -> Any:
        return xp.apply(Gate, g, a, ~((a >= -limit) & (a <= limit)))


class Softshrink(OfInput):
    kernel = "softshrink_cpu"
    constants = ("lambd",)

    @staticmethod
    def values(x: Any, limit: float) -> Any:
        return x - np.minimum(np.maximum(x, -limit), limit)

    backward = Hardshrink.backward


class Threshold(Node):
    """`value` where the input is at most `threshold`, else the input; integers are accepted too."""

    saves = ("self",)
    constants = ("threshold",)

    @classmethod
    def forward(cls, a: Tensor, threshold: float, value: float) -> Tensor:
        x = a.array
        if x.dtype.kind == "b":
            refuse("threshold_cpu", x.dtype)
        return record1(cls, np.where(x <= threshold, as_dtype(np.array(value), x.dtype)[()], x), a, (a,), (threshold,))

    def backward(self, xp: Any, g: Any, a: Any, threshold: float) -> Any:
        return xp.apply(Gate, g, a, ~(a <= threshold))


class ThresholdInPlace(Threshold, name="Threshold", number=1):
    """The same in place."""


class PreluKernel(Node):
    """The input where it is above 0, else times a weight, which is broadcast."""

    saves = ("self", "weight")

    @staticmethod
    def forward(a: Tensor, w: Tensor) -> Tensor:
        x, slope = a.array, w.array
        if x.dtype.kind != "f":
            refuse("prelu_cpu", x.dtype)
        same_device(x, slope)
        return record2(PreluKernel, np.where(x > 0, x, x * slope), a, w, (a, w), (),
                       input_metadata_of(x.shape, x.dtype, x, slope))

    def backward(self, xp: Any, g: Any, a: Any, w: Any) -> tuple[Any, Any]:
        return xp.where(a > 0, g, g * w), xp.masked(~(a > 0), g * a)


class RreluWithNoise(OfInput):
    """Elements that are not positive, times a slope: one drawn for each, or one for all."""

    kernel = "leaky_relu_cpu"
    constants = ("", "lower", "upper", "training")

    @staticmethod
    def values(x: Any, slope: Any, *_: Any) -> Any:
        return np.where(x > 0, x, x * slope)

    def backward(self, xp: Any, g: Any, a: Any, slope: Any, *_: Any) -> Any:
        return xp.apply(Gate, g, a, a > 0, slope)


class RreluWithNoiseInPlace(InPlace, of=RreluWithNoise):
    """The same in place; the result has the sign of the input."""

    backward = RreluWithNoise.backward


def chosen(op: Any, inplace: bool, input: Tensor, *const: Any) -> Tensor:
    """An op, out of place or in place."""
    if not inplace:
        return op.forward(input, *const)
    return in_place(getattr(op, "in_place", op).forward, input, *const)


def switchable(op: Any, doc: str, *const: Any) -> Callable[[Tensor, bool], Tensor]:
    """The public function of an op whose only argument is the switch `inplace`."""
    def function(input: Tensor, inplace: bool = False) -> Tensor:
        return chosen(op, inplace, input, *const)

    function.__doc__, function.__module__ = doc, op.__module__
    return function


def in_place_form(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function_`: the function with its switch `inplace` on."""
    @functools.wraps(function)
    def form(*args: Any, **options: Any) -> Tensor:
        return function(*args, inplace=True, **options)

    form.__name__ = form.__qualname__ = f"{function.__name__}_"
    form.__doc__ = f"`{function.__name__}`, in place."
    return form


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The input where it is above 0, else times `negative_slope`."""
    return chosen(LeakyRelu, inplace, input, float(negative_slope))


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input clamped to [min_val, max_val].

    Raises:
        ValueError: if `min_val` is greater than `max_val`.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return chosen(Hardtanh, inplace, input, min_val, max_val)


relu6 = switchable(Hardtanh, "The input clamped to [0, 6].", 0.0, 6.0)
hardsigmoid = switchable(Hardsigmoid, "0 below -3, 1 above 3, linear in between.")
hardswish = switchable(Hardswish, "`input * hardsigmoid(input)`.")


@op(method=True)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input, but 0 in [-lambd, lambd]."""
    return Hardshrink.forward(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input moved by `lambd` towards 0; 0 in [-lambd, lambd].

    Raises:
        RuntimeError: if `lambd` is negative.
    """
    if input.array.dtype.kind != "f":
        refuse("softshrink_check", input.array.dtype)
    if lambd < 0:
        raise RuntimeError(f"lambda must be in range [0, {float_info(input.array.dtype).max:g}] for input dtype "
                           f"{input.dtype.type_name}, but found {lambd:g}")
    return Softshrink.forward(input, lambd)


@op
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The input where it is above `threshold`, else `value`."""
    return chosen(ThresholdInPlace if inplace else Threshold, inplace, input, threshold, value)


@op(method=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input where it is above 0, else times `weight`: one number, or one for each channel (dimension 1).

    Raises:
        RuntimeError: if the dtypes differ or `weight` has another number of elements.
    """
    x, w = input.array, weight.array
    if x.dtype != w.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.type_name} and "
                           f"{weight.dtype.type_name}")
    if w.size != 1:
        if x.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = x.shape[1] if x.ndim > 1 else 1
        if channels != w.size:
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{w.size} and channel size = {channels}.")
    if w.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    if w.ndim != x.ndim or w.size != 1:
        fitting = tuple([w.size if d == 1 else 1 for d in range(x.ndim)])
        weight = weight if w.shape == fitting else View.forward(weight, fitting)
    return PreluKernel.forward(input, weight)


def slopes(x: Any, lower: float, upper: float) -> Any:
    """A slope from [lower, upper) for each element that is not positive, else 1. On a GPU, PyTorch draws one for every
    element, from (lower, upper], so that it need not count them."""
    if backend_of(x) is None:
        negative = x <= 0
        slope = np.ones_like(x)
        slope[negative] = draws.uniform(draws.DEFAULT, (int(np.count_nonzero(negative)),), np.float64, lower, upper)
        return slope
    drawn = draws.uniform(stream_beside(x), x.shape, np.float64 if x.itemsize == 8 else np.float32)
    drawn = np.where(drawn == 0, 1, drawn.astype(np.float64)) * (upper - lower) + lower
    return as_dtype(np.where(x <= 0, drawn, 1), x.dtype)


@op
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
          inplace: bool = False) -> Tensor:
    """The input where it is above 0, else times a slope: drawn from [lower, upper), or their mean if not `training`.

    The slopes are those that PyTorch draws from the same seed.

    Raises:
        RuntimeError: if `lower` is above `upper`.
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    slope = slopes(input.array, lower, upper) if training else (lower + upper) / 2
    return chosen(RreluWithNoise, inplace, input, slope, lower, upper, training)


hardtanh_, leaky_relu_ = in_place_form(hardtanh), in_place_form(leaky_relu)
rrelu_, threshold_ = op(in_place_form(rrelu)), op(in_place_form(threshold))
