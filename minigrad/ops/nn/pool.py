"""Pools: the greatest element, or the mean, of each window over the last dimensions of (N, C, …) or (C, …)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minigrad.backends.numpy import masked
from minigrad.backends.registry import backend_of, beside, moved
from minigrad.core.graph import Node
from minigrad.core.record import record1, record2
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.elementwise import check_kind
from minigrad.ops._dispatch.registration import op
from minigrad.ops.nn import resample
from minigrad.ops.nn.resample import AdaptiveAvgPool2D, AdaptiveAvgPool3D, AvgPool2D
from minigrad.ops.nn.windows import Window, offsets
from minigrad.ops.reduce.sums import mean
from minigrad.ops.shape.views import SqueezeDim, Unsqueeze
from minigrad.ops.tensor.storage import size

__all__ = ["adaptive_avg_pool1d", "avg_pool1d", "max_pool1d", "max_pool2d"]

Shape = tuple[int, ...]
Sizes = int | Sequence[int]


class MaxPool2DWithIndices(Node):
    """The greatest of each window, of those that are equal the first; NaN is greater than all."""

    __slots__ = ()
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor, window: Window, out: Shape) -> Tensor:
        y = greatest(a.array, window, out)
        return record1(MaxPool2DWithIndices, y, a, (a,), (y, window))

    def backward(self, xp: Any, g: Any, a: Any, y: Any, window: Window) -> Any:
        return xp.apply(MaxPoolBackward, g, a, y, window)


class MaxPoolBackward(Node, name="MaxPool2DWithIndicesBackward"):
    """What goes back: each gradient to the element that was taken. As in PyTorch zeros go to what was pooled."""

    __slots__ = ()
    saves = ("self",)

    @staticmethod
    def values(g: Any, x: Any, y: Any, window: Window) -> Any:
        out = np.zeros(x.shape, g.dtype, like=x)
        apart = max(window.dilation) == 1 and all(k <= s for k, s in zip(window.kernel, window.stride))
        for elements, windows, taken in takers(x, y, window):
            part = masked(taken, g[windows])
            out[elements] = part if apart else out[elements] + part
        return out

    @staticmethod
    def forward(g: Tensor, a: Tensor, y: Any, window: Window) -> Tensor:
        return record2(MaxPoolBackward, MaxPoolBackward.values(g.array, a.array, y, window), g, a, (a,), (y, window))

    def backward(self, xp: Any, h: Any, a: Any, y: Any, window: Window) -> tuple[Any, Any]:
        return xp.apply(Taken, h, a, y, window), xp.zeros(a.shape, a)


class Taken(Node):
    """Of each window the element where another array has its greatest."""

    __slots__ = ()
    saves = ("self",)

    @staticmethod
    def values(h: Any, x: Any, y: Any, window: Window) -> Any:
        out = np.zeros(y.shape, h.dtype, like=y)
        for elements, windows, taken in takers(x, y, window):
            out[windows] += masked(taken, h[elements])
        return out

    @staticmethod
    def forward(h: Tensor, a: Tensor, y: Any, window: Window) -> Tensor:
        return record2(Taken, Taken.values(h.array, a.array, y, window), h, a, (a,), (y, window))

    def backward(self, xp: Any, g: Any, a: Any, y: Any, window: Window) -> tuple[Any, Any]:
        return xp.apply(MaxPoolBackward, g, a, y, window), xp.zeros(a.shape, a)


def takers(x: Any, y: Any, window: Window) -> Iterator[tuple[Any, Any, Any]]:
    """For each place in the kernel: which elements are there, in which windows, and which of these took theirs from
    there: the first that is equal to the greatest, or NaN as it is."""
    free, broken = np.ones(y.shape, bool, like=beside(y)), y != y
    places = offsets(x.shape[-2:], y.shape[-2:], window)
    some_broken = backend_of(y) is not None or broken.any()  # a GPU is not waited for
    for _, elements, windows in places[:-1]:
        found = x[elements]
        taken = found == y[windows]
        if some_broken:
            taken |= (found != found) & broken[windows]
        taken &= free[windows]
        free[windows] ^= taken
        yield elements, windows, taken
    for _, elements, windows in places[-1:]:  # what is still free there can only be taken there
        yield elements, windows, free[windows]


def lowest(dtype: Any) -> Any:
    """What is below all numbers of a dtype."""
    return -math.inf if dtype.kind == "f" else np.iinfo(dtype).min


def greatest(x: Any, window: Window, out: Shape) -> Any:
    """The greatest element of each window, one dimension after the other."""
    for dim in (-1, -2):
        size, count = x.shape[dim], out[dim]
        kernel, stride, padding, dilation = [each[dim] for each in window[:4]]
        shape = [*x.shape]
        shape[dim] = count
        y = None
        for at in range(kernel):
            start = at * dilation - padding
            first, last = max(0, -(start // stride)), min(count, (size - 1 - start) // stride + 1)
            if last <= first:
                continue
            part = slice(start + first * stride, start + (last - 1) * stride + 1, stride)
            found = x[(..., part) if dim == -1 else (..., part, slice(None))]
            if y is None and last - first == count:
                y = found.copy()
                continue
            y = np.full(shape, lowest(x.dtype), x.dtype, like=beside(x)) if y is None else y
            into = y[(..., slice(first, last)) if dim == -1 else (..., slice(first, last), slice(None))]
            np.maximum(into, found, out=into)
        x = np.full(shape, lowest(x.dtype), x.dtype, like=beside(x)) if y is None else y
    return x


def indices_of(x: Any, y: Any, window: Window) -> Any:
    """Where in the last two dimensions, counted as one, each greatest element is."""
    out = np.zeros(y.shape, np.int64, like=y)
    places = np.arange(x.shape[-2] * x.shape[-1], like=x).reshape(x.shape[-2:])
    for elements, windows, taken in takers(x, y, window):
        np.copyto(out[windows], places[elements], where=taken)
    return out


def pair(value: Any, name: str, op: str) -> Shape:
    """A number for both dimensions, or one for each."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(sizes) not in (1, 2):
        raise RuntimeError(f"{op}: {name} must either be a single int, or a tuple of two ints")
    return tuple([int(n) for n in sizes]) * (3 - len(sizes))


def window_of(op: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1) -> Window:
    """The window that the arguments of a pool mean.

    Raises:
        RuntimeError: if a number is out of its range.
    """
    kernel = pair(kernel_size, "kernel_size", op)
    step = kernel if stride is None or stride == [] or stride == () else pair(stride, "stride", op)
    around, gaps = pair(padding, "padding", op), pair(dilation, "dilation", op)
    if min(step) == 0:
        raise RuntimeError("stride should not be zero")
    if min(kernel) <= 0 or min(step) < 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got kH: {kernel[0]} kW: {kernel[1]}"
                           if min(kernel) <= 0 else
                           f"stride should be greater than zero, but got dH: {step[0]} dW: {step[1]}")
    if min(gaps) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got dilationH: {gaps[0]} dilationW: {gaps[1]}")
    for p, k, d in zip(around, kernel, gaps, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, "
                               f"kernel_size={k} and dilation={d}")
    return Window(kernel, step, around, gaps)


def pooled_size(shape: Shape, window: Window, ceil_mode: bool) -> Shape:
    """How many windows there are; with `ceil_mode` also one that begins inside and ends outside."""
    out = []
    for n, k, s, p, d in zip(shape[-2:], *window[:4], strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        count = -(-span // s) + 1 if ceil_mode else span // s + 1
        out.append(count - 1 if ceil_mode and (count - 1) * s >= n + p else count)
    if min(out) < 1:
        planes = shape[-3]
        raise RuntimeError(f"Given input size: ({planes}x{shape[-2]}x{shape[-1]}). Calculated output size: "
                           f"({planes}x{max(out[0], 0)}x{max(out[1], 0)}). Output size is too small")
    return tuple(out)


def check_pictures(input: Tensor, op: str) -> None:
    """PyTorch's error for what is not (N, C, H, W) or (C, H, W) with something in it."""
    shape = input.array.shape
    if len(shape) not in (3, 4) and op == "max_pool2d":
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                           f"{list(shape)}")


@op
def max_pool2d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The greatest element of each window of (N, C, H, W) or (C, H, W); with `return_indices` also where it is.

    Raises:
        RuntimeError: if the window is larger than the input, or a number is out of its range.
    """
    window = window_of("max_pool2d", kernel_size, stride, padding, dilation)
    check_pictures(input, "max_pool2d")
    check_kind(input.array, "b", "max_pool2d")
    made = MaxPool2DWithIndices.forward(input, window, pooled_size(input.array.shape, window, ceil_mode))
    return (made, plain(indices_of(input.array, made.array, window))) if return_indices else made


def as_row(input: Tensor, op: str) -> Tensor:
    """(…, L) as (…, 1, L)."""
    if input.array.ndim not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {input.array.ndim}-dimensional tensor for argument #1 "
                           f"'self' (while checking arguments for {op})")
    return Unsqueeze.forward(input, input.array.ndim - 1)


def from_row(made: Tensor) -> Tensor:
    """(…, 1, L) as (…, L)."""
    return SqueezeDim.forward(made, made.array.ndim - 2)


def single(value: Any) -> int:
    """A number that may stand in a tuple."""
    return int(value[0] if isinstance(value, (tuple, list)) else value)


def check_row(size: int, k: int, s: int, p: int, d: int) -> None:
    """PyTorch's errors for the numbers of a pool over one dimension."""
    for name, n in (("kernel_size", k), ("stride", s), ("dilation", d)):
        if n <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {n}")
    if p < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {p}")
    if p > k // 2:
        raise RuntimeError(f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and "
                           f"kernel_size={k}")
    span = size + 2 * p - d * (k - 1) - 1
    if span < 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {span // s + 1}")


@op
def max_pool1d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The greatest element of each window of (N, C, L) or (C, L); with `return_indices` also where it is."""
    shape = input.array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError("max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
                           f"input, but got:{list(shape)}")
    k = single(kernel_size)
    s, p, d = single(k if stride is None or stride == () or stride == [] else stride), single(padding), single(dilation)
    if not return_indices:
        check_row(shape[-1], k, s, p, d)
        check_kind(input.array, "bui", "max_pool1d_impl")
    made = max_pool2d(as_row(input, "max_pool1d"), (1, k), (1, s), (0, p), (1, d), ceil_mode, return_indices)
    return (from_row(made[0]), from_row(made[1])) if return_indices else from_row(made)


def avg_pool2d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window of (N, C, H, W) or (C, H, W); the padding counts unless `count_include_pad` is False.

    `divisor_override`: by what the sum of a window is divided instead.

    Raises:
        RuntimeError: as `max_pool2d`.
    """
    window = window_of("avg_pool2d", kernel_size, stride, padding)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    shape = input.array.shape
    size(input, -3)  # raises where there is no such dimension
    check_pictures(input, "avg_pool2d")
    out = pooled_size(shape, window, ceil_mode)
    sums, means = [[resample.averages(n, o, k, s, p, count_include_pad, divide) for n, o, k, s, p in
                    zip(shape[-2:], out, window.kernel, window.stride, window.padding, strict=True)]
                   for divide in (False, True)]
    if input.array.dtype.name == "int64":
        return plain(whole(input.array, sums, means, divisor_override))
    if divisor_override is not None:
        means = [sums[0] / divisor_override, sums[1]]
    return AvgPool2D.forward(input, tuple(means))


def whole(x: Any, sums: Any, means: Any, divisor: int | None) -> Any:
    """An average pool of integers: each sum over its divisor, rounded towards 0."""
    counts = divisor
    if divisor is None:
        counts = moved(np.rint(1 / np.outer(*[m.max(1) for m in means])), beside(x))
    return np.trunc(resample.Resample.values(x, tuple(sums)) / counts).astype(x.dtype)


@op
def avg_pool1d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window of (N, C, L) or (C, L); arguments as `avg_pool2d`."""
    k = single(kernel_size)
    s = k if stride is None or stride == () or stride == [] else single(stride)
    row = as_row(input, "avg_pool1d")
    return from_row(avg_pool2d(row, (1, k), (1, s), (0, single(padding)), ceil_mode, count_include_pad))


def sizes_wanted(input: Tensor, output_size: Any, op: str, k: int) -> Shape:
    """The size that an adaptive pool shall have: a number for all dimensions, or for each one or None."""
    shape = input.array.shape
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * k
    if len(given) != k:
        raise RuntimeError(f"{op}: output_size must be {k}")
    sizes = tuple([shape[i - k] if n is None else int(n) for i, n in enumerate(given)])
    if min(sizes) < 0:
        raise RuntimeError(f"{op}: elements of output_size must be greater than or equal to 0 but received "
                           f"{{{', '.join(map(str, sizes[:2]))}{''.join([f',{n}' for n in sizes[2:]])}}}")
    return sizes


def check_adaptive(shape: Shape, op: str, k: int) -> None:
    """PyTorch's errors for an input that an adaptive pool does not take; in 3d it looks for the empty one first."""
    fits = len(shape) in (k + 1, k + 2)
    for dim in range(1 if k == 3 else len(shape) - k, len(shape)):
        if (fits or k == 3) and not shape[dim]:
            raise RuntimeError(f"{op}(): Expected input to have non-zero size for non-batch dimensions, but input has "
                               f"sizes {list(shape)} with dimension {dim} being empty")
    if not fits:
        raise RuntimeError(f"{op}(): Expected {k + 1}D or {k + 2}D tensor, but got {list(shape)}")


def adaptive(op: Any, name: str, input: Tensor, output_size: Any, k: int) -> Tensor:
    """An adaptive pool of the last `k` dimensions; where each is to be 1 it is the mean, as in PyTorch."""
    shape = input.array.shape
    if isinstance(output_size, (tuple, list)) and len(shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    sizes = sizes_wanted(input, output_size, name, k)
    if set(sizes) == {1}:
        return mean(input, tuple(range(-1, -k - 1, -1)), True)
    check_adaptive(shape, name, k)
    made: Tensor = op.forward(input, tuple([resample.adaptive(n, o) for n, o in zip(shape[-k:], sizes, strict=True)]))
    return made


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """(N, C, H, W) or (C, H, W) cut into windows of `output_size`, and the mean of each."""
    return adaptive(AdaptiveAvgPool2D, "adaptive_avg_pool2d", input, output_size, 2)


@op
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """(N, C, L) or (C, L) cut into `output_size` windows, and the mean of each."""
    if isinstance(output_size, (tuple, list)) and len(output_size) != 1:
        raise RuntimeError("adaptive_avg_pool1d() argument 'output_size' should contain one int (got "
                           f"{len(output_size)})")
    row = as_row(input, "adaptive_avg_pool1d")
    return from_row(adaptive_avg_pool2d(row, (1, single(output_size))))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """(N, C, D, H, W) or (C, D, H, W) cut into windows of `output_size`, and the mean of each."""
    return adaptive(AdaptiveAvgPool3D, "adaptive_avg_pool3d", input, output_size, 3)


def area(input: Tensor, sizes: Any) -> Tensor:
    """An adaptive average pool over as many dimensions as there are sizes."""
    pools = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
    return pools[len(sizes) - 1](input, sizes)


resample.AREA.append(area)
