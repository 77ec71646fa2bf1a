"""Dtypes and sizes: mirrors `torch.dtype` and `torch.Size`.

A reader finds here the two small value types that every tensor reports, and the rules by which two
dtypes meet (`torch.result_type`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DTYPES", "Size", "default_dtype", "dtype", "from_numpy_dtype", "promote_types", "result_dtype"]

_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


class dtype:
    """The type of a tensor's elements, for instance `minigrad.float32`; `itemsize` is in bytes."""

    __slots__ = ("is_complex", "is_floating_point", "itemsize", "name", "numpy", "type_name")

    def __init__(self, name: str, type_name: str) -> None:
        self.name = name
        self.numpy = np.dtype(name)
        self.type_name = type_name
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = self.numpy.kind == "f"
        self.is_complex = self.numpy.kind == "c"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return from_numpy_dtype, (self.numpy,)


float16 = half = dtype("float16", "Half")
float32 = float = dtype("float32", "Float")
float64 = double = dtype("float64", "Double")
uint8 = dtype("uint8", "Byte")
int8 = dtype("int8", "Char")
int16 = short = dtype("int16", "Short")
int32 = int = dtype("int32", "Int")
int64 = long = dtype("int64", "Long")
bool = dtype("bool", "Bool")

DTYPES = (float16, float32, float64, uint8, int8, int16, int32, int64, bool)
_OF_NUMPY = {d.numpy: d for d in DTYPES}
NOT_HERE = "\n\nminigrad has no complex numbers, and no unsigned integers of more than 8 bits."


def from_numpy_dtype(numpy_dtype: Any) -> dtype:
    """The minigrad dtype of a NumPy one; a TypeError with PyTorch's sentence where there is none."""
    found = _OF_NUMPY.get(np.dtype(numpy_dtype))
    if found is None:
        kind = np.dtype(numpy_dtype)
        raise TypeError(
            f"can't convert np.ndarray of type {kind.type.__module__}.{kind.type.__name__}. The only supported types "
            "are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            f"uint8, and bool.{NOT_HERE if kind.kind in 'uc' else ''}")
    return found


def default_dtype() -> dtype:
    """What a Python float becomes: float32, as in PyTorch before `set_default_dtype`."""
    return float32


def result_dtype(x: Any, y: Any) -> np.dtype[Any]:
    """The dtype in which two arrays meet (`torch.result_type`).

    A 0-d array only decides if its category (bool < integer < float) is the higher one, so that
    float32[3] * float64[] stays float32. NumPy would make it float64.
    """
    if x.dtype is y.dtype:
        return x.dtype  # type: ignore[no-any-return]  # an array's dtype is Any here
    if (x.ndim == 0) == (y.ndim == 0):
        return promote_types(x.dtype, y.dtype)
    array, scalar = (x, y) if y.ndim == 0 else (y, x)
    if _CATEGORY[scalar.dtype.kind] <= _CATEGORY[array.dtype.kind]:
        return array.dtype  # type: ignore[no-any-return]  # an array's dtype is Any here
    return promote_types(array.dtype, scalar.dtype)


def promote_types(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of two dtypes together.

    Integers never widen a float: int64 with float32 is float32 in PyTorch, float64 in NumPy.
    """
    if _CATEGORY[a.kind] != _CATEGORY[b.kind] and "f" in (a.kind, b.kind):
        return a if a.kind == "f" else b
    return np.promote_types(a, b)


class Size(tuple[Any, ...]):
    """The shape of a tensor; prints as `torch.Size([2, 3])`."""

    __slots__ = ()

    def numel(self) -> Any:
        """The number of elements of a tensor of this size."""
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part
