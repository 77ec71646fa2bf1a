"""Sums and differences: each op is a class with its forward and then its derivative, then the function and in place.

Mirrors rows of PyTorch's `derivatives.yaml`. In `backward`, `g` is the gradient of the result, `xp` the functions
of `minigrad.backends.protocol`, and the other arguments are what the forward saved. The same formula runs on arrays
and, with `create_graph=True`, on Tensors. A saved value is None if the gradient that needs it is not required.

NOTE: `x + 1` in Python is AddBackward0 with two edges. Inside a loss or a norm, where PyTorch's C++ code adds a number,
the same sum is AddBackward1 with one: `AddScalar`, and its like for the other operators.
"""

from typing import Any

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.tensor_errors import check_tensor
from minigrad.core import SCALAR_OPERAND, Node, Tensor, record1, record2
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops._dispatch.type_promotion import (
    NO_BOOL_MINUS,
    NO_BOOLS_MINUS,
    broadcast_and_promote,
    check_minus,
    check_scale,
    promote_scalar,
)

__all__ = ["add", "rsub", "sub", "subtract"]

Operand = Any  # a Tensor or a Python number
Grads = tuple[Any, Any]
SCALARS = frozenset({np.float16, np.float32, np.float64})  # the types of 0-d results


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
    """`alpha * number`, for a sum with `input`. Raises RuntimeError for an alpha that the dtype of the sum does not
    accept."""
    x, known = promote_scalar(input.array, number)
    if known is NotImplemented:
        return number
    alpha = check_scale("alpha", alpha, x.dtype)
    if x.dtype.kind in "iu":  # one element in an array wraps around without a warning
        return (np.array([known], x.dtype) * alpha)[0].item()
    return number and bool(alpha) if x.dtype.kind == "b" else number * alpha


class Add(Node):
    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        try:
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
        except SIGNALS as error:
            return silently(error, Add.forward, a, b)

    def backward(self, xp: Any, g: Any, alpha: float = 1) -> Grads:
        return g, g if alpha == 1 else g * alpha


class ScaledAdd(Node, number=None):
    @staticmethod
    def forward(a: Tensor, b: Tensor, alpha: float) -> Tensor:
        """`a + alpha * b`."""
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        alpha = check_scale("alpha", alpha, x.dtype)
        scaled = y * alpha if y.dtype.kind != "b" else y & bool(alpha)
        return record2(Add, x + scaled, a, b, (), (alpha,), input_metadata)


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
            return ScaledAdd.forward(input, other, alpha)
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
        try:
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
        except SIGNALS as error:
            return silently(error, Sub.forward, a, b)

    def backward(self, xp: Any, g: Any, alpha: float = 1) -> Grads:
        return g, -g if alpha == 1 else g * -alpha


class ScaledSub(Node, number=None):
    @staticmethod
    def forward(a: Tensor, b: Tensor, alpha: float) -> Tensor:
        """`a - alpha * b`."""
        check_minus(a.array, b.array)
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        alpha = check_scale("alpha", alpha, x.dtype)
        return record2(Sub, x - y * alpha, a, b, (), (alpha,), input_metadata)


class SubScalar(Node, name="Sub", number=1):
    @staticmethod
    def forward(a: Tensor, c: float) -> Tensor:
        x, c = promote_scalar(a.array, c)
        return record1(SubScalar, x - c, a)

    backward = AddScalar.backward


def check_minus_number(x: Any, number: Any) -> None:
    """Raise PyTorch's errors if an array, or a number that is subtracted, holds bools."""
    if isinstance(number, bool) or x.dtype.kind == "b" and isinstance(number, (int, float, np.generic)):
        raise RuntimeError(NO_BOOLS_MINUS if x.dtype.kind == "b" and isinstance(number, bool) else NO_BOOL_MINUS)


@op(method=True, aliases=("subtract",))
def sub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`input - alpha * other`, with broadcasting and promotion."""
    if alpha != 1 or alpha is True:
        if isinstance(other, Tensor):
            return ScaledSub.forward(input, other, alpha)
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
        try:
            if isinstance(c, Tensor):
                return RsubTensor.forward(a, c, 1)
            check_minus_number(a.array, c)
            x, c = promote_scalar(a.array, c)
            return c if c is NotImplemented else record1(Rsub, c - x, a)
        except SIGNALS as error:
            return silently(error, Rsub.forward, a, c)

    def backward(self, xp: Any, g: Any) -> Any:
        return -g


class RsubTensor(Node, name="Rsub"):
    """`b - alpha * a`."""

    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, alpha: float) -> Tensor:
        check_minus(a.array, b.array)
        y, x, input_metadata = broadcast_and_promote(b.array, a.array)
        alpha = check_scale("alpha", alpha, x.dtype)
        return record2(RsubTensor, y - (x if alpha == 1 else x * alpha), a, b, (), (alpha,),
                       type(input_metadata)(input_metadata[::-1]))

    def backward(self, xp: Any, g: Any, alpha: float) -> Grads:
        return g * -alpha, g


@op
def rsub(input: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """`other - alpha * input`."""
    if isinstance(other, Tensor):
        return RsubTensor.forward(input, other, alpha)
    if alpha != 1 or alpha is True:
        check_minus_number(input.array, other)
        x, _ = promote_scalar(input.array, other)
        alpha = check_scale("alpha", alpha, x.dtype)
        input = input * (float(alpha) if x.dtype.kind == "f" else alpha)
    return Rsub.forward(input, other)


subtract = sub
