"""What the ops on matrices have in common: PyTorch's checks and errors, nodes of several factors, triangles."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NoReturn

import numpy as np

from minigrad.backends.registry import backend_of
from minigrad.core.graph import ManyOutputs
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.same_device import same_device, where_is

__all__ = ["Factors", "LinAlgError", "check_alike", "check_float", "check_kernel", "check_matrices", "check_precise",
           "check_sizes", "check_square", "factored", "first_bad", "fit_of_system", "lower", "not_definite", "singular",
           "spread", "telling", "zero_pivots"]


class _LinAlgError(RuntimeError):
    """A matrix that has no inverse or no such factors."""


LinAlgError = _LinAlgError


class Factors(ManyOutputs, number=None):
    """A node of several outputs whose formula takes None for a gradient that did not arrive.

    `results`: for each saved value the output that it is (0 for an input).
    """

    __slots__ = ()
    fills_missing = False
    results: ClassVar[tuple[int, ...]] = ()

    def saved_output_nr(self, index: int) -> int:
        """Which output the saved result number `index` is."""
        return self.results[index]


def check_matrices(v: Tensor, name: str, argument: str = "A") -> None:
    """PyTorch's error for what has no rows and columns."""
    if v.array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(v: Tensor, name: str) -> None:
    """PyTorch's errors for what are no square matrices."""
    check_matrices(v, name)
    check_sizes(v, f"{name}: ")


def check_sizes(v: Tensor, said: str = "") -> None:
    """The same for matrices; `said` comes before PyTorch's sentence."""
    rows, columns = v.array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{said}A must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_alike(first: Tensor, second: Tensor, names: str, name: str) -> None:
    """PyTorch's error for two tensors of an equation that differ in their dtype; `names` are theirs: "A B"."""
    same_device(first.array, second.array)
    a, b = names.split()
    if first.array.dtype != second.array.dtype:
        raise RuntimeError(f"{name}: Expected {a} and {b} to have the same dtype, but found {a} of type "
                           f"{first.dtype.type_name} and {b} of type {second.dtype.type_name} instead")


def check_float(v: Tensor, name: str) -> None:
    """PyTorch's error for integers and bools."""
    if v.array.dtype.kind != "f":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {v.dtype.type_name}")


def check_precise(v: Tensor, name: str) -> None:
    """The same where float16 is refused too."""
    check_float(v, name)
    if v.array.dtype.itemsize < 4:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {v.dtype.type_name}")


def check_kernel(v: Tensor, kernel: str) -> None:
    """PyTorch's error where its code on the CPU is for float32 and float64 alone, also where there is nothing."""
    if v.array.dtype.kind != "f" or v.array.dtype.itemsize < 4:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{v.dtype.type_name}'")


def lower(v: Any, rows: int, columns: int, k: int = 0, upper: bool = False) -> Any:
    """Which elements lie on or below diagonal `k` (negative: below the main one), or `upper`: the same mirrored; a mask
    that lies where `v` does."""
    like = where_is(v)
    return np.tri(columns, rows, k, bool, like=like).T if upper else np.tri(rows, columns, k, bool, like=like)


def telling(x: Any) -> AbstractContextManager[Any]:
    """A `with` block in which a device, too, says by NumPy's LinAlgError that there is no result."""
    backend = backend_of(x)
    return nullcontext() if backend is None else backend.telling()


def spread(xp: Any, v: Any) -> Any:
    """Diagonal matrices of vectors."""
    n = v.shape[-1]
    diagonal = np.eye(n, dtype=bool, like=where_is(v))
    return xp.masked(diagonal, xp.broadcast_to(xp.reshape(v, (*v.shape, 1)), (*v.shape, n)))


def fit_of_system(x: Any, *operands: Any) -> tuple[Any, ...] | None:
    """What the engine must undo for the operands of a system whose solution is `x` (`Node.fit`)."""
    if all(v.shape[:-2] == x.shape[:-2] and v.dtype is x.dtype for v in operands):
        return None
    return tuple([(v.shape, v.dtype) for v in operands])


def zero_pivots(lu: Any) -> Any:
    """For each matrix the number of the first zero on the diagonal of U (from 1), 0 for none, int32."""
    zero = np.diagonal(lu, 0, -2, -1) == 0
    at = zero.argmax(-1) if zero.shape[-1] else 0
    return np.where(zero.any(-1), at + 1, 0).astype(np.int32)


def first_bad(info: Any) -> tuple[str, int]:
    """Of several matrices the first that failed, in PyTorch's words, and its number in `info`."""
    flat = np.ravel(info)
    at = int(np.flatnonzero(flat)[0])
    return f"(Batch element {at}): " if np.ndim(info) else "", int(flat[at])


def singular(name: str, info: Any, what: str = "") -> NoReturn:
    """PyTorch's error for a matrix without an inverse; `what`: the rest of the sentence."""
    where, number = first_bad(info)
    raise LinAlgError(f"{name}: {where}" + (what or f"The diagonal element {number} is zero, the inversion could not "
                                            "be completed because the input matrix is singular."))


def not_definite(name: str, info: Any) -> NoReturn:
    """PyTorch's error for a matrix without a Cholesky factor."""
    where, number = first_bad(info)
    raise LinAlgError(f"{name}: {where}The factorization could not be completed because the input is not "
                      f"positive-definite (the leading minor of order {number} is not positive-definite).")


def factored(x: Any) -> tuple[Any, Any]:
    """L (below the diagonal, its ones left out) and U in one matrix, and the row that each row was swapped with
    (counted from 1, int32): the LU factors of many matrices at once, by Gaussian elimination."""
    rows, columns = x.shape[-2:]
    lu = np.array(x, like=x).reshape(math.prod(x.shape[:-2]), rows, columns)
    steps, each = min(rows, columns), np.arange(len(lu), like=x)
    pivots = np.zeros((len(lu), steps), np.int32, like=x)
    for j in range(steps if lu.size else 0):
        at = j + abs(lu[:, j:, j]).argmax(1)
        pivots[:, j] = at + 1
        lu[each, j], lu[each, at] = lu[each, at], lu[each, j]
        top = lu[:, j, j, None]
        lu[:, j + 1:, j] /= np.where(top == 0, 1, top)
        lu[:, j + 1:, j + 1:] -= lu[:, j + 1:, j, None] * lu[:, j, None, j + 1:]
    return lu.reshape(x.shape), pivots.reshape((*x.shape[:-2], steps))
