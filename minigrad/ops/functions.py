"""The ops as functions: `minigrad.mul(a, b)` beside `a * b`. Arguments are checked here, the work is the ops'."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from minigrad._tensor import Tensor, plain
from minigrad._tensor_errors import check_tensor
from minigrad._type_name import type_name
from minigrad.ops import activation, pointwise, power
from minigrad.ops.division import DivRounded

__all__ = ["abs", "add", "cos", "div", "exp", "log", "mul", "neg", "pow", "reciprocal", "relu", "rsub", "sigmoid",
           "sign", "sin", "sqrt", "square", "sub", "tanh", "where"]
METHODS = ("abs", "add", "cos", "div", "exp", "log", "mul", "neg", "pow", "reciprocal", "relu", "sigmoid", "sign",
           "sin", "sqrt", "square", "sub", "tanh")
IN_PLACE = ("abs", "cos", "exp", "log", "neg", "reciprocal", "sigmoid", "sign", "sin", "sqrt", "square", "tanh")

Operand = Any  # a Tensor or a Python number
NOT_GIVEN = ""  # with a `rounding_mode`, be it None, the node of a division is another one


def _checked(result: Any, name: str, position: int, given: Any) -> Tensor:
    """A result, or PyTorch's kind of error for an operand that is neither a tensor nor a number."""
    if result is NotImplemented:
        check_tensor(given, name, "other", position)
    return result


def _tensor(value: Operand, other: Operand, name: str) -> Tensor:
    """The left operand of a function, which may be a number where the right one is a tensor."""
    if not isinstance(value, (Tensor, Number, np.generic)):
        check_tensor(value, name)
    return value if isinstance(value, Tensor) else pointwise.as_operand(value, other)


def _unary(op: Any, input: Any, name: str) -> Tensor:
    """An op of one tensor; PyTorch's error for anything else."""
    check_tensor(input, name)
    return op(input)


def add(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`input + alpha * other`, with broadcasting and promotion."""
    if alpha != 1 and isinstance(other, Tensor):
        return pointwise.AddScaled.forward(_tensor(input, other, "add"), other, alpha)
    scaled = other if alpha == 1 else other * alpha
    return _checked(pointwise.Add.forward(_tensor(input, other, "add"), scaled), "add", 2, other)


def sub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`input - alpha * other`, with broadcasting and promotion."""
    if alpha != 1 and isinstance(other, Tensor):
        return pointwise.SubScaled.forward(_tensor(input, other, "sub"), other, alpha)
    scaled = other if alpha == 1 else other * alpha
    return _checked(pointwise.Sub.forward(_tensor(input, other, "sub"), scaled), "sub", 2, other)


def rsub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`other - alpha * input`."""
    if isinstance(other, Tensor):
        return pointwise.RsubTensor.forward(input, other, alpha)
    return pointwise.Rsub.forward(input if alpha == 1 else mul(input, alpha), other)


def mul(input: Tensor, other: Operand) -> Tensor:
    """`input * other`, with broadcasting and promotion."""
    return _checked(pointwise.Mul.forward(_tensor(input, other, "mul"), other), "mul", 2, other)


def div(input: Tensor, other: Operand, *, rounding_mode: str | None = NOT_GIVEN) -> Tensor:
    """`input / other`, with broadcasting and promotion; integers become floats.

    With `rounding_mode` "floor" or "trunc" the quotient is rounded, down or towards 0; then integers stay integers,
    and the gradient is 0.

    Raises:
        RuntimeError: for another `rounding_mode`, and for integers that are divided by 0 with one.
    """
    if rounding_mode != NOT_GIVEN:
        return DivRounded.forward(_tensor(input, other, "div"), other, rounding_mode)
    return _checked(pointwise.Div.forward(_tensor(input, other, "div"), other), "div", 2, other)


def rdiv(input: Tensor, other: Operand) -> Tensor:
    """`other / input`, which PyTorch computes as `reciprocal(input) * other`."""
    return pointwise.Reciprocal.forward(input) * other


def pow(input: Operand, exponent: Operand) -> Tensor:
    """`input ** exponent`; one of them may be a number."""
    if not isinstance(input, Tensor):
        return _checked(power.PowScalar.forward(exponent, input), "pow", 1, input)
    if isinstance(exponent, Tensor):
        return power.PowTensor.forward(input, exponent)
    return power.Pow.forward(input, exponent)


def rpow(input: Tensor, other: Operand) -> Tensor:
    """`other ** input`."""
    return power.PowScalar.forward(input, other)


def square(input: Tensor) -> Tensor:
    """`input ** 2`."""
    return power.Pow.forward(input, 2)


def neg(input: Tensor) -> Tensor:
    """`-input`."""
    return _unary(pointwise.Neg.forward, input, "neg")


def reciprocal(input: Tensor) -> Tensor:
    """`1 / input`; integers become float32."""
    return _unary(pointwise.Reciprocal.forward, input, "reciprocal")


def exp(input: Tensor) -> Tensor:
    """The exponential of each element."""
    return _unary(pointwise.Exp.forward, input, "exp")


def log(input: Tensor) -> Tensor:
    """The natural logarithm of each element."""
    return _unary(pointwise.Log.forward, input, "log")


def sqrt(input: Tensor) -> Tensor:
    """The square root of each element."""
    return _unary(pointwise.Sqrt.forward, input, "sqrt")


def sin(input: Tensor) -> Tensor:
    """The sine of each element, in radians."""
    return _unary(pointwise.Sin.forward, input, "sin")


def cos(input: Tensor) -> Tensor:
    """The cosine of each element, in radians."""
    return _unary(pointwise.Cos.forward, input, "cos")


def abs(input: Tensor) -> Tensor:
    """The absolute value of each element; the derivative at 0 is 0."""
    return _unary(pointwise.Abs.forward, input, "abs")


def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1 for each element."""
    return _unary(pointwise.Sign.forward, input, "sign")


def relu(input: Tensor) -> Tensor:
    """max(input, 0)."""
    return _unary(activation.Relu.forward, input, "relu")


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
    return _unary(activation.Sigmoid.forward, input, "sigmoid")


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element."""
    return _unary(activation.Tanh.forward, input, "tanh")


def where(condition: Tensor, input: Operand = None, other: Operand = None) -> Any:
    """`input` where `condition`, else `other`; with the condition alone the indices of what is not zero, as a tuple.

    Raises:
        RuntimeError: if the condition is not of bools.
    """
    if input is None and other is None:
        return tuple([plain(index) for index in np.nonzero(np.atleast_1d(condition.array))])
    given: tuple[Any, ...] = condition, input, other
    if not isinstance(given[0], Tensor) or not all(isinstance(v, (Tensor, Number, np.generic)) for v in given):
        kinds = ["Tensor" if isinstance(v, Tensor) else type_name(v) for v in given if v is not None]
        raise TypeError(f"where() received an invalid combination of arguments - got ({', '.join(kinds)}), "
                        "but expected one of:\n * (Tensor condition, Tensor or Number input, Tensor or Number other)")
    return pointwise.Where.forward(condition, input, other)


def where_of(input: Tensor, condition: Tensor, other: Operand) -> Tensor:
    """The tensor where `condition`, else `other`: the method of Tensor."""
    return where(condition, input, other)
