"""Creates tensors from values: numbers, nested lists, arrays and other tensors. Factories by size are in sizes.py."""

import functools
import operator
from typing import Any

import numpy as np

from minigrad._base.device import device as Device
from minigrad._base.dtype import NOT_HERE, Default, Size, as_dtype, default_float, get_default_dtype, promote_types
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.warnings import warn, warn_once
from minigrad.backends.registry import HOST, device_handle, device_like, placed
from minigrad.core import Tensor, constant, materialized, observed
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops.shape.views import Alias
from minigrad.ops.tensor.copy import clone, to
from minigrad.ops.tensor.properties import make_subclass
from minigrad.ops.tensor.storage import checked, from_numpy

__all__ = ["as_tensor", "asarray", "tensor"]

BOOL, INT64 = np.dtype(bool), np.dtype("int64")
Dtype = dtype_type | None
PLACED = object()  # instead of a device: the array is already where it should be
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
        return copied if requested is None else as_dtype(copied, requested, copy=False)
    plain_data = numbers(data)
    try:
        array = np.array(plain_data)
    except ValueError:
        raise ragged(data) from None
    if array.dtype.kind == "c":
        raise RuntimeError(f"Could not infer dtype of complex{NOT_HERE}")
    if array.dtype.kind not in "biuf":
        raise no_dtype(data)
    with np.errstate(all="ignore"):
        return fitting(array, dtype_of(data) if requested is None else requested)


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
    if array.dtype.kind == "u":
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

    Raises:
        RuntimeError: for another device, and, together with a tensor, for any device, even None.
        TypeError: for anything but sizes, one sequence or one tensor.
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
    if not isinstance(data, (list, tuple, range, np.ndarray)):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    if first(data) is None:
        raise TypeError("must be real number, not NoneType")
    return array_of(list(data) if isinstance(data, range) else data, dtype)


@op
def tensor(data: Any, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of `data`: numbers, nested lists or an array.

    Floats become the default dtype (float32), integers int64, unless `dtype` is given; a NumPy array keeps its dtype.

    Raises:
        RuntimeError: for `requires_grad=True` with a dtype that is not floating point.
        ValueError: if nested lists differ in length.
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

    A tensor keeps its graph unless `requires_grad` is False.

    Raises:
        ValueError: with `copy=False`, if the values must be copied.
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
