"""Joins parameters into one vector, and splits it again: mirrors `torch/nn/utils/convert_parameters.py`."""

from collections.abc import Iterable

from minigrad._base.type_name import type_name
from minigrad.core import Tensor
from minigrad.ops.shape.join import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all parameters, one after the other, as one vector in their graph."""
    return cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters views of a vector, one part after the other. Raises TypeError if it is not a tensor;
    RuntimeError if it is too short."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type_name(vec)}")
    start = 0
    for p in parameters:
        end = start + p.numel()
        p.data = vec[start:end].view_as(p).data
        start = end
