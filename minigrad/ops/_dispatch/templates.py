"""Forms that many ops share: how an op of one tensor is recorded, so that its class says only what it computes.

An op of such a form is written as `class Silu(OfInput)` with `values`, which works on arrays, followed by
`backward`, the formula of its derivative.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from minigrad._base.dtype import HALVES, as_dtype, from_numpy_dtype
from minigrad.backends.numpy import FLOAT32
from minigrad.core import Node, Tensor, record1, record2
from minigrad.ops._dispatch.type_promotion import in_dtype, input_metadata_of

__all__ = ["Gate", "OfInput", "OfResult", "Scaled", "refuse", "widely", "widened"]


def refuse(kernel: str, dtype: Any) -> NoReturn:
    """Raise PyTorch's error for a dtype that an op does not implement."""
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{from_numpy_dtype(dtype).type_name}'")


def widened(x: Any) -> Any:
    """An array in the dtype PyTorch computes with: float16 and bfloat16 become float32."""
    return x.astype(FLOAT32) if x.dtype in HALVES else x


def widely(values: Callable[..., Any], kernel: str, x: Any, *const: Any) -> Any:
    """`values(x, *const)`, computed in float32 for float16 and bfloat16 and rounded once. Raises PyTorch's error if `x`
    is not of a real dtype."""
    dtype = x.dtype
    if dtype.kind != "f":
        refuse(kernel, dtype)
    return as_dtype(values(in_dtype(x, FLOAT32), *const), dtype) if dtype in HALVES else values(x, *const)


class OfReals(Node, number=None):
    """An op on one tensor of real numbers."""

    kernel: ClassVar[str]  # what PyTorch's error calls the op
    values: ClassVar[Callable[..., Any]]  # the op on arrays


class OfInput(OfReals, number=None):
    """An op on one tensor whose derivative needs the input."""

    saves = ("self",)

    @classmethod
    def forward(cls: Any, a: Tensor, *const: Any) -> Tensor:
        """The op on a Tensor."""
        result: Tensor = record1(cls, widely(cls.values, cls.kernel, a.array, *const), a, (a,), const)
        return result


class OfResult(OfReals, number=None):
    """An op on one tensor whose derivative needs the result."""

    saves = ("result",)

    @classmethod
    def forward(cls: Any, a: Tensor, *const: Any) -> Tensor:
        """The op on a Tensor."""
        y = widely(cls.values, cls.kernel, a.array, *const)
        result: Tensor = record1(cls, y, a, (y,), const)
        return result


class Gate(Node):
    """The derivative of a piecewise linear function: `g` where `keep`, else `g * other` (`other` 0: none).

    `keep` was computed from `a`: as in PyTorch the result has an edge to it, along which zeros flow.
    """

    saves = ("self",)

    @staticmethod
    def values(g: Any, a: Any, keep: Any, other: Any = 0) -> Any:
        """On arrays."""
        return np.where(keep, g, g.dtype.type(0) if type(other) is int else g * other)

    @staticmethod
    def forward(g: Tensor, a: Tensor, keep: Any, other: Any = 0) -> Tensor:
        kept = keep.array if isinstance(keep, Tensor) else keep
        return record2(Gate, Gate.values(g.array, a.array, kept, other), g, a, (a,), (kept, other))

    def backward(self, xp: Any, g: Any, a: Any, keep: Any, other: Any) -> tuple[Any, Any]:
        return xp.apply(Gate, g, a, keep, other), xp.zeros(g.shape, g)


class Scaled(Node):
    """A tensor times an array that needs no gradient."""

    @staticmethod
    def values(x: Any, factor: Any) -> Any:
        return x * factor

    @staticmethod
    def forward(a: Tensor, factor: Any) -> Tensor:
        x, y = a.array, a.array * factor
        return record1(Scaled, y, a, (), (factor,), input_metadata_of(y.shape, y.dtype, x))

    def backward(self, xp: Any, g: Any, factor: Any) -> Any:
        return xp.apply(Scaled, g, factor)
