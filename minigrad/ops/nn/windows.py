"""Windows over the last dimensions of an array, on which convolutions, pools and folds are built.

A window of a kernel, with its stride and dilation, moves over an input that zeros (or another number) surround.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.registry import as_strided, beside

__all__ = ["Window", "add_back", "at_a_time", "columns", "offsets", "padded"]

Shape = tuple[int, ...]
CHUNK = 1 << 20  # bytes of columns that are worked on at a time: they stay in the cache
MANY = 1 << 28  # the same on a GPU, where a few large products are best


class Window(NamedTuple):
    """How a window lies: for each of the last dimensions its length, step, the padding before it, the gaps in it."""

    kernel: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    places: Shape | None = None  # how many windows there are, where they are not as many as fit

    def out(self, size: Shape) -> Shape:
        """How many windows there are in an input of this size."""
        return self.places or tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in
                                    zip(size, *self[:4], strict=True)])


def padded(x: Any, padding: Shape, fill: float = 0) -> Any:
    """`x` with `fill` around its last dimensions; itself where there is no padding."""
    if not any(padding):
        return x
    lead = x.ndim - len(padding)
    shape = (*x.shape[:lead], *[n + 2 * p for n, p in zip(x.shape[lead:], padding, strict=True)])
    out = np.full(shape, fill, x.dtype, like=beside(x)) if fill else np.zeros(shape, x.dtype, like=beside(x))
    inner: tuple[Any, ...] = (..., *[slice(p, p + n) for n, p in zip(x.shape[lead:], padding, strict=True)])
    out[inner] = x
    return out


def columns(x: Any, window: Window, fill: float = 0) -> Any:
    """All windows of an array (N, C, …), as a view of shape (N, C, *kernel, *out)."""
    out = window.out(x.shape[2:])
    x = padded(x, window.padding, fill)
    strides = x.strides[2:]
    return as_strided(x, (*x.shape[:2], *window.kernel, *out),
                      (*x.strides[:2], *[n * d for n, d in zip(strides, window.dilation, strict=True)],
                       *[n * s for n, s in zip(strides, window.stride, strict=True)]))


def at_a_time(x: Any, size: int) -> int:
    """How many inputs of a batch are worked on together, if one takes so many bytes."""
    return max(1, min(len(x), (CHUNK if type(x) is np.ndarray else MANY) // max(1, size)))


@functools.lru_cache(maxsize=256)  # of a pool of 2 × 2 it took a tenth of the time
def offsets(size: Shape, out: Shape, window: Window) -> tuple[tuple[Shape, tuple[Any, ...], tuple[Any, ...]], ...]:
    """For each place in the kernel: which elements of an unpadded input are there, and in which of the windows."""
    found = []
    for place in itertools.product(*[range(k) for k in window.kernel]):
        inputs, windows = [], []
        for at, n, o, s, p, d in zip(place, size, out, window.stride, window.padding, window.dilation, strict=True):
            start = at * d - p
            first = max(0, -(start // s))
            last = min(o, (n - 1 - start) // s + 1)
            inputs.append(slice(start + first * s, max(start + (last - 1) * s + 1, 0) if last > first else 0, s))
            windows.append(slice(first, max(last, first)))
        found.append((place, (..., *inputs), (..., *windows)))
    return tuple(found)


def add_back(cols: Any, window: Window, out: Any) -> None:
    """Add windows, of shape (N, C, *kernel, *out), to the elements of `out` (N, C, …) that they were taken from."""
    size = out.shape[2:]
    for place, elements, windows in offsets(size, window.out(size), window):
        out[elements] += cols[(slice(None), slice(None), *place)][windows]
