"""Other names of pointwise ops: `torch.multiply` is `torch.mul`."""

from __future__ import annotations

from minigrad.core.tensor import Tensor
from minigrad.ops.pointwise import functions, inplace

__all__ = ["absolute", "divide", "multiply", "negative", "positive", "subtract", "true_divide"]
METHODS = tuple(__all__)
IN_PLACE = ("absolute", "divide", "multiply", "negative", "subtract", "true_divide")

absolute, negative, multiply, subtract = functions.abs, functions.neg, functions.mul, functions.sub
divide = true_divide = functions.div
divide_ = true_divide_ = inplace.div_
multiply_, subtract_ = inplace.mul_, inplace.sub_


def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Raises:
        RuntimeError: for bools.
    """
    if input.array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
