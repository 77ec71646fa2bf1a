"""Creates tensors: from values (`tensor`, `as_tensor`), of a given size (`zeros`, `full`, `empty`), evenly spaced
(`arange`, `linspace`, `logspace`), and identity matrices (`eye`).

Most of those of a size have three forms: with a size (`zeros`), the size of another tensor (`zeros_like`), and the
dtype of another (`x.new_zeros`).
"""

import builtins
import functools
import math
import operator
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minigrad._base.device import device as Device
from minigrad._base.device import memory_format, preserve_format
from minigrad._base.dtype import (
    BFLOAT16,
    NOT_HERE,
    Default,
    Size,
    as_dtype,
    default_float,
    from_numpy_dtype,
    get_default_dtype,
    promote_types,
)
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.warnings import warn, warn_once
from minigrad.backends.registry import HOST, as_strided, device_handle, device_like, moved, placed, resolve_device
from minigrad.core import Tensor, constant, materialized, observed
from minigrad.ops._dispatch import number_in, op, refuse, tensor_method
from minigrad.ops._dispatch.memory_order import in_dense_order, in_format
from minigrad.ops.shape.views import Alias, check_numel
from minigrad.ops.tensor.copy import clone, to
from minigrad.ops.tensor.properties import make_subclass
from minigrad.ops.tensor.storage import checked, from_numpy

__all__ = [
    "arange", "as_tensor", "asarray", "empty", "empty_like", "empty_strided", "eye", "full", "full_like",
    "linspace", "logspace", "ones", "ones_like", "range", "scalar_tensor", "tensor", "zeros", "zeros_like",
]

BOOL, INT64 = np.dtype(bool), np.dtype("int64")
Dtype = dtype_type | None
PLACED = object()  # instead of a device: the array is already where it should be
NOT_INTEGERS = {(given, wanted) for given in "fb" for wanted in "iu"} | {("f", "b")}  # kinds of NumPy's scalars
PYTHON_TYPES: dict[Any, Any] = {bool: BOOL, int: INT64, float: np.dtype("float64")}


def new_leaf(array: Any, requires_grad: bool = False, what: str = "tensor", device: Any = PLACED) -> Tensor:
    """A leaf with a new array, moved to its device; PyTorch's errors for an impossible `requires_grad`."""
    strict = what in ("tensor", "new_tensor")  # the others treat None as False
    if not isinstance(requires_grad, bool) and (strict or requires_grad is not None):
        raise TypeError(f"{what}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if device is not PLACED:
        array = placed(array, device)
    # a 0-d NumPy array becomes a scalar (see `materialized`)
    return constant(array[()] if type(array) is np.ndarray else array, bool(requires_grad), "empty" not in what)


COPY_CONSTRUCT = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)
LIST_OF_ARRAYS = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
    "single numpy.ndarray with numpy.array() before converting to a tensor."
)
STAYS_ON_RECORD = (
    "asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass requires_grad=False "
    "explicitly to get the old behavior and silence this warning."
)


def numpy_dtype(dtype: Dtype, default: Any = Default, what: str = "tensor") -> Any:
    """NumPy's dtype for one of minigrad's, or a default (`Default`: that of `set_default_dtype`)."""
    if dtype in PYTHON_TYPES:
        return PYTHON_TYPES[dtype]
    if dtype is not None and not isinstance(dtype, dtype_type):
        raise TypeError(f"{what}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return dtype.numpy if dtype is not None else default_float() if default is Default else default


def size_of(sizes: tuple[Any, ...], what: str) -> tuple[int, ...]:
    """The shape from `f(2, 3)` or `f((2, 3))`; PyTorch's error for a negative entry."""
    entries = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if not sizes or bool in map(type, entries[:1]):
        raise TypeError("size")
    shape = tuple(map(operator.index, entries))
    for n in shape:
        if n < 0:
            raise RuntimeError("zeros: Dimension size must be non-negative." if what == "zeros" else
                               f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def array_of(data: Any, dtype: Dtype, what: str = "tensor") -> Any:
    """Nested lists, numbers, arrays or tensors as a new array; Python floats get the default dtype, integers int64."""
    requested = numpy_dtype(dtype, None, what)
    if isinstance(data, Tensor):
        return np.array(data.array, requested, order="C", like=device_like(data.array, requested))
    if isinstance(data, (np.ndarray, np.generic)):
        copied = np.array(checked(data), order="C")
        if requested is None or isinstance(data, np.ndarray):
            return copied if requested is None else as_dtype(copied, requested, copy=False)
        refuse_scalars(data, requested)
        return fitting(copied, requested)
    plain_data = numbers(data)
    try:
        array = np.array(plain_data)
    except ValueError:
        raise ragged(data) from None
    if array.dtype.kind == "c":
        raise RuntimeError(f"Could not infer dtype of complex{NOT_HERE}")
    if array.dtype.kind not in "biuf":
        raise no_dtype(data)
    wanted = dtype_of(data) if requested is None else requested
    if plain_data is not data:
        refuse_scalars(data, wanted)
    with np.errstate(all="ignore"):
        return fitting(array, wanted)


def refuse_scalars(data: Any, wanted: Any) -> None:
    """Raise PyTorch's error for one of NumPy's floats or bools that should become an integer."""
    if isinstance(data, np.generic):
        if (data.dtype.kind, wanted.kind) in NOT_INTEGERS and not isinstance(data, float):
            raise TypeError(f"'numpy.{data.dtype.name}' object cannot be interpreted as an integer")
    elif isinstance(data, (list, tuple)) and wanted.kind != "f" and not PYTHON_TYPES.keys() >= set(map(type, data)):
        for each in data:
            refuse_scalars(each, wanted)


def no_dtype(data: Any) -> Exception:
    """PyTorch's error for a value that is not a number."""
    value = first(data)
    if isinstance(value, str):
        return TypeError("new(): invalid data type 'str'") if value is data else ValueError("too many dimensions 'str'")
    if isinstance(value, int):
        return ValueError("Overflow when unpacking long long")
    return RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def fitting(array: Any, dtype: Any) -> Any:
    """Numbers in a dtype; PyTorch's error if an integer dtype cannot represent them."""
    if dtype.kind == "u":
        from_numpy_dtype(dtype)  # raises for those that tensors do not have
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(INT64).max:
        raise ValueError("Overflow when unpacking long long")
    if dtype.kind in "iu" and array.dtype != dtype and array.size:
        limits, low, high = np.iinfo(dtype), array.min(), array.max()
        if not (limits.min - (dtype.kind == "u") * limits.max <= low and high <= limits.max):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return as_dtype(array, dtype)


def numbers(data: Any) -> Any:
    """Nested lists with one-element tensors and arrays replaced by their values."""
    if isinstance(data, Tensor):
        return float(data) if data.array.dtype.kind == "f" else data._number()
    if isinstance(data, np.ndarray):
        warn_once(LIST_OF_ARRAYS)
        return data.tolist()
    if not isinstance(data, (list, tuple)) or PYTHON_TYPES.keys() >= set(map(type, data)):
        return data
    return [numbers(v) for v in data]


def dtype_of(data: Any) -> Any:
    """The common dtype of numbers: PyTorch's defaults for Python numbers, their own for tensors and NumPy's."""
    if isinstance(data, Tensor):
        return data.array.dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return data.dtype
    if isinstance(data, (list, tuple)):
        kinds = set(map(type, data))
        each = [kind() for kind in kinds] if PYTHON_TYPES.keys() >= kinds else data
        return functools.reduce(promote_types, {dtype_of(v) for v in each}) if data else default_float()
    return BOOL if isinstance(data, bool) else default_float() if isinstance(data, float) else INT64


def first(data: Any) -> Any:
    """The first value in nested lists."""
    while isinstance(data, (list, tuple)):
        if not data:
            return 0.0
        data = data[0]
    return data


def ragged(data: Any) -> Exception:
    """PyTorch's error for ragged nested lists: the first one sets the expected length."""
    sizes, row = list[int](), data
    while isinstance(row, (list, tuple)):
        sizes.append(len(row))
        row = row[0] if row else None
    rows = [data]
    for dim, size in enumerate(sizes):
        for row in rows:
            if not isinstance(row, (list, tuple)):
                return TypeError("not a sequence")
            if len(row) != size:
                return ValueError(f"expected sequence of length {size} at dim {dim} (got {len(row)})")
        rows = [each for row in rows for each in row]
    name = next((type(v).__name__ for v in rows if isinstance(v, (list, tuple))), "list")
    integral = dtype_of(data).kind in "biu"
    return TypeError(f"'{name}' object cannot be interpreted as an integer" if integral else
                     f"must be real number, not {name}")


def construct(cls: type[Tensor], *data: Any, device: Any = PLACED) -> Tensor:
    """`Tensor(2, 3)`, `Tensor([1, 2])`, `Tensor(tensor)`: the constructor of early PyTorch, in the default dtype."""
    tensor = legacy_tensor(get_default_dtype(), data, device)
    return tensor if cls is Tensor else make_subclass(cls, tensor)


def legacy_tensor(dtype: dtype_type, data: tuple[Any, ...], device: Any) -> Tensor:
    """A tensor of zeros of a size, or of values. It is on the CPU, whatever the default device is; a view of a given
    tensor keeps its device and dtype.

    Raises RuntimeError for another device, and, together with a tensor, for any device, even None, and TypeError for
    anything but sizes, one sequence or one tensor.
    """
    if len(data) == 1 and isinstance(data[0], Tensor):
        if device is not PLACED:
            raise RuntimeError("Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not "
                               "supported.  Use torch.tensor(...) or torch.as_tensor(...) instead.")
        return Alias.forward(data[0])
    kind = "cpu" if device is PLACED or device is None else Device(device).type
    if kind != "cpu":
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {kind} was passed\n\nUse "
                           "minigrad.tensor(...) or minigrad.empty(...).")
    if len(data) == 1 and not isinstance(data[0], (int, Size)):
        return constant(sequence(data[0], dtype))
    return constant(np.zeros(size_of(data or (0,), "new"), dtype.numpy, like=device_like(0, dtype.numpy)))


def sequence(data: Any, dtype: dtype_type) -> Any:
    """The single argument of a constructor like `Tensor(...)`, if it holds values, in a dtype."""
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(data, (list, tuple, builtins.range, np.ndarray)):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    if first(data) is None:
        raise TypeError("must be real number, not NoneType")
    return array_of(list(data) if isinstance(data, builtins.range) else data, dtype)


@op
def tensor(data: Any, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of `data`: numbers, nested lists or an array.

    Floats become the default dtype (float32), integers int64, unless `dtype` is given; a NumPy array keeps its dtype.
    Raises RuntimeError for `requires_grad=True` with a dtype that is not floating point, and ValueError if nested lists
    differ in length.
    """
    if isinstance(data, Tensor):
        warn(COPY_CONSTRUCT.format("torch.tensor"))
        return observed("ToCopy", new_leaf(array_of(data, dtype), requires_grad, device=device), data)
    return new_leaf(array_of(data, dtype), requires_grad, device=device)


@op
def as_tensor(data: Any, dtype: Dtype = None, device: Any = None) -> Tensor:
    """`data` as a tensor that shares its memory if possible."""
    if isinstance(data, Tensor):
        return to(data, device, dtype)
    on_cpu = isinstance(data, np.ndarray) and device_handle(device) is HOST
    if on_cpu and (dtype is None or data.dtype == dtype.numpy):
        return from_numpy(data)
    return constant(placed(array_of(data, dtype), device))


@op
def asarray(obj: Any, *, dtype: Dtype = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool | None = None) -> Tensor:
    """`obj` as a tensor: with `copy`, in new memory; otherwise sharing memory if possible.

    A tensor keeps its graph unless `requires_grad` is False. Raises ValueError with `copy=False`, if the values must be
    copied.
    """
    shared = as_tensor(obj, dtype, device)
    if isinstance(obj, (Tensor, np.ndarray)):
        source = materialized(obj) if isinstance(obj, Tensor) else obj
        same = type(shared.array) is type(source) and np.may_share_memory(materialized(shared), source)
        if copy is False and not same:
            raise ValueError("can't alias tensor with dtype "
                             f"'{obj.dtype if isinstance(obj, Tensor) else np.dtype(obj.dtype).name}' into dtype "
                             f"'{shared.dtype}'.")
        if copy and same:
            shared = clone(shared)
    elif copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    if requires_grad is None and shared._requires_grad:
        warn_once(STAYS_ON_RECORD)
    if requires_grad is False and shared._requires_grad:
        return shared.detach()
    return shared.requires_grad_() if requires_grad else shared


@tensor_method
def new_tensor(self: Tensor, data: Any, *, dtype: Dtype = None, device: Any = None,
               requires_grad: bool = False) -> Tensor:
    """A copy of `data` in this tensor's dtype."""
    if isinstance(data, Tensor):
        warn(COPY_CONSTRUCT.format("tensor.new_tensor"))
    where = self.device if device is None else device
    result = new_leaf(array_of(data, dtype or self.dtype, "new_tensor"), requires_grad, "new_tensor", where)
    return observed("ToCopy", result, data) if isinstance(data, Tensor) else result


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
        shape = size_of(size, name)
        try:
            return new_leaf(make(shape, kind, like=device_handle(device, kind)), requires_grad, name)
        except ValueError:
            check_numel(shape, kind.itemsize, storage=True)
            raise

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
    Raises RuntimeError if the dtype cannot represent the value."""
    if not isinstance(size, (tuple, list)):
        raise TypeError("size")
    fill_value = number_of(float(fill_value) if isinstance(fill_value, np.bool) else fill_value)  # no bool to PyTorch
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
    if not isinstance(size, (tuple, list)):
        raise TypeError("size")
    kind, shape = numpy_dtype(dtype, self.array.dtype, "new_full"), size_of((size,), "new_full")
    array = np.full(shape, number_in(fill_value, kind), kind, like=device_or_own(self, device, kind))
    return new_leaf(array, requires_grad, "new_full")


def number_of(value: Any) -> Any:
    """A number, or the value of a one-element tensor."""
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


@op
def arange(start: Any = None, end: Any = None, step: Any = 1, *, dtype: Dtype = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """Numbers from `start` (default: 0) up to, but not including, `end`; int64 if all arguments are integers. Raises
    RuntimeError if the bounds contradict the sign of the step, or are not finite."""
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
    """`steps` numbers from `start` to `end`, both included; integer dtypes truncate them. Raises RuntimeError if
    `steps` is negative, or a bound is a tensor that is not 0-d."""
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
    """Numbers from `start` up to and including `end`; deprecated in favour of `arange`, which excludes it. Raises
    RuntimeError as in `arange`."""
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
def new(self: Tensor, *data: Any, device: Any = PLACED, **names: Any) -> Tensor:
    """Early PyTorch's constructor: zeros of a size, or values, in this tensor's dtype. A size may be given as `size=`,
    values as `data=`."""
    if names and (data or len(names) > 1 or not names.keys() <= {"data", "size"}):
        raise TypeError("new() received an invalid combination of arguments")
    return legacy_tensor(self.dtype, data or tuple([Size(v) if k == "size" else v for k, v in names.items()]), device)
