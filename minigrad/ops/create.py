"""Creation: tensors from values. All of them are leaves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from minigrad._device import on_cpu
from minigrad._dtype import dtype as dtype_type
from minigrad._dtype import from_numpy_dtype
from minigrad._tensor import Tensor, owned, plain
from minigrad.ops.copy import cast
from minigrad.ops.shape import shape_of

__all__ = ["arange", "as_tensor", "empty", "eye", "from_numpy", "full", "full_like", "linspace", "ones", "ones_like",
           "scalar_tensor", "tensor", "zeros", "zeros_like"]

FLOAT32, INT64 = np.dtype("float32"), np.dtype("int64")
Dtype = dtype_type | None


def made(array: Any, requires_grad: bool = False, what: str = "tensor") -> Tensor:
    """A leaf around a new array; PyTorch's errors for a `requires_grad` that it cannot have."""
    if not isinstance(requires_grad, bool):
        raise TypeError(f"{what}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return plain(array[()], requires_grad)  # a 0-d array becomes a NumPy scalar (see `owned`), others stay


def numpy_dtype(dtype: Dtype, default: Any = FLOAT32, what: str = "tensor") -> Any:
    """NumPy's dtype for one of ours, or a default."""
    if dtype is not None and not isinstance(dtype, dtype_type):
        raise TypeError(f"{what}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return default if dtype is None else dtype.numpy


def size_of(sizes: tuple[Any, ...], what: str) -> tuple[int, ...]:
    """The shape from `f(2, 3)` or `f((2, 3))`; PyTorch's errors for none and for a negative one."""
    if not sizes:
        raise TypeError(f'{what}() missing 1 required positional arguments: "size"')
    shape = shape_of(sizes)
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def array_of(data: Any, dtype: Dtype) -> Any:
    """Nested lists, numbers, arrays or tensors as a new array; Python floats become float32, integers int64."""
    if isinstance(data, Tensor):
        return np.array(data.array, None if dtype is None else dtype.numpy)
    if isinstance(data, (np.ndarray, np.generic)):
        from_numpy_dtype(data.dtype)
        return np.array(data, None if dtype is None else dtype.numpy)
    try:
        array = np.array(unwrapped(data))
    except ValueError:
        raise ValueError(ragged(data)) from None
    if array.dtype.kind not in "biuf":
        value = first(data)
        if isinstance(value, str):
            raise TypeError("new(): invalid data type 'str'") if value is data else ValueError(
                "too many dimensions 'str'")
        raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")
    if dtype is not None:
        return array.astype(dtype.numpy)
    holds_numpy = isinstance(first(data), np.generic)
    return array.astype(FLOAT32) if array.dtype.kind == "f" and not holds_numpy else array


def unwrapped(data: Any) -> Any:
    """Nested lists in which tensors of one element stand for their values."""
    if isinstance(data, Tensor):
        return data.tolist()
    return [unwrapped(v) for v in data] if isinstance(data, (list, tuple)) else data


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


def tensor(data: Any, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of `data`: numbers, nested lists, an array.

    Floats become float32, integers int64, unless `dtype` says else; a NumPy array keeps its dtype.

    Raises:
        RuntimeError: for `requires_grad=True` with a dtype that is not floating point.
        ValueError: if nested lists differ in length.
    """
    on_cpu(device)
    if isinstance(data, Tensor):
        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
                      UserWarning, stacklevel=2)
    return made(array_of(data, dtype), requires_grad)


def as_tensor(data: Any, dtype: Dtype = None, device: Any = None) -> Tensor:
    """`data` as a tensor that shares its memory where it can."""
    on_cpu(device)
    if isinstance(data, Tensor):
        return data if dtype is None else cast(data, dtype.numpy)
    if isinstance(data, np.ndarray) and (dtype is None or data.dtype == dtype.numpy):
        return from_numpy(data)
    return plain(array_of(data, dtype))


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares its memory with a NumPy array."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    from_numpy_dtype(ndarray.dtype)
    return plain(ndarray)


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
    default = array_of(fill_value, None).dtype
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return made(np.full(shape_of((size,)), value, numpy_dtype(dtype, default)), requires_grad, "full")


def eye(n: int, m: int | None = None, *, dtype: Dtype = None, device: Any = None,
        requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal of an (n, m) matrix, zeros elsewhere."""
    on_cpu(device)
    return made(np.eye(n, m, dtype=numpy_dtype(dtype)), requires_grad, "eye")


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
    default = FLOAT32 if any(isinstance(v, float) for v in (first_, last, step)) else INT64
    count = int(np.ceil((last - first_) / step))
    counted: Any = np.arange(count, dtype=np.float64 if default is FLOAT32 else INT64)
    array = first_ + step * counted
    return made(array.astype(numpy_dtype(dtype, default)), requires_grad, "arange")


def linspace(start: float, end: float, steps: int, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`steps` numbers from `start` to `end`, both included."""
    on_cpu(device)
    return made(np.linspace(start, end, steps, dtype=numpy_dtype(dtype)), requires_grad, "linspace")


def scalar_tensor(value: float, *, dtype: Dtype = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor."""
    return made(np.asarray(value, numpy_dtype(dtype)), requires_grad, "scalar_tensor")


def zeros_like(input: Tensor, *, dtype: Dtype = None, requires_grad: bool = False) -> Tensor:
    """Zeros of the shape and dtype of another tensor."""
    return made(np.zeros(input.array.shape, numpy_dtype(dtype, input.array.dtype)), requires_grad, "zeros_like")


def ones_like(input: Tensor, *, dtype: Dtype = None, requires_grad: bool = False) -> Tensor:
    """Ones of the shape and dtype of another tensor."""
    return made(np.ones(input.array.shape, numpy_dtype(dtype, input.array.dtype)), requires_grad, "ones_like")


def full_like(input: Tensor, fill_value: float, *, dtype: Dtype = None, requires_grad: bool = False) -> Tensor:
    """One value in the shape and dtype of another tensor."""
    array = np.full(input.array.shape, fill_value, numpy_dtype(dtype, input.array.dtype))
    return made(array, requires_grad, "full_like")


def new_zeros(self: Tensor, *size: Any, dtype: Dtype = None, requires_grad: bool = False) -> Tensor:
    """Zeros of this size, in this tensor's dtype."""
    return made(np.zeros(shape_of(size), numpy_dtype(dtype, self.array.dtype)), requires_grad, "new_zeros")


def new_ones(self: Tensor, *size: Any, dtype: Dtype = None, requires_grad: bool = False) -> Tensor:
    """Ones of this size, in this tensor's dtype."""
    return made(np.ones(shape_of(size), numpy_dtype(dtype, self.array.dtype)), requires_grad, "new_ones")


def new_tensor(self: Tensor, data: Any, *, dtype: Dtype = None, requires_grad: bool = False) -> Tensor:
    """A copy of `data` in this tensor's dtype."""
    return made(array_of(data, dtype or self.dtype), requires_grad, "new_tensor")


def is_tensor(obj: Any) -> bool:
    """Whether something is a Tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return int(owned(input).size)
