"""Broadcasting and type promotion, once for all ops, and Python numbers as elements of a tensor (PyTorch's `Scalar.h`).

No formula mentions either. The forward records on the node the shape and dtype of each input (its input metadata), and
the engine sums and casts the gradients.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from minigrad._base.dtype import BFLOAT16, as_dtype, default_float, from_numpy_dtype, number_array, result_dtype
from minigrad._base.tensor_errors import broadcast_shape
from minigrad.backends.registry import BACKEND_OF, MixedDeviceMetadata, device_like, is_array
from minigrad.core import Tensor, constant
from minigrad.ops._dispatch.device_guard import together
from minigrad.ops._dispatch.memory_order import in_dense_order, in_order_of_first

__all__ = [
    "NO_BOOLS_MINUS", "NO_BOOL_MINUS", "Operand", "as_operand", "broadcast_and_promote", "broadcast_and_promote_all",
    "broadcast_shape", "check_cast", "check_minus", "check_scale", "floating", "input_metadata_of", "number_in",
    "promote_scalar",
]

FLOAT16, FLOAT32, INT64 = np.dtype("float16"), np.dtype("float32"), np.dtype("int64")
RANKS = {"b": 0, "u": 1, "i": 1, "f": 2}
NO_BOOL_MINUS = ("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                 "mask, use the `~` or `logical_not()` operator instead.")
NO_BOOLS_MINUS = ("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                  "`logical_xor()` operator instead.")
Fit = tuple[tuple[Any, ...] | None, ...]


def broadcast_and_promote(x: Any, y: Any) -> tuple[Any, Any, Fit]:
    """Two arrays in their common dtype, and what the engine must undo for each (`Node.input_metadata`)."""
    if type(x) is not type(y) and BACKEND_OF:
        (x, y), input_metadata = broadcast_and_promote_all(x, y)
        return x, y, input_metadata
    shape = broadcast_shape(x.shape, y.shape)
    dtype = result_dtype(x, y)
    given = x, y
    if len(shape) > 1 and type(x) is np.ndarray and not (x.flags.c_contiguous and (x.shape == shape
                                                                                  or y.flags.c_contiguous)):
        y, = in_order_of_first(shape, x, y)
    return (x if x.dtype is dtype else in_dtype(x, dtype), y if y.dtype is dtype else in_dtype(y, dtype),
            input_metadata_of(shape, dtype, *given))


def broadcast_and_promote_all(*arrays: Any) -> tuple[list[Any], Fit]:
    """Any number of arrays in their common dtype, and their input metadata."""
    given = arrays
    if BACKEND_OF:
        arrays = tuple(together(*arrays))
    like = arrays[0]
    for each in arrays[1:]:
        like = empty_like(result_dtype(like, each), broadcast_shape(like.shape, each.shape))
    dtype = like.dtype
    if BACKEND_OF and len({type(v) in BACKEND_OF for v in given}) == 2:
        input_metadata: Fit = MixedDeviceMetadata([(v.shape, v.dtype, device_like(v)) for v in given])
    else:
        input_metadata = input_metadata_of(like.shape, dtype, *arrays)
    if like.ndim > 1 and type(arrays[0]) is np.ndarray and not all(v.flags.c_contiguous for v in arrays):
        arrays = (arrays[0], *in_order_of_first(like.shape, *arrays))
    return [v if v.dtype is dtype else in_dtype(v, dtype) for v in arrays], input_metadata


def empty_like(dtype: Any, shape: tuple[int, ...]) -> Any:
    """An array of this dtype and shape that takes no memory."""
    return np.broadcast_to(np.empty((), dtype, like=device_like(0, dtype)), shape)


def input_metadata_of(shape: tuple[int, ...], dtype: Any, *arrays: Any) -> Fit:
    """For each array its (shape, dtype); None if it has the result's shape and no array was promoted."""
    promoted = any(v.dtype is not dtype for v in arrays)
    return tuple([None if v.shape == shape and not promoted else (v.shape, v.dtype) for v in arrays])


def check_cast(result: Any, target: Any) -> None:
    """Raise PyTorch's error if a result is to be written to a dtype of a lower kind (bool < int < float)."""
    if RANKS[result.kind] > RANKS[target.kind]:
        raise RuntimeError(f"result type {from_numpy_dtype(result).type_name} can't be cast to the desired output type "
                           f"{from_numpy_dtype(target).type_name}")


def check_minus(x: Any, y: Any) -> None:
    """Raise PyTorch's errors if one of two arrays to subtract, or both, hold bools."""
    if "b" in (x.dtype.kind, y.dtype.kind):
        raise RuntimeError(NO_BOOLS_MINUS if x.dtype.kind == y.dtype.kind else NO_BOOL_MINUS)


def promote_scalar(x: Any, number: Any, factor: bool = False) -> tuple[Any, Any]:
    """An array and a Python number, promoted: a number only decides if its kind (bool < int < float) is higher.

    The number becomes NotImplemented if it is not one. A `factor` is not rounded to float16 (see `Wide`).
    """
    kind = x.dtype.kind
    if kind == "f" and (type(number) is float or type(number) is int and -2**63 <= number < 2**64):
        return x, Wide(number) if factor and x.dtype is FLOAT16 and wide(x, number) else number
    if isinstance(number, np.generic):  # to PyTorch, what is no integer is a float, NumPy's bools too
        return promote_scalar(x, float(number) if type(number) is np.bool_ else number.item(), factor)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return x, number if isinstance(number, bool) else NotImplemented
    check_integer(number)
    if kind == "f":
        return x, number
    if isinstance(number, float):
        return promote_scalar(in_dtype(x, default_float()), number, factor)
    if kind == "b":
        return in_dtype(x, INT64), number
    return x, as_dtype(np.array(number), x.dtype).item()  # a number that is too large wraps around: 300 is 44 as uint8


def check_integer(number: Any) -> None:
    """Raise PyTorch's error for an integer that has no place in 64 bits, with a sign or without."""
    if isinstance(number, int) and not -2**63 <= number < 2**64:
        raise OverflowError("can't convert negative int to unsigned" if number < 0 else "int too big to convert")


def wide(x: Any, number: Any) -> bool:
    """Whether float16 cannot represent a number. A device rounds it first, so the last bit may differ."""
    return type(x) not in BACKEND_OF and float(FLOAT16.type(number)) != number


class Wide(float):
    """A number that float16 cannot represent. PyTorch multiplies and divides float16 by it in float32, and rounds once;
    NumPy would round the number first."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any) -> Any:
        """NumPy's hook for ufuncs in which such a number takes part."""
        whole = [float(v) if type(v) is Wide else v for v in inputs]
        dtypes = {v.dtype for v in whole if isinstance(v, (np.ndarray, np.generic))}
        if dtypes != {FLOAT16}:
            return getattr(ufunc, method)(*whole)
        return getattr(ufunc, method)(*[FLOAT32.type(v) if type(v) is float else v for v in whole]).astype(FLOAT16)


def floating(x: Any) -> Any:
    """An array as the input of a function with real values: integers become floats."""
    return x if x.dtype.kind == "f" else in_dtype(x, default_float())


def in_dtype(x: Any, dtype: Any) -> Any:
    """An array in another dtype, with its dimensions in the memory order that PyTorch gives a result."""
    return in_dense_order(partial(as_dtype, dtype=dtype), x)


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
    """A number, or the value of a one-element tensor, in this NumPy dtype; integer dtypes truncate floats. Raises
    RuntimeError if the number is outside the dtype's range."""
    number = value
    if not isinstance(number, (float, int)):
        given = value.array if isinstance(value, Tensor) else value
        number = given.item() if is_array(given) else given
        if isinstance(number, complex):
            if number.imag:
                raise overflow(dtype)
            number = number.real
    check_integer(number)
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


def check_scale(name: str, scale: Any, dtype: Any) -> Any:
    """Return a factor for a result of this NumPy dtype: in it, if it is one of integers (-1 is 255 as uint8). Raises
    PyTorch's errors for a factor that the result cannot take."""
    if isinstance(scale, bool) and dtype.kind != "b":
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if dtype.kind != "f" and not isinstance(scale, int):
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    return number_in(scale, dtype) if dtype.kind in "iu" else scale


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
