"""Arithmetic of two operands: each op is a class with its forward, followed by its derivative.

Mirrors the rows of PyTorch's `derivatives.yaml`. In `backward`, `g` is the gradient of the result, `xp` the functions
of `minigrad.backends.registry`, and the other arguments are what the forward saved. The same formula runs on arrays
and, with `create_graph=True`, on Tensors. A saved value is None if the gradient that needs it is not required.
"""

from typing import Any

import numpy as np

from minigrad.core import Node, Tensor, record1, record2
from minigrad.core.record import SCALAR_OPERAND
from minigrad.ops._dispatch import NO_BOOLS_MINUS, broadcast_and_promote, check_minus, check_scale, promote_scalar
from minigrad.ops._dispatch.type_promotion import NO_BOOL_MINUS, floating

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


def check_minus_number(x: Any, number: Any) -> None:
    """Raise PyTorch's errors if an array, or a number that is subtracted, holds bools."""
    if x.dtype.kind == "b" or isinstance(number, bool):
        raise RuntimeError(NO_BOOLS_MINUS if x.dtype.kind == "b" and isinstance(number, bool) else NO_BOOL_MINUS)


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
