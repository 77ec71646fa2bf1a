"""Ops with a number as PyTorch's C++ code calls them: their nodes have one edge and the number 1.

`x + 1` in Python is AddBackward0 with two edges; inside a loss or a norm the same sum is AddBackward1 with one.
"""

from typing import Any

from minigrad.core import Node, Tensor, record1
from minigrad.ops._dispatch import promote_scalar

__all__ = ["AddScalar", "DivScalar", "MulScalar", "SubScalar"]


class AddScalar(Node, name="Add", number=1):
    @staticmethod
    def forward(a: Tensor, c: float) -> Tensor:
        x, c = promote_scalar(a.array, c)
        return record1(AddScalar, x + c, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return g


class SubScalar(Node, name="Sub", number=1):
    @staticmethod
    def forward(a: Tensor, c: float) -> Tensor:
        x, c = promote_scalar(a.array, c)
        return record1(SubScalar, x - c, a)

    backward = AddScalar.backward


class MulScalar(Node, name="Mul", number=1):
    constants = ("other",)

    @staticmethod
    def forward(a: Tensor, c: float) -> Tensor:
        x, c = promote_scalar(a.array, c)
        return record1(MulScalar, x * c, a, (), (c,))

    def backward(self, xp: Any, g: Any, c: float) -> Any:
        return g * c


class DivScalar(Node, name="Div", number=1):
    constants = ("other",)

    @staticmethod
    def forward(a: Tensor, c: float) -> Tensor:
        x, c = promote_scalar(a.array, c)
        return record1(DivScalar, x / c, a, (), (c,))

    def backward(self, xp: Any, g: Any, c: float) -> Any:
        return g / c
