"""What products of matrices have in common: PyTorch's checks and errors, what they save, what is added to them."""

from __future__ import annotations

from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.views import expand

__all__ = ["C_NAMES", "check_into", "check_output", "kind_of", "no_bools", "plus", "same_dtype", "size_of", "wanted"]

C_NAMES = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int", "float16": "c10::Half",
           "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short"}
DTYPES_DIFFER = {  # products do not promote, and each has its own words for it
    "mm": "expected m1 and m2 to have the same dtype, but got: {c} != {d}",
    "bmm": "expected scalar type {a} but found {b}",
    "mv": "addmv input tensors must have the same dtype, but got {b}, {a}, and {b}",
    "dot": "dot : expected both vectors to have same dtype, but found {a} and {b}",
    "addmm": "self and mat2 must have the same dtype, but got {a} and {b}",
    "addmm of two": "mat1 and mat2 must have the same dtype, but got {a} and {b}",
}


def wanted(a: Tensor, b: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """What a product saves: each operand only if the other's gradient is wanted."""
    return a if b._requires_grad else None, b if a._requires_grad else None


def kind_of(x: Any) -> tuple[tuple[int, ...], Any]:
    """What the engine must make of the gradient of an operand (`Node.fit`)."""
    return x.shape, x.dtype


def plus(x: Any, y: Any, beta: float, alpha: float) -> Any:
    """`beta * x + alpha * y` in the dtype of `y`, into which the scales are cast; where beta is 0, `x` has no say."""
    beta, alpha = (y.dtype.type(scale).item() for scale in (beta, alpha))
    y = y if alpha == 1 else y * alpha
    return y if beta == 0 else y + (x if beta == 1 else x * beta)


def same_dtype(a: Tensor, b: Tensor, product: str) -> None:
    """PyTorch's error for operands of different dtypes."""
    if a.array.dtype != b.array.dtype:
        raise RuntimeError(DTYPES_DIFFER[product].format(a=a.dtype.type_name, b=b.dtype.type_name,
                                                         c=C_NAMES[a.dtype.name], d=C_NAMES[b.dtype.name]))


def no_bools(v: Tensor, kernel: str) -> None:
    """PyTorch's error for bools, of which it has no products."""
    if v.array.dtype.kind == "b":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def size_of(v: Tensor, dim: int) -> int:
    """One size; an IndexError if there is no such dimension."""
    return int(v.array.shape[one_of(dim, v.array.ndim)])


def check_into(v: Tensor, shape: tuple[int, ...]) -> None:
    """PyTorch's error for a tensor to add to that does not expand to the shape of a product."""
    own = v.array.shape
    if own not in (shape, shape[1:]) and (len(own) > len(shape) or
                                          any(n not in (1, m) for n, m in zip(own[::-1], shape[::-1]))):
        expand(v, shape)  # raises


def check_output(v: Tensor, shape: tuple[int, ...], like: Tensor) -> None:
    """PyTorch's error for a tensor that is to hold a result in place, of this shape and the dtype of another tensor."""
    for what, own, made in (("dtype", C_NAMES[v.dtype.name], C_NAMES[like.dtype.name]),
                            ("size", list(v.array.shape), list(shape))):
        if own != made:
            raise RuntimeError(f"Bad in-place call: input tensor {what} {own} and output tensor {what} {made} should "
                               "match")
