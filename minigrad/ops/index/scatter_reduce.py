"""Implements `scatter_reduce` and `index_reduce`, which add, multiply, average or compare elements that share an index.

For each reduction, the derivative divides a gradient among the elements that contributed to a result.
"""

from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad._base.warnings import warn_once
from minigrad.backends.numpy import add_at
from minigrad.backends.registry import device_like
from minigrad.core import Node, Tensor, plain, record_n
from minigrad.ops._dispatch import op
from minigrad.ops.index.flat_indexing import elements_at, gather_indices, raw, reduce_at, replace_at, scatter_into
from minigrad.ops.index.gather import check_written, leading, zero_padded
from minigrad.ops.index.index_select import check_added

__all__ = ["index_reduce", "scatter_reduce"]

BETA = "index_reduce() is in beta and the API may change at any time."

KERNELS: dict[str, Any] = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


class Reduction(Node, number=None):
    """Elements reduced into others: the derivative is the same for both ways of addressing them."""

    constants = ("dim", "reduce", "include_self")

    def backward(self, xp: Any, g: Any, a: Any, src: Any, index: Any, y: Any, dim: int, reduce: str,
                 include_self: bool) -> tuple[Any, Any]:
        positions = gather_indices(raw(index), dim, tuple(a.shape))
        part = xp.getitem(src, tuple([slice(n) for n in positions.shape])) if src.shape != positions.shape else src
        if reduce == "prod":
            of_self, of_part = self.of_product(xp, g, a, part, index, y, positions, dim, include_self)
        elif reduce in ("amax", "amin"):
            hit, hits = a == y, part == elements_at(xp, y, positions)
            ones, kind = xp.cast(hits, xp.dtype(g)), xp.dtype(g)
            own = xp.cast(hit, kind)
            own = own if include_self else replace_at(xp, own, positions, 0)
            share = g / (own + scatter_into(xp, ones, positions, tuple(a.shape)))
            of_self, of_part = xp.masked(hit, share), xp.masked(hits, elements_at(xp, share, positions))
        else:
            share = g
            if reduce == "mean":
                share = g / self.counts(xp, g, positions, include_self)
            of_self, of_part = share, elements_at(xp, share, positions)
        if not include_self:
            of_self = replace_at(xp, of_self, positions, 0)
        return of_self, zero_padded(xp, of_part, tuple(src.shape))

    def counts(self, xp: Any, g: Any, positions: Any, include_self: bool) -> Any:
        """The number of elements in each mean, at least 1."""
        own = xp.zeros(tuple(g.shape), g) + 1
        own = own if include_self else replace_at(xp, own, positions, 0)
        counted = own + scatter_into(xp, xp.zeros(positions.shape, g) + 1, positions, tuple(g.shape))
        return counted + xp.cast(counted == 0, xp.dtype(g))

    def of_product(self, xp: Any, g: Any, a: Any, part: Any, index: Any, y: Any, positions: Any, dim: int,
                   include_self: bool) -> tuple[Any, Any]:
        """The gradient of each factor is the product of the others; a factor of 0 cannot be divided out."""
        def product(x: Any, factors: Any) -> Any:
            return xp.apply(ScatterReduce, x, factors, index, dim, "prod", include_self)

        own = xp.where(a == 0, xp.masked(a != 0, a) + 1, a)
        of_self = g * product(own, part) / own
        zero = part == 0
        zeros = elements_at(xp, scatter_into(xp, xp.cast(zero, xp.dtype(g)), positions, tuple(a.shape)), positions)
        alone = zero & (zeros == 1)
        others = product(a, xp.where(alone, xp.masked(~alone, part) + 1, part))
        divided = elements_at(xp, g * y, positions) / xp.where(zero, xp.masked(~zero, part) + 1, part)
        return of_self, xp.where(alone, elements_at(xp, g * others, positions), divided)


class ScatterReduce(Reduction):
    saves = ("self", "src", "index", "result")

    @staticmethod
    def values(x: Any, y: Any, index: Any, dim: int, reduce: str, include_self: bool) -> Any:
        """The array `x` with the elements of `y` reduced into it."""
        y, positions, like = leading(y, index.shape), gather_indices(index, dim, x.shape), device_like(x)
        out = np.array(x, order="C", like=like).reshape(-1)
        if reduce not in ("sum", "mean"):
            if not include_self:  # start from any one of the incoming elements; a product, from 1
                out[positions] = 1 if reduce == "prod" else y
            return reduce_at(KERNELS[reduce], out, positions, y).reshape(x.shape)
        if not include_self:
            out[positions] = 0
        add_at(out, positions, y)
        if reduce == "mean":
            count = np.ones(out.shape, np.int64, like=like)
            if not include_self:
                count[positions] = 0
            add_at(count, positions, np.ones(positions.shape, np.int64, like=like))
            count = np.maximum(count, 1)
            out = as_dtype(out / count, out.dtype) if out.dtype.kind == "f" else out // count
        return out.reshape(x.shape)

    @staticmethod
    def forward(a: Tensor, src: Tensor, index: Tensor, dim: int, reduce: str, include_self: bool) -> Tensor:
        out = ScatterReduce.values(a.array, src.array, index.array, dim, reduce, include_self)
        return record_n(ScatterReduce, out, (a, src), (a, src, index, out), (dim, reduce, include_self))


class IndexReduce(Reduction):
    """The same with one index for each slice."""

    saves = ("self", "source", "index", "result")

    @staticmethod
    def forward(a: Tensor, source: Tensor, index: Tensor, dim: int, reduce: str, include_self: bool) -> Tensor:
        of_each = spread(index.array, dim, source.array.shape)
        out = ScatterReduce.values(a.array, source.array, of_each, dim, reduce, include_self)
        return record_n(IndexReduce, out, (a, source), (a, source, index, out), (dim, reduce, include_self))

    def backward(self, xp: Any, g: Any, a: Any, source: Any, index: Any, *rest: Any) -> tuple[Any, Any]:
        of_each = spread(raw(index), rest[1], tuple(source.shape))
        index = plain(of_each) if isinstance(index, Tensor) else of_each
        return super().backward(xp, g, a, source, index, *rest)


def spread(index: Any, dim: int, shape: tuple[int, ...]) -> Any:
    """An index for each element: that of its slice along `dim`."""
    ends = (1,) * (len(shape) - 1 - dim)
    return np.broadcast_to(index.reshape((-1, *ends)) if shape else index.reshape(()), shape)


@op(method=True, in_place=True)
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
                 include_self: bool = True) -> Tensor:
    """A copy of `input` with its slices along `dim` at `index` reduced together with those of `source`.
    `reduce`: "prod", "mean", "amax" or "amin"; without `include_self`, only those of `source` count.

    Raises:
        RuntimeError, IndexError: as in `index_add`; RuntimeError for another `reduce`.
    """
    warn_once(BETA)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    axis = check_added("index_reduce_", input, dim, index, source)
    if input.array.dtype.kind == "b":
        raise NotImplementedError("\"index_func_\" not implemented for 'Bool'")
    return IndexReduce.forward(input, source, index, axis, reduce, include_self)


@op(method=True, in_place=True)
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *,
                   include_self: bool = True) -> Tensor:
    """A copy of `input` with its elements at `index` along `dim` reduced together with those of `src`.

    `reduce`: "sum", "prod", "mean", "amax" or "amin"; without `include_self`, the elements of `input` at `index` do
    not count.

    Raises:
        RuntimeError: as in `scatter`, and for another `reduce`.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    axis = check_written("scatter_reduce", input, index, src, dim)
    if reduce == "mean" and input.array.dtype.kind == "b":
        raise NotImplementedError("\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'")
    return ScatterReduce.forward(input, src, index, axis, reduce, include_self)
