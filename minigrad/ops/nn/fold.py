"""Windows as columns and back, and channels as pixels: unfold, fold, pixel_shuffle, channel_shuffle."""

import math
from typing import Any, ClassVar

import numpy as np

from minigrad.core import Node, Tensor, attributes, record1
from minigrad.ops._dispatch import check_kind, op
from minigrad.ops._dispatch.memory_order import in_format_of
from minigrad.ops.nn.windows import Window, add_back, columns
from minigrad.ops.tensor.storage import size

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]

Shape = tuple[int, ...]
OF_WINDOW = attributes(kernel_size=lambda node: node.const[0].kernel, stride=lambda node: node.const[0].stride,
             padding=lambda node: node.const[0].padding, dilation=lambda node: node.const[0].dilation)


class Im2Col(Node):
    """The windows of (N, C, H, W), or (C, H, W), as columns: (N, C * kH * kW, windows)."""

    shows = OF_WINDOW | attributes(self_sym_argsize_minus_1=lambda node: node.const[1][1],
                                   self_sym_argsize_minus_2=lambda node: node.const[1][0])

    @staticmethod
    def values(x: Any, window: Window) -> Any:
        source = x.reshape(-1, *x.shape[-3:])
        cols = columns(source, window)
        cols = cols.copy() if math.prod(window.kernel) == 1 else cols  # otherwise `reshape` copies
        return cols.reshape(*x.shape[:-3], x.shape[-3] * math.prod(window.kernel), math.prod(cols.shape[4:]))

    @staticmethod
    def forward(a: Tensor, window: Window) -> Tensor:
        check_kind(a.array, "ui", "im2col_out_cpu")
        return record1(Im2Col, Im2Col.values(a.array, window), a, (), (window, a.array.shape[-2:]))

    def backward(self, xp: Any, g: Any, window: Window, size: Shape) -> Any:
        return xp.apply(Col2Im, g, window, size)


class Col2Im(Node):
    """Columns put back into images of the size (H, W), summed where windows overlap."""

    shows = OF_WINDOW

    @staticmethod
    def values(cols: Any, window: Window, size: Shape) -> Any:
        channels = cols.shape[-2] // math.prod(window.kernel)
        source = cols.reshape(-1, channels, *window.kernel, *window.out(size))
        out = np.zeros((len(source), channels, *size), cols.dtype, like=cols)
        add_back(source, window, out)
        return out.reshape(*cols.shape[:-2], channels, *size)

    @staticmethod
    def forward(a: Tensor, window: Window, size: Shape) -> Tensor:
        check_kind(a.array, "ui", "col2im_out_cpu")
        return record1(Col2Im, Col2Im.values(a.array, window, size), a, (), (window,))

    def backward(self, xp: Any, g: Any, window: Window) -> Any:
        return xp.apply(Im2Col, g, window)


class Rearranged(Node, number=None):
    """An op that moves elements: the tensor is reshaped to `parts`, transposed by `axes` and reshaped again."""

    inverse: ClassVar[Any]

    @staticmethod
    def values(x: Any, parts: Shape, axes: Shape, shape: Shape, factor: int) -> Any:
        return in_format_of(x.reshape(parts).transpose(axes).copy().reshape(shape), x)

    @classmethod
    def forward(cls, a: Tensor, parts: Shape, axes: Shape, shape: Shape, factor: int) -> Tensor:
        x = a.array
        const = tuple([parts[i] for i in axes]), tuple(np.argsort(axes).tolist()), x.shape, factor
        return record1(cls, cls.values(x, parts, axes, shape, factor), a, (), const)

    def backward(self, xp: Any, g: Any, parts: Shape, back: Shape, shape: Shape, factor: int) -> Any:
        return xp.apply(self.inverse, g, parts, back, shape, factor)


class PixelShuffle(Rearranged):
    constants = ("", "", "", "upscale_factor")


class PixelUnshuffle(Rearranged):
    constants = ("", "", "", "downscale_factor")
    inverse = PixelShuffle


PixelShuffle.inverse = PixelUnshuffle


class ChannelShuffle(Rearranged):
    constants = ("", "", "", "groups")

    def backward(self, xp: Any, g: Any, parts: Shape, back: Shape, shape: Shape, groups: int) -> Any:
        return xp.apply(ChannelShuffle, g, parts, back, shape, shape[1] // groups)


def pair(value: Any, name: str) -> Shape:
    """Two sizes, from one number or one for each dimension."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(sizes) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(sizes)}")
    return sizes


def window_for(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Window:
    """The window that the arguments describe; a RuntimeError for a number out of range."""
    kernel, gaps = pair(kernel_size, "kernel_size"), pair(dilation, "dilation")
    around, step = pair(padding, "padding"), pair(stride, "stride")
    for name, (height, width) in (("kernel size", kernel), ("dilation", gaps), ("stride", step)):
        if min(height, width) <= 0:
            short = name.removesuffix(" size")
            raise RuntimeError(f"{name} should be greater than zero, but got {short}_height: {height} {short}_width: "
                               f"{width}")
    if min(around) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {around[0]} pad_width: {around[1]}")
    return Window(kernel, step, around, gaps)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of (N, C, H, W) as columns (N, C * kH * kW, windows); the batch dimension is optional.

    Raises:
        RuntimeError: if no window fits, or a number is out of range.
    """
    window = window_for(kernel_size, dilation, padding, stride)
    shape = input.array.shape
    filled = size(input, 1) != 0 and size(input, 2) != 0  # raises if there is no such dimension
    if not filled or not 3 <= len(shape) <= 4 or 0 in shape[-3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                           f"dimensions for input, but got: {list(shape)}")
    out = window.out(shape[-2:])
    if min(out) < 1:
        raise RuntimeError(f"Given input with spatial size {shape[-2:]}, kernel_size={window.kernel}, "
                           f"dilation={window.dilation}, padding={window.padding}, calculated shape of the array of "
                           f"sliding blocks as {out}, but its components must be at least one.")
    return Im2Col.forward(input, window)


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Tensor:
    """Put columns (N, C * kH * kW, windows) back into (N, C, H, W), summing where windows overlap.

    Raises:
        RuntimeError: if the number of columns is not the number of windows.
    """
    pixels, window = pair(output_size, "output_size"), window_for(kernel_size, dilation, padding, stride)
    shape = input.array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                           f"dimensions for input, but got: {list(shape)}")
    if shape[-2] % math.prod(window.kernel):
        raise RuntimeError("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
                           f"got input.size(1)={shape[-2]} and kernel_size={window.kernel}.")
    out = window.out(pixels)
    if math.prod(out) != shape[-1] or min(out) < 1:
        raise RuntimeError(f"Given output_size={pixels}, kernel_size={window.kernel}, dilation={window.dilation}, "
                           f"padding={window.padding}, stride={window.stride}, expected size of input's dimension 2 to "
                           f"match the calculated number of sliding blocks {out[0]} * {out[1]} = {math.prod(out)}, but "
                           f"got input.size(2)={shape[-1]}.")
    return Col2Im.forward(input, window, pixels)


def check_pixels(shape: Shape, op: str, name: str, factor: int) -> None:
    """Raise PyTorch's errors for an input that is not an image, and for a factor that is not positive."""
    if len(shape) < 3:
        raise RuntimeError(f"{op} expects input to have at least 3 dimensions, but got input with {len(shape)} "
                           "dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{op} expects a positive {name}, but got {factor}")


@op
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(…, C * r * r, H, W) as (…, C, H * r, W * r).

    Raises:
        RuntimeError: if the number of channels is not divisible by r * r.
    """
    shape, r = input.array.shape, upscale_factor
    check_pixels(shape, "pixel_shuffle", "upscale_factor", r)
    if shape[-3] % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={shape[-3]} is not divisible by {r * r}")
    lead, k, (c, h, w) = shape[:-3], len(shape) - 3, shape[-3:]
    return PixelShuffle.forward(input, (*lead, c // (r * r), r, r, h, w),
                                (*range(k), k, k + 3, k + 1, k + 4, k + 2), (*lead, c // (r * r), h * r, w * r), r)


@op
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(…, C, H * r, W * r) as (…, C * r * r, H, W). An empty tensor keeps its shape, as in PyTorch.

    Raises:
        RuntimeError: if height or width is not divisible by r.
    """
    shape, r = input.array.shape, downscale_factor
    check_pixels(shape, "pixel_unshuffle", "downscale_factor", r)
    for name, dim in (("height", -2), ("width", -1)):
        if shape[dim] % r:
            raise RuntimeError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                               f"input.size({dim})={shape[dim]} is not divisible by {r}")
    if not input.array.size:
        return PixelUnshuffle.forward(input, shape, tuple(range(len(shape))), shape, r)
    lead, k, (c, h, w) = shape[:-3], len(shape) - 3, shape[-3:]
    return PixelUnshuffle.forward(input, (*lead, c, h // r, r, w // r, r),
                                  (*range(k), k, k + 2, k + 4, k + 1, k + 3), (*lead, c * r * r, h // r, w // r), r)


@op
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, …) with its channels interleaved: the first of each group, then the second of each, and so on.

    Raises:
        RuntimeError: if there are too few dimensions, or the channels cannot be divided into such groups.
    """
    shape = input.array.shape
    if len(shape) <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} "
                           "groups.")
    rest = shape[2:]
    return ChannelShuffle.forward(input, (shape[0], groups, shape[1] // groups, *rest),
                                  (0, 2, 1, *range(3, 3 + len(rest))), shape, groups)
