"""Elements named by their places along one dimension: what reductions that select, sorts and scans have in common.

An op that finds its values at `indices` sends their gradient back to these places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._tensor import Tensor, plain
from minigrad.autograd.graph import Node
from minigrad.autograd.record import record1
from minigrad.ops.shape import dim_of

__all__: list[str] = []

Shape = tuple[int, ...]


def places(indices: Any, dim: int) -> tuple[Any, ...]:
    """`indices` along `dim` as an index of NumPy: in the other dimensions it counts up."""
    ndim = indices.ndim
    return tuple([indices if i == dim else np.arange(n).reshape((n,) + (1,) * (ndim - 1 - i))
                  for i, n in enumerate(indices.shape)])


class TakeAlong(Node, name="Gather"):
    """The elements at `indices` along a dimension."""

    __slots__ = ()
    saves = ("index",)
    constants = ("dim",)

    @staticmethod
    def values(x: Any, dim: int, indices: Any) -> Any:
        """On arrays."""
        return x[places(indices, dim)]

    @staticmethod
    def forward(a: Tensor, dim: int, indices: Tensor) -> Tensor:
        x = a.array
        return record1(TakeAlong, TakeAlong.values(x, dim, indices.array), a, (indices,), (dim, x.shape))

    def backward(self, xp: Any, g: Any, indices: Any, dim: int, shape: Shape) -> Any:
        return xp.apply(PutAlong, g, dim, indices, shape)


class PutAlong(Node, name="ScatterAdd"):
    """Zeros of a shape to which a tensor is added at `indices` along a dimension; `once`: no place is named twice."""

    __slots__ = ()
    saves = ("index",)
    constants = ("dim",)

    @staticmethod
    def values(g: Any, dim: int, indices: Any, shape: Shape, once: bool = False) -> Any:
        """On arrays."""
        out = np.zeros(shape, g.dtype)
        if once:
            out[places(indices, dim)] = g
        else:
            np.add.at(out, places(indices, dim), g)
        return out

    @staticmethod
    def forward(g: Tensor, dim: int, indices: Tensor, shape: Shape, once: bool = False) -> Tensor:
        return record1(PutAlong, PutAlong.values(g.array, dim, indices.array, shape, once), g, (indices,), (dim,))

    def backward(self, xp: Any, g: Any, indices: Any, dim: int) -> Any:
        return xp.apply(TakeAlong, g, dim, indices)


class Selection(Node, number=None):
    """What was found at `indices` along a dimension, which stays with as many elements as were found there.

    A subclass is one op; `keepdim` is False where it took the dimension away.
    """

    __slots__ = ()
    saves = ("indices",)
    constants = ("self_sym_sizes", "dim", "keepdim")

    @classmethod
    def forward(cls, a: Tensor, dim: int, indices: Any, keepdim: bool = True) -> tuple[Tensor, Tensor]:
        x = a.array
        values = x[places(indices, dim)]
        if not keepdim and x.ndim:
            values, indices = values.squeeze(dim), indices.squeeze(dim)
        where = plain(indices)
        return record1(cls, values, a, (where,), (x.shape, dim, keepdim)), where

    def backward(self, xp: Any, g: Any, indices: Any, shape: Shape, dim: int, keepdim: bool) -> Any:
        if not keepdim and shape:
            kept = (*shape[:dim], 1, *shape[dim + 1:])
            g, indices = xp.reshape(g, kept), xp.reshape(indices, kept)
        return xp.apply(PutAlong, g, dim, indices, shape, True)


def filled_dim(name: str, dim: int, shape: Shape) -> int:
    """A dimension in which something can be found.

    Raises:
        IndexError: if it is out of range, or empty.
    """
    along = dim_of(dim, len(shape))
    if shape and shape[along] == 0:
        raise IndexError(f"{name}: Expected reduction dim {along} to have non-zero size.")
    return along
