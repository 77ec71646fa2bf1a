"""Comparison and logic: results are bool tensors, which never require grad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._tensor import Tensor, plain
from minigrad.ops._meet import broadcast_shape
from minigrad.ops.memory import from_numpy

__all__ = ["allclose", "eq", "equal", "ge", "gt", "isclose", "isfinite", "isinf", "isnan", "le",
           "logical_and", "logical_not", "logical_or", "lt", "ne"]
METHODS = (*__all__,)

Operand = Any
INT64 = np.dtype("int64")


def _compare(op: Callable[[Any, Any], Any], a: Tensor, b: Operand) -> Tensor:
    if not isinstance(b, (Tensor, bool, int, float, np.generic)):
        return NotImplemented  # Python then asks the other operand
    if not isinstance(b, Tensor):
        return plain(op(a.array, b.item() if isinstance(b, np.generic) else b))
    broadcast_shape(a.array.shape, b.array.shape)
    return plain(op(a.array, b.array))


def eq(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input == other`."""
    return _compare(np.equal, input, other)


def equals(input: Tensor, other: Operand) -> Tensor:
    """`input == other`, which takes a NumPy array too; the other comparisons do not, as in PyTorch."""
    return eq(input, from_numpy(other) if isinstance(other, np.ndarray) else other)


def ne(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input != other`."""
    return _compare(np.not_equal, input, other)


def lt(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input < other`."""
    return _compare(np.less, input, other)


def le(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input <= other`."""
    return _compare(np.less_equal, input, other)


def gt(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input > other`."""
    return _compare(np.greater, input, other)


def ge(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input >= other`."""
    return _compare(np.greater_equal, input, other)


def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Elementwise and, of what is not zero."""
    return _compare(np.logical_and, input, other)


def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Elementwise or, of what is not zero."""
    return _compare(np.logical_or, input, other)


def logical_not(input: Tensor) -> Tensor:
    """Elementwise not, of what is not zero."""
    return plain(np.logical_not(input.array))


def _bitwise(op: np.ufunc, a: Tensor, b: Operand) -> Tensor:
    numbers = [v.array if isinstance(v, Tensor) else v for v in (a, b)]
    if any(isinstance(v, float) or getattr(v, "dtype", INT64).kind == "f" for v in numbers):
        kind = next((v for v in (a, b) if isinstance(v, Tensor) and v.is_floating_point()), None)
        raise NotImplementedError(f"\"{op.__name__}_cpu\" not implemented for "
                                  f"'{'Float' if kind is None else kind.dtype.type_name}'")
    return _compare(op, a, b)


def bitwise_and(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input & other` of bool or integer tensors."""
    return _bitwise(np.bitwise_and, input, other)


def bitwise_or(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input | other` of bool or integer tensors."""
    return _bitwise(np.bitwise_or, input, other)


def bitwise_xor(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input ^ other` of bool or integer tensors."""
    return _bitwise(np.bitwise_xor, input, other)


def bitwise_not(input: Tensor) -> Tensor:
    """Elementwise `~input` of bool or integer tensors."""
    if input.array.dtype.kind == "f":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return plain(np.invert(input.array))


def isnan(input: Tensor) -> Tensor:
    """Where the elements are NaN."""
    return plain(np.isnan(input.array))


def isinf(input: Tensor) -> Tensor:
    """Where the elements are infinite."""
    return plain(np.isinf(input.array))


def isfinite(input: Tensor) -> Tensor:
    """Where the elements are neither infinite nor NaN."""
    return plain(np.isfinite(input.array))


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08,
            equal_nan: bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|."""
    return plain(np.isclose(input.array, other.array, rtol, atol, equal_nan))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds for every element.

    Raises:
        RuntimeError: if the dtypes differ.
    """
    if input.array.dtype != other.array.dtype:
        raise RuntimeError(f"{input.dtype.type_name} did not match {other.dtype.type_name}")
    return bool(np.allclose(input.array, other.array, rtol, atol, equal_nan))


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and the same elements."""
    return bool(np.array_equal(input.array, other.array))
