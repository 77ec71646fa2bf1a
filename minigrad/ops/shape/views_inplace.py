"""Changes the shape of a tensor in place, such as `x.t_()` and `x.squeeze_()`. No element is written.

As in PyTorch, the version still goes up, so that saved copies of the tensor count as modified. A view that changes
its shape this way has a new node after its old one; its base keeps its node.
"""

from collections.abc import Sequence
from typing import Any

from minigrad.core import Node, Tensor
from minigrad.history.inplace import turn_in_place
from minigrad.ops._dispatch import tensor_method
from minigrad.ops.shape.views import Squeeze, SqueezeDim, SqueezeDims, T, Transpose, Unsqueeze, check_matrix, dim_of

__all__: list[str] = []  # methods only


class TInPlace(T, name="T", number=1):
    @classmethod
    def forward(cls, a: Tensor) -> Tensor:
        check_matrix(a, "t_")
        return super().forward(a)


class TransposeInPlace(Transpose, name="Transpose", number=1):
    @classmethod
    def forward(cls, a: Tensor, dim0: int, dim1: int) -> Tensor:
        return super().forward(a, dim_of(dim0, a.array.ndim), dim_of(dim1, a.array.ndim))


def numbered(op: type[Node], number: int) -> Any:
    """The node of an in-place op, which PyTorch numbers after those of the op out of place."""
    return type(op.op, (op,), {"__slots__": (), "__module__": __name__}, number=number)


UnsqueezeInPlace, SqueezeInPlace = numbered(Unsqueeze, 1), numbered(Squeeze, 3)
SqueezeDimInPlace, SqueezeDimsInPlace = numbered(SqueezeDim, 4), numbered(SqueezeDims, 5)


@tensor_method
def t_(self: Tensor) -> Tensor:
    """`t`, in place."""
    return turn_in_place(TInPlace.forward, self)


@tensor_method(aliases=("swapaxes_", "swapdims_"))
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose`, in place."""
    return turn_in_place(TransposeInPlace.forward, self, dim0, dim1)


swapaxes_ = swapdims_ = transpose_


@tensor_method
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """`unsqueeze`, in place."""
    return turn_in_place(UnsqueezeInPlace.forward, self, dim)


@tensor_method
def squeeze_(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """`squeeze`, in place."""
    if dim is None:
        return turn_in_place(SqueezeInPlace.forward, self)
    op = SqueezeDimsInPlace if isinstance(dim, Sequence) else SqueezeDimInPlace
    return turn_in_place(op.forward, self, dim)
