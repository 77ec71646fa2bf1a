"""Converts Python numbers to elements of a tensor. Mirrors the checked conversion of PyTorch's `Scalar.h`."""

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import BFLOAT16, as_dtype, default_float, number_array
from minigrad.backends.registry import is_array
from minigrad.core import Tensor, constant
from minigrad.ops._dispatch.type_promotion import promote_scalar

IN_C = {"bfloat16": "c10::BFloat16", "float16": "c10::Half", "float32": "float", "float64": "double",
        "uint8": "uint8_t", "int8": "int8_t",
        "int16": "int16_t", "int32": "int", "int64": "int64_t"}
INTEGERS = [np.dtype(name) for name in ("uint8", "int8", "int16", "int32", "int64")]
NUMBER_DTYPES = {bool: np.dtype(bool), int: np.dtype("int64"), float: None}  # of a number alone; None: the default
Operand = Any  # a Tensor or a Python number
# The range of each dtype; unsigned dtypes accept negative numbers, which wrap around.
LIMITS: dict[Any, tuple[float, float]] = {kind: (-most, most) for kind, most in (
    (BFLOAT16, (2 - 2**-7) * 2.0**127), *[(np.dtype(name), float(np.finfo(name).max)) for name in (
        "float16", "float32", "float64")])}
LIMITS |= {kind: (-int(np.iinfo(kind).max) - (kind.kind == "i"), int(np.iinfo(kind).max)) for kind in INTEGERS}


def number_in(value: Any, dtype: Any) -> Any:
    """A number, or the value of a one-element tensor, in this NumPy dtype; integer dtypes truncate floats.

    Raises:
        RuntimeError: if the number is outside the dtype's range.
    """
    number = value
    if not isinstance(number, (float, int)):
        given = value.array if isinstance(value, Tensor) else value
        number = given.item() if is_array(given) else given
        if isinstance(number, complex):
            if number.imag:
                raise overflow(dtype)
            number = number.real
    if dtype.kind == "b":
        return np.bool_(number)
    low, high = LIMITS[dtype]
    if dtype.kind == "f":
        if not low <= number <= high and math.isfinite(number):
            raise overflow(dtype)
        return dtype.type(number)
    if isinstance(number, float):  # it does not wrap around, and is compared as a float
        low, high = float(np.iinfo(dtype).min), float(high)
    if not low <= number <= high:
        raise overflow(dtype)
    return as_dtype(np.array(int(number)), dtype)[()]


def check_scale(name: str, scale: Any, dtype: Any) -> None:
    """Raise PyTorch's errors for a factor that a result of this NumPy dtype cannot take."""
    if isinstance(scale, bool) and dtype.kind != "b":
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if dtype.kind != "f" and not isinstance(scale, int):
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")


def overflow(dtype: Any) -> RuntimeError:
    """PyTorch's error for a number outside the range of a dtype."""
    return RuntimeError(f"value cannot be converted to type {IN_C.get(dtype.name, dtype.name)} without overflow")


def as_operand(value: Operand, other: Operand, exact: bool = False) -> Tensor:
    """A tensor unchanged; a number as a 0-d tensor that is promoted with `other` as the number would be.

    With `exact`, an integer outside the range of `other`'s dtype raises PyTorch's error.
    """
    if isinstance(value, Tensor):
        return value
    if type(value) in NUMBER_DTYPES and isinstance(other, Tensor) and other.array.ndim and not exact:
        return constant(number_array(value, NUMBER_DTYPES[type(value)] or default_float()))
    alone = default_float() if isinstance(other, float) else bool
    like = other.array if isinstance(other, Tensor) else number_array(0, alone)
    x, number = promote_scalar(like, value)
    return constant(number_array(number_in(value, x.dtype) if exact and x.dtype.kind in "iu" else number, x.dtype))
