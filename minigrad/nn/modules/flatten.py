"""Dimensions joined and split: mirrors `torch/nn/modules/flatten.py`."""

from __future__ import annotations

from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn.modules.utils import Layer

__all__ = ["Flatten", "Unflatten"]


class Flatten(Layer):
    """The dimensions from `start_dim` to `end_dim` as one; by default (N, *) becomes (N, product of *)."""

    _settings = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """`input.flatten(start_dim, end_dim)`."""
        flat: Tensor = input.flatten(self.start_dim, self.end_dim)
        return flat


class Unflatten(Layer):
    """The dimension `dim` split into dimensions of these sizes, of which one may be -1.

    Raises:
        TypeError: for sizes that are no tuple or list of ints.
    """

    _settings = ("dim", "unflattened_size")

    def __init__(self, dim: int, unflattened_size: tuple[int, ...] | list[int]) -> None:
        super().__init__()
        sizes: Any = unflattened_size
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
        for place, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError("unflattened_size must be tuple of ints, but found element of type "
                                f"{type(size).__name__} at pos {place}")
        self.dim, self.unflattened_size = dim, sizes

    def forward(self, input: Tensor) -> Tensor:
        """`input.unflatten(dim, unflattened_size)`."""
        split: Tensor = input.unflatten(self.dim, self.unflattened_size)
        return split
