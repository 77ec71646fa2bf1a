"""What ops on matrices share: nodes with several factors, inputs saved by products, triangles, Gaussian elimination."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np

from minigrad.backends.registry import backend_of
from minigrad.core import ManyOutputs, Tensor, record_many
from minigrad.ops._dispatch import where_is


class Factors(ManyOutputs, number=None):
    """A node with several outputs whose formula takes None for a gradient that did not arrive.

    `results`: for each saved value, which output it is (0 for an input). `values`: the op on arrays.
    """

    fills_missing = False
    results: ClassVar[tuple[int, ...]] = ()
    values: ClassVar[Callable[..., tuple[Any, ...]]]

    @classmethod
    def forward(cls, a: Tensor, *const: Any) -> tuple[Tensor, ...]:
        """The factors of a matrix, all of which the derivative needs."""
        factors = cls.values(a.array, *const)
        return record_many(cls, factors, a, const, saved=factors)

    def saved_output_nr(self, index: int) -> int:
        return self.results[index]


def mT(xp: Any, v: Any) -> Any:
    """The transposes of matrices, as `Tensor.mT`."""
    return xp.swapaxes(v, -1, -2)


def scaled_sum(x: Any, y: Any, beta: float, alpha: float) -> Any:
    """`beta * x + alpha * y` in the dtype of `y`, to which the scales are cast; if beta is 0, `x` is ignored."""
    beta, alpha = (y.dtype.type(scale).item() for scale in (beta, alpha))
    y = y if alpha == 1 else y * alpha
    return y if beta == 0 else y + (x if beta == 1 else x * beta)


def triangle(v: Any, rows: int, columns: int, k: int = 0, upper: bool = False) -> Any:
    """A mask of the elements on or below diagonal `k` (negative: below the main one), or mirrored if `upper`; on the
    device of `v`."""
    like = where_is(v)
    return np.tri(columns, rows, k, bool, like=like).T if upper else np.tri(rows, columns, k, bool, like=like)


def reports_failure(x: Any) -> AbstractContextManager[Any]:
    """A `with` block in which a device, too, raises NumPy's LinAlgError if there is no result."""
    backend = backend_of(x)
    return nullcontext() if backend is None else backend.linalg_errors()


def diagonal_matrices(xp: Any, v: Any) -> Any:
    n = v.shape[-1]
    diagonal = np.eye(n, dtype=bool, like=where_is(v))
    return xp.masked(diagonal, xp.broadcast_to(xp.reshape(v, (*v.shape, 1)), (*v.shape, n)))


def system_metadata(x: Any, *operands: Any) -> tuple[Any, ...] | None:
    """What the engine must undo for the operands of a system whose solution is `x` (input metadata)."""
    if all(v.shape[:-2] == x.shape[:-2] and v.dtype is x.dtype for v in operands):
        return None
    return tuple([(v.shape, v.dtype) for v in operands])


def zero_pivots(lu: Any) -> Any:
    """For each matrix, the position of the first zero on the diagonal of U (from 1), 0 for none; int32."""
    zero = np.diagonal(lu, 0, -2, -1) == 0
    at = zero.argmax(-1) if zero.shape[-1] else 0
    return np.where(zero.any(-1), at + 1, 0).astype(np.int32)


def lu_factored(x: Any) -> tuple[Any, Any]:
    """L (below the diagonal, its ones left out) and U in one matrix, and for each row the one it was swapped with
    (counted from 1, int32): the LU factors of a batch of matrices, by Gaussian elimination."""
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
