"""Sorts, and selects elements by sorting: `sort`, `topk`, `kthvalue`, `median`, `mode` and `quantile`.

NaN counts as larger than all numbers, as in NumPy and PyTorch. Where PyTorch may return the index of any of several
equal elements, this is the one that a stable sort puts there. A quantile sorts, gathers and interpolates, and its graph
shows these steps. The last ones reshape a new result in place: their nodes have the names that PyTorch gives to
`squeeze_`, `unsqueeze_` and `transpose_`.
"""

import math
from typing import Any

import numpy as np

from minigrad import return_types
from minigrad.backends import intp
from minigrad.backends.numpy import accumulated
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Tensor, edge_target, plain, record_without_grad
from minigrad.ops._dispatch import in_order_of, op, refuse, row_by_row
from minigrad.ops.index.mask import MaskedFill
from minigrad.ops.index.scatter_gather import Gather
from minigrad.ops.pointwise.add import Sub
from minigrad.ops.pointwise.mul import Mul, MulScalar
from minigrad.ops.pointwise.ternary import LerpTensor
from minigrad.ops.reduce.minmax import OfAll, Selection, SelectionOfOne, filled_dim
from minigrad.ops.shape import views

__all__ = ["argsort", "kthvalue", "median", "mode", "msort", "nanmedian", "nanquantile", "quantile", "sort", "topk"]

class Sort(Selection):
    constants = ("", "self_sym_sizes", "dim")


class SortStable(Sort, name="Sort", number=1):
    """The same op, if the caller passes `stable`."""


class Topk(Sort):
    __slots__ = ()


class Kthvalue(SelectionOfOne):
    __slots__ = ()


class MedianDim(SelectionOfOne, name="Median", number=1):
    __slots__ = ()


class NanmedianDim(SelectionOfOne, name="Nanmedian", number=1):
    __slots__ = ()


class Mode(SelectionOfOne):
    __slots__ = ()


class Median(OfAll):
    @staticmethod
    def find(x: Any) -> Any:
        """The lower median of all elements; NaN if one of them is."""
        x = x.reshape(-1)
        nan = x.dtype.type(math.nan if x.dtype.kind == "f" else 0)  # unused for integers
        if backend_of(x) is not None:
            return np.where((x == x).all(), lower_median(x), nan)
        return lower_median(x) if (x == x).all() else nan


class Nanmedian(OfAll):
    @staticmethod
    def find(x: Any) -> Any:
        """The lower median of the elements that are not NaN."""
        x = x.reshape(-1)
        if backend_of(x) is None or not x.size:
            return lower_median(x[x == x] if (x == x).any() else x)
        return np.sort(x)[np.maximum((x == x).sum() - 1, 0) // 2]  # NaN comes last


def lower_median(x: Any) -> Any:
    """The lower median of a vector; of an empty one PyTorch's: NaN, the smallest integer, True."""
    if x.size:
        return np.partition(x, (x.size - 1) // 2)[(x.size - 1) // 2]
    if x.dtype.kind == "f":
        least = x.dtype.type(math.nan)
    else:
        least = np.bool_(True) if x.dtype.kind == "b" else x.dtype.type(np.iinfo(x.dtype).min)
    return least if backend_of(x) is None else np.asarray(least, like=device_like(x))


def ordered(x: Any, dim: int, descending: bool = False) -> Any:
    """The indices that sort an array along a dimension; equal elements stay in order."""
    if not x.ndim:
        return np.zeros((), np.int64, like=device_like(x))
    if not descending:
        return intp.argsort(x, dim, kind="stable")
    back = intp.argsort(np.flip(x, dim), dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(back, dim)


def at(indices: Any, dim: int, k: Any) -> Any:
    """The elements at index `k` along a dimension, which is kept: `k` is a number, or an array with that dimension."""
    if not indices.ndim:
        return indices
    if isinstance(k, int):
        return row_by_row(indices[(*(slice(None),) * dim, slice(k, k + 1))])
    return row_by_row(np.take_along_axis(indices, k, dim))


@op(method=True)
def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> return_types.sort:
    """The elements in order along `dim`, and their indices. It is always stable, whether `stable` or not."""
    axis = views.dim_of(dim, input.array.ndim)
    op = Sort if stable is None else SortStable
    indices = in_order_of(ordered(input.array, axis, descending), input.array)
    return return_types.sort(op.forward(input, axis, indices))


@op(method=True)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    """The indices that sort `input` along `dim`."""
    edge_target(input)  # PyTorch sorts the values as well: it raises for an invalid view
    indices = in_order_of(ordered(input.array, views.dim_of(dim, input.array.ndim), descending), input.array)
    return record_without_grad("argsort", indices, input)


@op(method=True)
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    return sort(input, 0).values


@op(method=True)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> return_types.topk:
    """The `k` largest (or smallest) elements along `dim`, in order, and their indices. Raises RuntimeError if there are
    fewer than `k` elements, and for bools."""
    x, axis = input.array, views.dim_of(dim, input.array.ndim)
    size = x.shape[axis] if x.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError("selected index k out of range")
    if x.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if not x.ndim:
        return return_types.topk(Topk.forward(input, axis, ordered(x, 0)))
    front = (slice(None),) * axis
    if 0 < k < size // 8:  # selecting them costs less than sorting all
        kth = size - k if largest else k - 1
        few = intp.argpartition(x, kth, axis)[(*front, slice(kth, None) if largest else slice(0, k))]
        order = ordered(np.take_along_axis(x, few, axis), axis, largest)
        return return_types.topk(Topk.forward(input, axis, row_by_row(np.take_along_axis(few, order, axis))))
    chosen = row_by_row(ordered(x, axis, largest)[(*front, slice(0, k))])
    return return_types.topk(Topk.forward(input, axis, chosen))


@op(method=True)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> return_types.kthvalue:
    """The `k`-th smallest element along `dim`, counted from 1, and its index. Raises RuntimeError if there are fewer
    than `k` elements, and IndexError if `dim` is out of range or empty."""
    x = input.array
    axis = filled_dim("kthvalue()", dim, x.shape)
    if not 1 <= k <= (x.shape[axis] if x.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if x.dtype.kind == "b":
        refuse("kthvalue_cpu", x.dtype)
    return return_types.kthvalue(Kthvalue.forward(input, axis, at(ordered(x, axis), axis, k - 1), keepdim))


def median_index(x: Any, order: Any, axis: int) -> Any:
    """The index of the median along a dimension, which `order` sorts: the first NaN, if there is one."""
    index = at(order, axis, (x.shape[axis] - 1) // 2 if x.ndim else 0)
    if not x.ndim or x.dtype.kind != "f":
        return index
    missing = np.isnan(x)
    return np.where(missing.any(axis, keepdims=True), intp.argmax(missing, axis, keepdims=True), index)


def nanmedian_index(x: Any, order: Any, axis: int) -> Any:
    """The same among elements that are not NaN."""
    count = (x == x).sum(axis, keepdims=True) if x.ndim else 1
    return at(order, axis, np.maximum(count - 1, 0) // 2)


def median_function(name: str, of_all: type[OfAll], along: type[SelectionOfOne], find_index: Any, doc: str) -> Any:
    """The function `torch.median` or `torch.nanmedian`, each of which is two ops."""
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
        x = input.array
        axis = None if dim is None else filled_dim("median()", dim, x.shape)
        if x.dtype.kind == "b" and x.size:
            refuse("median_cpu" if axis is None else "median_out", x.dtype)
        if axis is None:
            return of_all.forward(input)
        index = find_index(x, ordered(x, axis), axis)
        return getattr(return_types, name)(along.forward(input, axis, index, keepdim))

    function.__doc__ = doc
    return op(method=True, name=name)(function)


median = median_function("median", Median, MedianDim, median_index, """\
The median of all elements, or along `dim` with its index: the lower of two in the middle; NaN if any is NaN.

    Elements equal to the median of all share its gradient. Raises IndexError if `dim` is out of range or empty, and
    NotImplementedError for bools.
    """)
nanmedian = median_function("nanmedian", Nanmedian, NanmedianDim, nanmedian_index,
                            "The median of the elements that are not NaN; otherwise as `median`.")


@op(method=True)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> return_types.mode:
    """The most frequent element along `dim`, the smallest of several, and its last index. Raises IndexError if `dim` is
    out of range or empty."""
    x = input.array
    axis = filled_dim("mode()", dim, x.shape)
    order = ordered(x, axis)
    if not x.ndim:
        return return_types.mode(Mode.forward(input, axis, order, keepdim))
    run = np.moveaxis(np.take_along_axis(x, order, axis), axis, -1)
    count = np.arange(run.shape[-1], like=x)
    starts = np.ones(run.shape, bool, like=device_like(x))
    starts[..., 1:] = run[..., 1:] != run[..., :-1]
    length = count - accumulated(np.maximum, np.where(starts, count, 0), -1)
    longest = np.expand_dims(length.argmax(-1), axis)
    return return_types.mode(Mode.forward(input, axis, at(order, axis, longest), keepdim))


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def check(input: Tensor, q: Tensor, interpolation: str, number: Any) -> None:
    """Raise PyTorch's errors of `quantile`; `number` is q if it was given as a number."""
    problem = ""
    if interpolation not in INTERPOLATIONS:
        problem = (f"interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    elif number is not None and not 0 <= number <= 1:
        problem = f"q must be in the range [0, 1] but got {number:g}"
    elif not input.array.size:
        problem = "input tensor must be non-empty"
    elif q.array.ndim > 1:
        problem = "q must be a scalar or 1D tensor"
    elif number is None and q.device != input.device:
        problem = "q tensor must be on the same device as the input tensor"
    elif input.array.dtype.name not in ("float32", "float64"):
        problem = "input tensor must be either float or double dtype"
    elif q.array.dtype != input.array.dtype:
        problem = "q tensor must be same dtype as the input tensor"
    elif backend_of(q.array) is None and not np.all((q.array >= 0) & (q.array <= 1)):
        problem = "q values must be in the range [0, 1]"
    if problem:
        raise RuntimeError(f"quantile() {problem}")


def in_order(input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The elements sorted along the last dimension; the others are the dimensions of the result."""
    shape = input.array.shape
    if dim is None:
        moved, kept = views.flatten(input), (1,) * len(shape) if keepdim else ()
    else:
        axis = views.dim_of(dim, len(shape))
        moved = input if shape and axis == len(shape) - 1 else views.Transpose.forward(
            views.Unsqueeze.forward(input, len(shape)), axis, len(shape))
        kept = (*shape[:axis], *((1,) if keepdim and shape else ()), *shape[axis + 1:])
    last = moved.array.ndim - 1
    values, _ = Sort.forward(moved, last, ordered(moved.array, last))
    return views.View.forward(values, (*kept, moved.array.shape[last]))


def ranks_of(values: Tensor, q: Tensor, skip_nan: bool) -> Tensor:
    """The fractional indices of the quantiles among sorted values."""
    x = values.array
    missing = np.isnan(x)
    shape = (*x.shape[:-1], max(q.array.size, 1))
    if skip_nan:
        ranks = Mul.forward(q, plain((~missing).sum(-1, keepdims=True) - 1))
        return MaskedFill.forward(ranks, plain(ranks.array < 0), 0)
    ranks = views.Expand.forward(MulScalar.forward(q, x.shape[-1] - 1), shape)
    return MaskedFill.forward(ranks, plain(np.broadcast_to(missing.any(-1, keepdims=True), shape)), x.shape[-1] - 1)


def between(values: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    """The values at the indices `ranks`, interpolated."""
    rounded: Any = {"higher": np.ceil, "nearest": np.rint}.get(interpolation, np.floor)
    last = values.array.ndim - 1
    below = plain(rounded(ranks.array).astype(np.int64))
    result = Gather.forward(values, below, last)
    if interpolation not in ("linear", "midpoint"):
        return result
    weight = plain(np.full_like(ranks.array, 0.5)) if interpolation == "midpoint" else Sub.forward(ranks, below)
    above = Gather.forward(values, plain(np.ceil(ranks.array).astype(np.int64)), last)
    return LerpTensor.forward(result, above, weight)


def quantile_function(name: str, skip_nan: bool, doc: str) -> Any:
    """The function `torch.quantile` or `torch.nanquantile`."""
    def function(input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
                 interpolation: str = "linear") -> Tensor:
        like = device_like(input.array)
        q_tensor = q if isinstance(q, Tensor) else plain(np.asarray(q, input.array.dtype, like=like))
        check(input, q_tensor, interpolation, None if isinstance(q, Tensor) else q)
        values = in_order(input, dim, keepdim)
        result = between(values, ranks_of(values, q_tensor, skip_nan), interpolation)
        if q_tensor.array.ndim:
            result = views.transpose_(views.unsqueeze_(result, 0), 0, -1)
        return views.squeeze_(result, -1)

    function.__doc__ = doc
    return op(method=True, name=name)(function)


quantile = quantile_function("quantile", False, """\
The value below which a fraction `q` of the elements lies, over all dimensions or along `dim`; NaN if any is NaN.

    `q`: a number or a vector; with a vector the result has one more dimension, in front. `interpolation` between two
    elements: "linear", "lower", "higher", "midpoint" or "nearest". Raises RuntimeError for an empty tensor, another
    dtype than float32 and float64, or a `q` that is not in [0, 1].
    """)
nanquantile = quantile_function("nanquantile", True, "The quantile without NaN; otherwise as `quantile`.")
