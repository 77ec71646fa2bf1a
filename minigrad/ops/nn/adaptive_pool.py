"""Adaptive max pools: the last dimensions cut into as many windows as are asked for, and the greatest of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from minigrad.backends.registry import backend_of
from minigrad.core.graph import Node
from minigrad.core.record import record1
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.arg_parser import parses_arguments
from minigrad.ops._dispatch.registration import op
from minigrad.ops._dispatch.templates import refuse
from minigrad.ops.index.flat_indexing import spread
from minigrad.ops.nn.pool import as_row, from_row

__all__ = ["adaptive_max_pool1d"]

Shape = tuple[int, ...]


class AdaptiveMaxPool(Node, number=None):
    """Over `dims` dimensions. A subclass is one op."""

    __slots__ = ()
    saves = ("self",)
    dims: ClassVar[int]
    kernel: ClassVar[str]

    @classmethod
    def forward(cls, a: Tensor, sizes: Shape) -> tuple[Tensor, Tensor]:
        x = a.array
        if x.dtype.kind != "f":
            refuse(cls.kernel, x.dtype)
        planes = x.reshape(-1, math.prod(x.shape[-cls.dims:]))
        found = greatest(planes, x.shape[-cls.dims:], sizes)
        rows = np.arange(len(planes), like=x)[:, None]
        shape = (*x.shape[:-cls.dims], *sizes)
        places = (rows * planes.shape[1] + found).reshape(shape)
        made = record1(cls, planes[rows, found].reshape(shape), a, (a,), (places, x.shape))
        return made, plain(found.reshape(shape))

    def backward(self, xp: Any, g: Any, a: Any, places: Any, shape: Shape) -> Any:
        return spread(xp, g, places, shape)


class AdaptiveMaxPool2D(AdaptiveMaxPool):
    __slots__ = ()
    dims, kernel = 2, "adaptive_max_pool2d"


class AdaptiveMaxPool3D(AdaptiveMaxPool):
    __slots__ = ()
    dims, kernel = 3, "adaptive_max_pool3d_cpu"


def greatest(planes: Any, size: Shape, sizes: Shape) -> Any:
    """For each row and each window where the greatest is: of equal ones the first, but of NaN the last."""
    places = np.arange(math.prod(size), like=planes).reshape(size)
    found = np.empty((len(planes), math.prod(sizes)), np.int64, like=planes)
    for i, window in enumerate(itertools.product(*map(range, sizes))):
        inside = places[tuple([slice(at * n // o, -(-(at + 1) * n // o)) for at, n, o in
                               zip(window, size, sizes, strict=True)])].reshape(-1)
        part = planes[:, inside]
        best = part.argmax(1)
        broken = np.isnan(part)
        if backend_of(planes) is not None or broken.any():  # a GPU is not waited for
            best = np.where(broken.any(1), part.shape[1] - 1 - broken[:, ::-1].argmax(1), best)
        found[:, i] = inside[best]
    return found


def check(shape: Shape, name: str, k: int) -> None:
    """PyTorch's errors for an input that an adaptive max pool does not take."""
    if len(shape) not in (k + 1, k + 2):
        raise RuntimeError(f"{name}(): Expected {k + 1}D or {k + 2}D tensor, but got: {list(shape)}")
    for dim in range(1, len(shape)):
        if not shape[dim]:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
                               f"has sizes {list(shape)} with dimension {dim} being empty")


def pooled(op: type[AdaptiveMaxPool], name: str, input: Tensor, output_size: Any, k: int) -> tuple[Tensor, Tensor]:
    """An adaptive max pool of the last `k` dimensions, and where the greatest are."""
    shape = input.array.shape
    if isinstance(output_size, (tuple, list)):
        if len(shape) <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        sizes = tuple([shape[i - len(output_size)] if n is None else n for i, n in enumerate(output_size)])
    else:
        sizes = (output_size,) * k
    check(shape, name, k)
    if len(sizes) != k:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {k}")
    if min(sizes) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {next(n for n in sizes if n < 0)}: "
                           f"{[*shape[:-k], *sizes]}")
    return op.forward(input, sizes)


@op
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int]) -> tuple[Tensor, Tensor]:
    """(N, C, L) or (C, L) cut into `output_size` windows: the greatest of each, and where it is."""
    if isinstance(output_size, (tuple, list)) and len(output_size) != 1:
        raise RuntimeError("adaptive_max_pool1d() argument 'output_size' should contain one int (got "
                           f"{len(output_size)})")
    row = as_row(input, "adaptive_max_pool1d")
    for dim, n in enumerate(input.array.shape[1:], 1):
        if not n:
            raise RuntimeError("adaptive_max_pool1d(): Expected input to have non-zero size for non-batch dimensions, "
                               f"but input has sizes {list(input.array.shape)} with dimension {dim} being empty")
    size = output_size[0] if isinstance(output_size, (tuple, list)) else output_size
    values, places = pooled(AdaptiveMaxPool2D, "adaptive_max_pool2d", row, (1, size), 2)
    return from_row(values), from_row(places)


def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any,
                                     return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """(N, C, H, W) or (C, H, W) cut into windows of `output_size`: the greatest of each, and where it is in H × W."""
    return pooled(AdaptiveMaxPool2D, "adaptive_max_pool2d", input, output_size, 2)


def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any,
                                     return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """(N, C, D, H, W) or (C, D, H, W) cut into windows of `output_size`: the greatest of each, and where it is."""
    return pooled(AdaptiveMaxPool3D, "adaptive_max_pool3d", input, output_size, 3)


IN_FRAME = parses_arguments(adaptive_max_pool1d, "adaptive_max_pool1d")


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Any,
                                     return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """(N, C, L) or (C, L) cut into `output_size` windows: the greatest of each, and where it is."""
    made: tuple[Tensor, Tensor] = IN_FRAME(input, output_size)
    return made


def adaptive_max_pool1d_of(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """(N, C, L) or (C, L) cut into `output_size` windows, and the greatest of each."""
    made = adaptive_max_pool1d_with_indices(input, output_size)
    return made if return_indices else made[0]


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """(N, C, H, W) or (C, H, W) cut into windows of `output_size`, and the greatest of each."""
    made = adaptive_max_pool2d_with_indices(input, output_size)
    return made if return_indices else made[0]


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """(N, C, D, H, W) or (C, D, H, W) cut into windows of `output_size`, and the greatest of each."""
    made = adaptive_max_pool3d_with_indices(input, output_size)
    return made if return_indices else made[0]
