"""Gradients in one block of memory: mirrors `GradBucket` of PyTorch's `comm.hpp`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core import Tensor, plain
from minigrad.distributed._work import Label

__all__ = ["MIB", "GradBucket", "assign_buckets"]

MIB = 2 ** 20


class GradBucket:
    """What a communication hook gets: gradients of one dtype, stored one after the other and sent together."""

    def __init__(self, number: int, last: bool, named: Sequence[tuple[str, Tensor]]) -> None:
        self.number, self.last, self.names, self.params = number, last, [n for n, _ in named], [p for _, p in named]
        self.array = np.zeros(sum(p.numel() for p in self.params), self.params[0].array.dtype)
        ends = np.cumsum([p.numel() for p in self.params])
        self.views = [part.reshape(p.array.shape) for part, p in zip(np.split(self.array, ends[:-1]), self.params)]

    def index(self) -> int:
        """Return the position of this bucket in the order in which buckets are sent."""
        return self.number

    def is_last(self) -> bool:
        return self.last

    def parameters(self) -> list[Tensor]:
        return list(self.params)

    def buffer(self) -> Tensor:
        """Return the whole bucket as a one-dimensional tensor that shares its memory."""
        return plain(self.array)

    def gradients(self) -> list[Tensor]:
        """Return the gradients, as views of the buffer."""
        return [plain(view) for view in self.views]

    def set_buffer(self, buffer: Tensor) -> None:
        """Copy other values into the bucket, unless it holds them already."""
        if buffer.array is not self.array:
            self.array[...] = buffer.array

    def label(self) -> Label:
        """Return its name in errors and recordings."""
        label = Label(f"bucket {self.number}: {', '.join(self.names)}")
        label.bucket, label.parameters = self.number, self.names
        return label


def assign_buckets(sizes: Sequence[tuple[Any, int]], order: Sequence[int], limits: Sequence[float]) -> list[list[int]]:
    """Divide parameters, taken in this order, among buckets: `_compute_bucket_assignment_by_size` of PyTorch.

    `sizes`: the dtype and the bytes of each. A bucket is full when it has reached its limit: for each dtype the first
    bucket has the first limit, and so on; the last limit applies to all that follow.
    """
    full, open_buckets, counts, filled = list[list[int]](), dict[Any, list[int]](), dict[Any, int](), dict[Any, int]()
    for index in order:
        dtype, size = sizes[index]
        open_buckets.setdefault(dtype, []).append(index)
        filled[dtype] = filled.get(dtype, 0) + size
        if filled[dtype] >= limits[min(counts.get(dtype, 0), len(limits) - 1)]:
            full.append(open_buckets.pop(dtype))
            filled[dtype], counts[dtype] = 0, counts.get(dtype, 0) + 1
    return full + [bucket for bucket in open_buckets.values() if bucket]
