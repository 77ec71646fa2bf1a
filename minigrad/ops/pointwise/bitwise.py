"""Bitwise ops: and, or, exclusive or, not and shifts, of integers and bools. They have no derivative."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.core import Tensor, record_without_grad
from minigrad.ops._dispatch import broadcast_and_promote, check_kind, op, promote_scalar

__all__ = ["bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor"]

Operand = Any  # a Tensor or a Python number


def bitwise(ufunc: Callable[[Any, Any], Any], refused: str, kernel: str,
            doc: str) -> Callable[[Operand, Operand], Tensor]:
    """The public function of a bitwise op, which refuses the `refused` kinds of dtypes (see `check_kind`)."""
    def function(input: Operand, other: Operand) -> Tensor:
        if isinstance(input, Tensor) and isinstance(other, Tensor):
            x, y, _ = broadcast_and_promote(input.array, other.array)
        else:
            tensor, number = (input, other) if isinstance(input, Tensor) else (other, input)
            array, number = promote_scalar(tensor.array, number)
            if number is NotImplemented:
                return NotImplemented
            number = array.dtype.type(number)
            x, y = (array, number) if isinstance(input, Tensor) else (number, array)
        check_kind(x, refused, kernel)
        given = [v for v in (input, other) if isinstance(v, Tensor)]
        return record_without_grad(kernel.removesuffix("_cpu"), ufunc(x, y), *given)

    function.__doc__ = doc
    return function


def shift_left(x: Any, by: Any) -> Any:
    """x · 2^by, without the bits shifted out of the number; 0 for a negative `by`."""
    width = 8 * x.dtype.itemsize
    return np.where((by < 0) | (by >= width), x.dtype.type(0), np.left_shift(x, np.clip(by, 0, width - 1)))


def shift_right(x: Any, by: Any) -> Any:
    """x / 2^by, rounded down; a negative `by` shifts out all bits."""
    last = 8 * x.dtype.itemsize - (1 if x.dtype.kind == "i" else 0)
    by = as_dtype(np.where((by < 0) | (by >= last), last, by), x.dtype)
    return np.right_shift(x, by)


bitwise_and = op(method=True, in_place=True, name="bitwise_and")(
    bitwise(np.bitwise_and, "f", "bitwise_and_cpu",
    "Elementwise `input & other` of bool or integer tensors; one may be a number."))
bitwise_or = op(method=True, in_place=True, name="bitwise_or")(
    bitwise(np.bitwise_or, "f", "bitwise_or_cpu",
    "Elementwise `input | other` of bool or integer tensors; one may be a number."))
bitwise_xor = op(method=True, in_place=True, name="bitwise_xor")(
    bitwise(np.bitwise_xor, "f", "bitwise_xor_cpu",
    "Elementwise `input ^ other` of bool or integer tensors; one may be a number."))
bitwise_left_shift = op(method=True, in_place=True, name="bitwise_left_shift")(
    bitwise(shift_left, "bf", "lshift_cpu", "Elementwise `input << other` of integers; one may be a number."))
bitwise_right_shift = op(method=True, in_place=True, name="bitwise_right_shift")(
    bitwise(shift_right, "bf", "rshift_cpu",
    "Elementwise `input >> other` of integers; one may be a number. The sign is kept."))


@op(method=True, in_place=True)
def bitwise_not(input: Tensor) -> Tensor:
    """Elementwise not, of the bits of integers or of bools."""
    check_kind(input.array, "f", "bitwise_not_cpu")
    return record_without_grad("bitwise_not", np.invert(input.array), input)


def inverted(self: Tensor) -> Tensor:
    """`~self`."""
    if self.array.dtype.kind == "f":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


def rlshift(self: Tensor, other: Operand) -> Tensor:
    """`other << self`."""
    return bitwise_left_shift(other, self)


def rrshift(self: Tensor, other: Operand) -> Tensor:
    """`other >> self`."""
    return bitwise_right_shift(other, self)
