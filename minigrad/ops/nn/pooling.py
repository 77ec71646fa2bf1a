"""Pools: the maximum, the mean or the p-norm of each window over the last dimensions of (N, C, …) or (C, …).

An adaptive pool is given the number of its windows; `max_unpool` puts each element where `max_pool` took it.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends.numpy import XP, masked
from minigrad.backends.registry import BACKEND_OF, backend_of, composite, device_like, moved
from minigrad.core import Node, Tensor, attributes, plain, record1, record2, record_n
from minigrad.ops._dispatch import backward_of, check_kind, in_format_of, op
from minigrad.ops._dispatch.arg_parser import parses_arguments
from minigrad.ops.activation import Relu
from minigrad.ops.index.flat_indexing import elements_at, first_out_of_range, flat_indices, raw, scatter_into
from minigrad.ops.nn.fold import Window, offsets
from minigrad.ops.nn.resample import Resample, resampling
from minigrad.ops.pointwise.unary import Abs, Neg, Sign
from minigrad.ops.reduce.sums import mean
from minigrad.ops.shape.views import SqueezeDim, Unsqueeze
from minigrad.ops.tensor.storage import size

__all__ = ["adaptive_avg_pool1d", "adaptive_max_pool1d", "avg_pool1d", "max_pool1d", "max_pool2d", "max_pool3d"]

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
        if BACKEND_OF and (part := composite(MaxPoolBackward.values, g, x, y, window)) is not None:
            return part
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
        if BACKEND_OF and (part := composite(Taken.values, h, x, y, window)) is not None:
            return part
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
    if BACKEND_OF and (result := composite(greatest, x, window, out)) is not None:
        return result
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
    """The window that the arguments of a pool over `dims` dimensions describe. Raises RuntimeError if a number is out
    of range."""
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
    """The maximum of each window of (N, C, H, W) or (C, H, W); with `return_indices` also its index. Raises
    RuntimeError if the window is larger than the input, or a number is out of range."""
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

    `divisor_override`: the divisor of a window's sum. Raises RuntimeError as in `max_pool2d`.
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


class AdaptiveAvgPool2D(Resample):
    saves, constants = ("self",), ("",)
    kernel = "adaptive_avg_pool2d"

    def backward(self, xp: Any, g: Any, *saved: Any) -> Any:
        check_filled(g.shape, f"{self.kernel.removesuffix('_cpu')}_backward", what="grad_output")
        return super().backward(xp, g, *saved)


class AdaptiveAvgPool3D(AdaptiveAvgPool2D):
    kernel, keeps_format = "adaptive_avg_pool3d_cpu", False


class AdaptiveMaxPool(Node, number=None):
    """Adaptive max pooling over `dims` dimensions. Each subclass is one op."""

    saves = ("self",)
    dims: ClassVar[int]
    kernel: ClassVar[str]

    @classmethod
    def forward(cls, a: Tensor, sizes: Shape) -> tuple[Tensor, Tensor]:
        x = a.array
        check_kind(x, "bui", cls.kernel)
        planes = x.reshape(-1, math.prod(x.shape[-cls.dims:]))
        indices = adaptive_argmax(planes, x.shape[-cls.dims:], sizes)
        rows = np.arange(len(planes), like=x)[:, None]
        shape = (*x.shape[:-cls.dims], *sizes)
        positions = (rows * planes.shape[1] + indices).reshape(shape)
        y, indices = [in_format_of(v.reshape(shape), *[x][:cls.dims == 2]) for v in (planes[rows, indices], indices)]
        return record1(cls, y, a, (a,), (positions, x.shape)), plain(indices)

    def backward(self, xp: Any, g: Any, a: Any, positions: Any, shape: Shape) -> Any:
        check_filled(g.shape, f"adaptive_max_pool{self.dims}d_backward", what="grad_output")
        return xp.apply(backward_of(type(self)), scatter_into(xp, g, positions, shape), a)


class AdaptiveMaxPool2D(AdaptiveMaxPool):
    dims, kernel = 2, "adaptive_max_pool2d"


class AdaptiveMaxPool3D(AdaptiveMaxPool):
    dims, kernel = 3, "adaptive_max_pool3d_cpu"


def adaptive_argmax(planes: Any, size: Shape, sizes: Shape) -> Any:
    """The index of the maximum of each row and window: the first of equal elements, but the last NaN."""
    numbers = np.arange(math.prod(size), like=planes).reshape(size)
    indices = np.empty((len(planes), math.prod(sizes)), np.int64, like=planes)
    for i, window in enumerate(itertools.product(*map(range, sizes))):
        inside = numbers[tuple([slice(at * n // o, -(-(at + 1) * n // o)) for at, n, o in
                               zip(window, size, sizes, strict=True)])].reshape(-1)
        part = planes[:, inside]
        best = part.argmax(1)
        broken = np.isnan(part)
        if backend_of(planes) is not None or broken.any():  # checking a GPU would block
            best = np.where(broken.any(1), part.shape[1] - 1 - broken[:, ::-1].argmax(1), best)
        indices[:, i] = inside[best]
    return indices


def check_filled(shape: Shape, name: str, first: int = 1, what: str = "input") -> None:
    """Raise PyTorch's error for an empty dimension from `first` on."""
    for dim in range(first, len(shape)):
        if not shape[dim]:
            raise RuntimeError(f"{name}(): Expected {what} to have non-zero size for non-batch dimensions, but {what} "
                               f"has sizes {list(shape)} with dimension {dim} being empty")


def output_sizes(shape: Shape, output_size: Any, k: int) -> Shape:
    """The output size of a pool over `k` dimensions, from one number or one for each dimension; None keeps the size."""
    if not isinstance(output_size, (tuple, list)):
        return (output_size,) * k
    if len(shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    return tuple([shape[i - len(output_size)] if n is None else n for i, n in enumerate(output_size)])


def row_of(input: Tensor, output_size: Any, name: str) -> tuple[Tensor, Any]:
    """(…, L) as (…, 1, L), and the output size of a pool over its last dimension."""
    if not isinstance(output_size, (tuple, list)):
        return as_row(input, name), output_size
    if len(output_size) != 1:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")
    return as_row(input, name), output_size[0]


def adaptive_avg_pool(k: int, input: Tensor, output_size: Any) -> Tensor:
    """An adaptive average pool of the last `k` dimensions; where all sizes are 1 it is the mean, as in PyTorch."""
    shape, name = input.array.shape, f"adaptive_avg_pool{k}d"
    sizes = tuple([int(n) for n in output_sizes(shape, output_size, k)])
    if len(sizes) != k:
        raise RuntimeError(f"{name}: output_size must be {k}")
    if min(sizes) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received "
                           f"{{{', '.join(map(str, sizes[:2]))}{''.join([f',{n}' for n in sizes[2:]])}}}")
    if set(sizes) == {1}:
        return mean(input, tuple(range(-1, -k - 1, -1)), True)
    if k == 3 or len(shape) in (k + 1, k + 2):
        check_filled(shape, name, 1 if k == 3 else len(shape) - k)
    if len(shape) not in (k + 1, k + 2):
        raise RuntimeError(f"{name}(): Expected {k + 1}D or {k + 2}D tensor, but got {list(shape)}")
    op = AdaptiveAvgPool2D if k == 2 else AdaptiveAvgPool3D
    return op.forward(input, tuple([adaptive_averages(n, o) for n, o in zip(shape[-k:], sizes, strict=True)]))


def adaptive_averages(size: int, out: int) -> Any:
    """The matrix of an average pool from `size` to `out` elements."""
    matrix = np.zeros((out, size))
    for i in range(out):
        start, end = i * size // out, -(-(i + 1) * size // out)
        matrix[i, start:end] = 1 / (end - start)
    return matrix


@op
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of `output_size` windows into which (N, C, L) or (C, L) is divided: (N, C, output_size)."""
    row, size = row_of(input, output_size, "adaptive_avg_pool1d")
    return from_row(adaptive_avg_pool(2, row, (1, int(size))))


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each window when (N, C, H, W) or (C, H, W) is divided into `output_size` windows, e.g. (2, 3)."""
    return adaptive_avg_pool(2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each window when (N, C, D, H, W) or (C, D, H, W) is divided into `output_size` windows."""
    return adaptive_avg_pool(3, input, output_size)


def adaptive_max_pool(op: type[AdaptiveMaxPool], input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """An adaptive max pool of the last dimensions, and the indices of the maxima."""
    shape, k, name = input.array.shape, op.dims, f"adaptive_max_pool{op.dims}d"
    sizes = output_sizes(shape, output_size, k)
    if len(shape) not in (k + 1, k + 2):
        raise RuntimeError(f"{name}(): Expected {k + 1}D or {k + 2}D tensor, but got: {list(shape)}")
    check_filled(shape, name)
    if len(sizes) != k:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {k}")
    if min(sizes) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {next(n for n in sizes if n < 0)}: "
                           f"{[*shape[:-k], *sizes]}")
    return op.forward(input, sizes)


@op
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int]) -> tuple[Tensor, Tensor]:
    """The maximum of each of `output_size` windows into which (N, C, L) or (C, L) is divided, and its index."""
    row, size = row_of(input, output_size, "adaptive_max_pool1d")
    check_filled(input.array.shape, "adaptive_max_pool1d")
    values, indices = adaptive_max_pool(AdaptiveMaxPool2D, row, (1, size))
    return from_row(values), from_row(indices)


IN_FRAME = parses_arguments(adaptive_max_pool1d, "adaptive_max_pool1d")


def functional(pool: Callable[..., tuple[Tensor, Tensor]], name: str, shape: str) -> tuple[Callable[..., Any], ...]:
    """The two functions of `nn.functional`: one returns the indices, the other only if asked to."""
    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        return pool(input, output_size)

    def values(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        result = pool(input, output_size)
        return result if return_indices else result[0]

    with_indices.__doc__ = f"The maximum and its index of each of `output_size` windows of {shape}."
    values.__doc__ = f"The maximum of each of `output_size` windows of {shape}."
    for call, own_name in ((values, name), (with_indices, f"{name.removesuffix('_of')}_with_indices")):
        call.__name__ = call.__qualname__ = own_name  # where pickle finds it
    return values, with_indices


adaptive_max_pool1d_of, adaptive_max_pool1d_with_indices = functional(
    IN_FRAME, "adaptive_max_pool1d_of", "(N, C, L) or (C, L)")
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = functional(
    partial(adaptive_max_pool, AdaptiveMaxPool2D), "adaptive_max_pool2d", "(N, C, H, W) or (C, H, W)")
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = functional(
    partial(adaptive_max_pool, AdaptiveMaxPool3D), "adaptive_max_pool3d", "(N, C, D, H, W) or (C, D, H, W)")


class MaxUnpool2D(Node):
    """Zeros with the elements of a tensor at indices, which are flattened within each plane."""

    saves = ("indices",)

    @classmethod
    def forward(cls, a: Tensor, indices: Tensor, out: Shape) -> Tensor:
        x = a.array
        shape = (*x.shape[:x.ndim - len(out)], *out)
        positions = cls.positions(indices.array, len(out), shape)
        result = XP.zeros(shape, x)
        result.reshape(-1)[positions] = x
        return record_n(cls, result, (a,), (indices,), (len(out), shape))

    @staticmethod
    def positions(indices: Any, dims: int, shape: Shape) -> Any:
        """Indices within each plane, as indices into the whole result."""
        planes = math.prod(shape[:-dims])
        starts = flat_indices((planes,), indices) * math.prod(shape[-dims:])
        return starts.reshape(indices.shape[:-dims] + (1,) * dims) + indices

    def backward(self, xp: Any, g: Any, indices: Any, dims: int, shape: Shape) -> Any:
        return elements_at(xp, g, self.positions(raw(indices), dims, shape))


class MaxUnpool3D(MaxUnpool2D):
    __slots__ = ()


def unpooled_size(shape: Shape, kernel: Shape, stride: Shape, padding: Shape,
                  output_size: Sequence[int] | None) -> Shape:
    """The size of the pool's input; several sizes give the same pool, and `output_size` says which it was. Raises
    ValueError if it is none of them."""
    dims = len(kernel)
    usual = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(shape[-dims:], stride, kernel, padding, strict=True)]
    if output_size is None:
        return tuple(usual)
    wanted = tuple(output_size)[-dims:] if len(output_size) == dims + 2 else tuple(output_size)
    if len(wanted) != dims:
        raise ValueError("output_size should be a sequence containing "
                         f"{dims} or {dims + 2} elements, but it has a length of '{len(wanted)}'")
    for dim, (n, given, step) in enumerate(zip(wanted, usual, stride, strict=True)):
        if not given - step < n < given + step:
            raise ValueError(f'invalid output_size "{wanted}" (dim {dim} must be between {given - step} and '
                             f"{given + step})")
    return wanted


def unpooled(node: type[MaxUnpool2D], what: str, input: Tensor, indices: Tensor, out: Shape) -> Tensor:
    """The op, after PyTorch's errors for invalid arguments."""
    shape, dims = input.array.shape, len(out)
    if indices.array.dtype.name != "int64":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.type_name}")
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(f"Input to {what} should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
                           f"{len(shape)} dimensions.")
    if indices.array.shape != shape:
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but got "
                           f"indices tensor with shape: {list(indices.array.shape)}")
    wrong = first_out_of_range(indices.array, math.prod(out)) if backend_of(input.array) is None else None
    if wrong is not None:
        sizes = "x".join(map(str, out))
        raise RuntimeError(f"Found an invalid max index: {wrong} (output volumes are of size {sizes})")
    check_kind(input.array, "bui", f"max_unpool{dims}d")
    return node.forward(input, indices, out)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
                 output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros with each element of (N, C, H, W) or (C, H, W) where `max_pool2d` with these arguments took it.

    Args:
        indices: the second result of that pool, int64.
        output_size: the size of its input, where several have the same result size.

    Raises ValueError if `output_size` is not one of them, and RuntimeError for an index out of range, another shape or
    another dtype of the indices.
    """
    return unpool_windows(MaxUnpool2D, 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
                 output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros with each element of (N, C, D, H, W) or (C, D, H, W) where `max_pool3d` took it; as `max_unpool2d`."""
    return unpool_windows(MaxUnpool3D, 3, input, indices, kernel_size, stride, padding, output_size)


def unpool_windows(node: type[MaxUnpool2D], dims: int, input: Tensor, indices: Tensor, kernel_size: Sizes,
                   stride: Sizes | None, padding: Sizes, output_size: Sequence[int] | None) -> Tensor:
    """The inverse of a max pool over `dims` dimensions."""
    op = f"max_unpool{dims}d"
    kernel = sizes_of(kernel_size, "kernel_size", op, dims)
    step = kernel if stride is None else sizes_of(stride, "stride", op, dims)
    out = unpooled_size(input.array.shape, kernel, step, sizes_of(padding, "padding", op, dims), output_size)
    return unpooled(node, f"max_unpooling{dims}d", input, indices, out)


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
                 output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros with each element of (N, C, L) or (C, L) where `max_pool1d` took it; arguments as in `max_unpool2d`."""
    kernel = (single(kernel_size),)
    step = kernel if stride is None else (single(stride),)
    out = unpooled_size(input.array.shape, kernel, step, (single(padding),), output_size)
    last = input.array.ndim
    columns = Unsqueeze.forward(input, last), Unsqueeze.forward(indices, last)
    return SqueezeDim.forward(unpooled(MaxUnpool2D, "max_unpooling2d", *columns, (*out, 1)), last)


def by_norm(average: Any, greatest: Any, dims: int, input: Tensor, p: float, kernel_size: Sizes, stride: Any,
            ceil_mode: bool) -> Tensor:
    """The p-norm of windows, from the mean of powers; where p is infinite, the maximum or minimum magnitude."""
    if math.isinf(p):
        size = Abs.forward(input)
        if p > 0:
            return greatest(size, kernel_size, stride, 0, 1, ceil_mode)
        return Neg.forward(greatest(Neg.forward(size), kernel_size, stride, 0, 1, ceil_mode))
    means = average(input.pow(p), kernel_size, stride, 0, ceil_mode)
    count = math.prod(sizes_of(kernel_size, "kernel_size", "avg_pool", dims))
    result: Tensor = (Sign.forward(means) * Relu.forward(Abs.forward(means)) * count).pow(1.0 / p)
    return result


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of (N, C, L) or (C, L): (Σ xᵖ)^(1/p), with p = `norm_type`."""
    return by_norm(avg_pool1d, max_pool1d, 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of (N, C, H, W) or (C, H, W); arguments as in `lp_pool1d`."""
    return by_norm(avg_pool2d, max_pool2d, 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of (N, C, D, H, W) or (C, D, H, W); arguments as in `lp_pool1d`."""
    return by_norm(avg_pool3d, max_pool3d, 3, input, norm_type, kernel_size, stride, ceil_mode)
