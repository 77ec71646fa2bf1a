"""Activations: relu, sigmoid and tanh; piecewise ones, such as leaky_relu and hardtanh; smooth ones, such as elu and
gelu.

Mirrors part of `torch.nn.functional`. At a kink each derivative is the side that PyTorch takes; the second derivative
of a piecewise function is 0 everywhere.
"""

import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.dtype import as_dtype, float_info
from minigrad.backends import draws
from minigrad.backends.batched import CURRENT
from minigrad.backends.numpy import FLOAT16, FLOAT32, XP
from minigrad.backends.registry import BACKEND_OF, backend_of, by_kernel
from minigrad.core import Node, Tensor, attributes, record1, record2
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import (
    OfInput,
    OfResult,
    backward_of,
    broadcast_and_promote,
    floating,
    input_metadata_of,
    op,
    refuse,
    same_device,
    unary_function,
    unary_op,
    underived,
    widely,
)
from minigrad.ops._dispatch.elementwise import Gate, Scaled, in_blocks
from minigrad.ops._dispatch.memory_order import row_by_row
from minigrad.ops._dispatch.registration import METHODS
from minigrad.ops._dispatch.type_promotion import INT64, number_in
from minigrad.ops.pointwise import unary
from minigrad.ops.pointwise.add import Add, Sub
from minigrad.ops.pointwise.div import Div
from minigrad.ops.random import stream_beside
from minigrad.ops.shape.views import View, dim_of
from minigrad.ops.special.functions import Erf

__all__ = [
    "celu", "celu_", "hardshrink", "prelu", "relu", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "tanh",
    "threshold", "threshold_",
]

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
        try:
            y = XP.sigmoid(floating(a.array))
            return record1(Sigmoid, y, a, (y,))
        except SIGNALS as error:
            return silently(error, Sigmoid.forward, a)

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * ((1 - y) * y)


class Tanh(Node):
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        try:
            y = np.tanh(floating(a.array))
            return record1(Tanh, y, a, (y,))
        except SIGNALS as error:
            return silently(error, Tanh.forward, a)

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


relu = unary_op("relu", Relu, "max(input, 0).", direct_method=True)
sigmoid = unary_op("sigmoid", Sigmoid, "1 / (1 + exp(-input)).", direct_method=True)
tanh = unary_op("tanh", Tanh, "The hyperbolic tangent of each element.", direct_method=True)
relu_ = METHODS["relu_"]  # for nn.functional


class InPlace(OfResult, number=None):
    """An op that works in place: its derivative is computed from its result, since the input is overwritten."""

    def __init_subclass__(cls, of: Any, **kwargs: Any) -> None:
        cls.kernel, cls.constants, cls.values = of.kernel, of.constants, of.values
        super().__init_subclass__(name=of.op, number=1, **kwargs)
        of.in_place = cls


def refuse_negative(slope: float, name: str, said: str) -> None:
    """Raise PyTorch's error for a slope below 0: the sign of the result no longer tells that of the input."""
    if slope < 0:
        raise RuntimeError(f"In-place {name} backward calculation is triggered with a negative slope which is not "
                           "supported. This is caused by calling in-place forward function with a negative slope, "
                           "please call out-of-place version instead." + said)


LEAKY_RELU = ("leakyReLu", " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
              "leakRelu backward calculation with negative slope")


class LeakyRelu(OfInput):
    kernel = "leaky_relu_cpu"
    constants = ("negative_slope",)

    @staticmethod
    def values(x: Any, slope: float) -> Any:
        return np.maximum(x, x * slope) if 0 < slope <= 1 else np.where(x > 0, x, x * slope)

    def backward(self, xp: Any, g: Any, a: Any, slope: float) -> Any:
        return xp.apply(Gate, g, a, a > 0, slope)


class LeakyReluInPlace(InPlace, of=LeakyRelu):
    def backward(self, xp: Any, g: Any, y: Any, slope: float) -> Any:
        refuse_negative(slope, *LEAKY_RELU)
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
        if x.dtype.kind != "f":
            low, high = [int(number_in(limit, INT64)) for limit in (low, high)]
        if x.dtype.kind == "u" and low < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        value = np.minimum(np.maximum(x, number_in(low, x.dtype)), number_in(high, x.dtype))
        return record1(Hardtanh, value, a, (a,), (low, high))

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
        return np.copysign(x - np.minimum(np.maximum(x, -limit), limit), x)  # also of 0

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
        if x.dtype.kind != "f":  # -1 is 255 as uint8
            threshold = number_in(threshold, x.dtype)
        return record1(cls, np.where(x <= threshold, number_in(value, x.dtype), x), a, (a,), (threshold,))

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
        op = backward_of(PreluKernel)
        return xp.apply(op, xp.where(a > 0, g, g * w), a), xp.apply(op, xp.masked(~(a > 0), g * a), w)


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
    """The same in place. Slopes that were drawn are 1 above 0; one for all is checked, as in `LeakyReluInPlace`."""

    def backward(self, xp: Any, g: Any, y: Any, slope: Any, lower: float, upper: float, training: bool) -> Any:
        if training:
            return xp.apply(Scaled, g, slope)
        refuse_negative((lower + upper) / 2, *LEAKY_RELU)
        return xp.apply(Gate, g, y, y > 0, slope)


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
    """The input clamped to [min_val, max_val]. Raises ValueError if `min_val` is greater than `max_val`."""
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
    """The input moved by `lambd` towards 0; 0 in [-lambd, lambd]. Raises RuntimeError if `lambd` is negative."""
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
    """The input where it is above 0, else times `weight`: one number, or one for each channel (dimension 1). Raises
    RuntimeError if the dtypes differ or `weight` has another number of elements."""
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
        if x.dtype.kind != "f" or x.dtype == FLOAT16:
            refuse("rrelu_with_noise_out_cpu", x.dtype)
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

    The slopes are those that PyTorch draws from the same seed. Raises RuntimeError if `lower` is above `upper`, and out
    of place if one of them is not finite; NotImplementedError if slopes are to be drawn for float16 on the CPU.
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        if not inplace and not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {float(bound)}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if CURRENT.inside:
        raise RuntimeError("vmap: we do not yet support aten::rrelu. Please file an issue")
    slope = slopes(input.array, lower, upper) if training else (lower + upper) / 2
    return chosen(RreluWithNoise, inplace, input, slope, lower, upper, training)


hardtanh_, leaky_relu_ = in_place_form(hardtanh), in_place_form(leaky_relu)
rrelu_, threshold_ = op(in_place_form(rrelu)), op(in_place_form(threshold))


ROOT, CUBE = math.sqrt(2 / math.pi), 0.044715  # the tanh form of gelu: z = ROOT * (x + CUBE * x ** 3)
SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)  # alpha and scale: Klambauer et al., 2017


class Elu(OfInput):
    """`scale * x` above 0, `scale * alpha * (exp(input_scale * x) - 1)` below."""

    kernel = "elu_cpu"
    constants = ("alpha", "scale", "input_scale")

    @staticmethod
    def values(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
        below = np.expm1(np.minimum(x, 0) * input_scale) * (alpha * scale)
        return np.where(x < 0, below, x * scale)

    def backward(self, xp: Any, g: Any, a: Any, alpha: float, scale: float, input_scale: float) -> Any:
        slope = xp.exp(xp.masked(a < 0, a) * input_scale) * (alpha * scale * input_scale)  # at 0 its derivative is 0
        return xp.where(a <= 0, g * slope, g * scale)


class EluInPlace(InPlace, of=Elu):
    def backward(self, xp: Any, g: Any, y: Any, alpha: float, scale: float, input_scale: float) -> Any:
        refuse_negative(alpha, "elu", "")
        return xp.where(y <= 0, g * ((xp.masked(y < 0, y) + alpha * scale) * input_scale), g * scale)


class Celu(OfInput):
    """`Elu` with a continuous derivative, under PyTorch's other name."""

    kernel = Elu.kernel
    constants = ("alpha", "", "")
    values = Elu.values
    backward = Elu.backward


class CeluInPlace(InPlace, of=Celu):
    backward = EluInPlace.backward


class NormalCdf:
    """The distribution function of the normal distribution. Not a node: on Tensors it is composed of erf."""

    @staticmethod
    def values(x: Any) -> Any:
        """On arrays; for float32 by formula 7.1.26 of Abramowitz and Stegun (1964), right to 2e-7 and much faster."""
        if x.dtype is not FLOAT32:
            return 0.5 * (1 + Erf.values(x * math.sqrt(0.5)))
        size = abs(x)
        t = 1 / (1 + (0.3275911 * math.sqrt(0.5)) * size)
        tail = t * (0.127414796 + t * (-0.142248368 + t * (0.7107068705 + t * (-0.7265760135 + t * 0.5307027145))))
        tail *= np.exp(x * x * -0.5)
        return np.where(x > 0, 1 - tail, tail)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        """On Tensors."""
        return 0.5 * (1 + Erf.forward(a * math.sqrt(0.5)))


class Gelu(OfInput):
    """x times the distribution function of the normal distribution."""

    kernel = "GeluKernelImpl"
    shows = attributes(approximate=lambda node: "none")

    @staticmethod
    def values(x: Any) -> Any:
        result = None if type(x) is np.ndarray else by_kernel("gelu", x)
        return in_blocks(Gelu.by_cdf, x) if result is None else result

    @staticmethod
    def by_cdf(x: Any) -> Any:
        """The formula."""
        return x * NormalCdf.values(x)

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        if type(g) is np.ndarray:
            return in_blocks(partial(self.slopes, xp), g, a)
        result = by_kernel("gelu_backward", g, a)
        return self.slopes(xp, g, a) if result is None else result

    @staticmethod
    def slopes(xp: Any, g: Any, a: Any) -> Any:
        """The formula of the derivative, on arrays and on Tensors."""
        return g * (xp.apply(NormalCdf, a) + a * xp.exp(a * a * -0.5) * (1 / math.sqrt(2 * math.pi)))


class GeluTanh(OfInput, name="Gelu"):
    """x times the distribution function of the normal distribution, approximated by tanh.

    In the derivative, (1 + tanh(z)) / 2 is sigmoid(2z). On arrays everything is computed in place, and with tanh, where
    NumPy is faster: 0.4 of the time forward, 0.5 backward at 1,024 × 256.
    """

    kernel = "GeluKernelImpl"
    shows = attributes(approximate=lambda node: "tanh")

    @staticmethod
    def values(x: Any) -> Any:
        result = None if type(x) is np.ndarray else by_kernel("gelu_tanh", x)
        return in_blocks(GeluTanh.by_tanh, x) if result is None else result

    @staticmethod
    def by_tanh(x: Any) -> Any:
        """The formula, in a single new array."""
        y = x * x
        y *= ROOT * CUBE
        y += ROOT
        y *= x
        y = np.tanh(y, out=y if y.ndim else None)
        y += 1
        y *= x
        y *= 0.5
        return y

    @staticmethod
    def slopes(g: Any, x: Any) -> Any:
        """The formula of `backward` on NumPy arrays, where (1 + t) / 2 is sigmoid(2z), in two new arrays.

        Where 1 - t is 0, its factor has not overflowed, unless x² has.
        """
        slope = np.multiply(x, x, np.empty_like(g))
        slope *= ROOT * CUBE
        slope += ROOT
        t = slope * x
        t = np.tanh(t, out=t if t.ndim else None)
        slope *= 1.5
        slope -= ROOT  # half of the slope of z
        slope *= 1 - t
        t += 1
        slope *= t
        slope *= x
        t *= 0.5
        slope += t
        slope *= g
        return slope

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        if type(g) is np.ndarray:
            if g.dtype is FLOAT16:
                return self.slopes(g.astype(FLOAT32), a.astype(FLOAT32)).astype(FLOAT16)
            return in_blocks(self.slopes, g, a)
        result = by_kernel("gelu_tanh_backward", g, a)
        if result is not None:
            return result
        square = a * a
        half = xp.sigmoid(a * (1 + CUBE * square) * (2 * ROOT))
        return g * (half + a * (half * (1 - half)) * (1 + 3 * CUBE * square) * (2 * ROOT))


class Silu(OfInput):
    """x * sigmoid(x)."""

    kernel = "silu_cpu"

    @staticmethod
    def values(x: Any) -> Any:
        return x / (1 + np.exp(-x))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        s = xp.sigmoid(a)
        return g * (s * (1 + a * (1 - s)))


class Softplus(OfInput):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""

    kernel = "softplus_cpu"
    constants = ("beta", "threshold")

    @staticmethod
    def values(x: Any, beta: float, threshold: float) -> Any:
        z = x * beta
        return np.where(z > threshold, x, np.log1p(np.exp(np.minimum(z, threshold))) / beta)

    def backward(self, xp: Any, g: Any, a: Any, beta: float, threshold: float) -> Any:
        z = a * beta
        return xp.where(z > threshold, g, g * xp.sigmoid(z))


class Mish(OfInput):
    """x * tanh(softplus(x))."""

    kernel = "mish_cpu"

    @staticmethod
    def values(x: Any) -> Any:
        return x * np.tanh(np.log1p(np.exp(x)))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        s, t = xp.sigmoid(a), 2 * xp.sigmoid(2 * xp.apply(Softplus, a, 1.0, 20.0)) - 1  # tanh of softplus
        return g * (t + a * (s * (1 - t * t)))


class LogSigmoid(OfInput):
    """log(sigmoid(x)), without underflow."""

    kernel = "log_sigmoid_cpu"

    @staticmethod
    def values(x: Any) -> Any:
        return row_by_row(np.minimum(x, 0) - np.log1p(np.exp(-abs(x))))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.sigmoid(-a)


class Glu(Node):
    """The first half of a dimension times the sigmoid of the second."""

    saves = ("self",)
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, dim: int) -> Tensor:
        return record1(Glu, widely(Glu.values, "glu_cpu", a.array, dim), a, (a,), (dim,))

    @staticmethod
    def values(x: Any, dim: int) -> Any:
        first, second = halves(x.shape, dim)
        return x[first] * XP.sigmoid(x[second])

    def backward(self, xp: Any, g: Any, a: Any, dim: int) -> Any:
        first, second = halves(a.shape, dim)
        s = xp.sigmoid(xp.getitem(a, second))
        opened = g * s
        return xp.concatenate([opened, opened * (1 - s) * xp.getitem(a, first)], dim)


def halves(shape: tuple[int, ...], dim: int) -> tuple[Any, Any]:
    """The indices of the two halves of a dimension."""
    front, half = (slice(None),) * dim, shape[dim] // 2
    return (*front, slice(0, half)), (*front, slice(half, None))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input above 0, `alpha * (exp(input) - 1)` below."""
    return chosen(Elu, inplace, input, float(alpha), 1.0, 1.0)


selu = op(name="selu")(switchable(
    Elu, "`elu` with constants that preserve mean and variance between layers.", *SELU, 1.0))


@op
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input above 0, `alpha * (exp(input / alpha) - 1)` below; a RuntimeError if `alpha` is 0."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return chosen(Celu, inplace, input, float(alpha), 1.0, 1 / alpha)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """The input times its normal distribution function, computed exactly or by a tanh formula (`approximate`). Raises
    RuntimeError if `approximate` is neither 'none' nor 'tanh'."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return GeluTanh.forward(input) if approximate == "tanh" else Gelu.forward(input)


silu = switchable(Silu, "`input * sigmoid(input)`.")
mish = switchable(Mish, "`input * tanh(softplus(input))`.")
logsigmoid = unary_function(LogSigmoid, "`log(sigmoid(input))`.")


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """`log(1 + exp(beta * input)) / beta`; the input itself where `beta * input` is above `threshold`."""
    return Softplus.forward(input, float(beta), float(threshold))


def softsign(input: Tensor) -> Tensor:
    """`input / (1 + |input|)`."""
    return Div.forward(input, Add.forward(unary.abs(input), 1))


def tanhshrink(input: Tensor) -> Tensor:
    """`input - tanh(input)`."""
    return Sub.forward(input, tanh(input))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second half. Raises RuntimeError for a 0-d tensor, and if the
    size of the dimension is odd."""
    x = input.array
    if x.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = dim_of(dim, x.ndim)
    if x.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {x.shape[axis]}")
    return Glu.forward(input, axis)


elu_, selu_, celu_ = in_place_form(elu), op(in_place_form(selu)), op(in_place_form(celu))
