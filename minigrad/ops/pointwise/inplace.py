"""In-place ops such as `x.add_(1)`: each is the out-of-place op with its result written into `x`."""

from numbers import Number
from typing import Any

import numpy as np

from minigrad._base.tensor_errors import check_tensor
from minigrad.backends.registry import device_like, moved
from minigrad.core import Node, Tensor, record1, record2
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import number_in, op, tensor_method
from minigrad.ops._dispatch.registration import METHODS
from minigrad.ops.pointwise import arithmetic as pointwise
from minigrad.ops.pointwise import functions, power
from minigrad.ops.tensor.copy import Copy

__all__ = ["fill_", "zero_"]


class Zero(Node):
    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Zero, np.zeros_like(a.array), a)

    def backward(self, xp: Any, g: Any) -> Any:
        return xp.zeros(g.shape, g)


class Fill(Node, number=2):
    @classmethod
    def forward(cls, a: Tensor, value: Any) -> Tensor:
        if isinstance(value, Tensor):
            return FillTensor.forward(a, value)
        x = a.array
        return record1(cls, np.full(x.shape, number_in(value, x.dtype), x.dtype, like=device_like(x)), a)

    backward = Zero.backward


class FillTensor(Node, name="Fill", number=3):
    """Fills with a 0-d tensor, whose gradient is the sum of the gradients."""

    @classmethod
    def forward(cls, a: Tensor, value: Tensor) -> Tensor:
        x, y = a.array, value.array
        if y.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {y.ndim} dimensions.")
        filled = np.full(x.shape, moved(y, device_like(x)), x.dtype, like=device_like(x))
        return record2(cls, filled, a, value, input_metadata=(None, ((), y.dtype)))

    def backward(self, xp: Any, g: Any) -> tuple[Any, Any]:
        return xp.zeros(g.shape, g), xp.sum(g, None, False)


@tensor_method
def add_(self: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """`self += alpha * other`."""
    return in_place(functions.add, self, other, alpha=alpha) if alpha != 1 else in_place(
        pointwise.Add.forward, self, other)


@tensor_method(aliases=("subtract_",))
def sub_(self: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """`self -= alpha * other`."""
    return in_place(functions.sub, self, other, alpha=alpha) if alpha != 1 else in_place(
        pointwise.Sub.forward, self, other)


@tensor_method(aliases=("multiply_",))
def mul_(self: Tensor, other: Any) -> Tensor:
    """`self *= other`."""
    return in_place(pointwise.Mul.forward, self, other)


@tensor_method(aliases=("divide_", "true_divide_"))
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = functions.NOT_GIVEN) -> Tensor:
    """`self /= other`, with rounding as in `div`."""
    if rounding_mode != functions.NOT_GIVEN:
        return in_place(functions.div, self, other, rounding_mode=rounding_mode)
    return in_place(pointwise.Div.forward, self, other)


@tensor_method
def pow_(self: Tensor, exponent: Any) -> Tensor:
    """`self **= exponent`."""
    op = power.PowTensor if isinstance(exponent, Tensor) else power.Pow
    return in_place(op.forward, self, exponent)


@op(method=True)
def zero_(self: Tensor) -> Tensor:
    """Fill with zeros."""
    return in_place(Zero.forward, self)


class FillCopy(Fill, name="Fill", number=0):
    __slots__ = ()


class FillCopyTensor(FillTensor, name="Fill", number=1):
    __slots__ = ()


@op
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the shape and dtype of `input`, filled with one value."""
    return (FillCopyTensor if isinstance(value, Tensor) else FillCopy).forward(input, value)


@op(method=True)
def fill_(self: Tensor, value: Any) -> Tensor:
    """Fill with one value."""
    return in_place(Fill.forward, self, value)


@tensor_method
def copy_(self: Tensor, src: Tensor) -> Tensor:
    """Fill with the values of another tensor, which is broadcast and converted, or with a number."""
    if not isinstance(src, (Number, np.generic)):
        check_tensor(src, "copy_", "other")
    return in_place(Copy.forward, self, src)


relu_ = METHODS["relu_"]  # for nn.functional
