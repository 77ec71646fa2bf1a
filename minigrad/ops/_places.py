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

__all__ = ["along", "in_range", "is_index", "numbered", "raw", "replaced", "slices", "spread", "taken", "written"]

Shape = tuple[int, ...]


def numbered(shape: Shape) -> Any:
    """The number of each element of a tensor of `shape`; a view of it says where a view of the tensor looks."""
    return np.arange(math.prod(shape)).reshape(shape)


def along(index: Any, dim: int, shape: Shape) -> Any:
    """Per element of `index`: the place of the element of a tensor of `shape` that has the same position, but for
    `dim`, where the index says it."""
    if not shape or not index.size:
        return np.zeros(index.shape, np.int64)
    places = index.astype(np.int64, copy=False) * math.prod(shape[dim + 1:])
    for d, n in enumerate(index.shape):
        if d != dim:
            steps = np.arange(0, n * (step := math.prod(shape[d + 1:])), step) if n else np.zeros(0, np.int64)
            places = places + steps.reshape((-1,) + (1,) * (index.ndim - d - 1))
    return places


def slices(index: Any, dim: int, shape: Shape) -> Any:
    """The places of the slices along `dim` whose numbers are in `index`, a vector (or one number)."""
    index = index.reshape(-1).astype(np.int64, copy=False)
    if not shape:
        return np.zeros(index.shape, np.int64)
    inner = math.prod(shape[dim + 1:])
    places = np.arange(math.prod(shape[:dim]))[:, None] * (shape[dim] * inner) + index % shape[dim] * inner
    return (places[..., None] + np.arange(inner)).reshape((*shape[:dim], index.size, *shape[dim + 1:]))


def raw(index: Any) -> Any:
    """An index that a formula gets, an array or a Tensor, as an array: there is nothing to differentiate in it."""
    return index if isinstance(index, np.ndarray) else np.asarray(getattr(index, "array", index))


def is_index(dtype: Any) -> bool:
    """Whether a dtype is int64 or int32."""
    return bool(dtype.kind == "i" and dtype.itemsize > 2)


def in_range(index: Any, size: int, least: int = 0) -> Any | None:
    """The first index that is not in [least, size), or None."""
    if not index.size:
        return None
    if not least and index.dtype.itemsize == 8 and index.ndim and index.view(np.uint64).max() < size:
        return None  # negative numbers are large ones without a sign
    if index.min() >= least and index.max() < size:
        return None
    return index[(index < least) | (index >= size)].flat[0]


def written(x: Any, places: Any, part: Any, add: bool = False) -> Any:
    """A copy of an array, row by row in memory, with `part` written at `places`, or added as often as one is named."""
    out = np.array(x, order="C")
    if add:
        add_at(out.reshape(-1), places, part)
    else:
        out.reshape(-1)[places] = part
    return out


def taken(xp: Any, x: Any, places: Any) -> Any:
    """The elements of `x` at `places`, in the shape of `places`."""
    return xp.getitem(xp.reshape(x, (-1,)), places)


def spread(xp: Any, part: Any, places: Any, shape: Shape) -> Any:
    """Zeros of `shape` to which the elements of `part` are added at `places`."""
    return xp.reshape(xp.scatter(part, places, (math.prod(shape),)), shape)


def replaced(xp: Any, x: Any, places: Any, part: Any) -> Any:
    """`x` with its elements at `places` replaced by those of `part`, or by a number."""
    return xp.reshape(xp.put(xp.reshape(x, (-1,)), places, part), x.shape)
