"""Pools: the maximum or the mean of each window over the last dimensions of (N, C, …) or (C, …)."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends.numpy import masked
from minigrad.backends.registry import backend_of, device_like, moved
from minigrad.core import Node, Tensor, attributes, plain, record1, record2
from minigrad.ops._dispatch import check_kind, op
from minigrad.ops._dispatch.memory_order import in_format_of
from minigrad.ops.nn.resample import Resample, resampling
from minigrad.ops.nn.windows import Window, offsets
from minigrad.ops.shape.views import SqueezeDim, Unsqueeze
from minigrad.ops.tensor.storage import size

__all__ = ["avg_pool1d", "max_pool1d", "max_pool2d", "max_pool3d"]

Shape = tuple[int, ...]
Sizes = int | Sequence[int]

ARGUMENTS = ("kernel_size", "stride", "padding", "ceil_mode")  # of a pool, as nodes show them
AVERAGED = (*ARGUMENTS, "count_include_pad", "divisor_override")
AvgPool2D = resampling(__name__, "AvgPool2D", "avg_pool2d", saved=("self",), shown=AVERAGED)
AvgPool3D = resampling(__name__, "AvgPool3D", "avg_pool3d_out_frame", False, ("self",), AVERAGED, "e")


class MaxPool2DWithIndices(Node):
    """The maximum of each window, the first of equal elements; NaN is greater than any number."""

    saves = ("self",)
    constants = ("", "", *ARGUMENTS)
    shows = attributes(dilation=lambda node: node.const[1].dilation)

    @classmethod
    def forward(cls, a: Tensor, window: Window, out: Shape, *shown: Any) -> Tensor:
        y = in_format_of(greatest(a.array, window, out), a.array)
        return record1(cls, y, a, (a,), (y, window, *shown))

    def backward(self, xp: Any, g: Any, a: Any, y: Any, window: Window, *_: Any) -> Any:
        return xp.apply(MaxPoolBackward, g, a, y, window)


class MaxPool3DWithIndices(MaxPool2DWithIndices):
    __slots__ = ()


class ByTakers(Node, number=None):
    """An op on windows and the elements taken from them; as in PyTorch, the pooled input gets zeros."""

    saves = ("self",)
    values: ClassVar[Callable[..., Any]]

    @classmethod
    def forward(cls, v: Tensor, a: Tensor, y: Any, window: Window) -> Tensor:
        """The op on Tensors; `y` are the maxima of `a`."""
        return record2(cls, cls.values(v.array, a.array, y, window), v, a, (a,), (y, window))


class MaxPoolBackward(ByTakers, name="MaxPool2DWithIndicesBackward"):
    """The gradient of the pooled input: each gradient goes to the element that was taken."""

    @staticmethod
    def values(g: Any, x: Any, y: Any, window: Window) -> Any:
        out = np.zeros(x.shape, g.dtype, like=x)
        difference = max(window.dilation) == 1 and all(k <= s for k, s in zip(window.kernel, window.stride))
        for elements, windows, taken in takers(x, y, window):
            part = masked(taken, g[windows])
            out[elements] = part if difference else out[elements] + part
        return in_format_of(out, x)

    def backward(self, xp: Any, h: Any, a: Any, y: Any, window: Window) -> tuple[Any, Any]:
        return xp.apply(Taken, h, a, y, window), xp.zeros(a.shape, a)


class Taken(ByTakers):
    """For each window, the element at the position of another array's maximum."""

    @staticmethod
    def values(h: Any, x: Any, y: Any, window: Window) -> Any:
        out = np.zeros(y.shape, h.dtype, like=y)
        for elements, windows, taken in takers(x, y, window):
            out[windows] += masked(taken, h[elements])
        return out

    def backward(self, xp: Any, g: Any, a: Any, y: Any, window: Window) -> tuple[Any, Any]:
        return xp.apply(MaxPoolBackward, g, a, y, window), xp.zeros(a.shape, a)


def takers(x: Any, y: Any, window: Window) -> Iterator[tuple[Any, Any, Any]]:
    """For each position in the kernel, yield its elements, their windows, and which of these windows took that element:
    the first one equal to the maximum, or the first NaN."""
    free, broken = np.ones(y.shape, bool, like=device_like(y)), y != y
    dims = len(window.kernel)
    positions = offsets(x.shape[-dims:], y.shape[-dims:], window)
    some_broken = backend_of(y) is not None or broken.any()  # checking a GPU would block
    for _, elements, windows in positions[:-1]:
        values = x[elements]
        taken = values == y[windows]
        if some_broken:
            taken |= (values != values) & broken[windows]
        taken &= free[windows]
        free[windows] ^= taken
        yield elements, windows, taken
    for _, elements, windows in positions[-1:]:  # a window that took nothing yet took its last element
        yield elements, windows, free[windows]


def lowest(shape: Sequence[int], x: Any) -> Any:
    """An array of the smallest number of the dtype of `x`."""
    least = -math.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return np.full(shape, least, x.dtype, like=device_like(x))


def greatest(x: Any, window: Window, out: Shape) -> Any:
    """The maximum of each window, one dimension after the other."""
    for dim in range(-1, -len(out) - 1, -1):
        rest = (slice(None),) * (-1 - dim)
        shape = [*x.shape]
        shape[dim] = out[dim]
        line = Window((window.kernel[dim],), (window.stride[dim],), (window.padding[dim],), (window.dilation[dim],))
        y = None
        for _, elements, windows in offsets((x.shape[dim],), (out[dim],), line):
            part = x[(*elements, *rest)]
            if y is None and part.shape[dim] == out[dim]:
                y = part.copy()
                continue
            y = lowest(shape, x) if y is None else y
            into = y[(*windows, *rest)]
            np.maximum(into, part, out=into)
        x = lowest(shape, x) if y is None else y
    return x


def indices_of(x: Any, y: Any, window: Window) -> Any:
    """The index of each maximum, flattened over the pooled dimensions."""
    out = np.zeros(y.shape, np.int64, like=y)
    pooled = x.shape[-len(window.kernel):]
    numbers = np.arange(math.prod(pooled), like=x).reshape(pooled)
    for elements, windows, taken in takers(x, y, window):
        np.copyto(out[windows], numbers[elements], where=taken)
    return in_format_of(out, x)


def sizes_of(value: Any, name: str, op: str, dims: int) -> Shape:
    """`dims` sizes, from one number or one for each dimension."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(sizes) not in (1, dims):
        either, count = "" if op == "avg_pool3d" else "either ", "two" if dims == 2 else "three"
        raise RuntimeError(f"{op}: {name} must {either}be a single int, or a tuple of {count} ints")
    return tuple([int(n) for n in sizes]) * (dims if len(sizes) == 1 else 1)


def window_of(op: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1, dims: int = 2) -> Window:
    """The window that the arguments of a pool over `dims` dimensions describe.

    Raises:
        RuntimeError: if a number is out of range.
    """
    kernel = sizes_of(kernel_size, "kernel_size", op, dims)
    step = kernel if stride in (None, [], ()) else sizes_of(stride, "stride", op, dims)
    around, gaps = sizes_of(padding, "padding", op, dims), sizes_of(dilation, "dilation", op, dims)
    if min(step) == 0:
        raise RuntimeError("stride should not be zero")
    for name, letter, sizes in (("kernel size", "k", kernel), ("stride", "d", step), ("dilation", "dilation", gaps)):
        if min(sizes) <= 0:
            shown = " ".join([f"{letter}{axis}: {n}" for axis, n in zip("THW"[-dims:], sizes, strict=True)])
            raise RuntimeError(f"{name} should be greater than zero, but got {shown}")
    for p, k, d in zip(around, kernel, gaps, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, "
                               f"kernel_size={k} and dilation={d}")
    return Window(kernel, step, around, gaps)


def arguments(window: Window, stride: Any, ceil_mode: bool) -> tuple[Any, ...]:
    """The arguments as nodes show them; a stride that was not given is empty."""
    return window.kernel, () if stride in (None, [], ()) else window.stride, window.padding, ceil_mode


def pooled_size(shape: Shape, window: Window, ceil_mode: bool) -> Shape:
    """The number of windows; with `ceil_mode`, also one that begins inside and ends outside."""
    out = []
    dims = len(window.kernel)
    for n, k, s, p, d in zip(shape[-dims:], *window[:4], strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        count = -(-span // s) + 1 if ceil_mode else span // s + 1
        out.append(count - 1 if ceil_mode and (count - 1) * s >= n + p else count)
    if min(out) < 1:
        sizes = "x".join(map(str, shape[-dims - 1:]))
        shown = "x".join(map(str, (shape[-dims - 1], *[max(n, 0) for n in out])))
        raise RuntimeError(f"Given input size: ({sizes}). Calculated output size: ({shown}). Output size is too small")
    return tuple(out)


def check_pictures(input: Tensor, op: str) -> None:
    """Raise PyTorch's error unless the input is a non-empty (N, C, H, W) or (C, H, W)."""
    shape = input.array.shape
    if len(shape) not in (3, 4) and op == "max_pool2d":
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                           f"{list(shape)}")


@op
def max_pool2d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of (N, C, H, W) or (C, H, W); with `return_indices` also its index.

    Raises:
        RuntimeError: if the window is larger than the input, or a number is out of range.
    """
    window = window_of("max_pool2d", kernel_size, stride, padding, dilation)
    check_pictures(input, "max_pool2d")
    check_kind(input.array, "b", "max_pool2d")
    out = pooled_size(input.array.shape, window, ceil_mode)
    result = MaxPool2DWithIndices.forward(input, window, out, *arguments(window, stride, ceil_mode))
    return (result, plain(indices_of(input.array, result.array, window))) if return_indices else result


def check_volumes(input: Tensor, op: str) -> None:
    """Raise PyTorch's error unless the input is a non-empty (N, C, D, H, W) or (C, D, H, W)."""
    shape = input.array.shape
    if len(shape) not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    for dim, n in list(enumerate(shape))[-4:]:
        if n == 0:
            what = "max_pool3d_with_indices_out_cpu_template" if op == "max_pool3d" else op
            raise RuntimeError(f"{what}(): Expected input's non-batch dimensions to have positive length, but input "
                               f"has a shape of {list(shape)} and non-batch dimension {dim - len(shape) + 4} has "
                               "length zero!")


@op
def max_pool3d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W); arguments as in `max_pool2d`."""
    window = window_of("max_pool3d", kernel_size, stride, padding, dilation, 3)
    check_volumes(input, "max_pool3d")
    check_kind(input.array, "b", "max_pool3d")
    out = pooled_size(input.array.shape, window, ceil_mode)
    result = MaxPool3DWithIndices.forward(input, window, out, *arguments(window, stride, ceil_mode))
    return (result, plain(indices_of(input.array, result.array, window))) if return_indices else result


def as_row(input: Tensor, op: str) -> Tensor:
    """(…, L) as (…, 1, L)."""
    if input.array.ndim not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {input.array.ndim}-dimensional tensor for argument #1 "
                           f"'self' (while checking arguments for {op})")
    return Unsqueeze.forward(input, input.array.ndim - 1)


def from_row(result: Tensor) -> Tensor:
    """(…, 1, L) as (…, L)."""
    return SqueezeDim.forward(result, result.array.ndim - 2)


def single(value: Any) -> int:
    """A number, which may be in a tuple."""
    return int(value[0] if isinstance(value, (tuple, list)) else value)


@op
def max_pool1d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of (N, C, L) or (C, L); with `return_indices` also its index."""
    shape = input.array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError("max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
                           f"input, but got:{list(shape)}")
    k, p, d = single(kernel_size), single(padding), single(dilation)
    s = k if stride in (None, [], ()) else single(stride)
    if not return_indices:
        for name, n in (("kernel_size", k), ("stride", s), ("dilation", d)):
            if n <= 0:
                raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {n}")
        if p < 0:
            raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {p}")
        if p > k // 2:
            raise RuntimeError(f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and "
                               f"kernel_size={k}")
        span = shape[-1] + 2 * p - d * (k - 1) - 1
        if span < 0:
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {span // s + 1}")
        check_kind(input.array, "bui", "max_pool1d_impl")
    result = max_pool2d(as_row(input, "max_pool1d"), (1, k), (1, s), (0, p), (1, d), ceil_mode, return_indices)
    return (from_row(result[0]), from_row(result[1])) if return_indices else from_row(result)


def avg_pool2d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window of (N, C, H, W) or (C, H, W); the padding counts unless `count_include_pad` is False.

    `divisor_override`: the divisor of a window's sum.

    Raises:
        RuntimeError: as in `max_pool2d`.
    """
    window = window_of("avg_pool2d", kernel_size, stride, padding)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    size(input, -3)  # raises if there is no such dimension
    check_pictures(input, "avg_pool2d")
    return averaged(AvgPool2D, input, window, stride, ceil_mode, count_include_pad, divisor_override)


def averaged(node: type[Resample], input: Tensor, window: Window, stride: Any, ceil_mode: bool,
             count_include_pad: bool, divisor: int | None) -> Tensor:
    """The means of the windows over the last dimensions, or their sums over a divisor."""
    shape = input.array.shape
    out = pooled_size(shape, window, ceil_mode)
    sums, means = [[averages(n, o, k, s, p, count_include_pad, divide) for n, o, k, s, p in
                    zip(shape[-len(out):], out, window.kernel, window.stride, window.padding, strict=True)]
                   for divide in (False, True)]
    if input.array.dtype.name == "int64":
        return plain(whole(input.array, sums, means, divisor))
    if divisor is not None:
        means = [sums[0] / divisor, *sums[1:]]
    return node.forward(input, tuple(means), *arguments(window, stride, ceil_mode), count_include_pad, divisor)


def avg_pool3d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W); arguments as in `avg_pool2d`."""
    window = window_of("avg_pool3d", kernel_size, stride, padding, dims=3)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    check_volumes(input, "avg_pool3d")
    sizes = input.array.shape[-3:]
    if any(n + 2 * p < k for n, p, k in zip(sizes, window.padding, window.kernel, strict=True)):
        given, wanted = [" ".join([f"{letter}{axis}: {n}" for axis, n in zip("THW", each, strict=True)])
                         for letter, each in (("", sizes), ("k", window.kernel))]
        raise RuntimeError(f"input image ({given}) smaller than kernel size ({wanted})")
    return averaged(AvgPool3D, input, window, stride, ceil_mode, count_include_pad, divisor_override)


def averages(size: int, out: int, kernel: int, stride: int, padding: int, include_pad: bool, divide: bool) -> Any:
    """The matrix of an average pool along one dimension; of sums unless `divide`."""
    matrix = np.zeros((out, size))
    for i in range(out):
        start = i * stride - padding
        end = min(start + kernel, size + padding)
        inside = slice(max(start, 0), min(end, size))
        count = end - start if include_pad else inside.stop - inside.start
        matrix[i, inside] = 1 / count if divide else 1
    return matrix


def whole(x: Any, sums: Any, means: Any, divisor: int | None) -> Any:
    """An average pool of integers: each sum over its divisor, rounded towards 0."""
    counts = divisor
    if divisor is None:
        products = functools.reduce(np.multiply.outer, [m.max(1) for m in means])
        counts = moved(np.rint(1 / products), device_like(x))
    return as_dtype(np.trunc(Resample.values(x, tuple(sums)) / counts), x.dtype)


@op
def avg_pool1d(input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window of (N, C, L) or (C, L); arguments as in `avg_pool2d`."""
    k, row = single(kernel_size), as_row(input, "avg_pool1d")
    step = k if stride in (None, [], ()) else single(stride)
    return from_row(avg_pool2d(row, (1, k), (1, step), (0, single(padding)), ceil_mode, count_include_pad))
