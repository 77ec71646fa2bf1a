"""A Python number as an element of a tensor: mirrors the checked conversion of PyTorch's `Scalar.h`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad._tensor import Tensor

__all__ = ["number_in"]

IN_C = {"float16": "c10::Half", "float32": "float", "float64": "double", "uint8": "uint8_t", "int8": "int8_t",
        "int16": "int16_t", "int32": "int", "int64": "int64_t"}


def number_in(value: Any, dtype: Any) -> Any:
    """A number, or a tensor of one, in this NumPy dtype; floats lose their fraction in integers.

    Raises:
        RuntimeError: if the dtype does not reach that far.
    """
    given = value.array if isinstance(value, Tensor) else value
    number = given.item() if isinstance(given, (np.ndarray, np.generic)) else given
    if isinstance(number, complex):
        if number.imag:
            raise overflow(dtype)
        number = number.real
    if dtype.kind == "b":
        return np.bool_(number)
    if dtype.kind == "f":
        if math.isfinite(number) and abs(number) > float(np.finfo(dtype).max):
            raise overflow(dtype)
        return dtype.type(number)
    if not math.isfinite(number):
        raise overflow(dtype)
    whole, limits = int(number), np.iinfo(dtype)
    if not (-limits.max if dtype.kind == "u" else limits.min) <= whole <= limits.max:
        raise overflow(dtype)
    return np.array(whole).astype(dtype)[()]  # a negative number wraps around where there is no sign


def overflow(dtype: Any) -> RuntimeError:
    """PyTorch's error for a number that a dtype does not reach."""
    return RuntimeError(f"value cannot be converted to type {IN_C.get(dtype.name, dtype.name)} without overflow")
