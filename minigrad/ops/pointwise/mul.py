"""Products: the op is a class with its forward and then its derivative, then the function and in place.

Mirrors rows of PyTorch's `derivatives.yaml`. In `backward`, `g` is the gradient of the result, `xp` the functions
of `minigrad.backends.protocol`, and the other arguments are what the forward saved. The same formula runs on arrays
and, with `create_graph=True`, on Tensors. A saved value is None if the gradient that needs it is not required.
"""

from typing import Any

from minigrad._base.contexts import SIGNALS, silently
from minigrad.core import SCALAR_OPERAND, Node, Tensor, record1, record2
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import broadcast_and_promote, op, promote_scalar, tensor_method
from minigrad.ops.pointwise.add import SCALARS, refused

__all__ = ["mul", "multiply"]

Operand = Any  # a Tensor or a Python number
Grads = tuple[Any, Any]


class Mul(Node):
    saves = ("self", "other")

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        try:
            x = a.array
            if not isinstance(b, Tensor):
                x, b = promote_scalar(x, b, True)
                return b if b is NotImplemented else record2(Mul, x * b, a, SCALAR_OPERAND, (None, b))
            y, saved = b.array, (a if b._requires_grad else None, b if a._requires_grad else None)
            if type(x) is type(y) and (type(x) in SCALARS or (
                    x.shape == y.shape and x.dtype is y.dtype and x.flags.c_contiguous)):
                return record2(Mul, x * y, a, b, saved)
            x, y, input_metadata = broadcast_and_promote(x, y)
            return record2(Mul, x * y, a, b, saved, input_metadata=input_metadata)
        except SIGNALS as error:
            return silently(error, Mul.forward, a, b)

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


multiply = mul
