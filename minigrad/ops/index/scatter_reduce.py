"""`scatter_reduce`: elements that an index names together, added, multiplied, averaged, or the largest of them.

Its derivative says for each reduction how a gradient is shared out among those that made a result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.numpy import add_at
from minigrad.backends.registry import beside
from minigrad.core.graph import Node
from minigrad.core.record import record2
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op
from minigrad.ops.index.flat_indexing import along, raw, replaced, spread, taken, worked_in
from minigrad.ops.index.gather import check_written, corner, cornered

__all__ = ["scatter_reduce"]

Shape = tuple[int, ...]
KERNELS: dict[str, Any] = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def reduced(x: Any, y: Any, places: Any, how: str, include_self: bool) -> Any:
    """`x` with the elements of `y` worked in at `places`."""
    like = beside(x)
    out = np.array(x, order="C", like=like).reshape(-1)
    if how in ("sum", "mean"):
        if not include_self:
            out[places] = 0
        add_at(out, places, y)
        if how == "mean":
            count = np.ones(out.shape, np.int64, like=like)
            if not include_self:
                count[places] = 0
            add_at(count, places, np.ones(places.shape, np.int64, like=like))
            count = np.maximum(count, 1)
            out = (out / count).astype(out.dtype) if out.dtype.kind == "f" else out // count
    else:
        if not include_self:  # any one of those that come in is a start; for a product 1 is
            out[places] = 1 if how == "prod" else y
        out = worked_in(KERNELS[how], out, places, y)
    return out.reshape(x.shape)


class ScatterReduce(Node):
    __slots__ = ()
    saves = ("self", "src", "index", "result")
    constants = ("dim", "reduce", "include_self")

    @staticmethod
    def values(x: Any, y: Any, index: Any, dim: int, how: str, include_self: bool) -> Any:
        """On arrays."""
        return reduced(x, corner(y, index.shape), along(index, dim, x.shape), how, include_self)

    @staticmethod
    def forward(a: Tensor, src: Tensor, index: Tensor, dim: int, how: str, include_self: bool) -> Tensor:
        out = ScatterReduce.values(a.array, src.array, index.array, dim, how, include_self)
        return record2(ScatterReduce, out, a, src, (a, src, index, out), (dim, how, include_self))

    def backward(self, xp: Any, g: Any, a: Any, src: Any, index: Any, y: Any, dim: int, how: str,
                 include_self: bool) -> tuple[Any, Any]:
        places = along(raw(index), dim, tuple(a.shape))
        part = xp.getitem(src, tuple([slice(n) for n in places.shape])) if src.shape != places.shape else src
        if how == "prod":
            of_self, of_part = self.of_product(xp, g, a, part, index, y, places, dim, include_self)
        elif how in ("amax", "amin"):
            hit, hits = a == y, part == taken(xp, y, places)
            ones, kind = xp.cast(hits, xp.dtype(g)), xp.dtype(g)
            own = xp.cast(hit, kind)
            own = own if include_self else replaced(xp, own, places, 0)
            share = g / (own + spread(xp, ones, places, tuple(a.shape)))
            of_self, of_part = xp.masked(hit, share), xp.masked(hits, taken(xp, share, places))
        else:
            share = g
            if how == "mean":
                share = g / self.counts(xp, g, places, include_self)
            of_self, of_part = share, taken(xp, share, places)
        if not include_self:
            of_self = replaced(xp, of_self, places, 0)
        return of_self, cornered(xp, of_part, tuple(src.shape))

    def counts(self, xp: Any, g: Any, places: Any, include_self: bool) -> Any:
        """How many elements each result is the mean of, at least 1."""
        own = xp.zeros(tuple(g.shape), g) + 1
        own = own if include_self else replaced(xp, own, places, 0)
        counted = own + spread(xp, xp.zeros(places.shape, g) + 1, places, tuple(g.shape))
        return counted + xp.cast(counted == 0, xp.dtype(g))

    def of_product(self, xp: Any, g: Any, a: Any, part: Any, index: Any, y: Any, places: Any, dim: int,
                   include_self: bool) -> tuple[Any, Any]:
        """The gradient by each factor is the product of the others; where one is 0 it cannot be divided out."""
        def product(x: Any, factors: Any) -> Any:
            return xp.apply(ScatterReduce, x, factors, index, dim, "prod", include_self)

        own = xp.where(a == 0, xp.masked(a != 0, a) + 1, a)
        of_self = g * product(own, part) / own
        zero = part == 0
        zeros = taken(xp, spread(xp, xp.cast(zero, xp.dtype(g)), places, tuple(a.shape)), places)
        alone = zero & (zeros == 1)
        others = product(a, xp.where(alone, xp.masked(~alone, part) + 1, part))
        divided = taken(xp, g * y, places) / xp.where(zero, xp.masked(~zero, part) + 1, part)
        return of_self, xp.where(alone, taken(xp, g * others, places), divided)


@op(method=True, in_place=True)
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *,
                   include_self: bool = True) -> Tensor:
    """A copy of `input` whose elements that `index` names along `dim` are reduced together with those of `src`.

    `reduce`: "sum", "prod", "mean", "amax" or "amin"; without `include_self` those of `input` do not count where
    something is scattered to.

    Raises:
        RuntimeError: as `scatter`, and for another word.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    axis = check_written("scatter_reduce", input, index, src, dim)
    if reduce == "mean" and input.array.dtype.kind == "b":
        raise NotImplementedError("\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'")
    return ScatterReduce.forward(input, src, index, axis, reduce, include_self)
