"""Common elementary functions of one tensor; the conventions for formulas are those of `arithmetic.py`.

Mirrors the rows of PyTorch's `derivatives.yaml` for `abs`, `cos`, `exp`, `log`, `neg`, `reciprocal`, `sign`, `sin` and
`sqrt`. The others are in `unary.py`.
"""

from typing import Any

import numpy as np

from minigrad.backends.numpy import XP
from minigrad.core import Node, Tensor, record1
from minigrad.ops._dispatch import floating

NO_NEGATION = ("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
               "the `~` or `logical_not()` operator instead.")


class Reciprocal(Node):
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = floating(a.array)
        y = x.dtype.type(1) / x
        return record1(Reciprocal, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return -g * (y * y)


class Neg(Node):
    @staticmethod
    def forward(a: Tensor) -> Tensor:
        if a.array.dtype.kind == "b":
            raise RuntimeError(NO_NEGATION)
        return record1(Neg, -a.array, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return -g


class Exp(Node):
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = np.exp(floating(a.array))
        return record1(Exp, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * y


class Log(Node):
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Log, np.log(floating(a.array)), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / a


class Sqrt(Node):
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = np.sqrt(floating(a.array))
        return record1(Sqrt, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g / (2 * y)


class Sin(Node):
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Sin, np.sin(floating(a.array)), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.cos(a)


class Cos(Node):
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Cos, np.cos(floating(a.array)), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * -xp.sin(a)


class Abs(Node):
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        if a.array.dtype.kind == "b":
            raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'")
        return record1(Abs, abs(a.array), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.sign(a)


class Sign(Node):
    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Sign, XP.sign(a.array), a)

    def backward(self, xp: Any, g: Any) -> Any:
        return xp.zeros(g.shape, g)
