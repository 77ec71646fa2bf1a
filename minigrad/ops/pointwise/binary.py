"""Functions of two tensors: angles, hypotenuses, sums of exponentials, signs, powers of 2, common divisors, and
bitwise ops.

Mirrors PyTorch's `BinaryOps.cpp` and the rows of `derivatives.yaml` with two inputs. The bitwise ops, of integers and
bools, have no derivative.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype, float64
from minigrad.core import Packed, Tensor, record_without_grad
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import (
    ByNumber,
    OfTwo,
    binary_op,
    broadcast_and_promote,
    broadcast_shape,
    check_kind,
    op,
    promote_scalar,
    refuse,
    tensor_method,
    underived,
)
from minigrad.ops.pointwise.pow import Pow, PowScalar, PowTensor
from minigrad.ops.pointwise.unary import LOG_2, NO_NEGATION, Exp2
from minigrad.ops.tensor.copy import cast

__all__ = [
    "arctan2", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "copysign", "float_power", "gcd", "heaviside", "hypot", "lcm", "ldexp", "logaddexp",
    "logaddexp2", "nextafter",
]

Operand = Any  # a Tensor or a Python number
Grads = tuple[Any, Any]


class Atan2(OfTwo, of=np.arctan2):
    """The angle of the point (other, self), in radians; at the origin its derivative is 0."""

    saves = ("self", "other")

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        if self.next[1] is not None and xp.dtype(a).kind == "b":
            raise RuntimeError(NO_NEGATION)
        square = a * a + b * b
        inverse = xp.masked(square != 0, 1 / square)
        return g * (b * inverse), None if self.next[1] is None else g * (-a * inverse)


class Hypot(OfTwo, of=np.hypot):
    """√(self² + other²)."""

    saves = ("self", "other", "result")
    refuses = ("bui", "hypot_cpu")

    @classmethod
    def forward(cls, a: Tensor, b: Tensor) -> Tensor:
        """The hypotenuse; an operand is saved only if its own gradient is needed."""
        result = super().forward(a, b)
        node = result._grad_fn
        if node is not None and not (a._requires_grad and b._requires_grad) and type(node.saved[0]) is not Packed:
            node.saved = (a if a._requires_grad else None, b if b._requires_grad else None, node.saved[2])
        return result

    def backward(self, xp: Any, g: Any, a: Any, b: Any, y: Any) -> Grads:
        return None if a is None else g * (a / y), None if b is None else g * (b / y)


class Logaddexp(OfTwo, of=np.logaddexp):
    """log(exp(self) + exp(other))."""

    saves = ("self", "other")
    refuses = ("bui", "logaddexp_cpu")

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return g / (1 + xp.exp(b - a)), g / (1 + xp.exp(a - b))


class Logaddexp2(OfTwo, of=np.logaddexp2):
    """log₂(2^self + 2^other)."""

    saves = ("self", "other")
    refuses = ("bui", "logaddexp2_cpu")

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return g / (1 + xp.apply(Exp2, b - a)), g / (1 + xp.apply(Exp2, a - b))


class Copysign(OfTwo, of=np.copysign):
    """The magnitude of the first, the sign of the second."""

    saves = ("self", "result")

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Grads:
        return g * xp.masked(a != 0, y / a), xp.zeros(g.shape, g)


class CopysignNumber(ByNumber, of=lambda x, c: np.copysign(x, x.dtype.type(c)), name="Copysign", number=1):
    """The magnitude of a tensor, the sign of a number."""

    saves = ("self", "result")

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Any:
        return g * xp.masked(a != 0, y / a)


class Ldexp(OfTwo, of=lambda x, y: x * np.exp2(y)):
    """self · 2^other."""

    saves = ("other", "result")

    def backward(self, xp: Any, g: Any, b: Any, y: Any) -> Grads:
        return g * xp.apply(Exp2, b), g * (y * LOG_2)


class Nextafter(OfTwo, of=np.nextafter):
    """The next representable number, towards the second."""

    saves = ("self", "other")
    refuses = ("bui", "nextafter_cpu")

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return xp.masked(a != b, g), xp.zeros(g.shape, g)


atan2 = binary_op(
    "atan2", Atan2, "The angle of the point (other, input), in radians between -π and π.",
    aliases=("arctan2",), in_place=True)
hypot = binary_op("hypot", Hypot, "The square root of input² + other², without overflow.", in_place=True)
logaddexp = binary_op("logaddexp", Logaddexp, "log(exp(input) + exp(other)), without overflow.")
logaddexp2 = binary_op("logaddexp2", Logaddexp2, "The base-2 logarithm of 2^input + 2^other, without overflow.")


@op(method=True, in_place=True)
def copysign(input: Tensor, other: Operand) -> Tensor:
    """`input` with the sign of `other`, a tensor or a number, including that of a zero."""
    return Copysign.forward(input, other) if isinstance(other, Tensor) else CopysignNumber.forward(input, other)


@op(method=True, in_place_function=True)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input · 2^other."""
    if input.array.dtype.kind == "f" and other.array.dtype.kind == "b":
        refuse("ldexp_cpu_exp", other.array.dtype)
    return Ldexp.forward(input, other)


nextafter = binary_op(
    "nextafter", Nextafter, "The next representable number after each element, towards `other`.", in_place=True)


@op(method=True, in_place=True)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where `input` is negative, 1 where it is positive, else `values`. It has no derivative, as in PyTorch. Raises
    RuntimeError if the dtypes differ."""
    x, y = input.array, values.array
    if x.dtype is not y.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    broadcast_shape(x.shape, y.shape)
    return underived("heaviside", np.where(x == 0, y, as_dtype(x > 0, x.dtype)), input, values)


@op(method=True, in_place_function=True)
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of integers."""
    x, y, _ = broadcast_and_promote(input.array, other.array)
    check_kind(x, "bf", "gcd_cpu")
    return record_without_grad("gcd", np.gcd(x, y), input, other)


@op(method=True, in_place_function=True)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of integers."""
    x, y, _ = broadcast_and_promote(input.array, other.array)
    check_kind(x, "bf", "lcm_cpu")
    return record_without_grad("lcm", np.lcm(x, y), input, other)


@op(method=True)
def float_power(input: Operand, exponent: Operand) -> Tensor:
    """`input ** exponent` in float64, whatever the dtypes; one of them may be a number."""
    if not isinstance(input, Tensor):
        return PowScalar.forward(cast(exponent, np.dtype("float64")), float(input))
    base = cast(input, np.dtype("float64"))
    if isinstance(exponent, Tensor):
        return PowTensor.forward(base, cast(exponent, np.dtype("float64")))
    return Pow.forward(base, float(exponent))


@tensor_method
def float_power_(self: Tensor, exponent: Operand) -> Tensor:
    """`float_power`, in place. Raises RuntimeError if the tensor's dtype is not float64."""
    if self.dtype is not float64:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype.type_name} but the operation's "
                           "result requires dtype Double")
    return in_place(float_power, self, exponent)


arctan2 = atan2


def bitwise(name: str, ufunc: Callable[[Any, Any], Any], refused: str, kernel: str,
            doc: str) -> Callable[[Operand, Operand], Tensor]:
    """Register a bitwise op, which refuses the `refused` kinds of dtypes (see `check_kind`)."""
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
    return op(method=True, in_place=True, name=name)(function)


def shift_left(x: Any, by: Any) -> Any:
    """x · 2^by, without the bits shifted out of the number; 0 for a negative `by`."""
    width = 8 * x.dtype.itemsize
    return np.where((by < 0) | (by >= width), x.dtype.type(0), np.left_shift(x, np.clip(by, 0, width - 1)))


def shift_right(x: Any, by: Any) -> Any:
    """x / 2^by, rounded down; a negative `by` shifts out all bits."""
    last = 8 * x.dtype.itemsize - (1 if x.dtype.kind == "i" else 0)
    by = as_dtype(np.where((by < 0) | (by >= last), last, by), x.dtype)
    return np.right_shift(x, by)


bitwise_and = bitwise("bitwise_and", np.bitwise_and, "f", "bitwise_and_cpu",
                      "Elementwise `input & other` of bool or integer tensors; one may be a number.")
bitwise_or = bitwise("bitwise_or", np.bitwise_or, "f", "bitwise_or_cpu",
                     "Elementwise `input | other` of bool or integer tensors; one may be a number.")
bitwise_xor = bitwise("bitwise_xor", np.bitwise_xor, "f", "bitwise_xor_cpu",
                      "Elementwise `input ^ other` of bool or integer tensors; one may be a number.")
bitwise_left_shift = bitwise("bitwise_left_shift", shift_left, "bf", "lshift_cpu",
                             "Elementwise `input << other` of integers; one may be a number.")
bitwise_right_shift = bitwise("bitwise_right_shift", shift_right, "bf", "rshift_cpu",
                              "Elementwise `input >> other` of integers; one may be a number. The sign is kept.")


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
