"""Powers: a tensor to a number, a tensor to a tensor, and a number to a tensor, each with its own node in PyTorch."""

import math
from typing import Any

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad.backends.numpy import FLOAT16
from minigrad.backends.registry import BACKEND_OF
from minigrad.core import Node, Tensor, record1, record2
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import broadcast_and_promote, number_in, op, promote_scalar, row_by_row, tensor_method

__all__ = ["pow", "square"]

Operand = Any  # a Tensor or a Python number
Grads = tuple[Any, Any]


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
        if x.dtype.kind != "f" and given < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if abs(given) > 127:
            number_in(given, x.dtype)
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
    try:
        if not isinstance(input, Tensor):
            return PowScalar.forward(exponent, input)
        if isinstance(exponent, Tensor):
            return PowTensor.forward(input, exponent)
        return Pow.forward(input, exponent)
    except SIGNALS as error:
        return silently(error, pow, input, exponent)


def rpow(input: Tensor, other: Operand) -> Tensor:
    """`other ** input`."""
    try:
        if isinstance(other, Tensor):
            return PowTensor.forward(other, input)
        return PowScalar.forward(input, other)
    except SIGNALS as error:
        return silently(error, rpow, input, other)


@op(method=True, in_place_function=True)
def square(input: Tensor) -> Tensor:
    """`input ** 2`."""
    return Pow.forward(input, 2)


@tensor_method
def pow_(self: Tensor, exponent: Any) -> Tensor:
    """`self **= exponent`."""
    op = PowTensor if isinstance(exponent, Tensor) else Pow
    return in_place(op.forward, self, exponent)
