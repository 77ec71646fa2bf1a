"""Normalisation of layers, groups, channels of a batch, and of instances: elements minus their mean, divided by their
standard deviation; and `weight_norm`, a weight as its norm and its direction, w = g * v / |v|.

They differ in the dimensions over which mean and variance are taken; the derivative is the same. In evaluation, batch
normalisation uses a running mean and variance. Mirrors PyTorch's `layer_norm.cpp`, `group_norm.cpp`,
`Normalization.cpp` and `WeightNorm.cpp`.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._base.contexts import quiet
from minigrad._base.dtype import HALVES, Size, as_dtype
from minigrad._base.tensor_errors import IN_C
from minigrad._base.warnings import warn_once
from minigrad.backends.batched import Batched
from minigrad.backends.numpy import FLOAT32, ONES, ones_for, total
from minigrad.backends.registry import by_kernel, device_like
from minigrad.core import SCALAR_OPERAND, Node, Tensor, attributes, counter_of, record2, record_n
from minigrad.ops._dispatch import check_kind, in_format_of, op, refuse, same_device, widened
from minigrad.ops.linalg.norms import norm
from minigrad.ops.pointwise.add import AddScalar
from minigrad.ops.pointwise.div import Div
from minigrad.ops.pointwise.mul import Mul
from minigrad.ops.pointwise.pow import Pow
from minigrad.ops.pointwise.unary import Rsqrt
from minigrad.ops.reduce.sums import MeanDim, SumDim
from minigrad.ops.shape.join import Repeat
from minigrad.ops.shape.views import View
from minigrad.ops.tensor.copy import Clone, cast, contiguous
from minigrad.ops.tensor.storage import size

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]

Shape = tuple[int, ...]
MISMATCH = ("Mismatch dtype between input and weight: input dtype = {}, weight dtype = {}, Cannot dispatch to fused "
            "implementation.")
RUNNING_SHARED = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
    "were not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be "
    "False.If you are using a prebuilt module and do not need eval mode, please see the functorch website for "
    "resources on how to patch your module to work with vmap")


def mean_of(x: Any, axes: Shape) -> Any:
    """The mean over `axes`, which are kept: the last dimensions, or these and the first; by fast products with ones."""
    shape = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    if not x.size:
        return np.full(shape, math.nan, x.dtype, like=device_like(x))
    count = math.prod([x.shape[i] for i in axes])
    last = math.prod([x.shape[i] for i in axes if i or len(axes) == x.ndim])
    sums = x.reshape(-1)
    part = math.gcd(last, 1 << last.bit_length() // 2) if last > 256 else 1
    for length in (part, last // part):  # of a long row first parts: rounding errors grow with the length of a sum
        sums = sums.reshape(-1, length) @ ones_for(x, length) if length > 1 else sums
    if 0 in axes and len(axes) < x.ndim:
        sums = ones_for(x, len(x)) @ sums.reshape(len(x), -1)
    return (sums / x.dtype.type(count)).reshape(shape)


class Standard:
    """Elements minus their mean, over their standard deviation; and its inverse. On Tensors this is several ops."""

    @staticmethod
    def values(x: Any, axes: Shape, eps: float, kept: tuple[Any, Any]) -> tuple[Any, Any]:
        """On arrays: the mean and the inverse deviation are known."""
        mean, scale = kept
        result = None if type(x) is np.ndarray else by_kernel("standardize", x, mean, scale, 1, 0)
        return (x - mean) * scale if result is None else result, scale

    @staticmethod
    def forward(a: Tensor, axes: Shape, eps: float, kept: Any) -> tuple[Tensor, Tensor]:
        """On Tensors: computed again, so that derivatives flow through."""
        difference = a - MeanDim.forward(a, axes, True)
        scale = Rsqrt.forward(MeanDim.forward(difference * difference, axes, True) + eps)
        return difference * scale, scale


class StandardBackward:
    """The gradient of the elements, given that of the standardised elements."""

    @staticmethod
    def values(g: Any, x: Any, scale: Any, axes: Shape) -> Any:
        result = None if type(g) is np.ndarray else by_kernel(
            "standardize_backward", g, x, mean_of(g, axes), mean_of(g * x, axes), scale)
        if result is not None:
            return result
        out = x * mean_of(g * x, axes)
        np.subtract(g, out, out=out)
        out -= mean_of(g, axes)
        out *= scale
        return out

    @staticmethod
    def forward(g: Tensor, x: Tensor, scale: Tensor, axes: Shape) -> Tensor:
        return (g - MeanDim.forward(g, axes, True) - x * MeanDim.forward(g * x, axes, True)) * scale


class Norm(Node, number=None):
    """The form of a normalisation; `axes`: the dimensions of mean and variance, `along`: the shape of the weights.

    `inner` is the shape in which it is computed, where it is not that of the input.
    """

    saves = ("input", "weight")
    kernel = ""
    whole = False  # whether each element of a row of `inner` has its own weight

    @classmethod
    def forward(cls, a: Tensor, weight: Tensor | None, bias: Tensor | None, axes: Shape, along: Shape, eps: float,
                inner: Shape, *shown: Any) -> Tensor:
        x = a.array
        if x.dtype.kind != "f":
            refuse(cls.kernel, x.dtype)
        if cls.whole and in_rows(x):
            w, b = None if weight is None else weight.array, None if bias is None else bias.array
            y, mean, scale = normalized(x.reshape(inner), w, b, eps, x.shape)
            return finished(cls, y, a, weight, bias, None, (axes, along, eps, inner, (mean, scale), *shown))
        grouped = widened(x).reshape(inner)
        mean = mean_of(grouped, axes)
        result = None if type(x) is np.ndarray or x.dtype in HALVES else by_kernels(
            grouped, mean, axes, eps, weight if cls.whole else None, bias if cls.whole else None)
        if result is not None:
            const, left = (axes, along, eps, inner, (mean, result[1]), *shown), None if cls.whole else along
            return finished(cls, result[0].reshape(x.shape), a, weight, bias, left, const)
        y = grouped - mean
        scale = 1 / np.sqrt(mean_of(y * y, axes) + grouped.dtype.type(eps))
        y *= scale
        kept = (as_dtype(mean, x.dtype, copy=False), as_dtype(scale, x.dtype, copy=False))
        return finished(cls, in_format_of(y.reshape(x.shape), x), a, weight, bias, along,
                        (axes, along, eps, inner, kept, *shown))

    def backward(self, xp: Any, g: Any, a: Any, w: Any, axes: Shape, along: Shape, eps: float, inner: Shape,
                 kept: Any, *_: Any) -> tuple[Any, Any, Any]:
        if self.whole and in_rows(g):
            for_input, *rest = gradients(np.ascontiguousarray(g.reshape(inner)), a.reshape(inner), w, kept,
                                         [edge is not None for edge in self.next], a.shape)
            return for_input, *[v if v is None or len(along) == 1 else v.reshape(along) for v in rest]
        x, scale = xp.apply(Standard, xp.reshape(a, inner), axes, eps, kept)
        return of_affine(self, xp, g, xp.reshape(x, a.shape), w, along, lambda scaled: xp.reshape(
            xp.apply(StandardBackward, xp.reshape(scaled, inner), x, scale, axes), a.shape))


def in_rows(x: Any) -> bool:
    """Whether the fast path of `normalized` applies to an array."""
    return type(x) is np.ndarray and x.dtype in ONES and x.size > 0


def by_kernels(x: Any, mean: Any, axes: Shape, eps: float, weight: Tensor | None,
               bias: Tensor | None) -> tuple[Any, Any] | None:
    """The array normalised, times the weights, plus the bias, and the inverse deviation; None if there is no kernel."""
    squares = by_kernel("squared_distance", x, mean)
    if squares is None:
        return None
    scale = by_kernel("one_over_root", mean_of(squares, axes), eps)
    w, b = 1 if weight is None else weight.array.reshape(-1), 0 if bias is None else bias.array.reshape(-1)
    return by_kernel("standardize", x, mean, scale, w, b), scale


def finished(cls: type[Node], y: Any, a: Tensor, weight: Tensor | None, bias: Tensor | None, along: Shape | None,
             const: tuple[Any, ...]) -> Tensor:
    """Multiply a normalised array by the weights, add the bias, and record the op on all three; `along` None: they are
    applied already."""
    if weight is not None and along is not None:
        y *= widened(weight.array).reshape(along)
    if bias is not None and along is not None:
        y += widened(bias.array).reshape(along)
    if a.array.dtype in HALVES:
        y = as_dtype(y, a.array.dtype, copy=False)
    inputs = (a, SCALAR_OPERAND if weight is None else weight, SCALAR_OPERAND if bias is None else bias)
    return record_n(cls, y, inputs, (a, weight), const, input_metadata_for(a, weight, bias))


def input_metadata_for(a: Tensor, *parts: Tensor | None) -> Any:
    """The metadata that the engine needs if weights or bias have another dtype than the input."""
    if all(v is None or v.array.dtype is a.array.dtype for v in parts):
        return None
    return tuple([None if v is None else (v.array.shape, v.array.dtype) for v in (a, *parts)])


class Total:
    """The sum over some dimensions. Not a node: on Tensors it is the op."""

    @staticmethod
    def values(x: Any, axes: Shape) -> Any:
        """On arrays, where the first dimensions or all but one are summed: by fast products with ones."""
        if axes == tuple(range(len(axes))) and x.itemsize > 2 and x.size:
            lead = math.prod(x.shape[:len(axes)])
            return (ones_for(x, lead) @ x.reshape(lead, -1)).reshape(x.shape[len(axes):])
        if axes == (0, *range(2, x.ndim)) and x.itemsize > 2 and x.size:
            return (x.reshape(*x.shape[:2], -1) @ ones_for(x, math.prod(x.shape[2:]))).sum(0)
        return total(x, axes)

    @staticmethod
    def forward(a: Tensor, axes: Shape) -> Tensor:
        return SumDim.forward(a, axes, False)


def of_affine(node: Node, xp: Any, g: Any, x: Any, w: Any, along: Shape, of_input: Any) -> tuple[Any, Any, Any]:
    """The gradients of input, weights and bias of x * w + b; `of_input` maps the gradient of x to that of its input."""
    for_input, for_weight, for_bias = [edge is not None for edge in node.next]
    rest = tuple([i for i, n in enumerate((1,) * (g.ndim - len(along)) + along) if n == 1 and i < g.ndim and (
        i < g.ndim - len(along) or g.shape[i] != 1)])
    shape = tuple([n for n in along if n != 1]) or (1,)
    if w is not None:
        shape = w.shape
    scaled = (g if w is None else g * xp.reshape(w, along)) if for_input else None
    return (of_input(scaled) if for_input else None,
            xp.reshape(xp.apply(Total, g * x, rest) if rest else g * x, shape) if for_weight else None,
            xp.reshape(xp.apply(Total, g, rest) if rest else g, shape) if for_bias else None)


class NativeLayerNorm(Norm):
    """Layer norm: over the last dimensions."""

    constants = ("", "normalized_shape")
    whole = True
    kernel = "LayerNormKernelImpl"


class NativeGroupNorm(Norm):
    """Group norm: over groups of channels."""

    constants = ("", "", "eps", "", "", "group", "N", "C", "HxW")
    kernel = "GroupNormKernelImpl"


# layer_norm on NumPy arrays, as rows of a matrix. NumPy takes three times as long to combine a column or a row of
# numbers with a matrix of short rows as to combine two matrices: 1,024 × 64 numbers, 20 µs instead of 6 to 12. So sums
# along rows or columns are products with vectors (4 µs), a column times a row is a product of matrices (15 instead of
# 27 µs), and in the gradient each row is combined with no more than a factor and a shift, as in PyTorch's kernel:
# `layer_norm` of (16, 64, 64), forward and backward, takes 0.7 of the time.


def normalized(x: Any, w: Any, b: Any, eps: float, shape: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Standardised rows, times the weights, plus the bias, in another shape; the means, and the inverse deviations, as
    columns."""
    dtype, count = x.dtype, x.dtype.type(x.shape[1])
    mean = (x.dot(ones_for(x, x.shape[1])) / count)[:, None]
    out = np.empty(shape, dtype)
    y = np.subtract(x, mean, out.reshape(x.shape))
    scale = np.vecdot(y, y)
    scale /= count
    scale += dtype.type(eps)
    scale = (1 / np.sqrt(scale))[:, None]
    y *= scale if w is None else scale.dot(w.reshape(1, -1))
    if b is not None:
        y += b.reshape(-1)
    return out, mean, scale


def gradients(g: Any, x: Any, w: Any, kept: tuple[Any, Any], wanted: list[bool],
              shape: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """The gradients of the rows, in another shape, weights and bias for the gradient `g` of `normalized`, if they are
    `wanted`; `kept`: the means, and the inverse deviations."""
    for_input, for_weight, for_bias = wanted
    mean, scale, by_weight, by_bias = kept[0], kept[1][:, 0], None, None
    if for_input or for_weight:
        difference = x - mean
        both = g * difference
    if for_weight:
        by_weight = scale.dot(both)
    if for_bias:
        by_bias = ones_for(g, len(g)).dot(g)
    return of_rows(g, difference, both, w, scale, shape) if for_input else None, by_weight, by_bias


def of_rows(g: Any, apart: Any, both: Any, w: Any, scale: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of the rows: g * w * scale - apart * factor - shift, where a factor is the sum of `both * w` over a
    row (times scale³ over its length) and a shift that of `g * w`; `both` is `g * apart`. `apart` is overwritten."""
    result = np.empty(shape, g.dtype)
    out, count = result.reshape(g.shape), g.dtype.type(g.shape[1])
    if w is None:
        w = ones_for(g, g.shape[1])
        np.multiply(g, scale[:, None], out)
    else:
        w = w.reshape(-1)
        np.dot(scale[:, None], w[None], out)
        out *= g
    factor, shift = both.dot(w), g.dot(w)
    for _ in range(3):
        factor *= scale
    shift *= scale
    factor /= count
    shift /= count
    apart *= factor[:, None]
    out -= apart
    out -= shift[:, None]
    return result


def check_dtypes(input: Tensor, *parts: Tensor | None) -> None:
    """Raise PyTorch's errors for parts of another dtype than the input; only halves accept another, float32."""
    tensors, dtype = [v for v in parts if v is not None], input.array.dtype
    same_device(input.array, *[v.array for v in tensors])
    other = [v for v in tensors if v.array.dtype is not dtype]
    if not other:
        return
    if tensors[0] is not other[0]:
        raise RuntimeError(f"expected scalar type {input.dtype.type_name} but found {other[0].dtype.type_name}")
    if any(v.array.dtype is not FLOAT32 for v in tensors):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if dtype not in HALVES:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def check_parts(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None,
                star: str) -> Shape:
    """The shape that is normalised; PyTorch's errors if a part does not have it."""
    shape, sizes = tuple(normalized_shape), input.array.shape
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and part.array.shape != shape:
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                               f"{list(part.array.shape)} and normalized_shape = {list(shape)}")
    if sizes[max(len(sizes) - len(shape), 0):] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [*{star}"
                           f"{', '.join(map(str, shape))}], but got input of size{list(sizes)}")
    return shape


@op
def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalise over the last dimensions, whose shape is `normalized_shape`, as is that of `weight` and `bias`. Raises
    RuntimeError if these shapes do not fit."""
    shape = check_parts(input, normalized_shape, weight, bias, ", ")
    sizes = input.array.shape
    rows = math.prod(sizes[:len(sizes) - len(shape)])
    check_dtypes(input, weight, bias)
    return NativeLayerNorm.forward(input, weight, bias, (1,), shape, eps, (rows, math.prod(shape)))


@op
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Normalise (N, C, …) over groups of channels; `weight` and `bias` have one element for each channel.

    Raises RuntimeError if the channels cannot be divided into such groups, or shapes do not fit, and ValueError if a
    group has only one element.
    """
    shape = input.array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if math.prod(shape[2:]) * (shape[0] * shape[1] // num_groups) == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size "
                         f"{[shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]}")
    if num_groups < 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of "
                           f"shape {list(shape)} and num_groups={num_groups}")
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and part.array.shape != shape[1:2]:
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                               f"got {name} of shape {list(part.array.shape)} and input of shape {list(shape)}")
    check_dtypes(input, weight, bias)
    along = (shape[1], *(1,) * (len(shape) - 2))
    inner = (shape[0] * num_groups, math.prod(shape[1:]) // num_groups)
    shown = num_groups, shape[0], shape[1], math.prod(shape[2:])
    return NativeGroupNorm.forward(input, weight, bias, (1,), along, eps, inner, *shown)


@op
def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """The tensor divided by the root mean square over its last dimensions, whose shape is `normalized_shape`.

    `eps` is added to the mean square: by default the machine epsilon of the dtype, in half precision that of float32.
    Raises RuntimeError if shapes do not fit.
    """
    shape = check_parts(input, normalized_shape, weight, None, "")
    x = input.array
    if x.dtype.kind != "f":
        refuse("rms_norm", x.dtype)
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    if weight is not None and weight.array.dtype != x.dtype:
        warn_once(MISMATCH.format(IN_C[x.dtype.name], IN_C[weight.array.dtype.name]))
    wide = cast(input, FLOAT32) if x.dtype in HALVES else input
    small = float(np.finfo(wide.array.dtype).eps) if eps is None else eps
    mean_square = MeanDim.forward(Pow.forward(wide, 2), axes, True)
    result = wide * Rsqrt.forward(AddScalar.forward(mean_square, small))
    return cast(result if weight is None else result * weight, x.dtype)


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
        if type(of_batch) is Batched and type(running.array) is not Batched:
            raise RuntimeError(RUNNING_SHARED)
        running.array[...] = (1 - momentum) * running.array + momentum * of_batch.reshape(-1)


@op
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalise each channel of each sample of (N, C, …): a batch norm of (1, N * C, …), as in PyTorch. Raises
    ValueError if there is only one element per channel of a sample, and RuntimeError as `batch_norm`."""
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
            running.array[...] = quiet(moved.array.reshape(n, c).mean)(0)
            counter_of(running).value += 1
    return View.forward(result, shape)


class WeightNormInterface(Node):
    """The op where each row or each column has a norm; `axes` are the other dimensions."""

    saves = ("v", "g")
    constants = ("dim",)

    @staticmethod
    def forward(v: Tensor, g: Tensor, dim: int) -> Tensor:
        axes = tuple([i for i in range(v.array.ndim) if i != dim])
        result = v.array * (g.array / np.sqrt((v.array * v.array).sum(axes, keepdims=True)))
        return record2(WeightNormInterface, result, v, g, (v, g), (dim, axes))

    def backward(self, xp: Any, gw: Any, v: Any, g: Any, dim: int, axes: tuple[int, ...]) -> tuple[Any, Any]:
        length = xp.sqrt(xp.sum(v * v, axes, True))
        along = xp.sum(gw * v, axes, True) / length
        return g / length * (gw - v * (along / length)), along


def lengths(v: Tensor, dim: int) -> Tensor:
    """The norms over all dimensions but `dim`, which are kept; over all if `dim` is -1."""
    if dim == -1:
        return norm(v, 2)
    count, size = v.array.ndim, v.array.shape[dim]
    if dim == 0:
        return norm(v.contiguous().view(size, -1), 2, 1).view(size, *(1,) * (count - 1))
    if dim == count - 1:
        return norm(v.contiguous().view(-1, size), 2, 0).view(*(1,) * (count - 1), size)
    return lengths(v.transpose(0, dim), 0).transpose(0, dim)


def normalised(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """g * v / |v|."""
    if dim in (0, v.array.ndim - 1):
        return WeightNormInterface.forward(v, g, dim)
    return Mul.forward(v, Div.forward(g, lengths(v, dim)))
