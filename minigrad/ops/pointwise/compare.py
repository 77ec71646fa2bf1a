"""Comparison and logic: results are bool tensors, which never require grad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.backends.registry import OF_TYPE, beside
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.registration import op
from minigrad.ops._dispatch.same_device import same_device, together
from minigrad.ops._dispatch.type_promotion import broadcast_and_promote, broadcast_shape, promote_scalar
from minigrad.ops.tensor.storage import from_numpy

__all__ = ["allclose", "eq", "equal", "ge", "greater", "greater_equal", "gt", "isclose", "isfinite", "isin", "isinf",
           "isnan", "isneginf", "isposinf", "isreal", "le", "less", "less_equal", "logical_and", "logical_not",
           "logical_or", "logical_xor", "lt", "ne", "not_equal", "signbit"]

Operand = Any


def compared(op: Callable[[Any, Any], Any], a: Tensor, b: Operand) -> Tensor:
    """A comparison in the dtype in which the operands meet: there a whole number may wrap around, as in PyTorch."""
    x = a.array
    if isinstance(b, Tensor):
        y = b.array
        if x.dtype is not y.dtype or x.shape != y.shape or type(x) is not type(y):
            x, y, _ = broadcast_and_promote(x, y)
        return plain(op(x, y))
    number = b.item() if isinstance(b, np.generic) else b
    if not isinstance(number, (bool, int, float)):
        return NotImplemented  # Python then asks the other operand
    return plain(op(*promote_scalar(x, number)))


def of_truth(op: Callable[[Any, Any], Any], a: Tensor, b: Tensor) -> Tensor:
    """An op of what is not zero in two tensors of any dtypes."""
    broadcast_shape(a.array.shape, b.array.shape)
    return plain(op(*(together(a.array, b.array) if OF_TYPE else (a.array, b.array))))


@op(method=True)
def eq(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input == other`."""
    return compared(np.equal, input, other)


def equals(input: Tensor, other: Operand) -> Tensor:
    """`input == other`, which takes a NumPy array too; the other comparisons do not, as in PyTorch."""
    return eq(input, from_numpy(other) if isinstance(other, np.ndarray) else other)


@op(method=True, aliases=("not_equal",))
def ne(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input != other`."""
    return compared(np.not_equal, input, other)


@op(method=True, aliases=("less",))
def lt(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input < other`."""
    return compared(np.less, input, other)


@op(method=True, aliases=("less_equal",))
def le(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input <= other`."""
    return compared(np.less_equal, input, other)


@op(method=True, aliases=("greater",))
def gt(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input > other`."""
    return compared(np.greater, input, other)


@op(method=True, aliases=("greater_equal",))
def ge(input: Tensor, other: Operand) -> Tensor:
    """Elementwise `input >= other`."""
    return compared(np.greater_equal, input, other)


@op(method=True, in_place=True)
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Elementwise and, of what is not zero."""
    return of_truth(np.logical_and, input, other)


@op(method=True, in_place=True)
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Elementwise or, of what is not zero."""
    return of_truth(np.logical_or, input, other)


@op(method=True, in_place=True)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Elementwise: exactly one of two is not zero."""
    return of_truth(np.logical_xor, input, other)


@op(method=True, in_place=True)
def logical_not(input: Tensor) -> Tensor:
    """Elementwise not, of what is not zero."""
    return plain(np.logical_not(input.array))


@op(method=True)
def isnan(input: Tensor) -> Tensor:
    """Where the elements are NaN."""
    return plain(np.isnan(input.array))


@op(method=True)
def isinf(input: Tensor) -> Tensor:
    """Where the elements are infinite."""
    return plain(np.isinf(input.array))


@op(method=True)
def isfinite(input: Tensor) -> Tensor:
    """Where the elements are neither infinite nor NaN."""
    return plain(np.isfinite(input.array))


@op(method=True)
def isposinf(input: Tensor) -> Tensor:
    """Where the elements are inf."""
    return plain(np.equal(input.array, np.inf))


@op(method=True)
def isneginf(input: Tensor) -> Tensor:
    """Where the elements are -inf."""
    return plain(np.equal(input.array, -np.inf))


@op(method=True)
def isreal(input: Tensor) -> Tensor:
    """Where the elements are real numbers: everywhere."""
    return plain(np.ones(input.array.shape, bool, like=beside(input.array)))


@op(method=True)
def signbit(input: Tensor) -> Tensor:
    """Where the elements have a minus sign, -0.0 among them."""
    x = input.array
    return plain(np.signbit(x) if x.dtype.kind == "f" else x < 0)


@op
def isin(elements: Operand, test_elements: Operand, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Where `elements` are among `test_elements`; one of the two may be a number. `invert`: where they are not.

    Raises:
        RuntimeError: for bools.
    """
    like = beside((elements if isinstance(elements, Tensor) else test_elements).array)
    x, y = (v.array if isinstance(v, Tensor) else np.asarray(v, like=like) for v in (elements, test_elements))
    same_device(x, y)
    for each in (x, y):
        if each.dtype.kind == "b":
            raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    return plain(np.isin(x, y, assume_unique, invert))


@op(method=True)
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08,
            equal_nan: bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|.

    Raises:
        RuntimeError: if the dtypes differ, or a tolerance is less than 0.
    """
    if input.array.dtype != other.array.dtype:
        raise RuntimeError(f"{input.dtype.type_name} did not match {other.dtype.type_name}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    broadcast_shape(input.array.shape, other.array.shape)
    same_device(input.array, other.array)
    return plain(np.isclose(input.array, other.array, rtol, atol, equal_nan))


@op(method=True)
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds for every element."""
    return bool(isclose(input, other, rtol, atol, equal_nan).array.all())


@op(method=True)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and the same elements."""
    same_device(input.array, other.array)
    return bool(np.array_equal(input.array, other.array))


not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge
