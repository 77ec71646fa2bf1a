"""Windows over the last dimensions of an array, on which convolutions, pools and folds are built.

A window of a kernel, with its stride and dilation, moves over an input padded with zeros.

For a convolution the windows are the columns of a matrix, and one product with the weights gives all results. Most of
its time goes into copying windows to columns, which is fast if contiguous runs of memory are long. Two orders of the
columns have long runs: `Shifted` where windows move by one element and the inputs are not tiny, `BatchLast` for all
others.
"""

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.registry import as_strided, device_like

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
