"""Creates leaves of a given size: filled with zeros, ones or one value, or uninitialised; with evenly spaced numbers
(`arange`, `linspace`, `logspace`); and identity matrices (`eye`).

The first have three forms: with a size (`zeros`), the size of another tensor (`zeros_like`), and the dtype of another
(`x.new_zeros`).
"""

import math
import operator
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minigrad._base.device import memory_format, preserve_format
from minigrad._base.dtype import BFLOAT16, as_dtype, default_float
from minigrad.backends.registry import HOST, as_strided, device_handle, device_like, moved, resolve_device
from minigrad.core import Tensor, materialized
from minigrad.ops._dispatch import number_in, op, refuse, tensor_method
from minigrad.ops._dispatch.memory_order import in_dense_order, in_format
from minigrad.ops.factory.values import PLACED, Dtype, dtype_of, legacy_tensor, new_leaf, numpy_dtype, size_of

__all__ = ["arange", "empty", "empty_like", "empty_strided", "eye", "full", "full_like", "linspace", "logspace", "ones",
           "ones_like", "range", "scalar_tensor", "zeros", "zeros_like"]

INT64 = np.dtype("int64")
RANGE = (
    "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
    "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).")
Maker = Callable[..., Any]  # of an array
Creator = Callable[..., Tensor]


def sized(name: str, make: Maker, make_like: Maker, what: str,
          create: Creator | None = None) -> tuple[Creator, Creator, Creator]:
    """Register `name`, `name_like` and `Tensor.new_name`, which create tensors by two of NumPy's functions; `create`
    replaces the first form if it takes more arguments."""
    def plain_create(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        kind = numpy_dtype(dtype, what=name)
        return new_leaf(make(size_of(size, name), kind, like=device_handle(device, kind)), requires_grad, name)

    def like(input: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False,
             memory_format: memory_format | None = None) -> Tensor:
        array = array_like(make_like, input, dtype, f"{name}_like", device, memory_format)
        return new_leaf(array, requires_grad, f"{name}_like")

    def new(self: Tensor, *size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        kind = numpy_dtype(dtype, self.array.dtype, f"new_{name}")
        array = make(size_of(size, f"new_{name}"), kind, like=device_or_own(self, device, kind))
        return new_leaf(array, requires_grad, f"new_{name}")

    create = plain_create if create is None else create
    create.__doc__ = f"{what} of this size."
    like.__doc__ = f"{what} of the shape and dtype of another tensor."
    new.__doc__ = f"{what} of this size, in this tensor's dtype."
    return op(name=name)(create), op(name=f"{name}_like")(like), tensor_method(name=f"new_{name}")(new)


def array_like(make: Any, input: Tensor, dtype: Dtype, what: str, device: Any, format: memory_format | None) -> Any:
    """An array with the shape of a tensor, in its memory order or in a format."""
    kind, like = numpy_dtype(dtype, input.array.dtype, what), materialized(input)
    array = in_dense_order(partial(make, dtype=kind), as_dtype(like, kind) if kind is BFLOAT16 else like)
    array = in_format(array, format)
    if device is None or resolve_device(device) == input.device:
        return array
    return moved(array, device_handle(device))


def device_or_own(self: Tensor, device: Any, kind: Any) -> Any:
    """The device of `x.new_zeros` and similar methods: that of `x`, if none is given."""
    return device_like(self.array, kind) if device is None else device_handle(device, kind)


zeros, zeros_like, new_zeros = sized("zeros", np.zeros, np.zeros_like, "Zeros")
ones, ones_like, new_ones = sized("ones", np.ones, np.ones_like, "Ones")


def create_empty(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False,
                 memory_format: memory_format | None = None) -> Tensor:
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    kind = numpy_dtype(dtype, what="empty")
    array = np.empty(size_of(size, "empty"), kind, like=device_handle(device, kind))
    return new_leaf(in_format(array, memory_format), requires_grad, "empty")


empty, empty_like, new_empty = sized("empty", np.empty, np.empty_like, "Unspecified values", create_empty)


@op
def full(size: Any, fill_value: Any, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of this size filled with one value; its dtype is that of the value (a float has the default dtype).

    Raises:
        RuntimeError: if the dtype cannot represent the value.
    """
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    kind = numpy_dtype(dtype, dtype_of(fill_value), "full")
    array = np.full(size_of((size,), "full"), number_in(fill_value, kind), kind, like=device_handle(device, kind))
    return new_leaf(array, requires_grad, "full")


@op
def scalar_tensor(s: float, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor."""
    return new_leaf(number_in(s, numpy_dtype(dtype, what="scalar_tensor")), requires_grad, "scalar_tensor", device)


@op
def full_like(input: Tensor, fill_value: float, *, dtype: Dtype = None, device: Any = None,
              requires_grad: bool = False, memory_format: memory_format | None = None) -> Tensor:
    """A tensor with the shape and dtype of `input`, filled with one value."""
    array = array_like(np.empty_like, input, dtype, "full_like", device, memory_format)
    array[...] = number_in(fill_value, array.dtype)
    return new_leaf(array, requires_grad, "full_like")


@tensor_method
def new_full(self: Tensor, size: Any, fill_value: float, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """A tensor of this size and this tensor's dtype, filled with one value."""
    kind, shape = numpy_dtype(dtype, self.array.dtype, "new_full"), size_of((size,), "new_full")
    array = np.full(shape, number_in(fill_value, kind), kind, like=device_or_own(self, device, kind))
    return new_leaf(array, requires_grad, "new_full")


def number_of(value: Any) -> Any:
    """A number, or the value of a one-element tensor."""
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


@op
def arange(start: Any = None, end: Any = None, step: Any = 1, *, dtype: Dtype = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """Numbers from `start` (default: 0) up to, but not including, `end`; int64 if all arguments are integers.

    Raises:
        RuntimeError: if the bounds contradict the sign of the step, or are not finite.
    """
    if start is None and end is None:
        raise TypeError("arange")
    if end is None:
        start, end = 0, start
    low, high, by = [number_of(v) for v in (0 if start is None else start, end, step)]
    whole = not any(isinstance(v, float) for v in (low, high, by))
    kind = numpy_dtype(dtype, INT64 if whole else default_float(), "arange")
    if kind.kind == "b":
        refuse("arange_cpu", kind)
    if by == 0 or (kind.kind != "f" and int(by) == 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"unsupported range: {low:g} -> {high:g}")
    if (high - low) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if kind.name == "int64":
        low, high, by = int(low), int(high), int(by)
    count = -(-(high - low) // by) if whole or kind.name == "int64" else math.ceil((high - low) / by)
    if kind.kind != "f":
        low, by = int(low), int(by)
    return new_leaf(computed(row, count, low, by, kind, device=device), requires_grad, "arange")


def row(count: int, low: Any, by: Any, kind: Any, handle: Any) -> Any:
    """`count` numbers from `low` on, `by` apart."""
    numbers: Any = np.arange(count, dtype=np.float64 if kind.kind == "f" else INT64, like=handle)
    return as_dtype(low + by * numbers, kind)


def computed(formula: Callable[..., Any], *args: Any, device: Any) -> Any:
    """An array that a formula computes on a device, which is current meanwhile."""
    handle = device_handle(device)
    if handle is HOST:
        return formula(*args, handle)
    with handle.backend.on(handle.index):
        return formula(*args, handle)


def spaced(what: str, start: Any, end: Any, steps: int, base: float | None, dtype: Dtype, device: Any,
           requires_grad: bool) -> Tensor:
    """`linspace`, or `base` to its powers; the bounds are first rounded to the dtype of the result."""
    kind = numpy_dtype(dtype, what=what)
    bounds = [(name, v.array.ndim) for name, v in (("start", start), ("end", end)) if isinstance(v, Tensor)]
    if any(ndim for _, ndim in bounds):
        dims = " and ".join([f"{name} with {ndim} dimension(s)" for name, ndim in bounds])
        raise RuntimeError(f"{what} only supports 0-dimensional start and end tensors, but got {dims}.")
    steps = operator.index(steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if kind.kind == "b":
        refuse(f"{what}_cpu", kind)
    device_handle(device, kind)  # which may not have the dtype
    counting = kind if kind.kind == "f" else np.dtype("float64")
    low, high = [counting.type(kind.type(int(v) if kind.kind != "f" else v)) for v in map(number_of, (start, end))]
    return new_leaf(computed(evenly_spaced, low, high, steps, kind, base, device=device), requires_grad, what)


def evenly_spaced(low: Any, high: Any, steps: int, kind: Any, base: float | None, handle: Any) -> Any:
    """`steps` numbers from `low` to `high`, computed from both ends to the middle; or `base` to their powers."""
    counting = low.dtype
    if steps == 1:
        numbers = np.full(1, low, counting, like=handle)
    else:
        by = (high - low) / counting.type(max(steps - 1, 1))
        count = np.arange(steps, like=handle).astype(counting)
        numbers = np.where(count < steps // 2, low + by * count, high - by * (steps - 1 - count).astype(counting))
    return as_dtype(numbers if base is None else np.power(base, numbers.astype(np.float64)), kind)


@op
def linspace(start: Any, end: Any, steps: int, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`steps` numbers from `start` to `end`, both included; integer dtypes truncate them.

    Raises:
        RuntimeError: if `steps` is negative, or a bound is a tensor that is not 0-d.
    """
    return spaced("linspace", start, end, steps, None, dtype, device, requires_grad)


@op
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`base` to the powers `linspace(start, end, steps)`."""
    return spaced("logspace", start, end, steps, float(base), dtype, device, requires_grad)


@op
def eye(n: int, m: int | None = None, *, dtype: Dtype = None, device: Any = None,
        requires_grad: bool = False) -> Tensor:
    """An (n, m) matrix with ones on the diagonal and zeros elsewhere; `m` is by default `n`."""
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    kind = numpy_dtype(dtype, what="eye")
    array = np.eye(n, m, dtype=kind, like=device_handle(device, kind))
    return new_leaf(array, requires_grad, "eye")


@op
def range(start: Any, end: Any, step: Any = 1, *, dtype: Dtype = None, device: Any = None,
          requires_grad: bool = False) -> Tensor:
    """Numbers from `start` up to and including `end`; deprecated in favour of `arange`, which excludes it.

    Raises:
        RuntimeError: as in `arange`.
    """
    warnings.warn(RANGE, UserWarning, stacklevel=2)
    low, high, by = [number_of(v) for v in (start, end, step)]
    kind = numpy_dtype(dtype, what="range")
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if (high - low) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    array = computed(row, int((high - low) / by) + 1, low, by, kind, device=device)
    return new_leaf(array, requires_grad, "range")


def strided_array(size: Any, stride: Any, kind: Any, like: Any) -> Any:
    """An array of unspecified values with these strides, in elements."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
                           f"({len(stride)})")
    count = 0 if 0 in size else 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
    return as_strided(np.empty(count, kind, like=like), size, tuple([s * kind.itemsize for s in stride]))


@op
def empty_strided(size: Any, stride: Any, *, dtype: Dtype = None, device: Any = None,
                  requires_grad: bool = False) -> Tensor:
    """Unspecified values of this size, with these strides in memory, in elements."""
    kind = numpy_dtype(dtype, what="empty_strided")
    array = strided_array(size, stride, kind, device_handle(device, kind))
    return new_leaf(array, requires_grad, "empty_strided")


@tensor_method
def new_empty_strided(self: Tensor, size: Any, stride: Any, dtype: Dtype = None, device: Any = None,
                      requires_grad: bool = False) -> Tensor:
    """`empty_strided` in this tensor's dtype, on its device."""
    kind = numpy_dtype(dtype, self.array.dtype, "new_empty_strided")
    array = strided_array(size, stride, kind, device_or_own(self, device, kind))
    return new_leaf(array, requires_grad, "new_empty_strided")


@tensor_method
def new(self: Tensor, *data: Any, device: Any = PLACED) -> Tensor:
    """Early PyTorch's constructor: zeros of a size, or values, in this tensor's dtype."""
    return legacy_tensor(self.dtype, data, device)
