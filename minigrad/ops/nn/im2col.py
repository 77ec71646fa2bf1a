"""The windows of a convolution as the columns of a matrix, by which one product with the weights gives all results.

Most of a convolution's time goes into the copy of windows into columns, and how fast that is depends on how long the
runs of memory are that go together. Two orders of the columns have long runs: `Shifted` where windows move by one
element and the inputs are not tiny, `BatchLast` for all others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.registry import as_strided
from minigrad.ops.nn.windows import Window, at_a_time, columns, padded

__all__ = ["BatchLast", "Sweep", "chunks", "first", "order_of"]

Shape = tuple[int, ...]
WASTE = 1.4  # how many columns `Shifted` may make for each that is looked at
SMALL = 10 ** 6  # multiplications: products of no more have kernels of their own in OpenBLAS (with AVX-512)


class Sweep(NamedTuple):
    """How weights move over an input: their window, and into how many groups the channels fall."""

    window: Window
    groups: int


class BatchLast:
    """Columns in the order (*out, N): memory is copied in runs of as many elements as there are inputs."""

    def __init__(self, window: Window, size: Shape) -> None:
        self.window = window
        self.out = window.out(size)
        self.count = math.prod(self.out)

    def columns(self, x: Any) -> Any:
        """The windows of x (N, C, …): shape (C, *kernel, *out, N), a view."""
        x = np.ascontiguousarray(last(padded(x, self.window.padding)), like=x)
        return last(columns(first(x), self.window._replace(padding=(0,) * len(self.out), places=self.out)))

    def rows(self, g: Any) -> Any:
        """Gradients (N, C, *out) in the order of the columns: (C, places)."""
        return last(g).reshape(g.shape[1], math.prod(self.out) * len(g))

    def pictures(self, rows: Any) -> Any:
        """Results, in the order of the columns, as (N, C, *out)."""
        return first(rows.reshape(len(rows), *self.out, -1))


class Shifted:
    """Columns in the order of memory. The inputs of a channel lie in one row, with zeros between their lines.

    Where the stride is 1, each place of the kernel then sees this row, moved by so many elements: it is copied in one
    run: 0.8 of `BatchLast`'s time for a convolution of 1 × 28 × 28. A line with its zeros is longer than a line of
    results; what is computed behind its end is not looked at. (In a sum over all places it would have its say: where
    the input is infinite, the gradient of the weights would be NaN.)
    """

    def __init__(self, window: Window, size: Shape) -> None:
        self.kernel, self.size = window.kernel, size
        self.out = window.out(size)
        self.pitch = tuple([max(n + p, o) for n, p, o in zip(size, window.padding, self.out, strict=True)])
        self.count = math.prod(self.pitch)
        steps = [math.prod(self.pitch[dim + 1:]) for dim in range(len(size))]
        self.moves = [d * step for d, step in zip(window.dilation, steps, strict=True)]  # from place to place
        self.lead = sum([p * step for p, step in zip(window.padding, steps, strict=True)])
        self.reach = sum([(k - 1) * move for k, move in zip(window.kernel, self.moves, strict=True)])

    def part(self, rows: Any, size: Shape) -> Any:
        """Rows (C, places) as (N, C, *size), a view."""
        inner = [slice(length) for length in size]
        return rows.reshape(len(rows), -1, *self.pitch)[(..., *inner)].swapaxes(0, 1)

    def columns(self, x: Any) -> Any:
        """The windows of x (N, C, …): shape (C, *kernel, places), a view."""
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
    """The order in which the results of a convolution over inputs of a size are computed fastest."""
    if set(window.stride) == {1} and window.places is None:
        shifted = Shifted(window, size)
        if shifted.count <= WASTE * math.prod(shifted.out):
            return shifted
    return BatchLast(window, size)


def chunks(x: Any, sweep: Sweep, channels: int, order: BatchLast | Shifted) -> Iterator[tuple[slice, Any]]:
    """A few inputs of the batch at a time, and their columns, of shape (groups, rows, places).

    They stay in the cache. Where they have few rows, a product with the weights, for so many channels, gains by being
    small: the first convolution of 1 × 28 × 28 takes 0.7 of the time.
    """
    window, groups = sweep
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
    """The first dimension as the last."""
    return x.transpose(*range(1, x.ndim), 0)


def first(x: Any) -> Any:
    """The last dimension as the first."""
    return x.transpose(-1, *range(x.ndim - 1))
