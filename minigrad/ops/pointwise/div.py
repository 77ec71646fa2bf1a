"""Division, with and without rounding, and its remainder: `/`, `//`, `%`, `div(rounding_mode=)`, `fmod`, `remainder`.

Mirrors PyTorch's `BinaryOps.cpp`. `fmod` has the sign of the dividend (rounding towards 0), `remainder` and `%`
that of the divisor (rounding down). As in PyTorch, `//` and a number `%` a tensor have no derivative.
"""

from typing import Any, ClassVar

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.dtype import as_dtype, number_array
from minigrad.backends.registry import BACKEND_OF
from minigrad.core import SCALAR_OPERAND, Node, NothingSaved, Tensor, plain, record1, record2
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import (
    broadcast_and_promote,
    check_kind,
    floating,
    op,
    promote_scalar,
    tensor_method,
    underived,
)
from minigrad.ops.pointwise.add import alike, refused
from minigrad.ops.pointwise.unary import Reciprocal

__all__ = ["div", "divide", "floor_divide", "fmod", "remainder", "true_divide"]

Operand = Any  # a Tensor or a Python number
Grads = tuple[Any, Any]
NOT_GIVEN = ""  # with a `rounding_mode`, even None, a division has another node


class Div(Node):
    saves = ("self", "other")

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        try:
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
        except SIGNALS as error:
            return silently(error, Div.forward, a, b)

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
    the gradient is 0. Raises RuntimeError for another `rounding_mode`, and for integers divided by 0 with one.
    """
    if rounding_mode != NOT_GIVEN:
        return DivRounded.forward(input, other, rounding_mode)
    result = Div.forward(input, other)
    return refused("div", other) if result is NotImplemented else result


def rdiv(input: Tensor, other: Operand) -> Any:
    """`other / input`, which PyTorch computes as `reciprocal(input) * other`."""
    try:
        return Reciprocal.forward(input) * other
    except TypeError:
        return NotImplemented
    except SIGNALS as error:
        return silently(error, rdiv, input, other)


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
    try:
        first = input if isinstance(input, Tensor) else wrapped(input, other)
        return underived("floor_divide", quotient(first, other, floored, "div_floor_cpu"),
                         *[v for v in (input, other) if isinstance(v, Tensor)])
    except SIGNALS as error:
        return silently(error, floor_divide, input, other)


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
    """The remainder of `input / other`, with the sign of `input`. Raises RuntimeError for integers where `other` is
    0."""
    return FmodTensor.forward(input, other) if isinstance(other, Tensor) else Fmod.forward(input, other)


@op(method=True, in_place=True)
def remainder(input: Operand, other: Operand) -> Tensor:
    """`input % other`: the remainder, with the sign of `other`; one of them may be a number. Raises RuntimeError for
    integers where `other` is 0."""
    try:
        if not isinstance(input, Tensor):
            return underived("remainder", quotient(wrapped(input, other), other, left, "remainder_cpu"), other)
        return RemainderTensor.forward(input, other) if isinstance(other, Tensor) else Remainder.forward(input, other)
    except SIGNALS as error:
        return silently(error, remainder, input, other)


def rremainder(self: Tensor, other: Operand) -> Tensor:
    """`other % self`."""
    return remainder(other, self)


divide = true_divide = div
