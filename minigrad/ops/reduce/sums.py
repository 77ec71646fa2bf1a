"""Sums and means, over all dimensions or some: `sum`, `mean`, `nansum`, `nanmean` and `logsumexp`."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.dtype import HALVES, as_dtype
from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.numpy import FLOAT32, sum_of_all, total
from minigrad.backends.registry import device_like
from minigrad.core import LOCAL, Node, Tensor, attributes, plain, record1
from minigrad.ops._dispatch import op, tensor_method, widened
from minigrad.ops.pointwise.div import Div

__all__ = ["logsumexp", "mean", "nanmean", "nansum", "sum"]

Dims = int | Sequence[int] | None  # also anything with `__index__`, such as NumPy's integers
INT64 = np.dtype("int64")


def axes_of(dim: Dims, ndim: int) -> tuple[int, ...] | None:
    """The dimensions as non-negative numbers; None for all. Raises IndexError if one is out of range, and RuntimeError
    if one appears twice."""
    if dim is None:
        return None
    dims = tuple([operator.index(d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))])
    if not dims:
        return None
    size = max(ndim, 1)
    for d in dims:
        if not -size <= d < size:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {d})")
    axes = tuple([d % size for d in dims])
    if len(set(axes)) != len(axes):
        twice = next(d for i, d in enumerate(axes) if d in axes[:i])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return axes if ndim else ()


def all_axes_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions as `axes_of` returns them, but none given means all."""
    axes = axes_of(dim, ndim)
    return tuple(range(ndim)) if axes is None else axes


def one_of(dim: int, ndim: int) -> int:
    """A dimension as a non-negative number; an IndexError if it is out of range."""
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return dim % ndim


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


class Sum(Node):
    constants = ("self_sym_sizes",)

    @staticmethod
    def forward(a: Tensor, dtype: Any = None) -> Tensor:
        x = a.array
        if dtype is not None or x.dtype in HALVES:
            y = total(x, None, dtype)
        elif x.size != 1:
            y = sum_of_all(x)
        else:  # even here NumPy's reduction would cost 1 µs; adding 0, as in any sum, turns -0.0 into 0.0
            y = (x.ravel()[0] if x.ndim else x) + 0
        return record1(Sum, y, a, (), (x.shape,), None if y.dtype is x.dtype else ((x.shape, x.dtype),))

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...]) -> Any:
        return xp.broadcast_to(g, shape)


class SumDim(Node, name="Sum", number=1):
    constants = ("self_sym_sizes", "", "dim", "keepdim")

    @staticmethod
    def forward(a: Tensor, axes: tuple[int, ...] | None, keepdim: bool, dtype: Any = None) -> Tensor:
        x = a.array
        axes = tuple(range(x.ndim)) if axes is None else axes
        y = total(x, axes, dtype, keepdims=keepdim)
        input_metadata = None if y.dtype is x.dtype else ((x.shape, x.dtype),)
        return record1(SumDim, y, a, (), (x.shape, kept_shape(x.shape, axes), axes, keepdim), input_metadata)

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...], kept: tuple[int, ...], *_: Any) -> Any:
        return xp.broadcast_to(xp.reshape(g, kept), shape)


def shared(xp: Any, g: Any, count: int) -> Any:
    """`g / count`; for float16 in float32, since float16 cannot represent every count."""
    if count > 2048 and xp.dtype(g) in HALVES:
        return xp.cast(xp.cast(g, FLOAT32) / count, xp.dtype(g))
    return g / count


class Mean(Node):
    constants = ("self_sym_sizes", "self_sym_numel")

    @staticmethod
    def forward(a: Tensor, dtype: Any = None) -> Tensor:
        x, input_metadata = converted(a.array, dtype)
        return record1(Mean, total(x, None, count=x.size), a, (), (x.shape, x.size), input_metadata)

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...], count: int) -> Any:
        return shared(xp, xp.broadcast_to(g, shape), count)


class MeanDim(Node, name="Mean", number=1):
    constants = ("self_sym_sizes", "", "", "dim", "keepdim")
    shows = attributes(self_sym_numel=lambda node: math.prod(node.const[0]))

    @staticmethod
    def forward(a: Tensor, axes: tuple[int, ...] | None, keepdim: bool, dtype: Any = None) -> Tensor:
        x, input_metadata = converted(a.array, dtype)
        axes = tuple(range(x.ndim)) if axes is None else axes
        kept = kept_shape(x.shape, axes)
        count = math.prod([x.shape[i] for i in axes])
        y = total(x, axes, keepdims=keepdim, count=count)
        return record1(MeanDim, y, a, (), (x.shape, kept, count, axes, keepdim), input_metadata)

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...], kept: tuple[int, ...], count: int, *_: Any) -> Any:
        return shared(xp, xp.broadcast_to(xp.reshape(g, kept), shape), count)


class Nansum(Node):
    """The sum of the elements that are not NaN."""

    saves = ("self",)
    constants = ("", "", "dim", "keepdim")

    @staticmethod
    def forward(a: Tensor, dim: tuple[int, ...] | None, keepdim: bool, dtype: Any) -> Tensor:
        x, input_metadata = converted(np.where(np.isnan(a.array), a.array.dtype.type(0), a.array), dtype)
        axes = tuple(range(x.ndim)) if dim is None else dim
        y = total(x, axes, keepdims=keepdim)
        return record1(Nansum, y, a, (a,), (x.shape, kept_shape(x.shape, axes), dim, keepdim), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, shape: tuple[int, ...], kept: tuple[int, ...], *_: Any) -> Any:
        return xp.masked(a == a, xp.broadcast_to(xp.reshape(g, kept), shape))


class Logsumexp(Node):
    """log(sum(exp(x))) over some dimensions, computed relative to the maximum, so that nothing overflows."""

    saves = ("self", "result")
    constants = ("", "dim", "keepdim")

    @staticmethod
    def forward(a: Tensor, axes: tuple[int, ...], keepdim: bool) -> Tensor:
        x = a.array if a.array.dtype.kind == "f" else a.array.astype(FLOAT32)
        wide = widened(x)
        kept = kept_shape(x.shape, axes)
        top = wide.max(axes, keepdims=True) if wide.size else np.zeros(kept, wide.dtype, like=device_like(wide))
        top = np.where(np.isinf(top), wide.dtype.type(0), top)
        y = np.log(total(np.exp(wide - top), axes, keepdims=True)) + top
        y = as_dtype(y if keepdim else y.reshape([n for i, n in enumerate(x.shape) if i not in axes]), x.dtype)
        return record1(Logsumexp, y, a, (a, y), (kept, axes, keepdim))

    def backward(self, xp: Any, g: Any, a: Any, y: Any, kept: tuple[int, ...], *_: Any) -> Any:
        return xp.reshape(g, kept) * xp.exp(a - xp.reshape(y, kept))


def share_evenly(xp: Any, g: Any, chosen: Any, axes: tuple[int, ...] | None) -> Any:
    """Divide a gradient among the elements that are `chosen`, over `axes` (None: all); NaN where there are none."""
    chosen = xp.cast(chosen, xp.dtype(g))
    return g * chosen / xp.sum(chosen, axes, True)


def converted(x: Any, dtype: Any) -> tuple[Any, Any]:
    """An array in a given dtype (None: its own), and what the engine must undo (input metadata)."""
    return (x, None) if dtype is None or dtype == x.dtype else (as_dtype(x, dtype), ((x.shape, x.dtype),))


def wanted_dtype(input: Tensor, dtype: dtype_type | None) -> Any:
    """NumPy's dtype of a sum or a product: int64 for integers and bools; None for the input's own. Raises RuntimeError
    if a graph would end in integers."""
    if dtype is None:
        return None if input.array.dtype.kind == "f" else INT64
    if not dtype.is_floating_point and input._requires_grad and LOCAL.recording:
        raise RuntimeError(f"Autograd not support dtype: {dtype.type_name}")
    return dtype.numpy


@op(direct_method=True)
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype_type | None = None,
        axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements, over all dimensions or over `dim`; integers and bools sum to int64.

    `axis` and `keepdims` are NumPy's names for `dim` and `keepdim`. Raises IndexError if `dim` is out of range.
    """
    try:
        target_dtype = None if dtype is None and input.array.dtype.kind == "f" else wanted_dtype(input, dtype)
        if target_dtype is not None and target_dtype.kind != "f" and input.array.dtype.kind == "f":
            input = plain(as_dtype(input.array, target_dtype))
        if dim is axis is None and not (keepdim or keepdims):
            return Sum.forward(input, target_dtype)
        dim, keepdim = axis if dim is None else dim, keepdim or keepdims
        return SumDim.forward(input, axes_of(dim, input.array.ndim), keepdim, target_dtype)
    except SIGNALS as error:
        return silently(error, sum, input, dim, keepdim, dtype=dtype, axis=axis, keepdims=keepdims)


@op(method=True)
def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype_type | None = None,
         axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The mean of the elements, over all dimensions or over `dim`; `axis` and `keepdims` as in `sum`. Raises
    RuntimeError for an integer or bool tensor."""
    if axis is not None or keepdims:
        dim, keepdim = axis if dim is None else dim, keepdim or keepdims
    source_dtype, kind = (input.dtype, "Input") if dtype is None else (dtype, "Optional")
    if not source_dtype.is_floating_point:
        raise RuntimeError(f"mean(): could not infer output dtype. {kind} dtype must be either a floating point or "
                           f"complex dtype. Got: {source_dtype.type_name}")
    target_dtype = None if dtype is None else dtype.numpy
    if dim is None and not keepdim:
        return Mean.forward(input, target_dtype)
    return MeanDim.forward(input, axes_of(dim, input.array.ndim), keepdim, target_dtype)


@op(method=True)
def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """The sum of the elements that are not NaN; otherwise as `sum`."""
    if input.array.dtype.kind != "f":
        return sum(input, dim, keepdim, dtype=dtype)
    return Nansum.forward(input, axes_of(dim, input.array.ndim), keepdim, wanted_dtype(input, dtype))


@op(method=True)
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """The mean of the elements that are not NaN, over all dimensions or over `dim`. Raises RuntimeError for an integer
    or bool tensor."""
    if input.array.dtype.kind != "f":
        raise RuntimeError("nanmean(): expected input to have floating point or complex dtype but got "
                           f"{input.dtype.type_name}")
    count = sum(plain(~np.isnan(input.array)), dim, keepdim)
    return Div.forward(nansum(input, dim, keepdim, dtype=dtype), count)


@op(method=True)
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over `dim`, without overflow; minus infinity for no elements."""
    return Logsumexp.forward(input, all_axes_of(dim, input.array.ndim), keepdim)


@tensor_method
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over all dimensions that expanding from `size` had added or enlarged: the gradient of an expanded tensor.
    Raises RuntimeError if `size` cannot be expanded to the tensor's."""
    target = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    shape = self.array.shape
    if not target:
        return sum(self)
    lead = len(shape) - len(target)
    if lead < 0 or any(n not in (1, m) for n, m in zip(target, shape[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.")
    dims = [*range(lead), *[lead + d for d, n in enumerate(target) if n == 1 != shape[lead + d]]]
    result = sum(self, dims, keepdim=True) if dims else self
    return result.view(target) if lead else result
