"""What can be wrong with operands of linear algebra: PyTorch's errors for their shapes, dtypes and values."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.same_device import same_device
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.views import expand

__all__ = ["C_NAMES", "LinAlgError", "expands_to", "first_failure", "floating", "in_place_output", "kernel", "matrices",
           "no_bools", "not_definite", "precise", "product_dtypes", "same_dtype", "singular", "size_of", "square",
           "square_sizes", "vectors"]

C_NAMES = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int", "float16": "c10::Half",
           "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short"}
DTYPES_DIFFER = {  # products do not promote, and each has its own words for it
    "mm": "expected m1 and m2 to have the same dtype, but got: {c} != {d}",
    "bmm": "expected scalar type {a} but found {b}",
    "dot": "dot : expected both vectors to have same dtype, but found {a} and {b}",
    "addmm": "self and mat2 must have the same dtype, but got {a} and {b}",
    "addmm of two": "mat1 and mat2 must have the same dtype, but got {a} and {b}",
}


class _LinAlgError(RuntimeError):
    """A matrix that has no inverse or no such factors."""


LinAlgError = _LinAlgError


def matrices(v: Tensor, name: str, argument: str = "A") -> None:
    """PyTorch's error for what has no rows and columns."""
    if v.array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def square(v: Tensor, name: str) -> None:
    """PyTorch's errors for what are no square matrices."""
    matrices(v, name)
    square_sizes(v, f"{name}: ")


def square_sizes(v: Tensor, said: str = "") -> None:
    """The same for matrices; `said` comes before PyTorch's sentence."""
    rows, columns = v.array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{said}A must be batches of square matrices, but they are {rows} by {columns} matrices")


def same_dtype(first: Tensor, second: Tensor, names: str, name: str) -> None:
    """PyTorch's error for two tensors of an equation that differ in their dtype; `names` are theirs: "A B"."""
    same_device(first.array, second.array)
    a, b = names.split()
    if first.array.dtype != second.array.dtype:
        raise RuntimeError(f"{name}: Expected {a} and {b} to have the same dtype, but found {a} of type "
                           f"{first.dtype.type_name} and {b} of type {second.dtype.type_name} instead")


def floating(v: Tensor, name: str) -> None:
    """PyTorch's error for integers and bools."""
    if v.array.dtype.kind != "f":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {v.dtype.type_name}")


def precise(v: Tensor, name: str) -> None:
    """The same where float16 is refused too."""
    floating(v, name)
    if v.array.dtype.itemsize < 4:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {v.dtype.type_name}")


def kernel(v: Tensor, kernel: str) -> None:
    """PyTorch's error where its code on the CPU is for float32 and float64 alone, also where there is nothing."""
    if v.array.dtype.kind != "f" or v.array.dtype.itemsize < 4:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{v.dtype.type_name}'")


def product_dtypes(a: Tensor, b: Tensor, product: str) -> None:
    """PyTorch's error for operands of different dtypes."""
    if a.array.dtype != b.array.dtype:
        raise RuntimeError(DTYPES_DIFFER[product].format(a=a.dtype.type_name, b=b.dtype.type_name,
                                                         c=C_NAMES[a.dtype.name], d=C_NAMES[b.dtype.name]))


def vectors(op: str, **arguments: Tensor) -> None:
    """PyTorch's error for what should be a vector."""
    for name, v in arguments.items():
        if v.array.ndim != 1:
            raise RuntimeError(f"{op}: Expected 1-D argument {name}, but got {v.array.ndim}-D")


def no_bools(v: Tensor, kernel: str) -> None:
    """PyTorch's error for bools, of which it has no products."""
    if v.array.dtype.kind == "b":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def size_of(v: Tensor, dim: int) -> int:
    """One size; an IndexError if there is no such dimension."""
    return int(v.array.shape[one_of(dim, v.array.ndim)])


def expands_to(v: Tensor, shape: tuple[int, ...]) -> None:
    """PyTorch's error for a tensor to add to that does not expand to the shape of a product."""
    own = v.array.shape
    if own not in (shape, shape[1:]) and (len(own) > len(shape) or
                                          any(n not in (1, m) for n, m in zip(own[::-1], shape[::-1]))):
        expand(v, shape)  # raises


def in_place_output(v: Tensor, shape: tuple[int, ...], like: Tensor) -> None:
    """PyTorch's error for a tensor that is to hold a result in place, of this shape and the dtype of another tensor."""
    for what, own, result in (("dtype", C_NAMES[v.dtype.name], C_NAMES[like.dtype.name]),
                              ("size", list(v.array.shape), list(shape))):
        if own != result:
            raise RuntimeError(f"Bad in-place call: input tensor {what} {own} and output tensor {what} {result} should "
                               "match")


def first_failure(info: Any) -> tuple[str, int]:
    """Of several matrices the first that failed, in PyTorch's words, and its number in `info`."""
    flat = np.ravel(info)
    at = int(np.flatnonzero(flat)[0])
    return f"(Batch element {at}): " if np.ndim(info) else "", int(flat[at])


def singular(name: str, info: Any, what: str = "") -> NoReturn:
    """PyTorch's error for a matrix without an inverse; `what`: the rest of the sentence."""
    where, number = first_failure(info)
    raise LinAlgError(f"{name}: {where}" + (what or f"The diagonal element {number} is zero, the inversion could not "
                                            "be completed because the input matrix is singular."))


def not_definite(name: str, info: Any) -> NoReturn:
    """PyTorch's error for a matrix without a Cholesky factor."""
    where, number = first_failure(info)
    raise LinAlgError(f"{name}: {where}The factorization could not be completed because the input is not "
                      f"positive-definite (the leading minor of order {number} is not positive-definite).")
