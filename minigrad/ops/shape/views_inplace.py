"""Views in place: `x.t_()` and its kind. The tensor looks at its own memory in another way; nothing is written.

The version goes up all the same, and what was saved of the tensor counts as changed, as in PyTorch. A view that is
turned so has a new node above its old one; its base keeps the node that it has.
"""

from __future__ import annotations

from collections.abc import Sequence

from minigrad.autograd.inplace import turn_in_place
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import tensor_method
from minigrad.ops.reduce.sums import axes_of
from minigrad.ops.shape.views import Squeeze, SqueezeDim, SqueezeDims, T, Transpose, Unsqueeze, check_matrix, dim_of

__all__: list[str] = []  # methods alone


class TInPlace(T, name="T", number=1):
    __slots__ = ()

    @classmethod
    def forward(cls, a: Tensor) -> Tensor:
        check_matrix(a, "t_")
        return super().forward(a)


class TransposeInPlace(Transpose, name="Transpose", number=1):
    __slots__ = ()

    @classmethod
    def forward(cls, a: Tensor, dim0: int, dim1: int) -> Tensor:
        return super().forward(a, dim_of(dim0, a.array.ndim), dim_of(dim1, a.array.ndim))


class UnsqueezeInPlace(Unsqueeze, name="Unsqueeze", number=1):
    __slots__ = ()

    @classmethod
    def forward(cls, a: Tensor, dim: int) -> Tensor:
        return super().forward(a, dim_of(dim, a.array.ndim + 1))


class SqueezeInPlace(Squeeze, name="Squeeze", number=3):
    __slots__ = ()


class SqueezeDimInPlace(SqueezeDim, name="Squeeze", number=4):
    """Of one dimension."""

    __slots__ = ()

    @classmethod
    def forward(cls, a: Tensor, dim: int) -> Tensor:
        return super().forward(a, dim_of(dim, a.array.ndim))


class SqueezeDimsInPlace(SqueezeDims, name="Squeeze", number=5):
    """Of several dimensions."""

    __slots__ = ()

    @classmethod
    def forward(cls, a: Tensor, dims: Sequence[int]) -> Tensor:
        return super().forward(a, axes_of(dims, a.array.ndim) or ())


@tensor_method
def t_(self: Tensor) -> Tensor:
    """`t`, in place."""
    return turn_in_place(TInPlace.forward, self)


@tensor_method
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose`, in place."""
    return turn_in_place(TransposeInPlace.forward, self, dim0, dim1)


@tensor_method
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose_`, by NumPy's name."""
    return transpose_(self, axis0, axis1)


@tensor_method
def swapdims_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose_`, by another name."""
    return transpose_(self, dim0, dim1)


@tensor_method
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """`unsqueeze`, in place."""
    return turn_in_place(UnsqueezeInPlace.forward, self, dim)


@tensor_method
def squeeze_(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """`squeeze`, in place."""
    if isinstance(dim, Sequence):
        return turn_in_place(SqueezeDimsInPlace.forward, self, dim)
    if dim is None:
        return turn_in_place(SqueezeInPlace.forward, self)
    return turn_in_place(SqueezeDimInPlace.forward, self, dim)
