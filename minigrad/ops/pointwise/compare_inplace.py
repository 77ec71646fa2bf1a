"""Comparisons in place: `x.eq_(y)` writes 1 where they are equal, else 0. No gradient comes through what it was.

In PyTorch, and so here, a comparison in place has a node, since a tensor that requires grad may not cease to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minigrad.autograd.inplace import in_place
from minigrad.core.graph import Node
from minigrad.core.record import record1, record2
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import tensor_method
from minigrad.ops.pointwise.compare import compared

__all__: list[str] = []  # methods alone

Operand = Any  # a Tensor or a Python number


class Comparison(Node, number=None):
    """With a number."""

    __slots__ = ()
    op_of: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, op_of: Callable[..., Any], **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.op_of = op_of

    @classmethod
    def forward(cls, a: Tensor, b: Operand) -> Any:
        """What is to be written into `a`."""
        made = compared(cls.op_of, a, b)
        if isinstance(b, Tensor):
            return record2(cls, made.array, a, b,
                           input_metadata=tuple([(v.array.shape, v.array.dtype) for v in (a, b)]))
        return made if made is NotImplemented else record1(cls, made.array, a)

    def backward(self, xp: Any, g: Any) -> Any:
        zeros = xp.zeros(g.shape, g)
        return zeros if len(self.next) == 1 else (zeros, zeros)


class Eq(Comparison, op_of=np.equal):
    __slots__ = ()


class EqTensor(Comparison, op_of=np.equal, name="Eq", number=1):
    __slots__ = ()


class Ne(Comparison, op_of=np.not_equal):
    __slots__ = ()


class NeTensor(Comparison, op_of=np.not_equal, name="Ne", number=1):
    __slots__ = ()


class Lt(Comparison, op_of=np.less):
    __slots__ = ()


class LtTensor(Comparison, op_of=np.less, name="Lt", number=1):
    __slots__ = ()


class Le(Comparison, op_of=np.less_equal):
    __slots__ = ()


class LeTensor(Comparison, op_of=np.less_equal, name="Le", number=1):
    __slots__ = ()


class Gt(Comparison, op_of=np.greater):
    __slots__ = ()


class GtTensor(Comparison, op_of=np.greater, name="Gt", number=1):
    __slots__ = ()


class Ge(Comparison, op_of=np.greater_equal):
    __slots__ = ()


class GeTensor(Comparison, op_of=np.greater_equal, name="Ge", number=1):
    __slots__ = ()


@tensor_method
def eq_(self: Tensor, other: Operand) -> Tensor:
    """1 where `self == other`, else 0, in place."""
    return in_place((EqTensor if isinstance(other, Tensor) else Eq).forward, self, other)


@tensor_method(aliases=("not_equal_",))
def ne_(self: Tensor, other: Operand) -> Tensor:
    """1 where `self != other`, else 0, in place."""
    return in_place((NeTensor if isinstance(other, Tensor) else Ne).forward, self, other)


@tensor_method(aliases=("less_",))
def lt_(self: Tensor, other: Operand) -> Tensor:
    """1 where `self < other`, else 0, in place."""
    return in_place((LtTensor if isinstance(other, Tensor) else Lt).forward, self, other)


@tensor_method(aliases=("less_equal_",))
def le_(self: Tensor, other: Operand) -> Tensor:
    """1 where `self <= other`, else 0, in place."""
    return in_place((LeTensor if isinstance(other, Tensor) else Le).forward, self, other)


@tensor_method(aliases=("greater_",))
def gt_(self: Tensor, other: Operand) -> Tensor:
    """1 where `self > other`, else 0, in place."""
    return in_place((GtTensor if isinstance(other, Tensor) else Gt).forward, self, other)


@tensor_method(aliases=("greater_equal_",))
def ge_(self: Tensor, other: Operand) -> Tensor:
    """1 where `self >= other`, else 0, in place."""
    return in_place((GeTensor if isinstance(other, Tensor) else Ge).forward, self, other)


not_equal_, less_, less_equal_, greater_, greater_equal_ = ne_, lt_, le_, gt_, ge_
