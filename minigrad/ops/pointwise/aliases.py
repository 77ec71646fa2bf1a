"""Other names of pointwise ops: `torch.multiply` is `torch.mul`. Their forms in place are in inplace.py."""

from minigrad.core import Tensor
from minigrad.ops._dispatch import op
from minigrad.ops.pointwise import functions

__all__ = ["absolute", "divide", "multiply", "negative", "positive", "subtract", "true_divide"]

absolute = op(name="absolute", method=True, in_place=True)(functions.abs)
negative = op(name="negative", method=True, in_place_function=True)(functions.neg)
multiply = op(name="multiply", method=True)(functions.mul)
subtract = op(name="subtract", method=True)(functions.sub)
divide = true_divide = op(name="divide", aliases=("true_divide",), method=True)(functions.div)


@op(method=True)
def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Raises:
        RuntimeError: for bools.
    """
    if input.array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
