"""Windows over the last dimensions of an array, on which convolutions and pools are built; and `unfold`, `fold`,
`pixel_shuffle` and `channel_shuffle`.

A window of a kernel, with its stride and dilation, moves over an input padded with zeros. For a convolution the windows
are the columns of a matrix, and one product with the weights gives all results. Most of its time goes into copying
windows to columns, which is fast if contiguous runs of memory are long. Two orders of the columns have long runs:
`Shifted` where windows move by one element and the inputs are not tiny, `BatchLast` for all others.
"""

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minigrad.backends.registry import as_strided, device_like
from minigrad.core import Node, Tensor, attributes, record1
from minigrad.ops._dispatch import check_kind, in_format_of, op
from minigrad.ops.tensor.storage import size

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]

Shape = tuple[int, ...]
CHUNK = 1 << 20  # bytes of columns processed at a time: they stay in the cache
MANY = 1 << 28  # the same on a GPU, where a few large products are best
WASTE = 1.4  # how many columns `Shifted` may compute for each that is used
SMALL = 10 ** 6  # multiplications: products of no more have kernels of their own in OpenBLAS (with AVX-512)


class Window(NamedTuple):
    """How a window moves over the last dimensions; for a convolution also the number of groups of channels."""

    kernel: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    groups: int = 1
    counts: Shape | None = None  # the number of windows, where it is not as many as fit

    def out(self, size: Shape) -> Shape:
        """The number of windows in an input of this size."""
        return self.counts or tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in
                                    zip(size, *self[:4], strict=True)])


def padded(x: Any, padding: Shape) -> Any:
    """`x` with zeros around its last dimensions; `x` itself if there is no padding."""
    if not any(padding):
        return x
    lead = x.ndim - len(padding)
    shape = (*x.shape[:lead], *[n + 2 * p for n, p in zip(x.shape[lead:], padding, strict=True)])
    out = np.zeros(shape, x.dtype, like=device_like(x))
    inner: tuple[Any, ...] = (..., *[slice(p, p + n) for n, p in zip(x.shape[lead:], padding, strict=True)])
    out[inner] = x
    return out


def columns(x: Any, window: Window) -> Any:
    """All windows of an array (N, C, …), as a view of shape (N, C, *kernel, *out)."""
    out = window.out(x.shape[2:])
    x = padded(x, window.padding)
    strides = x.strides[2:]
    return as_strided(x, (*x.shape[:2], *window.kernel, *out),
                      (*x.strides[:2], *[n * d for n, d in zip(strides, window.dilation, strict=True)],
                       *[n * s for n, s in zip(strides, window.stride, strict=True)]))


def at_a_time(x: Any, size: int) -> int:
    """How many inputs of a batch are processed together if one takes `size` bytes."""
    return max(1, min(len(x), (CHUNK if type(x) is np.ndarray else MANY) // max(1, size)))


@functools.lru_cache(maxsize=256)  # a tenth of the time of a 2 × 2 pool
def offsets(size: Shape, out: Shape, window: Window) -> tuple[tuple[Shape, tuple[Any, ...], tuple[Any, ...]], ...]:
    """For each position in the kernel, its elements of an unpadded input, and their windows."""
    result = []
    for position in itertools.product(*[range(k) for k in window.kernel]):
        inputs, windows = [], []
        for at, n, o, s, p, d in zip(position, size, out, window.stride, window.padding, window.dilation, strict=True):
            start = at * d - p
            first = max(0, -(start // s))
            last = min(o, (n - 1 - start) // s + 1)
            inputs.append(slice(start + first * s, max(start + (last - 1) * s + 1, 0) if last > first else 0, s))
            windows.append(slice(first, max(last, first)))
        result.append((position, (..., *inputs), (..., *windows)))
    return tuple(result)


def add_back(cols: Any, window: Window, out: Any) -> None:
    """Add windows, of shape (N, C, *kernel, *out), to the elements of `out` (N, C, …) that they came from."""
    size = out.shape[2:]
    for position, elements, windows in offsets(size, window.out(size), window):
        out[elements] += cols[(slice(None), slice(None), *position)][windows]


class BatchLast:
    """Columns in the order (*out, N): memory is copied in runs of as many elements as there are inputs."""

    def __init__(self, window: Window, size: Shape) -> None:
        self.window = window
        self.out = window.out(size)
        self.count = math.prod(self.out)

    def columns(self, x: Any) -> Any:
        """The windows of x (N, C, …): shape (C, *kernel, *out, N), a view."""
        x = np.ascontiguousarray(last(padded(x, self.window.padding)), like=x)
        return last(columns(first(x), self.window._replace(padding=(0,) * len(self.out), counts=self.out)))

    def rows(self, g: Any) -> Any:
        """Gradients (N, C, *out) in the order of the columns: (C, positions)."""
        return last(g).reshape(g.shape[1], math.prod(self.out) * len(g))

    def pictures(self, rows: Any) -> Any:
        """Results, in the order of the columns, as (N, C, *out)."""
        return first(rows.reshape(len(rows), *self.out, -1))


class Shifted:
    """Columns in the order of memory. The inputs of a channel lie in one row, with zeros between their lines.

    Where the stride is 1, each position of the kernel sees this row shifted, so it is copied in one run: 0.8 of
    `BatchLast`'s time for a convolution of 1 × 28 × 28. A line with its zeros is longer than a line of results; what is
    computed after its end is ignored. (In a sum over all positions it would count: where the input is infinite, the
    gradient of the weights would be NaN.)
    """

    def __init__(self, window: Window, size: Shape) -> None:
        self.kernel, self.size = window.kernel, size
        self.out = window.out(size)
        self.pitch = tuple([max(n + p, o) for n, p, o in zip(size, window.padding, self.out, strict=True)])
        self.count = math.prod(self.pitch)
        steps = [math.prod(self.pitch[dim + 1:]) for dim in range(len(size))]
        self.moves = [d * step for d, step in zip(window.dilation, steps, strict=True)]  # from one position to the next
        self.lead = sum([p * step for p, step in zip(window.padding, steps, strict=True)])
        self.reach = sum([(k - 1) * move for k, move in zip(window.kernel, self.moves, strict=True)])

    def part(self, rows: Any, size: Shape) -> Any:
        """Rows (C, positions) as (N, C, *size), a view."""
        inner = [slice(length) for length in size]
        return rows.reshape(len(rows), -1, *self.pitch)[(..., *inner)].swapaxes(0, 1)

    def columns(self, x: Any) -> Any:
        """The windows of x (N, C, …): shape (C, *kernel, positions), a view."""
        length = len(x) * self.count
        row = np.zeros((x.shape[1], self.lead + length + self.reach), x.dtype, like=x)
        self.part(row[:, self.lead:self.lead + length], self.size)[...] = x
        across, along = row.strides
        strides = (across, *[move * along for move in self.moves], along)
        return as_strided(row, (len(row), *self.kernel, length), strides)

    def pictures(self, rows: Any) -> Any:
        """Results, in the order of the columns, as (N, C, *out)."""
        return self.part(rows, self.out)


def order_of(window: Window, size: Shape) -> BatchLast | Shifted:
    """The order of columns in which a convolution over inputs of this size is fastest."""
    if set(window.stride) == {1} and window.counts is None:
        shifted = Shifted(window, size)
        if shifted.count <= WASTE * math.prod(shifted.out):
            return shifted
    return BatchLast(window, size)


def chunks(x: Any, window: Window, channels: int, order: BatchLast | Shifted) -> Iterator[tuple[slice, Any]]:
    """Yield a few inputs of the batch at a time, and their columns, of shape (groups, rows, positions).

    They stay in the cache. Where there are few rows, the product with the weights of so many channels is faster when
    it is small: the first convolution of 1 × 28 × 28 takes 0.7 of the time.
    """
    groups = window.groups
    shape = (groups, math.prod((x.shape[1], *window.kernel)) // groups)
    size = max(1, math.prod(shape) * order.count)
    count, small = at_a_time(x, size * x.itemsize), SMALL * groups // (size * max(1, channels))
    if shape[1] <= 96 and 4 <= small < count and type(x) is np.ndarray:
        count = small
    memory = np.empty(size * count, x.dtype, like=x)
    for start in range(0, len(x), count):
        part = slice(start, min(start + count, len(x)))
        view = order.columns(x[part])
        cols = memory[:view.size].reshape(view.shape)
        cols[...] = view
        yield part, cols.reshape(*shape, order.count * (part.stop - part.start))


def last(x: Any) -> Any:
    """The array with its first dimension moved to the end."""
    return x.transpose(*range(1, x.ndim), 0)


def first(x: Any) -> Any:
    """The array with its last dimension moved to the front."""
    return x.transpose(-1, *range(x.ndim - 1))


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
    """The windows of (N, C, H, W) as columns (N, C * kH * kW, windows); the batch dimension is optional. Raises
    RuntimeError if no window fits, or a number is out of range."""
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
    """Put columns (N, C * kH * kW, windows) back into (N, C, H, W), summing where windows overlap. Raises RuntimeError
    if the number of columns is not the number of windows."""
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
    """(…, C * r * r, H, W) as (…, C, H * r, W * r). Raises RuntimeError if the number of channels is not divisible by r
    * r."""
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
    """(…, C, H * r, W * r) as (…, C * r * r, H, W). An empty tensor keeps its shape, as in PyTorch. Raises RuntimeError
    if height or width is not divisible by r."""
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
    """(N, C, …) with its channels interleaved: the first of each group, then the second of each, and so on. Raises
    RuntimeError if there are too few dimensions, or the channels cannot be divided into such groups."""
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
