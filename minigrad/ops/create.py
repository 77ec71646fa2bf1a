"""Creation: tensors from values. All of them are leaves."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from minigrad._device import on_cpu
from minigrad._dtype import Default, Size, default_float, get_default_dtype, promote_types
from minigrad._dtype import dtype as dtype_type
from minigrad._tensor import Tensor, plain
from minigrad._tensor_errors import check_tensor
from minigrad._warnings import warn_once
from minigrad.ops.copy import cast
from minigrad.ops.memory import checked, from_numpy
from minigrad.ops.properties import make_subclass
from minigrad.ops.shape import shape_of
from minigrad.ops.slices import Alias

__all__ = ["arange", "as_tensor", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones", "ones_like",
           "scalar_tensor", "tensor", "zeros", "zeros_like"]
METHODS = ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")

BOOL, INT64 = np.dtype(bool), np.dtype("int64")
Dtype = dtype_type | None


def made(array: Any, requires_grad: bool = False, what: str = "tensor") -> Tensor:
    """A leaf around a new array; PyTorch's errors for a `requires_grad` that it cannot have."""
    strict = what in ("tensor", "new_tensor")  # the others read None as False
    if not isinstance(requires_grad, bool) and (strict or requires_grad is not None):
        raise TypeError(f"{what}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return plain(array[()], bool(requires_grad))  # a 0-d array becomes a NumPy scalar (see `owned`), others stay


COPY_CONSTRUCT = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)
LIST_OF_ARRAYS = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
    "single numpy.ndarray with numpy.array() before converting to a tensor."
)


def numpy_dtype(dtype: Dtype, default: Any = Default, what: str = "tensor") -> Any:
    """NumPy's dtype for one of ours, or a default (`Default`: that of `set_default_dtype`)."""
    if dtype is not None and not isinstance(dtype, dtype_type):
        raise TypeError(f"{what}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return dtype.numpy if dtype is not None else default_float() if default is Default else default


def size_of(sizes: tuple[Any, ...], what: str) -> tuple[int, ...]:
    """The shape from `f(2, 3)` or `f((2, 3))`; PyTorch's errors for none and for a negative one."""
    if not sizes:
        raise TypeError(f'{what}() missing 1 required positional arguments: "size"')
    shape = shape_of(sizes)
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def array_of(data: Any, dtype: Dtype, what: str = "tensor") -> Any:
    """Nested lists, numbers, arrays or tensors as a new array; Python floats become float32, integers int64."""
    wanted = numpy_dtype(dtype, None, what)
    if isinstance(data, (Tensor, np.ndarray, np.generic)):
        return np.array(data.array if isinstance(data, Tensor) else checked(data), wanted, order="C")
    plain_data = numbers(data)
    try:
        array = np.array(plain_data)
    except ValueError:
        raise ValueError(ragged(data)) from None
    if array.dtype.kind not in "biuf":
        raise no_dtype(data)
    with np.errstate(all="ignore"):
        return fitting(array, dtype_of(data) if wanted is None else wanted)


def no_dtype(data: Any) -> Exception:
    """PyTorch's error for what is no number."""
    value = first(data)
    if isinstance(value, str):
        return TypeError("new(): invalid data type 'str'") if value is data else ValueError("too many dimensions 'str'")
    if isinstance(value, int):
        return ValueError("Overflow when unpacking long long")
    return RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def fitting(array: Any, dtype: Any) -> Any:
    """Numbers in a dtype; PyTorch's error where an integer dtype does not hold them."""
    if array.dtype.kind == "u":
        raise ValueError("Overflow when unpacking long long")
    if dtype.kind in "iu" and array.dtype != dtype and array.size:
        limits, low, high = np.iinfo(dtype), array.min(), array.max()
        if not (limits.min - (dtype.kind == "u") * limits.max <= low and high <= limits.max):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return array.astype(dtype)


def numbers(data: Any) -> Any:
    """Nested lists in which tensors of one element and arrays stand for their values."""
    if isinstance(data, Tensor):
        return float(data) if data.array.dtype.kind == "f" else data._number()
    if isinstance(data, np.ndarray):
        warn_once(LIST_OF_ARRAYS, stacklevel=5)
        return data.tolist()
    return [numbers(v) for v in data] if isinstance(data, (list, tuple)) else data


def dtype_of(data: Any) -> Any:
    """The dtype of numbers together: PyTorch's default for Python's own, theirs for tensors and NumPy's."""
    if isinstance(data, Tensor):
        return data.array.dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return data.dtype
    if isinstance(data, (list, tuple)):
        return functools.reduce(promote_types, {dtype_of(v) for v in data}) if data else default_float()
    return BOOL if isinstance(data, bool) else default_float() if isinstance(data, float) else INT64


def first(data: Any) -> Any:
    """The first value in nested lists."""
    while isinstance(data, (list, tuple)):
        if not data:
            return 0.0
        data = data[0]
    return data


def ragged(data: Any, depth: int = 0) -> str:
    """PyTorch's sentence for nested lists that are not a box."""
    sizes = [len(row) if isinstance(row, (list, tuple)) else None for row in data]
    for row, size in zip(data, sizes, strict=True):
        if size != sizes[0]:
            return f"expected sequence of length {sizes[0]} at dim {depth + 1} (got {size})"
        if size is not None and any(isinstance(v, (list, tuple)) for v in row):
            return ragged(row, depth + 1)
    return "expected a sequence of numbers"


def construct(cls: type[Tensor], *data: Any, device: Any = None) -> Tensor:
    """`Tensor(2, 3)`, `Tensor([1, 2])`, `Tensor(tensor)`: the constructor of early PyTorch, in the default dtype.

    Raises:
        TypeError: for anything but sizes, one sequence, one tensor.
    """
    on_cpu(device)
    if len(data) == 1 and not isinstance(data[0], (int, Size)):
        made = Alias.forward(data[0]) if isinstance(data[0], Tensor) else plain(sequence(data[0]))
    else:
        made = plain(np.zeros(size_of(data or (0,), "new"), default_float()))
    return made if cls is Tensor else make_subclass(cls, made)


def sequence(data: Any) -> Any:
    """The one argument of `Tensor(...)` where it holds values, in the default dtype."""
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(data, (list, tuple, range, np.ndarray)):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    if first(data) is None:
        raise TypeError("must be real number, not NoneType")
    return array_of(list(data) if isinstance(data, range) else data, get_default_dtype())


def tensor(data: Any, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of `data`: numbers, nested lists, an array.

    Floats become float32, integers int64, unless `dtype` says else; a NumPy array keeps its dtype.

    Raises:
        RuntimeError: for `requires_grad=True` with a dtype that is not floating point.
        ValueError: if nested lists differ in length.
    """
    on_cpu(device)
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format("torch.tensor"), UserWarning, stacklevel=2)
    return made(array_of(data, dtype), requires_grad)


def as_tensor(data: Any, dtype: Dtype = None, device: Any = None) -> Tensor:
    """`data` as a tensor that shares its memory where it can."""
    on_cpu(device)
    if isinstance(data, Tensor):
        return data if dtype is None else cast(data, dtype.numpy)
    if isinstance(data, np.ndarray) and (dtype is None or data.dtype == dtype.numpy):
        return from_numpy(data)
    return plain(array_of(data, dtype))


def zeros(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of this size."""
    on_cpu(device)
    return made(np.zeros(size_of(size, "zeros"), numpy_dtype(dtype, what="zeros")), requires_grad, "zeros")


def ones(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of this size."""
    on_cpu(device)
    return made(np.ones(size_of(size, "ones"), numpy_dtype(dtype, what="ones")), requires_grad, "ones")


def empty(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of this size, of unspecified values."""
    on_cpu(device)
    return made(np.empty(size_of(size, "empty"), numpy_dtype(dtype, what="empty")), requires_grad, "empty")


def full(size: Any, fill_value: Any, *, dtype: Dtype = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:
    """One value in this size; its dtype is that of the value (float32, int64, bool)."""
    on_cpu(device)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    return made(np.full(shape_of((size,)), fill_value, numpy_dtype(dtype, dtype_of(fill_value), "full")), requires_grad,
                "full")


def eye(n: int, m: int | None = None, *, dtype: Dtype = None, device: Any = None,
        requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal of an (n, m) matrix, zeros elsewhere."""
    on_cpu(device)
    return made(np.eye(n, m, dtype=numpy_dtype(dtype, what="eye")), requires_grad, "eye")


def arange(start: float, end: float | None = None, step: float = 1, *, dtype: Dtype = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """Numbers from `start` (0 where only one is given) up to, not including, `end`.

    Raises:
        RuntimeError: if the bounds do not agree with the sign of the step.
    """
    on_cpu(device)
    first_, last = (0, start) if end is None else (start, end)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (last - first_) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    default = default_float() if any(isinstance(v, float) for v in (first_, last, step)) else INT64
    count = int(np.ceil((last - first_) / step))
    counted: Any = np.arange(count, dtype=np.float64 if default.kind == "f" else INT64)
    array = first_ + step * counted
    return made(array.astype(numpy_dtype(dtype, default, "arange")), requires_grad, "arange")


def linspace(start: float, end: float, steps: int, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`steps` numbers from `start` to `end`, both included."""
    on_cpu(device)
    return made(np.linspace(start, end, steps, dtype=numpy_dtype(dtype, what="linspace")), requires_grad, "linspace")


def scalar_tensor(value: float, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor."""
    on_cpu(device)
    return made(np.asarray(value, numpy_dtype(dtype, what="scalar_tensor")), requires_grad, "scalar_tensor")


def zeros_like(input: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of the shape and dtype of another tensor."""
    on_cpu(device)
    check_tensor(input, "zeros_like")
    return made(np.zeros_like(input.array, numpy_dtype(dtype, None, "zeros_like")), requires_grad, "zeros_like")


def ones_like(input: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of the shape and dtype of another tensor."""
    on_cpu(device)
    check_tensor(input, "ones_like")
    return made(np.ones_like(input.array, numpy_dtype(dtype, None, "ones_like")), requires_grad, "ones_like")


def empty_like(input: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of the shape and dtype of another one, of unspecified values."""
    on_cpu(device)
    check_tensor(input, "empty_like")
    return made(np.empty_like(input.array, numpy_dtype(dtype, None, "empty_like")), requires_grad, "empty_like")


def full_like(input: Tensor, fill_value: float, *, dtype: Dtype = None, device: Any = None,
              requires_grad: bool = False) -> Tensor:
    """One value in the shape and dtype of another tensor."""
    on_cpu(device)
    check_tensor(input, "full_like")
    array = np.full_like(input.array, fill_value, numpy_dtype(dtype, None, "full_like"))
    return made(array, requires_grad, "full_like")


def new_zeros(self: Tensor, *size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of this size, in this tensor's dtype."""
    on_cpu(device)
    kind = numpy_dtype(dtype, self.array.dtype, "new_zeros")
    return made(np.zeros(size_of(size, "new_zeros"), kind), requires_grad, "new_zeros")


def new_ones(self: Tensor, *size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of this size, in this tensor's dtype."""
    on_cpu(device)
    kind = numpy_dtype(dtype, self.array.dtype, "new_ones")
    return made(np.ones(size_of(size, "new_ones"), kind), requires_grad, "new_ones")


def new_empty(self: Tensor, *size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of this size, of unspecified values, in this tensor's dtype."""
    on_cpu(device)
    kind = numpy_dtype(dtype, self.array.dtype, "new_empty")
    return made(np.empty(size_of(size, "new_empty"), kind), requires_grad, "new_empty")


def new_full(self: Tensor, size: Any, fill_value: float, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """One value in this size, in this tensor's dtype."""
    on_cpu(device)
    kind = numpy_dtype(dtype, self.array.dtype, "new_full")
    return made(np.full(shape_of((size,)), fill_value, kind), requires_grad, "new_full")


def new_tensor(self: Tensor, data: Any, *, dtype: Dtype = None, device: Any = None,
               requires_grad: bool = False) -> Tensor:
    """A copy of `data` in this tensor's dtype."""
    on_cpu(device)
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format("tensor.new_tensor"), UserWarning, stacklevel=2)
    return made(array_of(data, dtype or self.dtype, "new_tensor"), requires_grad, "new_tensor")
