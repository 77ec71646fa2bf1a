"""Converts indices to positions in the flattened tensor, and reads and writes there.

`gather`, `scatter`, `index_select`, `take` and similar ops each address elements of a tensor differently. With flat
positions they need only three differentiable functions: `elements_at`, `scatter_into` and `replace_at`. The derivative
of each consists of the others.
"""

import math
from typing import Any

import numpy as np

from minigrad.backends.batched import beside
from minigrad.backends.numpy import XP, add_at
from minigrad.backends.registry import BACKEND_OF, HOST, backend_of, device_like

Shape = tuple[int, ...]


def flat_indices(shape: Shape, like: Any = HOST) -> Any:
    """The flat position of each element of a tensor of `shape`; a view of this array shows the positions in that view.

    `like`: an array or a Tensor on whose device the result is created.
    """
    return np.arange(math.prod(shape), like=device_like(getattr(like, "array", like))).reshape(shape)


def gather_indices(index: Any, dim: int, shape: Shape) -> Any:
    """The flat positions of the elements that `gather` reads from a tensor of `shape`, in the shape of `index`."""
    if not shape or not index.size:
        return np.zeros(index.shape, np.int64, like=device_like(index))
    positions, like = index.astype(np.int64, copy=False) * math.prod(shape[dim + 1:]), device_like(index)
    for d, n in enumerate(index.shape):
        if d != dim:
            steps = np.arange(0, n * (step := math.prod(shape[d + 1:])), step, like=like)
            positions = positions + steps.reshape((-1,) + (1,) * (index.ndim - d - 1))
    return positions


def slice_indices(index: Any, dim: int, shape: Shape) -> Any:
    """The flat positions of the slices along `dim` that `index_select` reads; `index` is a vector or a number."""
    index, like = index.reshape(-1).astype(np.int64, copy=False), device_like(index)
    if not shape:
        return np.zeros(index.shape, np.int64, like=like)
    inner = math.prod(shape[dim + 1:])
    rows = np.arange(math.prod(shape[:dim]), like=like)[:, None]
    positions = rows * (shape[dim] * inner) + index % shape[dim] * inner
    return (positions[..., None] + np.arange(inner, like=like)).reshape((*shape[:dim], index.size, *shape[dim + 1:]))


def raw(index: Any) -> Any:
    """The array of an index, which in a formula may be an array or a Tensor; it is not differentiated."""
    if isinstance(index, np.ndarray):
        return index
    array = getattr(index, "array", index)
    return np.asarray(array) if isinstance(array, np.generic) else array


def is_index(dtype: Any) -> bool:
    """Whether a dtype is int64 or int32."""
    return bool(dtype.kind == "i" and dtype.itemsize > 2)


def first_out_of_range(index: Any, size: int, least: int = 0) -> Any | None:
    """The first index that is not in [least, size), or None; always None on a GPU, where checking would block."""
    if not index.size or backend_of(index) is not None:
        return None
    if not least and index.dtype.itemsize == 8 and index.ndim and index.view(np.uint64).max() < size:
        return None  # viewed as unsigned, negative numbers are large
    if index.min() >= least and index.max() < size:
        return None
    return index[(index < least) | (index >= size)].flat[0]


def write_at(x: Any, positions: Any, part: Any, add: bool = False) -> Any:
    """A contiguous copy of an array with `part` written at `positions`, or added there, repeats included."""
    if not add:
        flat = x.reshape(-1)
        return XP.put(beside(flat, (positions,)) if BACKEND_OF else flat, positions, part).reshape(x.shape)
    out = np.array(x, order="C", like=device_like(x))
    add_at(out.reshape(-1), positions, part)
    return out


def reduce_at(op: Any, out: Any, positions: Any, part: Any) -> Any:
    """`op.at(out, positions, part)` for a vector and a commutative operation.

    CuPy has `at` for additions, and for maxima and minima of some dtypes, but not for products. One method serves all:
    a stable sort groups equal positions, and doubling (Hillis and Steele, 1986) reduces each run. The last element of a
    run holds its result and is written; the others go to an extra element at the end.
    """
    if backend_of(out) is None:
        op.at(out, positions, part)
        return out
    values = np.broadcast_to(np.asarray(part, like=device_like(out)), positions.shape).reshape(-1)
    flat = positions.reshape(-1)
    order = flat.argsort()
    flat, values, step = flat[order], values[order], 1
    while step < flat.size:
        both = np.where(flat[step:] == flat[:-step], op(values[step:], values[:-step]), values[step:])
        values = np.concatenate((values[:step], both))
        step *= 2
    ends = np.concatenate((flat[1:] != flat[:-1], np.ones(flat.size and 1, bool, like=device_like(out))))
    longer = np.concatenate((out, np.zeros(1, out.dtype, like=out)))
    longer[np.where(ends, flat, out.size)] = op(out[flat], values)
    return longer[:-1].copy()


def elements_at(xp: Any, x: Any, positions: Any) -> Any:
    """The elements of `x` at `positions`, in the shape of `positions`."""
    return xp.getitem(xp.reshape(x, (-1,)), positions)


def scatter_into(xp: Any, part: Any, positions: Any, shape: Shape) -> Any:
    """Zeros of `shape` to which the elements of `part` are added at `positions`."""
    return xp.reshape(xp.scatter(part, positions, (math.prod(shape),)), shape)


def replace_at(xp: Any, x: Any, positions: Any, part: Any) -> Any:
    """`x` with its elements at `positions` replaced by those of `part`, or by a number."""
    return xp.reshape(xp.put(xp.reshape(x, (-1,)), positions, part), x.shape)
