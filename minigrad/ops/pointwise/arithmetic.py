"""Arithmetic of two operands: each op is a class with its forward and then its derivative, and under it the function
and the form in place. Division with rounding (`//`, `fmod`, `%`) and powers are here too.

Mirrors the rows of PyTorch's `derivatives.yaml`. In `backward`, `g` is the gradient of the result, `xp` the functions
of `minigrad.backends.registry`, and the other arguments are what the forward saved. The same formula runs on arrays
and, with `create_graph=True`, on Tensors. A saved value is None if the gradient that needs it is not required.

NOTE: `x + 1` in Python is AddBackward0 with two edges. Inside a loss or a norm, where PyTorch's C++ code adds a number,
the same sum is AddBackward1 with one: `AddScalar`, and its like for the other operators.
"""

import math
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import as_dtype, number_array
from minigrad._base.tensor_errors import check_tensor
from minigrad.backends.numpy import FLOAT16
from minigrad.backends.registry import BACKEND_OF
from minigrad.core import Node, Tensor, plain, record1, record2
from minigrad.core.record import SCALAR_OPERAND
from minigrad.core.saved import NothingSaved
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import (
    NO_BOOLS_MINUS,
    broadcast_and_promote,
    check_kind,
    check_minus,
    check_scale,
    number_in,
    op,
    promote_scalar,
    tensor_method,
    underived,
)
from minigrad.ops._dispatch.memory_order import row_by_row
from minigrad.ops._dispatch.type_promotion import NO_BOOL_MINUS, floating
from minigrad.ops.pointwise.unary import Reciprocal

__all__ = ["add", "div", "divide", "floor_divide", "fmod", "mul", "multiply", "pow", "remainder", "rsub", "square",
           "sub", "subtract", "true_divide"]

Operand = Any  # a Tensor or a Python number
Grads = tuple[Any, Any]
SCALARS = frozenset({np.float16, np.float32, np.float64})  # the types of 0-d results
NOT_GIVEN = ""  # with a `rounding_mode`, even None, a division has another node


def alike(x: Any, y: Any) -> bool:
    """Whether two arrays have the same shape and dtype, on the same kind of device, and the first is row-major: then
    nothing needs broadcasting, and the result is row-major too.

    Addition and multiplication inline this test: a call would take a twentieth of their time.
    """
    return type(x) is type(y) and (
        type(x) in SCALARS or (x.shape == y.shape and x.dtype is y.dtype and x.flags.c_contiguous))


def refused(name: str, other: Operand) -> Any:
    """Raise PyTorch's error for an operand that is neither a tensor nor a number."""
    check_tensor(other, name, "other")


def scaled(input: Tensor, number: Any, alpha: Any) -> Any:
    """`alpha * number`, for a sum with `input`.

    Raises:
        RuntimeError: for an alpha that the dtype of the sum does not accept.
    """
    x, known = promote_scalar(input.array, number)
    if known is NotImplemented:
        return number
    check_scale("alpha", alpha, x.dtype)
    return number and bool(alpha) if x.dtype.kind == "b" else number * alpha


class Add(Node):
    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        x = a.array
        if not isinstance(b, Tensor):
            x, b = promote_scalar(x, b)
            return b if b is NotImplemented else record2(Add, x + b, a, SCALAR_OPERAND)
        y = b.array
        if type(x) is type(y) and (type(x) in SCALARS or (
                x.shape == y.shape and x.dtype is y.dtype and x.flags.c_contiguous)):
            return record2(Add, x + y, a, b)
        x, y, input_metadata = broadcast_and_promote(x, y)
        return record2(Add, x + y, a, b, input_metadata=input_metadata)

    @staticmethod
    def scaled(a: Tensor, b: Tensor, alpha: float) -> Tensor:
        """`a + alpha * b`."""
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        check_scale("alpha", alpha, x.dtype)
        scaled = y * alpha if y.dtype.kind != "b" else y & bool(alpha)
        return record2(Add, x + scaled, a, b, (), (alpha,), input_metadata)

    def backward(self, xp: Any, g: Any, alpha: float = 1) -> Grads:
        return g, g if alpha == 1 else g * alpha


class AddScalar(Node, name="Add", number=1):
    @staticmethod
    def forward(a: Tensor, c: float) -> Tensor:
        x, c = promote_scalar(a.array, c)
        return record1(AddScalar, x + c, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return g


@op(method=True)
def add(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`input + alpha * other`, with broadcasting and promotion."""
    if alpha != 1 or alpha is True:
        if isinstance(other, Tensor):
            return Add.scaled(input, other, alpha)
        other = scaled(input, other, alpha)
    result = Add.forward(input, other)
    return refused("add", other) if result is NotImplemented else result


@tensor_method
def add_(self: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """`self += alpha * other`."""
    return in_place(add, self, other, alpha=alpha) if alpha != 1 else in_place(
        Add.forward, self, other)


class Sub(Node):
    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        x = a.array
        if not isinstance(b, Tensor):
            check_minus_number(x, b)
            x, b = promote_scalar(x, b)
            return b if b is NotImplemented else record2(Sub, x - b, a, SCALAR_OPERAND)
        y = b.array
        if x.dtype.kind == "b" or y.dtype.kind == "b":
            check_minus(x, y)
        if alike(x, y):
            return record2(Sub, x - y, a, b)
        x, y, input_metadata = broadcast_and_promote(x, y)
        return record2(Sub, x - y, a, b, input_metadata=input_metadata)

    @staticmethod
    def scaled(a: Tensor, b: Tensor, alpha: float) -> Tensor:
        """`a - alpha * b`."""
        check_minus(a.array, b.array)
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        check_scale("alpha", alpha, x.dtype)
        return record2(Sub, x - y * alpha, a, b, (), (alpha,), input_metadata)

    def backward(self, xp: Any, g: Any, alpha: float = 1) -> Grads:
        return g, -g if alpha == 1 else g * -alpha


class SubScalar(Node, name="Sub", number=1):
    @staticmethod
    def forward(a: Tensor, c: float) -> Tensor:
        x, c = promote_scalar(a.array, c)
        return record1(SubScalar, x - c, a)

    backward = AddScalar.backward


def check_minus_number(x: Any, number: Any) -> None:
    """Raise PyTorch's errors if an array, or a number that is subtracted, holds bools."""
    if x.dtype.kind == "b" or isinstance(number, bool):
        raise RuntimeError(NO_BOOLS_MINUS if x.dtype.kind == "b" and isinstance(number, bool) else NO_BOOL_MINUS)


@op(method=True, aliases=("subtract",))
def sub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`input - alpha * other`, with broadcasting and promotion."""
    if alpha != 1 or alpha is True:
        if isinstance(other, Tensor):
            return Sub.scaled(input, other, alpha)
        check_minus_number(input.array, other)
        other = scaled(input, other, alpha)
    result = Sub.forward(input, other)
    return refused("sub", other) if result is NotImplemented else result


@tensor_method(aliases=("subtract_",))
def sub_(self: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """`self -= alpha * other`."""
    return in_place(sub, self, other, alpha=alpha) if alpha != 1 else in_place(
        Sub.forward, self, other)


class Rsub(Node, number=1):
    """A number minus a tensor."""

    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, c: Operand) -> Any:
        if isinstance(c, Tensor):
            return RsubTensor.forward(a, c, 1)
        check_minus_number(a.array, c)
        x, c = promote_scalar(a.array, c)
        return c if c is NotImplemented else record1(Rsub, c - x, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return -g


class RsubTensor(Node, name="Rsub"):
    """`b - alpha * a`."""

    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, alpha: float) -> Tensor:
        check_minus(a.array, b.array)
        y, x, input_metadata = broadcast_and_promote(b.array, a.array)
        check_scale("alpha", alpha, x.dtype)
        return record2(RsubTensor, y - (x if alpha == 1 else x * alpha), a, b, (), (alpha,),
                       type(input_metadata)(input_metadata[::-1]))

    def backward(self, xp: Any, g: Any, alpha: float) -> Grads:
        return g * -alpha, g


@op
def rsub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`other - alpha * input`."""
    if isinstance(other, Tensor):
        return RsubTensor.forward(input, other, alpha)
    return Rsub.forward(input if alpha == 1 else input * alpha, other)


class Mul(Node):
    saves = ("self", "other")

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        x = a.array
        if not isinstance(b, Tensor):
            x, b = promote_scalar(x, b, True)
            return b if b is NotImplemented else record2(Mul, x * b, a, SCALAR_OPERAND, (None, b))
        saved = a if b._requires_grad else None, b if a._requires_grad else None
        y = b.array
        if type(x) is type(y) and (type(x) in SCALARS or (
                x.shape == y.shape and x.dtype is y.dtype and x.flags.c_contiguous)):
            return record2(Mul, x * y, a, b, saved)
        x, y, input_metadata = broadcast_and_promote(x, y)
        return record2(Mul, x * y, a, b, saved, input_metadata=input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return None if b is None else g * b, None if a is None else g * a


class MulScalar(Node, name="Mul", number=1):
    constants = ("other",)

    @staticmethod
    def forward(a: Tensor, c: float) -> Tensor:
        x, c = promote_scalar(a.array, c)
        return record1(MulScalar, x * c, a, (), (c,))

    def backward(self, xp: Any, g: Any, c: float) -> Any:
        return g * c


@op(method=True, aliases=("multiply",))
def mul(input: Tensor, other: Operand) -> Tensor:
    """`input * other`, with broadcasting and promotion."""
    result = Mul.forward(input, other)
    return refused("mul", other) if result is NotImplemented else result


@tensor_method(aliases=("multiply_",))
def mul_(self: Tensor, other: Any) -> Tensor:
    """`self *= other`."""
    return in_place(Mul.forward, self, other)


class Div(Node):
    saves = ("self", "other")

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        x = a.array
        if x.dtype.kind != "f":
            x = floating(x) if not isinstance(b, Tensor) or b.array.dtype.kind != "f" else x
        if not isinstance(b, Tensor):
            x, b = promote_scalar(x, b, True)
            return b if b is NotImplemented else record2(Div, x / b, a, SCALAR_OPERAND, (None, b))
        y = b.array
        saved = a if b._requires_grad else None, b
        if alike(x, y):
            return record2(Div, x / y, a, b, saved)
        x, y, input_metadata = broadcast_and_promote(x, y)
        return record2(Div, x / y, a, b, saved, input_metadata=input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return g / b, None if a is None else -g * ((a / b) / b)


class DivScalar(Node, name="Div", number=1):
    constants = ("other",)

    @staticmethod
    def forward(a: Tensor, c: float) -> Tensor:
        x, c = promote_scalar(a.array, c)
        return record1(DivScalar, x / c, a, (), (c,))

    def backward(self, xp: Any, g: Any, c: float) -> Any:
        return g / c


def truncated(x: Any, y: Any) -> Any:
    """The quotient rounded towards 0."""
    if x.dtype.kind == "f":
        return np.trunc(x / y)
    quotient = np.floor_divide(x, y)
    return quotient + as_dtype((quotient < 0) & (quotient * y != x), x.dtype)


def floored(x: Any, y: Any) -> Any:
    """The quotient rounded down; over 0 it is infinite or NaN, as without rounding."""
    down = np.floor_divide(x, y)
    return down if x.dtype.kind != "f" else as_dtype(np.where(y == 0, x / y, down), down.dtype, copy=False)


def checked(x: Any, y: Any, kernel: str) -> None:
    """Raise PyTorch's errors for bools, and for integers divided by 0."""
    check_kind(x, "b", kernel)
    if x.dtype.kind != "f" and type(x) not in BACKEND_OF and type(y) not in BACKEND_OF and x.size and not np.all(y):
        raise RuntimeError("ZeroDivisionError")


ROUNDED: dict[str, Any] = {"floor": floored, "trunc": truncated}


class DivRounded(Node, name="Div", number=2):
    """The quotient, rounded down ("floor"), towards 0 ("trunc") or not at all (None)."""

    saves = ("self", "other")
    constants = ("rounding_mode",)

    @staticmethod
    def values(x: Any, y: Any, rounding_mode: str) -> Any:
        """On arrays, as `xp.apply` needs it."""
        return ROUNDED[rounding_mode](x, y)

    @staticmethod
    def forward(a: Tensor, b: Operand, rounding_mode: str | None) -> Tensor:
        if rounding_mode is None:
            z = Div.forward(plain(a.array), plain(b.array) if isinstance(b, Tensor) else b).array
        elif rounding_mode not in ROUNDED:
            raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                               f"'{rounding_mode}'")
        else:
            z = quotient(a, b, ROUNDED[rounding_mode], f"div_{rounding_mode}_cpu")
        if not isinstance(b, Tensor):
            return record2(DivRounded, z, a, SCALAR_OPERAND, (None, b), (rounding_mode,))
        input_metadata = broadcast_and_promote(a.array, b.array)[2]
        return record2(DivRounded, z, a, b, (a if b._requires_grad else None, b), (rounding_mode,), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, rounding_mode: str | None) -> Any:
        if rounding_mode is None:
            return g / b, None if a is None else -g * ((a / b) / b)
        zeros = xp.zeros(g.shape, g)
        return zeros, None if a is None else zeros


def quotient(a: Tensor, b: Operand, rounded: Any, kernel: str) -> Any:
    """The rounded quotient as an array."""
    x, y = (broadcast_and_promote(a.array, b.array)[:2] if isinstance(b, Tensor) else promote_scalar(a.array, b))
    y = y if isinstance(b, Tensor) else x.dtype.type(y)
    checked(x, y, kernel)
    return rounded(x, y)


@op(method=True, aliases=("divide", "true_divide"))
def div(input: Tensor, other: Operand, *, rounding_mode: str | None = NOT_GIVEN) -> Tensor:
    """`input / other`, with broadcasting and promotion; integers become floats.

    With `rounding_mode` "floor" or "trunc" the quotient is rounded down or towards 0; integers then stay integers, and
    the gradient is 0.

    Raises:
        RuntimeError: for another `rounding_mode`, and for integers divided by 0 with one.
    """
    if rounding_mode != NOT_GIVEN:
        return DivRounded.forward(input, other, rounding_mode)
    result = Div.forward(input, other)
    return refused("div", other) if result is NotImplemented else result


def rdiv(input: Tensor, other: Operand) -> Tensor:
    """`other / input`, which PyTorch computes as `reciprocal(input) * other`."""
    return Reciprocal.forward(input) * other


@tensor_method(aliases=("divide_", "true_divide_"))
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = NOT_GIVEN) -> Tensor:
    """`self /= other`, with rounding as in `div`."""
    if rounding_mode != NOT_GIVEN:
        return in_place(div, self, other, rounding_mode=rounding_mode)
    return in_place(Div.forward, self, other)


def wrapped(number: Any, like: Tensor) -> Tensor:
    """A number as a 0-d tensor of the dtype to which it and `like` are promoted."""
    x, number = promote_scalar(like.array, number)
    return plain(number_array(number, x.dtype))


@op(method=True, in_place=True)
def floor_divide(input: Operand, other: Operand) -> Tensor:
    """`input // other`, the quotient rounded down; one of them may be a number. It has no derivative, as in PyTorch."""
    first = input if isinstance(input, Tensor) else wrapped(input, other)
    return underived("floor_divide", quotient(first, other, floored, "div_floor_cpu"),
                     *[v for v in (input, other) if isinstance(v, Tensor)])


def rfloordiv(self: Tensor, other: Operand) -> Tensor:
    """`other // self`."""
    return floor_divide(other, self)


def left(x: Any, y: Any) -> Any:
    """The remainder with the sign of `y`; a zero has that of `x`."""
    if x.dtype.kind != "f":
        return np.remainder(x, y)
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


class Fmod(Node):
    """The remainder of a tensor divided by a number, with the sign of the tensor."""

    kernel: ClassVar[str] = "fmod_cpu"
    values: ClassVar[Any] = np.fmod

    @classmethod
    def forward(cls, a: Tensor, c: float) -> Tensor:
        return record1(cls, quotient(a, c, cls.values, cls.kernel), a)

    def backward(self, xp: Any, g: Any) -> Any:
        return g


class Remainder(Fmod):
    """The remainder of a tensor divided by a number, with the sign of the number."""

    kernel = "remainder_cpu"
    values = staticmethod(left)


class FmodTensor(Node, name="Fmod", number=1):
    """The remainder of two tensors, with the sign of the dividend."""

    saves = ("self", "other")
    kernel: ClassVar[str] = Fmod.kernel
    values: ClassVar[Any] = Fmod.values
    rounding: ClassVar[str] = "trunc"  # of the quotient, which is the derivative with respect to `other`

    @classmethod
    def forward(cls, a: Tensor, b: Tensor) -> Tensor:
        saved = (a, b) if b._requires_grad else NothingSaved((None, None))
        return record2(cls, quotient(a, b, cls.values, cls.kernel), a, b, saved,
                       input_metadata=broadcast_and_promote(a.array, b.array)[2])

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return g, None if b is None else -g * xp.apply(DivRounded, a, b, self.rounding)


class RemainderTensor(FmodTensor, name="Remainder", number=1):
    """The remainder of two tensors, with the sign of the divisor."""

    kernel = Remainder.kernel
    values = staticmethod(left)
    rounding = "floor"


@op(method=True, in_place=True)
def fmod(input: Tensor, other: Operand) -> Tensor:
    """The remainder of `input / other`, with the sign of `input`.

    Raises:
        RuntimeError: for integers where `other` is 0.
    """
    return FmodTensor.forward(input, other) if isinstance(other, Tensor) else Fmod.forward(input, other)


@op(method=True, in_place=True)
def remainder(input: Operand, other: Operand) -> Tensor:
    """`input % other`: the remainder, with the sign of `other`; one of them may be a number.

    Raises:
        RuntimeError: for integers where `other` is 0.
    """
    if not isinstance(input, Tensor):
        return underived("remainder", quotient(wrapped(input, other), other, left, "remainder_cpu"), other)
    return RemainderTensor.forward(input, other) if isinstance(other, Tensor) else Remainder.forward(input, other)


def rremainder(self: Tensor, other: Operand) -> Tensor:
    """`other % self`."""
    return remainder(other, self)


class Pow(Node):
    """A tensor to the power of a number."""

    saves = ("self",)
    constants = ("exponent",)

    @staticmethod
    def forward(a: Tensor, n: float) -> Any:
        given = n
        x, n = promote_scalar(a.array, n)
        if n is NotImplemented:
            return NotImplemented
        if abs(given) > 127:
            number_in(given, x.dtype)
        if x.dtype.kind != "f" and given < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return record1(Pow, power(x, n), a, (a,), (n,))

    def backward(self, xp: Any, g: Any, a: Any, n: float) -> Any:
        return g * (n * xp.power(a, n - 1)) if n else xp.zeros(g.shape, g)


class PowTensor(Node, name="Pow", number=1):
    """A tensor to the power of a tensor (PowBackward1)."""

    saves = ("self", "exponent", "result")

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        if x.dtype.kind == "b":
            raise NotImplementedError("\"pow\" not implemented for 'Bool'")
        z = power_of_each(x, y) if x.dtype.kind == "f" else whole_power(x, y)
        return record2(PowTensor, z, a, b, (a, b, z), input_metadata=input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, z: Any) -> Grads:
        return (xp.masked(b != 0, g * (b * xp.power(a, b - 1))),
                g * xp.masked(~((a == 0) & (b >= 0)), z * xp.log(a)))


class PowScalar(Node, name="Pow", number=2):
    """A number to the power of a tensor (PowBackward2)."""

    saves = ("exponent", "result")
    constants = ("self",)

    @staticmethod
    def forward(b: Tensor, c: float) -> Any:
        y, c = promote_scalar(b.array, c)
        if c is NotImplemented:
            return NotImplemented
        if y.dtype.kind == "b":
            raise NotImplementedError("\"pow\" not implemented for 'Bool'")
        base = y.dtype.type(c)
        z = np.power(base, y) if y.dtype.kind == "f" else whole_power(base, y)
        return record1(PowScalar, row_by_row(z), b, (b, z), (c,))

    def backward(self, xp: Any, g: Any, b: Any, z: Any, c: float) -> Any:
        if c == 0:
            return g * xp.masked(b < 0, z * -math.inf)
        return g * (z * (math.log(c) if c > 0 else math.nan))


def power_of_each(x: Any, y: Any) -> Any:
    """`x ** y` of floats. Where a single exponent of 0.5 applies to many elements NumPy takes square roots, which
    differ for -inf and -0."""
    z = np.power(x, y)
    half = y == 0.5
    if type(x) in BACKEND_OF or not half.any():
        return z
    root = np.where(x == -math.inf, z.dtype.type(math.inf), z + z.dtype.type(0))
    return np.where(half, root, z)


def whole_power(x: Any, y: Any) -> Any:
    """`x ** y` of integers; for a negative `y`, 0 unless `x` is 1 or -1."""
    z = np.power(x, abs(y))
    return np.where((y < 0) & (abs(x) != 1), x.dtype.type(0), z)


def power(x: Any, n: float) -> Any:
    """`x ** n` on an array, by products where they are exact and much faster, and by square roots; for float16 PyTorch
    computes the power, which differs for -inf and -0."""
    if n == 2:
        return x * x
    if n == 3:
        return x * x * x
    if n == 1:
        return x.copy()
    if abs(n) == 0.5 and x.dtype is FLOAT16:
        return np.power(x, n)
    if n == -0.5:
        return 1 / np.sqrt(x)  # for -0 it is -inf
    return np.sqrt(x) if n == 0.5 else np.power(x, n)


@op(method=True)
def pow(input: Operand, exponent: Operand) -> Any:
    """`input ** exponent`; one of them may be a number."""
    if not isinstance(input, Tensor):
        return PowScalar.forward(exponent, input)
    if isinstance(exponent, Tensor):
        return PowTensor.forward(input, exponent)
    return Pow.forward(input, exponent)


def rpow(input: Tensor, other: Operand) -> Tensor:
    """`other ** input`."""
    if isinstance(other, Tensor):
        return PowTensor.forward(other, input)
    return PowScalar.forward(input, other)


@op(method=True, in_place_function=True)
def square(input: Tensor) -> Tensor:
    """`input ** 2`."""
    return Pow.forward(input, 2)


@tensor_method
def pow_(self: Tensor, exponent: Any) -> Tensor:
    """`self **= exponent`."""
    op = PowTensor if isinstance(exponent, Tensor) else Pow
    return in_place(op.forward, self, exponent)


multiply, subtract, divide, true_divide = mul, sub, div, div
