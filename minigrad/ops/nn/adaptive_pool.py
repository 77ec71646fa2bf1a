"""Adaptive pools: the mean or maximum of each of a given number of windows over the last dimensions."""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from minigrad.backends.registry import backend_of
from minigrad.core import Node, Tensor, plain, record1
from minigrad.ops._dispatch import check_kind, op
from minigrad.ops._dispatch.arg_parser import parses_arguments
from minigrad.ops._dispatch.memory_order import in_format_of
from minigrad.ops.index.flat_indexing import scatter_into
from minigrad.ops.nn.pool import as_row, from_row
from minigrad.ops.nn.resample import resampling
from minigrad.ops.reduce.sums import mean

__all__ = ["adaptive_avg_pool1d", "adaptive_max_pool1d"]

Shape = tuple[int, ...]

AdaptiveAvgPool2D = resampling(__name__, "AdaptiveAvgPool2D", "adaptive_avg_pool2d", saved=("self",))
AdaptiveAvgPool3D = resampling(__name__, "AdaptiveAvgPool3D", "adaptive_avg_pool3d_cpu", keeps_format=False,
                               saved=("self",))


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
        indices = greatest(planes, x.shape[-cls.dims:], sizes)
        rows = np.arange(len(planes), like=x)[:, None]
        shape = (*x.shape[:-cls.dims], *sizes)
        positions = (rows * planes.shape[1] + indices).reshape(shape)
        y, indices = [in_format_of(v.reshape(shape), *[x][:cls.dims == 2]) for v in (planes[rows, indices], indices)]
        return record1(cls, y, a, (a,), (positions, x.shape)), plain(indices)

    def backward(self, xp: Any, g: Any, a: Any, positions: Any, shape: Shape) -> Any:
        return scatter_into(xp, g, positions, shape)


class AdaptiveMaxPool2D(AdaptiveMaxPool):
    dims, kernel = 2, "adaptive_max_pool2d"


class AdaptiveMaxPool3D(AdaptiveMaxPool):
    dims, kernel = 3, "adaptive_max_pool3d_cpu"


def greatest(planes: Any, size: Shape, sizes: Shape) -> Any:
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


def check_filled(shape: Shape, name: str, first: int = 1) -> None:
    """Raise PyTorch's error for an empty dimension from `first` on."""
    for dim in range(first, len(shape)):
        if not shape[dim]:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
                               f"has sizes {list(shape)} with dimension {dim} being empty")


def sizes_of(shape: Shape, output_size: Any, k: int) -> Shape:
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
    sizes = tuple([int(n) for n in sizes_of(shape, output_size, k)])
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
    return op.forward(input, tuple([averages(n, o) for n, o in zip(shape[-k:], sizes, strict=True)]))


def averages(size: int, out: int) -> Any:
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
    sizes = sizes_of(shape, output_size, k)
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
