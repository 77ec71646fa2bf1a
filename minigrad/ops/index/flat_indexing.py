"""Where the elements lie that an index names: as numbers of elements, counted row by row.

`gather`, `scatter`, `index_select`, `take` and their like say the same thing in different words: these elements of
that tensor. Their indices become places in the flattened tensor here, and their derivatives are three words on places:
`taken`, `spread`, `replaced`, each of which is the derivative of another.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.backends.numpy import add_at
from minigrad.backends.registry import HERE, backend_of, beside

__all__ = ["along", "in_range", "is_index", "numbered", "raw", "replaced", "slices", "spread", "taken", "worked_in",
           "written"]

Shape = tuple[int, ...]


def numbered(shape: Shape, like: Any = HERE) -> Any:
    """The number of each element of a tensor of `shape`; a view of it says where a view of the tensor looks.

    `like`: an array or a Tensor beside which they shall lie, where they are to be an index.
    """
    return np.arange(math.prod(shape), like=beside(getattr(like, "array", like))).reshape(shape)


def along(index: Any, dim: int, shape: Shape) -> Any:
    """Per element of `index`: the place of the element of a tensor of `shape` that has the same position, but for
    `dim`, where the index says it."""
    if not shape or not index.size:
        return np.zeros(index.shape, np.int64, like=beside(index))
    places, like = index.astype(np.int64, copy=False) * math.prod(shape[dim + 1:]), beside(index)
    for d, n in enumerate(index.shape):
        if d != dim:
            steps = np.arange(0, n * (step := math.prod(shape[d + 1:])), step, like=like)
            places = places + steps.reshape((-1,) + (1,) * (index.ndim - d - 1))
    return places


def slices(index: Any, dim: int, shape: Shape) -> Any:
    """The places of the slices along `dim` whose numbers are in `index`, a vector (or one number)."""
    index, like = index.reshape(-1).astype(np.int64, copy=False), beside(index)
    if not shape:
        return np.zeros(index.shape, np.int64, like=like)
    inner = math.prod(shape[dim + 1:])
    rows = np.arange(math.prod(shape[:dim]), like=like)[:, None]
    places = rows * (shape[dim] * inner) + index % shape[dim] * inner
    return (places[..., None] + np.arange(inner, like=like)).reshape((*shape[:dim], index.size, *shape[dim + 1:]))


def raw(index: Any) -> Any:
    """An index that a formula gets, an array or a Tensor, as an array: there is nothing to differentiate in it."""
    if isinstance(index, np.ndarray):
        return index
    array = getattr(index, "array", index)
    return np.asarray(array) if backend_of(array) is None else array


def is_index(dtype: Any) -> bool:
    """Whether a dtype is int64 or int32."""
    return bool(dtype.kind == "i" and dtype.itemsize > 2)


def in_range(index: Any, size: int, least: int = 0) -> Any | None:
    """The first index that is not in [least, size), or None; also on a GPU, which would have to be waited for."""
    if not index.size or backend_of(index) is not None:
        return None
    if not least and index.dtype.itemsize == 8 and index.ndim and index.view(np.uint64).max() < size:
        return None  # negative numbers are large ones without a sign
    if index.min() >= least and index.max() < size:
        return None
    return index[(index < least) | (index >= size)].flat[0]


def written(x: Any, places: Any, part: Any, add: bool = False) -> Any:
    """A copy of an array, row by row in memory, with `part` written at `places`, or added as often as one is named."""
    out = np.array(x, order="C", like=beside(x))
    if add:
        add_at(out.reshape(-1), places, part)
    else:
        out.reshape(-1)[places] = part
    return out


def worked_in(op: Any, out: Any, places: Any, part: Any) -> Any:
    """`op.at(out, places, part)` for a vector and an operation that knows no order.

    CuPy has `at` of additions, and of maxima and minima for int32, uint32, uint64, float32 and float64, and of no
    product. One way serves all: what goes to one place is brought together there by a stable sort, and worked up by
    doubling (Hillis and Steele, 1986); the last of each run goes to its place, all others beside the vector.
    """
    if backend_of(out) is None:
        op.at(out, places, part)
        return out
    flat, values = places.reshape(-1), np.broadcast_to(np.asarray(part, like=beside(out)), places.shape).reshape(-1)
    order = flat.argsort()
    flat, values, step = flat[order], values[order], 1
    while step < flat.size:
        both = np.where(flat[step:] == flat[:-step], op(values[step:], values[:-step]), values[step:])
        values = np.concatenate((values[:step], both))
        step *= 2
    ends = np.concatenate((flat[1:] != flat[:-1], np.ones(flat.size and 1, bool, like=beside(out))))
    longer = np.concatenate((out, np.zeros(1, out.dtype, like=out)))
    longer[np.where(ends, flat, out.size)] = op(out[flat], values)
    return longer[:-1].copy()


def taken(xp: Any, x: Any, places: Any) -> Any:
    """The elements of `x` at `places`, in the shape of `places`."""
    return xp.getitem(xp.reshape(x, (-1,)), places)


def spread(xp: Any, part: Any, places: Any, shape: Shape) -> Any:
    """Zeros of `shape` to which the elements of `part` are added at `places`."""
    return xp.reshape(xp.scatter(part, places, (math.prod(shape),)), shape)


def replaced(xp: Any, x: Any, places: Any, part: Any) -> Any:
    """`x` with its elements at `places` replaced by those of `part`, or by a number."""
    return xp.reshape(xp.put(xp.reshape(x, (-1,)), places, part), x.shape)
