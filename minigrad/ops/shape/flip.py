"""Reverses and rotates tensors: `flip`, `roll`, `rot90`, and the properties `T`, `mT`, `H` and `mH`.

`flip`, `roll` and `rot90` copy, as in PyTorch; the transposes are views.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from minigrad._base.warnings import warn_once
from minigrad.core import Node, Tensor, record1
from minigrad.ops._dispatch import in_format_of, in_order_of, op, row_by_row
from minigrad.ops._dispatch.registration import tensor_properties
from minigrad.ops.reduce.sums import axes_of, one_of
from minigrad.ops.shape.views import Permute, Transpose, dim_of, shape_of

__all__ = ["adjoint", "flip", "fliplr", "flipud", "roll", "rot90"]

Shape = tuple[int, ...]
OF_A_NUMBER = "{} is deprecated on 0-D tensors. "
IDENTITY, CONJUGATE = "This function is the identity in these cases.", "Consider using x.conj()."
NOT_OF_A_MATRIX = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
    "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - "
    "1, -1, -1))` to reverse the dimensions of a tensor."
)


class Reordering(Node, number=None):
    """Copies the elements into another order; the inverse of `values` is the op itself with other constants."""

    values: ClassVar[Callable[..., Any]]  # on arrays

    @classmethod
    def forward(cls, a: Tensor, *const: Any) -> Tensor:
        """The op on a Tensor."""
        return record1(cls, cls.values(a.array, *const), a, (), const)


class Flip(Reordering):
    """The order along some dimensions reversed."""

    constants = ("dims",)

    @staticmethod
    def values(x: Any, dims: Shape) -> Any:
        return in_order_of(np.flip(x, dims).copy("K"), x) if x.ndim else x.copy()

    def backward(self, xp: Any, g: Any, dims: Shape) -> Any:
        return xp.apply(Flip, g, dims)


class Roll(Reordering):
    """Elements shifted; those beyond the end reappear at the start."""

    constants = ("shifts", "dims")

    @staticmethod
    def values(x: Any, shifts: Shape, dims: Shape) -> Any:
        return in_format_of(np.roll(x, shifts, dims), x) if dims else row_by_row(np.roll(x, shifts[0]))

    def backward(self, xp: Any, g: Any, shifts: Shape, dims: Shape) -> Any:
        return xp.apply(Roll, g, tuple([-n for n in shifts]), dims)


class Rot90(Reordering):
    """A rotation by `k` quarter turns in the plane of two dimensions."""

    constants = ("k", "dims")

    @staticmethod
    def values(x: Any, k: int, dims: Shape) -> Any:
        if k % 2 == 0:
            return Flip.values(x, dims) if k % 4 else x.copy()
        return Flip.values(x, dims[1:] if k % 4 == 1 else dims[:1]).swapaxes(*dims)

    def backward(self, xp: Any, g: Any, k: int, dims: Shape) -> Any:
        return xp.apply(Rot90, g, -k, dims)


@op(method=True)
def flip(input: Tensor, *dims: Any) -> Tensor:
    """A copy with the order along these dimensions reversed."""
    return Flip.forward(input, axes_of(shape_of(dims), input.array.ndim) or ())


def reversed_(self: Tensor) -> Tensor:
    """The result of `reversed(x)`: a copy with the first dimension reversed; a 0-d tensor unchanged."""
    return Flip.forward(self, (0,)) if self.array.ndim else self


@op(method=True)
def fliplr(input: Tensor) -> Tensor:
    """A copy of a matrix with its columns in reverse order."""
    return flip_dim(input, 1)


@op(method=True)
def flipud(input: Tensor) -> Tensor:
    """A copy of a matrix with its rows in reverse order."""
    return flip_dim(input, 0)


def flip_dim(input: Tensor, dim: int) -> Tensor:
    """A copy with the order along one dimension reversed; PyTorch's error if there is none."""
    if input.array.ndim <= dim:
        raise RuntimeError(f"Input must be >= {dim + 1}-d.")
    return Flip.forward(input, (dim,))


@op(method=True)
def roll(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Tensor:
    """A copy with its elements shifted by `shifts` along `dims`; without `dims`, along the flattened tensor. Raises
    RuntimeError if the numbers of shifts and dimensions differ."""
    steps = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    axes = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not steps:
        raise RuntimeError("`shifts` required")
    if len(steps) != len(axes) and (axes or len(steps) > 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}")
    ndim = input.array.ndim
    if not input.array.size:  # PyTorch does not check the dimensions then
        steps, axes = (1,), (0,)
    return Roll.forward(input, steps, tuple([one_of(d, ndim) for d in axes]))


@op(method=True)
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy rotated by `k` quarter turns from the first of two dimensions towards the second. Raises RuntimeError
    unless there are two different dimensions."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.array.ndim}")
    plane = [dim_of(d, input.array.ndim) for d in dims]
    if plane[0] == plane[1]:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return Rot90.forward(input, k, tuple(plane))


def matrix_transposed(input: Tensor, name: str, instead: str) -> Tensor:
    """The last two dimensions swapped; for real numbers this is the adjoint too."""
    if input.array.ndim == 0:
        warn_once(OF_A_NUMBER.format(name.removeprefix("tensor.") if "(" in name else f"T{name[1:]}") + instead)
        return input
    if input.array.ndim == 1:
        raise RuntimeError(f"{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return Transpose.forward(input, -2, -1)


@op(method=True)
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped (and conjugated, which does not change real numbers)."""
    return matrix_transposed(input, "tensor.adjoint()", CONJUGATE)


def transposed(self: Tensor) -> Tensor:
    """`x.T`: the dimensions in reverse order."""
    if self.array.ndim == 0:
        warn_once(OF_A_NUMBER.format("Tensor.T") + IDENTITY)
    elif self.array.ndim != 2:
        warn_once(NOT_OF_A_MATRIX)
    return Permute.forward(self, tuple(range(self.array.ndim))[::-1])


def hermitian(self: Tensor) -> Tensor:
    """`x.H`: the adjoint of a matrix."""
    if self.array.ndim in (0, 2):
        return matrix_transposed(self, "tensor.H", CONJUGATE)
    more = " For batches of matrices, consider using tensor.mH" if self.array.ndim > 2 else ""
    raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.array.ndim}-D tensor.{more}")


tensor_properties({
    "T": property(transposed),
    "H": property(hermitian),
    "mT": property(lambda self: matrix_transposed(self, "tensor.mT", IDENTITY), doc="The last two dimensions swapped."),
    "mH": property(lambda self: matrix_transposed(self, "tensor.mH", CONJUGATE), doc="The adjoint of each matrix."),
})
