"""Lines with drawn shapes for shapes, joining, splitting and elements by index: see `drawn.py`."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from tests.parity.compare import Input
from tests.parity.tables.drawn import (
    a_dim,
    alike,
    filled,
    given,
    indexed,
    into,
    matrices,
    one,
    put,
    reordered,
    rows,
    shapes,
    sides,
)

FEW = st.integers(1, 3)


@st.composite
def numbered(draw, source=True):
    """An input, one of its dimensions, numbers along it, and where asked for a source of that many slices."""
    shape = tuple(draw(st.lists(FEW, min_size=1, max_size=3)))
    dim = draw(st.integers(0, len(shape) - 1))
    index = draw(st.lists(st.integers(0, shape[dim] - 1), max_size=3))
    part = (*shape[:dim], len(index), *shape[dim + 1:])
    return draw(given(shape, part)) if source else [Input(shape)], (dim, index)


@st.composite
def along(draw, source=True):
    """An input, one of its dimensions, and an index for `gather` along it; where asked for a source of its shape."""
    shape = tuple(draw(st.lists(FEW, max_size=3)))
    dim = draw(st.integers(0, max(len(shape) - 1, 0)))
    wide = tuple([draw(st.integers(0, 3)) if d == dim else draw(st.integers(0, n)) for d, n in enumerate(shape)])
    values = draw(st.lists(st.integers(0, shape[dim] - 1 if shape else 0), min_size=prod(wide), max_size=prod(wide)))
    return draw(given(shape, wide)) if source else [Input(shape)], (dim, (values, wide))


@st.composite
def places(draw):
    """An input, and numbers of its elements, each once."""
    shape = tuple(draw(st.lists(FEW, max_size=3)))
    size = prod(shape)
    index = draw(st.lists(st.integers(0, size - 1), max_size=3, unique=True))
    return draw(given(shape, (len(index),))), (index,)


@st.composite
def plane(draw):
    """An input, two of its dimensions, and a number."""
    shape = tuple(draw(st.lists(sides, min_size=2, max_size=3)))
    first, second = draw(st.permutations(range(len(shape))))[:2]
    return [Input(shape)], (first, second, draw(st.integers(-3, 3)))


@st.composite
def windowed(draw):
    """An input, one of its dimensions, and the size and step of windows along it."""
    shape = tuple(draw(st.lists(FEW, min_size=1, max_size=3)))
    dim = draw(st.integers(0, len(shape) - 1))
    return [Input(shape)], (dim, draw(st.integers(0, shape[dim])), draw(FEW))


@st.composite
def repeated(draw):
    """An input, and a number of repeats for each dimension and some more."""
    shape = draw(shapes)
    return [Input(shape)], (draw(st.lists(sides, min_size=len(shape), max_size=3)),)


@st.composite
def vectors(draw):
    """Two vectors."""
    return draw(given((draw(sides),), (draw(sides),))), ()


def tensor(m, index):
    """Indices as a tensor: numbers, or numbers with a shape."""
    values, shape = index if isinstance(index, tuple) else (index, (len(index),))
    return m.tensor(values, dtype=m.int64).reshape(shape)


DRAWN = {
    # shapes
    "reshape_as": (lambda m, a, b: a.reshape_as(b) * b, alike()),
    "ravel": (lambda m, a, order: a.permute(order).ravel().square(), reordered()),
    "unflatten": (lambda m, a, i: a.unflatten(i, (1, -1, 1)).square(), a_dim(least=1)),
    "swapdims": (lambda m, a, i, j: a.swapdims(i, j).swapaxes(i, j).square(), a_dim(2)),
    "moveaxis": (lambda m, a, i, j: a.moveaxis(i, j).square(), a_dim(2)),
    "broadcast_to": (lambda m, a, b: b.broadcast_to(tuple(a.shape)) * a, into()),
    "broadcast_tensors": (lambda m, a, b: [v.square() for v in m.broadcast_tensors(a, b)], into()),
    "adjoint": (lambda m, a, b: a.adjoint() * b.H, matrices("ij", "ij")),
    "atleast": (lambda m, a: m.atleast_3d(a) * m.atleast_2d(m.atleast_1d(a)), one),
    "repeat": (lambda m, a, times: a.repeat(times).square(), repeated()),
    "tile": (lambda m, a, times: a.tile(times[:2]).square(), repeated()),
    "repeat_interleave": (lambda m, a, i: a.repeat_interleave(2, i).square(), a_dim()),
    "repeat_interleave, each": (lambda m, a, dim, times: a.repeat_interleave(m.arange(a.shape[dim]), dim).square(),
                                numbered(False)),
    "meshgrid": (lambda m, a, b: [v.square() for v in m.meshgrid(a, b, indexing="xy")], vectors()),
    "cartesian_prod": (lambda m, a, b: m.cartesian_prod(a, b).square(), vectors()),
    "combinations": (lambda m, a, b: m.combinations(a * a, with_replacement=True), vectors()),
    "flip": (lambda m, a, i: a.flip(i).square() + m.flipud(a) * a, a_dim()),
    "fliplr": (lambda m, a, i, j, k: a.fliplr() * a.flipud(), plane()),
    "roll": (lambda m, a, i, j, k: a.roll(k, i).roll((k, 1), (i, j)).square() * a.roll(k), plane()),
    "rot90": (lambda m, a, i, j, k: a.rot90(k, (i, j)).square(), plane()),
    "sum_to_size": (lambda m, a, b: a.sum_to_size(b.shape) * b, into()),
    "constant_pad_nd": (lambda m, a, i, j: m.constant_pad_nd(a, (j % 3, 1), 2.0).square(), a_dim(2)),
    "fill": (lambda m, a, b: m.fill(a, 2.0) * b + m.fill(b, a.sum()), alike()),
    # parts
    "narrow_copy": (lambda m, a, i: a.narrow_copy(i, 0, 1).square(), a_dim(least=1)),
    "as_strided": (lambda m, a, i, j, k: (a * a).contiguous().as_strided((2, 2), (abs(k), i), 1) * 2, plane()),
    "as_strided_": (lambda m, a, i, j, k: (a * a).contiguous().as_strided_((2, 1), (j, i)).square(), plane()),
    "select_scatter": (lambda m, a, i: a.select_scatter(a.select(i, 0) * 2, i, -1).square(), a_dim(least=1)),
    "slice_scatter": (lambda m, a, i: a.slice_scatter(a.narrow(i, 0, 1) * 2, i, -1).square(), a_dim(least=1)),
    "diagonal_scatter": (lambda m, a, i, j, k: a.diagonal_scatter(a.diagonal(k, i, j) * 2, k, i, j).square(), plane()),
    "unsafe splits": (lambda m, a, i: [v.square() for v in (*a.unsafe_split(2, i), *a.unsafe_chunk(2, i),
                                                            *a.unsafe_split_with_sizes([a.shape[i]], i))], a_dim()),
    "select, narrow": (lambda m, a, i: a.select(i, 0).square().sum() * a.narrow(i, -1, 1), a_dim(least=1)),
    "unfold": (lambda m, a, dim, size, step: a.unfold(dim, size, step).square(), windowed()),
    "diagonal": (lambda m, a, i, j, k: a.diagonal(k, i, j).square(), plane()),
    "diag": (lambda m, a, b: (a * a).diag(1).diag(1) * a + m.diagflat(b * b).diag().sum(), vectors()),
    "diag_embed": (lambda m, a, i, j, k: a.square().diag_embed(k, i, j) + a.diag_embed(k).sum(), plane()),
    "diagflat": (lambda m, a: a.diagflat().square(), one),
    "tril": (lambda m, a, i, j, k: a.tril(k) * a, plane()),
    "triu": (lambda m, a, i, j, k: a.triu(k) * a, plane()),
    "tril_, triu_": (lambda m, a, i, j, k: a.clone().tril_(k).triu_(-1).square(), plane()),
    # joining and splitting
    "concat": (lambda m, a, b, dim: m.concat([a, b], dim).square() * m.concatenate([b, a], axis=dim), rows()),
    "stacks": (lambda m, a, b: [m.hstack([a, b]).square(), m.vstack([a, b]), m.dstack([b, a]) ** 2,
                                m.column_stack([a, a]), m.row_stack([b])], alike()),
    "block_diag": (lambda m, a: m.block_diag(a.ravel(), a.reshape(-1, 1), a.sum()).square(), filled),
    "splits": (lambda m, a, i: [v.square() for v in (*a.tensor_split(2, i), *a.tensor_split((1, 2), dim=i),
                                                     *a.split_with_sizes([a.shape[i]], i))], a_dim()),
    "hsplit, vsplit, dsplit": (lambda m, a, i: [v.square() for v in (*a.hsplit([1]), *m.atleast_2d(a).vsplit((1,)),
                                                                     *m.atleast_3d(a).dsplit([0]))], a_dim()),
    # elements by index
    "gather": (lambda m, a, dim, index: a.gather(dim, tensor(m, index)).square(), along(False)),
    "scatter_add": (lambda m, a, b, dim, index: a.scatter_add(dim, tensor(m, index), b).square(), along()),
    "scatter_add_": (lambda m, a, b, dim, index: a.clone().scatter_add_(dim, tensor(m, index), b).square(), along()),
    "scatter": (lambda m, a, dim, index: a.scatter(dim, tensor(m, index), 0.5).square(), along(False)),
    "scatter_": (lambda m, a, dim, index: a.clone().scatter_(dim, tensor(m, index), 0.5).square(), along(False)),
    "scatter of a tensor": (lambda m, a, b, index: a.reshape(-1).scatter(0, tensor(m, index), b).square(), places()),
    "scatter_reduce": (lambda m, a, b, dim, index: [
        a.scatter_reduce(dim, tensor(m, index), b, how, include_self=self).square()
        for how in ("sum", "mean", "prod", "amax") for self in (True, False)], along()),
    "scatter_reduce_": (lambda m, a, b, dim, index: a.clone().scatter_reduce_(dim, tensor(m, index), b, "amin"),
                        along()),
    "take_along_dim": (lambda m, a, dim, index: a.take_along_dim(tensor(m, index), dim).square(), along(False)),
    "index_select": (lambda m, a, dim, index: a.index_select(dim, tensor(m, index)).square(), numbered(False)),
    "index_add": (lambda m, a, b, dim, index: a.index_add(dim, tensor(m, index), b, alpha=2).square(), numbered()),
    "index_reduce": (lambda m, a, b, dim, index: [
        a.index_reduce(dim, tensor(m, index), b, how, include_self=own).square()
        for how in ("mean", "prod", "amax") for own in (True, False)], numbered()),
    "index_reduce_": (lambda m, a, b, dim, index: a.clone().index_reduce_(dim, tensor(m, index), b, "amin").square(),
                      numbered()),
    "index_add_": (lambda m, a, b, dim, index: a.clone().index_add_(dim, tensor(m, index), b).square(), numbered()),
    "index_copy": (lambda m, a, b, index: a.reshape(-1).index_copy(0, tensor(m, index), b).square(), places()),
    "index_copy_": (lambda m, a, b, index: a.reshape(-1).clone().index_copy_(0, tensor(m, index), b), places()),
    "index_fill": (lambda m, a, dim, index: a.index_fill(dim, tensor(m, index), a.sum()).square(), numbered(False)),
    "index_fill_": (lambda m, a, dim, index: a.clone().index_fill_(dim, tensor(m, index), 2).square(), numbered(False)),
    "index_put": (lambda m, a, b, index: a.reshape(-1).index_put((tensor(m, index),), b).square(), places()),
    "index_put_": (lambda m, a, b, index: (a * 1).reshape(-1).index_put_((tensor(m, index),), b, True) ** 2,
                   places()),
    "take": (lambda m, a, b, index: a.take(tensor(m, index)) * b, places()),
    "put": (lambda m, a, b, index: a.put(tensor(m, index), b).square() + a.put(tensor(m, index), b, True), places()),
    "put_": (lambda m, a, b, index: a.clone().put_(tensor(m, index), b).square(), places()),
    "masked_fill": (lambda m, a, b: a.masked_fill(b > 0, 2.5) * b + a.masked_fill(b < 0, a.sum()), into()),
    "masked_fill_": (lambda m, a, b: a.clone().masked_fill_(b > 0, b.sum()).square(), into()),
    "masked_select": (lambda m, a, b: a.masked_select(b > 0).square(), into()),
    "masked_scatter": (lambda m, a, b: a.masked_scatter(b > 0, a * a), into()),
    "masked_scatter_": (lambda m, a, b: a.clone().masked_scatter_(b > 0, a * a), into()),
    "setitem of a view": (lambda m, a, index: put((a * 1)[None].transpose(0, -1), ..., a.sum()).square(), indexed()),
    "setitem of a source": (lambda m, a, index: put(a.clone(), index, a[index].detach() * a.sum()).square(), indexed()),
    "fill_diagonal_": (lambda m, a: (a * 1).fill_diagonal_(2.5), matrices("ij")),
}

STORAGE = "PyTorch's error is about the memory behind no elements"
# Inputs that do not fit and of which PyTorch's answer says nothing.
MISMATCHED = {
    **dict.fromkeys(("index_copy", "index_copy_"), (lambda a, b, index: 0 in a.shape and index, STORAGE)),
    **dict.fromkeys(("index_fill", "index_fill_"), (lambda a, dim, index: 0 in a.shape and index, STORAGE)),
}
