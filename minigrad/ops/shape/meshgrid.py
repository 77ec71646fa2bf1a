"""Combines the elements of vectors: `meshgrid`, `cartesian_prod`, `combinations`."""

import math
from typing import Any

import numpy as np

from minigrad._base.warnings import warn_once
from minigrad.core import Tensor, plain
from minigrad.ops._dispatch import op
from minigrad.ops.index.mask import MaskedSelect
from minigrad.ops.shape.broadcast import unpacked
from minigrad.ops.shape.join import Stack
from minigrad.ops.shape.views import Expand, UnsafeView, view
from minigrad.ops.tensor.copy import Clone

__all__ = ["cartesian_prod", "combinations", "meshgrid"]

INDEXING = "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."


@op
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Vectors expanded over the grid that they span, as views; `indexing="xy"` swaps the first two dimensions.

    Raises:
        RuntimeError: for tensors of more than one dimension, of several dtypes, or another `indexing`.
    """
    vectors = unpacked(tensors)
    if indexing is None:
        warn_once(INDEXING)
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for v in vectors:
        if v.array.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {v}")
        if v.array.dtype != vectors[0].array.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f"torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}")
    positions = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        positions[:2] = 1, 0
    shape = tuple([vectors[position].array.size for position in positions])  # a swap is its own inverse
    return tuple([Expand.forward(view(v, (1,) * position + (-1,) + (1,) * (len(vectors) - position - 1)), shape)
                  for v, position in zip(vectors, positions, strict=True)])


@op
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of an element of each vector, one per row."""
    for v in tensors:
        if v.array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(v.array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    size = math.prod([v.array.size for v in tensors])
    return Stack.forward([UnsafeView.forward(Clone.forward(v, "C"), (size,))
                          for v in meshgrid(*tensors, indexing="ij")], 1)


@op
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector in their order, one per row."""
    if input.array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return plain(np.zeros(0, input.array.dtype, like=input.array))
    where = np.arange(input.array.size, like=input.array)
    sides = [where.reshape((1,) * i + (-1,) + (1,) * (r - 1 - i)) for i in range(r)]
    positions = np.stack([np.broadcast_to(side, (where.size,) * r) for side in sides])
    grows = positions[:-1] <= positions[1:] if with_replacement else positions[:-1] < positions[1:]
    mask = plain(grows.all(0))
    return Stack.forward([MaskedSelect.forward(v, mask) for v in meshgrid(*[input] * r, indexing="ij")], 1)
