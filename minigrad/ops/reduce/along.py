"""The base classes of ops that find elements along a dimension, such as `max`, `sort` and `cummax`.

They return the elements and their indices, and send the gradient back to where the elements were.
"""

from __future__ import annotations

from typing import Any, ClassVar

from minigrad.core.graph import Node
from minigrad.core.record import record1
from minigrad.core.tensor import Tensor, plain
from minigrad.ops.index.flat_indexing import gather_indices, scatter_into
from minigrad.ops.shape.views import dim_of

Shape = tuple[int, ...]


class Selection(Node, number=None):
    """The elements at `indices` along a dimension, whose new size is the number of these indices."""

    saves = ("indices",)
    constants: ClassVar[tuple[str, ...]] = ("", "", "dim")

    @classmethod
    def forward(cls, a: Tensor, dim: int, indices: Any, keepdim: bool = True) -> tuple[Tensor, Tensor]:
        x = a.array
        positions = gather_indices(indices, dim, x.shape)
        values = x.reshape(-1)[positions]
        if not keepdim and x.ndim:
            values, indices = values.squeeze(dim), indices.squeeze(dim)
        saved_indices = plain(indices)
        return record1(cls, values, a, (saved_indices,), (positions, x.shape, dim, keepdim)), saved_indices

    def backward(self, xp: Any, g: Any, indices: Any, positions: Any, shape: Shape, *names: Any) -> Any:
        return scatter_into(xp, xp.reshape(g, positions.shape), positions, shape)


class SelectionOfOne(Selection, number=None):
    """Of one element along a dimension, which it takes away unless `keepdim`."""

    constants = ("", "self_sym_sizes", "dim", "keepdim")


def filled_dim(name: str, dim: int, shape: Shape) -> int:
    """A dimension to reduce, counted from the left; an IndexError if it is out of range or empty."""
    axis = dim_of(dim, len(shape))
    if shape and shape[axis] == 0:
        raise IndexError(f"{name}: Expected reduction dim {axis} to have non-zero size.")
    return axis
