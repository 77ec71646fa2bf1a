"""Counts elements: `any`, `all`, `count_nonzero`, `bincount`, `histc`, `unique`, `searchsorted` and `one_hot`.

The results are integers or bools, which have no gradient. Those of `unique` are elements of the input: their node
raises an error in a backward pass, since PyTorch has no derivative for it.
"""

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends import intp
from minigrad.backends.batched import by_example, refuse_batches, refuse_dynamic
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Node, Tensor, plain, record1, record_without_grad
from minigrad.ops._dispatch import op, refuse, row_by_row, same_device, underived
from minigrad.ops.reduce.sums import Dims, axes_of, one_of

__all__ = ["all", "any", "bincount", "bucketize", "count_nonzero", "histc", "searchsorted", "unique",
           "unique_consecutive"]


class Unique2(Node):
    torch_name = "_unique2"

    @classmethod
    def forward(cls, array: Any, a: Tensor) -> Tensor:
        return record1(cls, array, a)

    def backward(self, xp: Any, g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{self.torch_name}' is not implemented.")


class UniqueDim(Unique2):
    torch_name = "unique_dim"


class UniqueConsecutive(Unique2):
    torch_name = "unique_consecutive"


def truth(name: str, doc: str) -> Any:
    """The function `torch.any` or `torch.all`; the result for uint8 is uint8, as in early PyTorch."""
    def function(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
        x = input.array != 0
        result = x if dim == () else getattr(x, name)(axes_of(dim, x.ndim), keepdims=keepdim)
        result = row_by_row(result.astype(np.uint8) if input.array.dtype == np.uint8 else result)
        return record_without_grad(name, result, input)

    function.__doc__ = doc
    return op(method=True, name=name)(function)


any = truth("any", "Whether any element is not zero, over all dimensions or over `dim`; `()` reduces none.")
all = truth("all", "Whether all elements are not zero; otherwise as `any`.")


@op(method=True)
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """The number of non-zero elements, over all dimensions or over `dim`."""
    counts = row_by_row((input.array != 0).sum(axes_of(dim, input.array.ndim), np.int64))
    return record_without_grad("count_nonzero", counts, input)


@op(method=True)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2, … up to the maximum occurs in a vector; or the sum of the `weights` there. Raises
    RuntimeError for another shape, negative numbers, or weights of another length."""
    x = input.array
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if x.dtype.kind not in "iu":
        refuse("bincount_cpu", x.dtype)
    w = None if weights is None else weights.array
    counts = by_example(counted, x, w, minlength)
    if not x.size or weights is None:
        return record_without_grad("bincount", counts, input)
    return underived("bincount", counts, weights)


def counted(x: Any, weights: Any, minlength: int) -> Any:
    """`bincount` of arrays."""
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if not x.size or weights is None:
        return intp.bincount(x, minlength=minlength)
    if weights.shape != x.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    result = intp.bincount(x, weights, minlength)
    return result.astype(np.float32) if weights.dtype == np.float32 else result


@op(method=True)
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """The number of elements in each of `bins` equal parts of [min, max]; if these are equal, of the input's range.
    Raises RuntimeError if `bins` is not positive, or the range is not finite or reversed."""
    x = input.array.reshape(-1)
    if x.dtype.kind != "f" or x.dtype == np.float16:
        refuse("linspace_cpu" if x.dtype.kind == "b" else "histogram_cpu", x.dtype)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    return plain(by_example(histogram, x, bins, float(min), float(max)))


def histogram(x: Any, bins: int, low: float, high: float) -> Any:
    """`histc` of a flat array."""
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    x = x[(x >= low) & (x <= high)]
    bin_numbers = ((x - low) * bins / (high - low)).astype(np.int64)
    return as_dtype(intp.bincount(bin_numbers.clip(0, bins - 1), minlength=bins), x.dtype)


def search(bounds: Any, values: Any, right: bool) -> Any:
    """For each row, the number of bounds below each value (`right`: or equal to it), by sorting both together."""
    if bounds.ndim == 1:
        result = np.searchsorted(bounds, values, "right" if right else "left")
    else:
        m, n = values.shape[-1], bounds.shape[-1]
        both = np.concatenate((bounds, values) if right else (values, bounds), -1)
        order = np.argsort(both, -1, kind="stable")
        below = np.cumsum(order < n if right else order >= m, -1)
        if backend_of(bounds) is None:
            counts = np.empty_like(below)
            np.put_along_axis(counts, order, below, -1)
        else:  # not every CuPy supports `put_along_axis`; sorting the order inverts it
            counts = np.take_along_axis(below, np.argsort(order, -1), -1)
        result = counts[..., n:] if right else counts[..., :m]
    return np.where(values == values, result, bounds.shape[-1])  # NaN is above all numbers


@op
def searchsorted(sorted_sequence: Tensor, input: Tensor | float, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Tensor | None = None) -> Tensor:
    """The position of each value of `input` in a sorted sequence: how many of its elements are smaller.

    `right` (or `side="right"`): smaller or equal. Works row by row in more dimensions. `sorter`: indices that sort it.
    Raises RuntimeError if the shapes do not fit, or `side` contradicts `right`.
    """
    bounds = sorted_sequence.array
    values = input.array if isinstance(input, Tensor) else np.asarray(input, like=device_like(bounds))
    same_device(bounds, values, *([] if sorter is None else [sorter.array]))
    check_search(bounds, values, right, side, sorter)
    if bounds.dtype.kind == values.dtype.kind == "b" and values.size:
        refuse("searchsorted_out_cpu", bounds.dtype)
    if sorter is not None:
        bounds = np.take_along_axis(bounds, sorter.array, -1)
    result = search(bounds, values, right or side == "right")
    given = [each for each in (sorted_sequence, input, sorter) if isinstance(each, Tensor)]
    return record_without_grad("searchsorted", result.astype(np.int32 if out_int32 else np.int64), *given)


def check_search(bounds: Any, values: Any, right: bool, side: str | None, sorter: Tensor | None) -> None:
    problem = ""
    if side not in (None, "left", "right"):
        problem = f"side can only be 'left' or 'right' but got {side}"
    elif side == "left" and right:
        problem = "side and right can't be set to opposites, got side of left while right was True"
    elif not values.ndim and bounds.ndim != 1:
        problem = ("input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries "
                   f"tensor dim({bounds.ndim}) and input value's dim(0) numel(1)")
    elif not bounds.ndim:
        problem = "boundaries tensor should have positive dimension, but got 0 dimension"
    elif bounds.ndim != 1 and (bounds.ndim != values.ndim or bounds.shape[:-1] != values.shape[:-1]):
        problem = ("boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
                   f"value tensor must match, but we got boundaries tensor {list(bounds.shape)} and input value tensor "
                   f"{list(values.shape)}")
    elif sorter is not None and sorter.array.shape != bounds.shape:
        problem = (f"boundary and sorter must have the same size, but got boundary tensor {list(bounds.shape)}and got "
                   f"sorter tensor {list(sorter.array.shape)}")
    elif sorter is not None and sorter.array.dtype != np.int64:
        problem = f"sorter must be a tensor of long dtype but got dtype {sorter.dtype.type_name}"
    elif sorter is not None and backend_of(bounds) is None and sorter.array.size and (sorter.array.min() < 0 or
                                                       sorter.array.max() >= bounds.shape[-1]):
        problem = "sorter index out of range"
    if problem:
        raise RuntimeError(f"torch.searchsorted(): {problem}")


@op
def bucketize(input: Tensor | float, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """`searchsorted` with the arguments swapped, for one-dimensional boundaries."""
    if boundaries.array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def unique_parts(values: Tensor, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool) -> Any:
    """The result of `unique` and `unique_consecutive`: one tensor, or a tuple."""
    more = (*((plain(inverse),) if return_inverse else ()), *((plain(counts),) if return_counts else ()))
    return (values, *more) if more else values


def unique_axis(x: Any, dim: int | None) -> int | None:
    if dim is None:
        return None
    axis = one_of(dim, x.ndim)
    if 0 in x.shape[:axis] + x.shape[axis + 1:]:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return axis


@op(method=True)
def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """The distinct elements, in order (whether `sorted` or not); with `dim`, the distinct slices along it.

    `return_inverse`: also the index of each element in the result; `return_counts`: also how often each occurs. NaN is
    not equal to NaN.
    """
    x = input.array
    refuse_dynamic(x, "_unique2" if dim is None else "unique_dim")
    axis = unique_axis(x, dim)
    values, inverse, counts = intp.unique(x, axis)
    result = (Unique2 if axis is None else UniqueDim).forward(values, input)
    return unique_parts(result, inverse.reshape(x.shape if axis is None else -1), counts, return_inverse, return_counts)


@op(method=True)
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any:
    """The elements without those equal to the one before; with `dim`, slices along it; otherwise as `unique`."""
    x = input.array
    refuse_dynamic(x, "unique_consecutive")
    axis = unique_axis(x, dim)
    rows = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
    new = np.ones(len(rows), bool, like=device_like(x))
    new[1:] = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    (starts,) = intp.nonzero(new)
    values = rows[starts] if axis is None else np.moveaxis(rows[starts], 0, axis)
    inverse = (np.cumsum(new, dtype=np.int64) - 1).reshape(x.shape if axis is None else -1)
    counts = np.diff(np.append(starts, len(rows)))
    return unique_parts(UniqueConsecutive.forward(values, input), inverse, counts, return_inverse, return_counts)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """For each element of an int64 tensor, a row of zeros with a 1 at that index: `torch.nn.functional.one_hot`.

    `num_classes`: the length of a row; -1: as long as the largest element requires. Raises RuntimeError for another
    dtype, and for elements that are negative or too large.
    """
    x = tensor.array
    if x.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        refuse_batches("When vmap-ing nn.functional.one_hot, please provide an explicit positive num_classes argument.",
                       x)
    if not x.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return record_without_grad("one_hot", np.zeros((*x.shape, num_classes), np.int64, like=device_like(x)), tensor)
    if backend_of(x) is None and x.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if backend_of(x) is None and num_classes != -1 and num_classes <= x.max():
        raise RuntimeError("Class values must be smaller than num_classes.")
    count = num_classes if num_classes != -1 else int(x.max()) + 1
    rows = (x[..., None] == np.arange(count, like=device_like(x))).astype(np.int64, "C")
    return record_without_grad("one_hot", rows, tensor)
