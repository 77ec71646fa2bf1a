"""Flatten and Unflatten: mirrors `torch/nn/modules/flatten.py`."""

from typing import Any

from minigrad.core import Tensor
from minigrad.nn.modules.utils import Layer

__all__ = ["Flatten", "Unflatten"]


class Flatten(Layer, printed=("start_dim", "end_dim")):
    """Joins the dimensions from `start_dim` to `end_dim`; by default (N, *) becomes (N, product of *)."""

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Any:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Layer, printed=("dim", "unflattened_size")):
    """Splits the dimension `dim` into dimensions of these sizes, a tuple or list of ints, of which one may be -1."""

    dim: int
    unflattened_size: tuple[int, ...] | list[int]

    def __post_init__(self) -> None:
        sizes: Any = self.unflattened_size
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
        for position, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError("unflattened_size must be tuple of ints, but found element of type "
                                f"{type(size).__name__} at pos {position}")

    def forward(self, input: Tensor) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)
