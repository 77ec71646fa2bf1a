"""The ops as functions: `minigrad.mul(a, b)` for `a * b`. An op of one tensor is its function.

Arguments of a wrong type are not checked here: the argument parser raises PyTorch's errors for them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.tensor_errors import check_tensor
from minigrad.core import Tensor, record_without_grad
from minigrad.ops._dispatch import check_scale, op, promote_scalar, tensor_method, unary_function
from minigrad.ops._dispatch.registration import DIRECT_METHODS, METHODS
from minigrad.ops.activation import basic as activation
from minigrad.ops.pointwise import arithmetic as pointwise
from minigrad.ops.pointwise import elementary, power
from minigrad.ops.pointwise.division import DivRounded
from minigrad.ops.pointwise.where import Where

__all__ = ["abs", "add", "cos", "div", "exp", "log", "mul", "neg", "pow", "reciprocal", "relu", "rsub", "sigmoid",
           "sign", "sin", "sqrt", "square", "sub", "tanh", "where"]

Operand = Any  # a Tensor or a Python number
Unary = Callable[[Tensor], Tensor]
NOT_GIVEN = ""  # with a `rounding_mode`, even None, a division has another node


def unary_op(name: str, cls: Any, doc: str, *, direct_method: bool = False, in_place_function: bool = True) -> Unary:
    """Register an op of one tensor as the function `name`; a direct method is the op's forward itself."""
    function = op(name=name, method=True, in_place=True, in_place_function=in_place_function)(unary_function(cls, doc))
    if direct_method:
        cls.forward.__doc__ = doc
        DIRECT_METHODS[name] = METHODS[name] = cls.forward
        setattr(Tensor, name, cls.forward)
    return function


abs = unary_op("abs", elementary.Abs, "The absolute value of each element; the derivative at 0 is 0.")
cos = unary_op("cos", elementary.Cos, "The cosine of each element, an angle in radians.")
exp = unary_op("exp", elementary.Exp, "The exponential of each element.", direct_method=True)
log = unary_op("log", elementary.Log, "The natural logarithm of each element.")
neg = unary_op("neg", elementary.Neg, "`-input`.")
reciprocal = unary_op("reciprocal", elementary.Reciprocal, "`1 / input`; integers become float32.")
relu = unary_op("relu", activation.Relu, "max(input, 0).", direct_method=True)
sigmoid = unary_op("sigmoid", activation.Sigmoid, "1 / (1 + exp(-input)).", direct_method=True)
sign = unary_op("sign", elementary.Sign, "-1, 0 or 1 for each element.", in_place_function=False)
sin = unary_op("sin", elementary.Sin, "The sine of each element, an angle in radians.")
sqrt = unary_op("sqrt", elementary.Sqrt, "The square root of each element.")
tanh = unary_op("tanh", activation.Tanh, "The hyperbolic tangent of each element.", direct_method=True)


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


@op(method=True)
def add(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`input + alpha * other`, with broadcasting and promotion."""
    if alpha != 1 or alpha is True:
        if isinstance(other, Tensor):
            return pointwise.Add.scaled(input, other, alpha)
        other = scaled(input, other, alpha)
    result = pointwise.Add.forward(input, other)
    return refused("add", other) if result is NotImplemented else result


@op(method=True)
def sub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`input - alpha * other`, with broadcasting and promotion."""
    if alpha != 1 or alpha is True:
        if isinstance(other, Tensor):
            return pointwise.Sub.scaled(input, other, alpha)
        pointwise.check_minus_number(input.array, other)
        other = scaled(input, other, alpha)
    result = pointwise.Sub.forward(input, other)
    return refused("sub", other) if result is NotImplemented else result


@op
def rsub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`other - alpha * input`."""
    if isinstance(other, Tensor):
        return pointwise.RsubTensor.forward(input, other, alpha)
    return pointwise.Rsub.forward(input if alpha == 1 else input * alpha, other)


@op(method=True)
def mul(input: Tensor, other: Operand) -> Tensor:
    """`input * other`, with broadcasting and promotion."""
    result = pointwise.Mul.forward(input, other)
    return refused("mul", other) if result is NotImplemented else result


@op(method=True)
def div(input: Tensor, other: Operand, *, rounding_mode: str | None = NOT_GIVEN) -> Tensor:
    """`input / other`, with broadcasting and promotion; integers become floats.

    With `rounding_mode` "floor" or "trunc" the quotient is rounded down or towards 0; integers then stay integers, and
    the gradient is 0.

    Raises:
        RuntimeError: for another `rounding_mode`, and for integers divided by 0 with one.
    """
    if rounding_mode != NOT_GIVEN:
        return DivRounded.forward(input, other, rounding_mode)
    result = pointwise.Div.forward(input, other)
    return refused("div", other) if result is NotImplemented else result


def rdiv(input: Tensor, other: Operand) -> Tensor:
    """`other / input`, which PyTorch computes as `reciprocal(input) * other`."""
    return elementary.Reciprocal.forward(input) * other


@op(method=True)
def pow(input: Operand, exponent: Operand) -> Any:
    """`input ** exponent`; one of them may be a number."""
    if not isinstance(input, Tensor):
        return power.PowScalar.forward(exponent, input)
    if isinstance(exponent, Tensor):
        return power.PowTensor.forward(input, exponent)
    return power.Pow.forward(input, exponent)


def rpow(input: Tensor, other: Operand) -> Tensor:
    """`other ** input`."""
    if isinstance(other, Tensor):
        return power.PowTensor.forward(other, input)
    return power.PowScalar.forward(input, other)


@op(method=True, in_place_function=True)
def square(input: Tensor) -> Tensor:
    """`input ** 2`."""
    return power.Pow.forward(input, 2)


@op
def where(condition: Tensor, input: Operand = None, other: Operand = None) -> Any:
    """`input` where `condition`, else `other`; given only the condition, the indices of its non-zero elements, a tuple.

    Raises:
        RuntimeError: if the condition is neither bool nor uint8.
    """
    if input is None and other is None:
        found = np.nonzero(np.atleast_1d(condition.array))
        return tuple([record_without_grad("nonzero", index, condition) for index in found])
    return Where.forward(condition, input, other)


@tensor_method(name="where")
def where_of(input: Tensor, condition: Tensor, other: Operand) -> Tensor:
    """The tensor where `condition`, else `other`: the method of Tensor."""
    return where(condition, input, other)
