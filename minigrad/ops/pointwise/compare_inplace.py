"""In-place comparisons: `x.eq_(y)` writes 1 where they are equal, else 0. The old values get no gradient.

As in PyTorch, an in-place comparison has a node, since a tensor that requires grad must continue to.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minigrad.autograd.grad_mode import no_grad
from minigrad.core import Node, Tensor, record1, record2
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import tensor_method
from minigrad.ops.pointwise.compare import compared, logical_and, logical_not, logical_or, logical_xor

__all__: list[str] = []  # methods only

Operand = Any  # a Tensor or a Python number


class Comparison(Node, number=None):
    """A comparison with a tensor or a number."""

    ufunc: ClassVar[Callable[..., Any]]

    @classmethod
    def forward(cls, a: Tensor, b: Operand) -> Any:
        """The result to be written into `a`."""
        result = compared(cls.ufunc, a, b)
        if isinstance(b, Tensor):
            return record2(cls, result.array, a, b,
                           input_metadata=tuple([(v.array.shape, v.array.dtype) for v in (a, b)]))
        return result if result is NotImplemented else record1(cls, result.array, a)

    def backward(self, xp: Any, g: Any) -> Any:
        zeros = xp.zeros(g.shape, g)
        return zeros if len(self.next) == 1 else (zeros, zeros)


def comparison(name: str, operator: str, ufunc: Callable[..., Any],
               *aliases: str) -> Callable[[Tensor, Operand], Tensor]:
    """The in-place method of a comparison: its node is `EqBackward0` with a number, `EqBackward1` with a tensor."""
    with_number: Any = type(name, (Comparison,), {"__slots__": (), "ufunc": ufunc, "__module__": __name__})
    with_tensor: Any = type(name, (Comparison,), {"__slots__": (), "ufunc": ufunc, "__module__": __name__}, number=1)

    def method(self: Tensor, other: Operand) -> Tensor:
        node_type = with_tensor if isinstance(other, Tensor) else with_number
        return in_place(node_type.forward, self, other)

    method.__doc__ = f"1 where `self {operator} other`, else 0, in place."
    return tensor_method(name=f"{name.lower()}_", aliases=aliases)(method)


eq_ = comparison("Eq", "==", np.equal)
ne_ = not_equal_ = comparison("Ne", "!=", np.not_equal, "not_equal_")
lt_ = less_ = comparison("Lt", "<", np.less, "less_")
le_ = less_equal_ = comparison("Le", "<=", np.less_equal, "less_equal_")
gt_ = greater_ = comparison("Gt", ">", np.greater, "greater_")
ge_ = greater_equal_ = comparison("Ge", ">=", np.greater_equal, "greater_equal_")


def unrecorded(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The in-place method of an op that autograd ignores: even a leaf that requires grad may be overwritten."""
    def method(self: Tensor, *args: Any) -> Tensor:
        with no_grad():
            return in_place(function, self, *args)

    method.__doc__ = f"`{name}` in place, as if grad mode were off."
    return tensor_method(name=f"{name}_")(method)


logical_and_ = unrecorded("logical_and", logical_and)
logical_or_ = unrecorded("logical_or", logical_or)
logical_xor_ = unrecorded("logical_xor", logical_xor)
logical_not_ = unrecorded("logical_not", logical_not)
