"""Convolutions over one, two or three dimensions, as products of weights with the windows of the input.

A convolution of x by w, multiplied by a gradient g and summed, is linear in each of the three. `Convolve` is the
result, `ConvolveInput` the gradient of x (also the transposed convolution), and `ConvolveWeight` the gradient of w.
Each is the derivative of the others, so a formula composed of them can be differentiated again.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad._base.tensor_errors import IN_C
from minigrad._base.warnings import warn_once
from minigrad.backends.numpy import FLOAT32, matmul
from minigrad.backends.registry import BACKEND_OF, composite
from minigrad.core import SCALAR_OPERAND, Node, Tensor, attributes, record2, record_n
from minigrad.ops._dispatch import check_cast, check_kind, in_format_of, op, widened
from minigrad.ops.nn.fold import BatchLast, Window, add_back, at_a_time, chunks, first, order_of
from minigrad.ops.nn.pad import ConstantPadNd
from minigrad.ops.shape.views import SqueezeDim, Unsqueeze

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]

Shape = tuple[int, ...]
Sizes = int | Sequence[int]


def in_groups(rows: Any, groups: int) -> Any:
    """(C, positions) as (groups, C / groups, positions)."""
    return rows.reshape(groups, len(rows) // groups, rows.shape[1])


class ConvolutionPart(Node, number=None):
    """One of the three: `values` takes two arrays, the window and, if it does not follow, the shape of the result."""

    values: ClassVar[Callable[..., Any]]

    @classmethod
    def forward(cls, a: Tensor, b: Tensor, window: Window, *size: Shape) -> Tensor:
        return record2(cls, cls.values(a.array, b.array, window, *size), a, b, (a, b), (window,))


class Convolve(ConvolutionPart):
    """A convolution: x of shape (N, C, …), w of shape (O, C / groups, *kernel)."""

    saves = ("input", "weight")

    @staticmethod
    def values(x: Any, w: Any, window: Window) -> Any:
        if BACKEND_OF and (y := composite(Convolve.values, x, w, window)) is not None:
            return y
        wide_x, wide_w = map(widened, (x, w))
        out = window.out(x.shape[2:])
        weights = wide_w.reshape(window.groups, w.shape[0] // window.groups, math.prod(w.shape[1:]))
        y = np.empty((len(x), w.shape[0], *out), wide_x.dtype, like=x)
        order = order_of(window, x.shape[2:])
        for part, cols in chunks(wide_x, window, len(w) // window.groups, order):
            y[part] = order.pictures(np.matmul(weights, cols).reshape(w.shape[0], -1))
        return as_dtype(y, x.dtype, copy=False)

    def backward(self, xp: Any, g: Any, a: Any, w: Any, window: Window) -> tuple[Any, Any]:
        return xp.apply(ConvolveInput, g, w, window, a.shape), xp.apply(ConvolveWeight, g, a, window, w.shape)


class ConvolveInput(ConvolutionPart):
    """The gradient of a convolution with respect to its input, of the shape `size`."""

    saves = ("grad_output", "weight")

    @staticmethod
    def values(g: Any, w: Any, window: Window, size: Shape) -> Any:
        if BACKEND_OF and (y := composite(ConvolveInput.values, g, w, window, size)) is not None:
            return y
        wide_g, wide_w = map(widened, (g, w))
        groups = window.groups
        if all(s == 1 for s in window.stride) and w.shape[0] // groups <= w.shape[1]:
            back = unstrided(window)
            if min(back.padding) >= 0 and back.out(g.shape[2:]) == tuple(size[2:]):
                return Convolve.values(g, flipped(w, groups), back)
        weights = wide_w.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:]))
        weights = np.ascontiguousarray(weights.swapaxes(1, 2), like=w)
        out = np.empty(size, wide_g.dtype, like=g)
        count = at_a_time(g, weights[:, :, 0].size * math.prod(g.shape[2:]) * out.itemsize)
        order = BatchLast(window, tuple(size[2:]))
        for start in range(0, len(g), count):
            part = slice(start, min(start + count, len(g)))
            cols = np.matmul(weights, in_groups(order.rows(wide_g[part]), groups))
            cols = cols.reshape(size[1], *window.kernel, *g.shape[2:], part.stop - start)
            added = first(np.zeros((*size[1:], part.stop - start), out.dtype, like=g))
            add_back(first(cols), window, added)
            out[part] = added
        return as_dtype(out, g.dtype, copy=False)

    def backward(self, xp: Any, h: Any, g: Any, w: Any, window: Window) -> tuple[Any, Any]:
        return xp.apply(Convolve, h, w, window), xp.apply(ConvolveWeight, g, h, window, w.shape)


def unstrided(window: Window) -> Window:
    """The window with which the input gradient of a stride-1 convolution is one itself, by flipped weights."""
    padding = tuple([d * (k - 1) - p for k, p, d in zip(window.kernel, window.padding, window.dilation, strict=True)])
    return window._replace(padding=padding, counts=None)


def flipped(w: Any, groups: int) -> Any:
    """Weights flipped, with their input and output channels exchanged."""
    parts = w.reshape(groups, w.shape[0] // groups, *w.shape[1:]).swapaxes(1, 2)
    parts = np.flip(parts, tuple(range(3, parts.ndim)))
    return parts.reshape(groups * w.shape[1], w.shape[0] // groups, *w.shape[2:])


class ConvolveWeight(ConvolutionPart):
    """The gradient of a convolution with respect to its weights, of the shape `size`."""

    saves = ("grad_output", "input")

    @staticmethod
    def values(g: Any, x: Any, window: Window, size: Shape) -> Any:
        if BACKEND_OF and (y := composite(ConvolveWeight.values, g, x, window, size)) is not None:
            return y
        wide_g, wide_x = map(widened, (g, x))
        channels, order = size[0] // window.groups, BatchLast(window, x.shape[2:])
        out = np.zeros((window.groups, math.prod(size[1:]), channels), wide_g.dtype, like=g)
        for part, cols in chunks(wide_x, window, channels, order):
            rows = in_groups(order.rows(wide_g[part]), window.groups)
            out += matmul(cols, rows.swapaxes(1, 2))  # in 0.7 of the time of its transpose
        return as_dtype(np.ascontiguousarray(out.swapaxes(1, 2), like=g).reshape(size), g.dtype, copy=False)

    def backward(self, xp: Any, h: Any, g: Any, a: Any, window: Window) -> tuple[Any, Any]:
        return xp.apply(Convolve, a, h, window), xp.apply(ConvolveInput, g, h, window, a.shape)


class Convolution(Node):
    """A convolution or a transposed one, plus a bias for each channel: the op that the functions below record."""

    saves = ("input", "weight")
    constants = ("", "transposed", "output_padding", "bias_sym_sizes_opt")
    shows = attributes(stride=lambda node: node.const[0].stride, padding=lambda node: node.const[0].padding,
             dilation=lambda node: node.const[0].dilation, groups=lambda node: node.const[0].groups)

    @staticmethod
    def forward(a: Tensor, w: Tensor, bias: Tensor | None, window: Window, size: Shape | None,
                output_padding: Shape) -> Tensor:
        x, weights = a.array, w.array
        if size is None and not x.shape[1]:  # PyTorch's result has no channels either
            y = np.empty((len(x), 0, *window.out(x.shape[2:])), x.dtype, like=x)
        else:
            y = Convolve.values(x, weights, window) if size is None else ConvolveInput.values(x, weights, window, size)
        if bias is not None and y.size:
            y += bias.array.reshape(-1, *(1,) * (y.ndim - 2))
        if y.ndim == 4 or x.dtype is FLOAT32:
            y = in_format_of(y, x, weights)
        inputs = (a, w, SCALAR_OPERAND if bias is None else bias)
        const = window, size is not None, output_padding, (0,) if bias is None else bias.array.shape
        return record_n(Convolution, y, inputs, (a, w), const)

    def backward(self, xp: Any, g: Any, a: Any, w: Any, window: Window, transposed: bool, *_: Any) -> tuple[Any, ...]:
        for_a, for_w, for_bias = [edge is not None for edge in self.next]
        if not transposed and not a.shape[1]:
            return tuple([xp.zeros(shape, g) for shape in (a.shape, w.shape, w.shape[:1])])
        of_bias = xp.sum(g, (0, *range(2, g.ndim)), False) if for_bias else None
        result, input = (a, g) if transposed else (g, a)  # of the convolution that is not transposed
        of_a = None
        if for_a:
            of_a = xp.apply(Convolve, g, w, window) if transposed else xp.apply(ConvolveInput, g, w, window, a.shape)
        return of_a, xp.apply(ConvolveWeight, result, input, window, w.shape) if for_w else None, of_bias


def sizes_of(value: Any, k: int, name: str, repeated: int = 1) -> Shape:
    """`k` sizes from one number or one for each dimension; errors show a single number `repeated` times."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,) * repeated
    if len(sizes) not in (1, k):
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {k} values to match the "
                           f"convolution dimensions, but got {name}={list(sizes)}")
    return tuple([int(n) for n in sizes]) * (k if len(sizes) == 1 else 1)


def check_shapes(input: Tensor, weight: Tensor, bias: Tensor | None, window: Window, transposed: bool) -> None:
    """Raise PyTorch's errors for shapes that do not fit."""
    x, w, groups = input.array, weight.array, window.groups
    if min(window.padding) < 0:
        raise RuntimeError("negative padding is not supported")
    for name, n in (("stride", min(window.stride)), ("dilation", min(window.dilation)), ("groups", groups)):
        if n <= 0:
            raise RuntimeError(f"non-positive {name} is not supported")
    if w.shape[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
                           f"weight of size {list(w.shape)} instead")
    if w.shape[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
                           f"got weight of size [{list(w.shape)}] instead")
    setting = "transposed=1" if transposed else f"groups={groups}"
    channels, out = (w.shape[0], w.shape[1] * groups) if transposed else (w.shape[1] * groups, w.shape[0])
    if x.shape[1] != channels:
        raise RuntimeError(f"Given {setting}, weight of size {list(w.shape)}, expected input{list(x.shape)} to have "
                           f"{channels} channels, but got {x.shape[1]} channels instead")
    if bias is not None and bias.array.shape != (out,):
        raise RuntimeError(f"Given {'transposed=1, ' if transposed else ''}weight of size {list(w.shape)}, expected "
                           f"bias to be 1-dimensional with {out} elements, but got bias of size "
                           f"{list(bias.array.shape)} instead")
    check_dtypes(input, weight, bias, groups, transposed)
    if not transposed and min(window.out(x.shape[2:])) <= 0:
        inside = [n + 2 * p for n, p in zip(x.shape[2:], window.padding, strict=True)]
        kernel = [d * (k - 1) + 1 for k, d in zip(window.kernel, window.dilation, strict=True)]
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, inside))}). Kernel size: "
                           f"({' x '.join(map(str, kernel))}). Kernel size can't be greater than actual input size")
    if 0 in x.shape[2:] and 0 not in x.shape[:2]:
        shape = [*x.shape[:2], *(1,) * (4 - x.ndim), *x.shape[2:]]
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {shape}")


def check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None, groups: int, transposed: bool) -> None:
    """Raise PyTorch's errors for different devices and dtypes. Its library for float32, used for larger inputs, is
    stricter."""
    x, w, k = input.array, weight.array, weight.array.ndim - 2
    for name, part in (("weight", weight), ("bias", bias)) if BACKEND_OF else ():
        if part is not None and part.device != input.device:
            raise RuntimeError(f"Input type ({input.type()}) and {name} type ({part.type()}) should be the same")
    if not transposed and bias is not None and bias.array.dtype != x.dtype:
        raise RuntimeError(f"Input type ({IN_C[input.dtype.name]}) and bias type ({IN_C[bias.dtype.name]}) should be "
                           "the same")
    kernel = ((1,) * (2 - k) + w.shape[2:])[-2:]
    library = x.dtype is FLOAT32 and (groups > 1 or min(kernel) > 3 or len(x) > 1 or math.prod(x.shape[:4]) > 20480)
    for name, part in (("weight", weight), ("bias", bias)):
        if library and part is not None and part.array.dtype != x.dtype:
            raise RuntimeError(f"Input type (torch.{input.dtype.type_name}Tensor) and {name} type "
                               f"(torch.{part.dtype.type_name}Tensor) should be the same or input should be a MKLDNN "
                               f"tensor and {name} is a dense tensor")
    check_kind(x, "b", f"slow_conv{'_transpose' if transposed else ''}{max(k, 2)}d{'_out' if transposed else ''}_cpu")
    for part in (weight, bias):
        if part is not None and part.array.dtype != x.dtype and (k == 3 or part is weight):
            raise RuntimeError(f"expected scalar type {input.dtype.type_name} but found {part.dtype.type_name}")
    if bias is not None:
        check_cast(bias.array.dtype, x.dtype)


def batched(name: str, input: Tensor, weight: Tensor, k: int, named: bool = False) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether it had one; `named`: the padding is 'same' or 'valid'."""
    ndim = input.array.ndim
    if ndim not in (k + 1, k + 2):
        raise RuntimeError(f"Expected {k + 1}D (unbatched) or {k + 2}D (batched) input to {name}, but got input of "
                           f"size: {list(input.array.shape)}")
    if weight.array.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.array.ndim != k + 2 and (k == 1 or named):
        raise RuntimeError(f"Expected {weight.array.ndim}-dimensional input for {weight.array.ndim}-dimensional weight"
                           f"{'' if named else ' '}{list(weight.array.shape)}, but got {k + 2}-dimensional input of "
                           f"size {list(input.array.shape)} instead")
    return (input, True) if ndim == k + 2 else (Unsqueeze.forward(input, 0), False)


def padding_named(padding: str, source: Tensor, kernel: Shape, step: Shape, gaps: Shape) -> tuple[Tensor, Shape]:
    """The padding for 'valid' (none) and 'same' (which keeps the size; one side may need an extra zero)."""
    if padding == "valid":
        return source, (0,) * len(kernel)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in step):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, gaps, strict=True)]
    if any(n % 2 for n in total):
        warn_once("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of "
                  "the input be created")
        sides = [side for n in reversed(total) for side in (0, n % 2)]
        source = ConstantPadNd.forward(source, tuple(sides), 0)
    return source, tuple([n // 2 for n in total])


def conv_of(k: int, doc: str) -> Callable[..., Tensor]:
    """The function of a convolution over `k` dimensions."""
    name = f"conv{k}d"

    def call(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: str | Sizes = 0,
             dilation: Sizes = 1, groups: int = 1) -> Tensor:
        source, has_batch = batched(name, input, weight, k, isinstance(padding, str))
        kernel = weight.array.shape[2:]
        step, gaps = [sizes_of(v, len(kernel), what, k) for what, v in (("stride", stride), ("dilation", dilation))]
        if isinstance(padding, str):
            source, around = padding_named(padding, source, kernel, step, gaps)
        else:
            around = sizes_of(padding, len(kernel), "padding", k)
        window = Window(kernel, step, around, gaps, groups)
        check_shapes(source, weight, bias, window, False)
        result = Convolution.forward(source, weight, bias, window, None, (0,) * k)
        return result if has_batch else SqueezeDim.forward(result, 0)
    call.__doc__ = doc
    return op(name=name)(call)


def conv_transpose_of(k: int, doc: str) -> Callable[..., Tensor]:
    """The function of a transposed convolution over `k` dimensions: the input gradient of a convolution, as an op."""
    name = f"conv_transpose{k}d"

    def call(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes = 0,
             output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1) -> Tensor:
        source, has_batch = batched(name, input, weight, k)
        size, kernel = source.array.shape[2:], weight.array.shape[2:]
        arguments = {"stride": stride, "dilation": dilation, "padding": padding, "output_padding": output_padding}
        step, gaps, around, more = [sizes_of(v, len(kernel), what, k) for what, v in arguments.items()]
        counts = size if any(o >= s for o, s in zip(more, step, strict=True)) else None
        window = Window(kernel, step, around, gaps, groups, counts)
        check_shapes(source, weight, bias, window, True)
        out = tuple([(n - 1) * s - 2 * p + d * (m - 1) + o + 1 for n, s, p, d, m, o in
                     zip(size, step, around, gaps, kernel, more, strict=True)])
        check_transposed(k, size, out, step, gaps, more, not len(source.array))
        shape = (len(source.array), weight.array.shape[1] * groups, *out)
        result = Convolution.forward(source, weight, bias, window, shape, more)
        return result if has_batch else SqueezeDim.forward(result, 0)
    call.__doc__ = doc
    return op(name=name)(call)


def check_transposed(k: int, size: Shape, out: Shape, step: Shape, gaps: Shape, more: Shape, empty: bool) -> None:
    """Raise PyTorch's errors for an output padding that is too large, and a result that is too small."""
    if any(o >= max(s, d) for o, s, d in zip(more, step, gaps, strict=True)):
        axes = ("depth", "height", "width")[-max(k, 2):]
        sizes = {"output_padding": (0,) * (2 - k) + more, "stride": (1,) * (2 - k) + step,
                 "dilation": (1,) * (2 - k) + gaps}
        listed = [f"{name}_{axis}: {n}" for name, v in sizes.items() for axis, n in zip(axes, v, strict=True)]
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(listed))
    if min(out) < 0 or 0 in out and not empty:
        inside, outside = [" x ".join(map(str, (1,) * (2 - k) + tuple(v))) for v in (size, out)]
        raise RuntimeError(f"Given input size per channel: ({inside}). Calculated output size per channel: "
                           f"({outside}). Output size is too small")


conv1d = conv_of(1, """The convolution of (N, C, L) or (C, L) by weights (O, C / groups, k).

    `padding` may be 'same' or 'valid'. Raises RuntimeError if shapes or dtypes do not fit, or the window is larger than
    the input.
    """)
conv2d = conv_of(2, "The convolution of (N, C, H, W) or (C, H, W) by weights (O, C / groups, kH, kW); as `conv1d`.")
conv3d = conv_of(3, "The convolution of (N, C, D, H, W) by weights (O, C / groups, kD, kH, kW); as `conv1d`.")
conv_transpose1d = conv_transpose_of(
    1, "The transposed convolution of (N, C, L) by weights (C, O / groups, k); errors as `conv1d`.")
conv_transpose2d = conv_transpose_of(
    2, "The transposed convolution of (N, C, H, W) by weights (C, O / groups, kH, kW); errors as `conv1d`.")
conv_transpose3d = conv_transpose_of(
    3, "The transposed convolution of (N, C, D, H, W) by weights (C, O / groups, kD, kH, kW); errors as `conv1d`.")
