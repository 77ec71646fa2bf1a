"""Undoes pools: `max_unpool` puts each element where `max_pool` took it; and pools by the p-norm, `lp_pool`."""

import math
from collections.abc import Sequence
from typing import Any

from minigrad.backends.numpy import XP
from minigrad.backends.registry import backend_of
from minigrad.core import Node, Tensor, record_n
from minigrad.ops._dispatch import check_kind
from minigrad.ops.activation.basic import Relu
from minigrad.ops.index.flat_indexing import elements_at, first_out_of_range, flat_indices, raw
from minigrad.ops.nn.pool import (
    Shape,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    single,
    sizes_of,
)
from minigrad.ops.pointwise.elementary import Abs, Neg, Sign
from minigrad.ops.shape.views import SqueezeDim, Unsqueeze

Sizes = int | Sequence[int]


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
    """The size of the pool's input; several sizes give the same pool, and `output_size` says which it was.

    Raises:
        ValueError: if it is none of them.
    """
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

    Raises:
        ValueError: if `output_size` is not one of them.
        RuntimeError: for an index out of range, another shape or another dtype of the indices.
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
