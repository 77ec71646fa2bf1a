"""Products of many matrices, powers and the exponential: `multi_dot`, `chain_matmul`, `matrix_power`, `matrix_exp`;
and the matrix of the powers of numbers, `vander`.

The first three form the same products in the same order as PyTorch's LinearAlgebra.cpp, as their graphs show. The
exponential is one op, by scaling and squaring (N. Higham, "The scaling and squaring method for the matrix
exponential revisited", 2005), in float64.
"""

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad._base.tensor_errors import IN_C
from minigrad._base.warnings import warn_once
from minigrad.backends.registry import device_like
from minigrad.core import Node, Tensor, plain, record1
from minigrad.ops._dispatch import op
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.checks import mT
from minigrad.ops.linalg.matmul import matmul, mm
from minigrad.ops.linalg.solve import inverse
from minigrad.ops.shape.views import Unsqueeze, View
from minigrad.ops.tensor.copy import Clone, Copy

__all__ = ["chain_matmul", "matrix_exp", "matrix_power", "vander"]

LARGEST = 5.371920351148152  # of the 1-norm, up to which the quotient of degree 13 is exact to rounding
DEGREE = 13

DEPRECATED = (
    "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
    "instead, which accepts a list of two or more tensors rather than multiple parameters."
)


@op
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices, in the cheapest order."""
    if len(matrices) == 1 and isinstance(matrices[0], (tuple, list)):
        matrices = tuple(matrices[0])
    warn_once(DEPRECATED)
    for v in matrices:
        if v.array.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {v.array.ndim}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    return Clone.forward(matrices[0]) if len(matrices) == 1 else multi_dot(matrices)


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices, in the cheapest order; the first and the last may be vectors."""
    check_chain(tensors)
    shape = (*tensors[0].array.shape[:-1], *tensors[-1].array.shape[1:])
    chain = list(tensors)
    if chain[0].array.ndim == 1:
        chain[0] = Unsqueeze.forward(chain[0], 0)
    if chain[-1].array.ndim == 1:
        chain[-1] = Unsqueeze.forward(chain[-1], 1)
    for i, (a, b) in enumerate(itertools.pairwise(tensors)):
        if a.array.shape[-1] != b.array.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.array.shape)} and "
                               f"{list(b.array.shape)} cannot be multiplied")
    return View.forward(in_order(chain, cheapest(chain), 0, len(chain) - 1), shape)


def check_chain(tensors: Sequence[Tensor]) -> None:
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for name, v in (("first", tensors[0]), ("last", tensors[-1])):
        if v.array.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {v.array.ndim}D")
    for i, v in enumerate(tensors):
        if 0 < i < len(tensors) - 1 and v.array.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {v.array.ndim}D")
        if v.array.dtype != tensors[0].array.dtype:
            raise RuntimeError("multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                               f"{IN_C[tensors[0].dtype.name]} and tensor {i} {IN_C[v.dtype.name]}")


def cheapest(chain: Sequence[Tensor]) -> dict[tuple[int, int], int]:
    """For each part of a chain, `(first, last)`, the matrix after which to split it: by dynamic programming."""
    sides = [chain[0].array.shape[0], *[v.array.shape[1] for v in chain]]
    cost = {(i, i): 0 for i in range(len(chain))}
    cuts = {}
    for length in range(1, len(chain)):
        for i in range(len(chain) - length):
            j = i + length
            tried = [cost[i, k] + cost[k + 1, j] + sides[i] * sides[k + 1] * sides[j + 1] for k in range(i, j)]
            cost[i, j] = min(tried)
            at = tried.index(cost[i, j])
            cuts[i, j] = i + (at if len(chain) > 3 or tried[-1] > tried[0] else len(tried) - 1)
    return cuts


def in_order(chain: Sequence[Tensor], cuts: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return chain[i]
    return mm(in_order(chain, cuts, i, cuts[i, j]), in_order(chain, cuts, cuts[i, j] + 1, j))


@op(method=True)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix to the power `n`, by squaring; of the inverse if `n` is negative."""
    n = operator.index(n)
    checks.square(input, "linalg.matrix_power")
    if n == 0:
        x = input.array
        return Copy.forward(Clone.forward(input), plain(np.eye(x.shape[-1], dtype=x.dtype, like=device_like(x))))
    if n == 1:
        return Clone.forward(input)
    base, n = (inverse(input), -n) if n < 0 else (input, n)
    if n == 3:
        return matmul(matmul(base, base), base)
    power, result = base, None
    while n:
        if n % 2:
            result = power if result is None else matmul(result, power)
        n //= 2
        power = matmul(power, power) if n else power
    return base if result is None else result


def coefficients() -> list[float]:
    """The numerator's coefficients in the quotient of polynomials: `(26 - k)! 13! / (26! k! (13 - k)!)`."""
    scales = [1.0]
    for k in range(DEGREE):
        scales.append(scales[-1] * (DEGREE - k) / ((2 * DEGREE - k) * (k + 1)))
    return scales


class LinalgMatrixExp(Node):
    """Its derivative is a block of the exponential of a matrix twice as large."""

    saves = ("self",)

    @staticmethod
    def values(x: Any) -> Any:
        wide = x.astype(np.float64)
        size = abs(wide).sum(-2).max() if wide.size else 0.0
        size = float(size)
        if not math.isfinite(size):
            return np.full_like(x, np.nan)
        halvings = math.ceil(math.log2(size / LARGEST)) if size > LARGEST else 0
        a = wide / 2.0 ** halvings
        eye = np.eye(x.shape[-1], like=device_like(x))
        power, square = np.broadcast_to(eye, x.shape), a @ a
        even, odd, scales = np.zeros_like(wide), np.zeros_like(wide), coefficients()
        for k in range(0, DEGREE, 2):
            even, odd = even + scales[k] * power, odd + scales[k + 1] * power
            power = power @ square
        odd = a @ odd
        y = np.linalg.solve(even - odd, even + odd) if x.size else eye * wide
        for _ in range(halvings):
            y = y @ y
        return as_dtype(y, x.dtype)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(LinalgMatrixExp, LinalgMatrixExp.values(a.array), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        n, transposed = a.shape[-1], mT(xp, a)
        top = xp.concatenate([transposed, g], -1)
        bottom = xp.concatenate([xp.zeros(a.shape, a), transposed], -1)
        whole = xp.apply(LinalgMatrixExp, xp.concatenate([top, bottom], -2))
        return xp.getitem(whole, (..., slice(n), slice(n, 2 * n)))


@op(method=True)
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of a square matrix, `1 + A + A @ A / 2 + …`."""
    checks.square(input, "linalg.matrix_exp")
    checks.floating(input, "linalg.matrix_exp")
    return LinalgMatrixExp.forward(input)


@op
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of each element of `x`, (n,), as a row of an (n, N) matrix: from N - 1 down to 0, or `increasing`.

    By default N is n. Integers and bools give int64. As in PyTorch there is no gradient if N is above 1, since powers
    overwrite powers; `linalg.vander` has one. Raises RuntimeError if `x` is not one-dimensional, or `N` is negative.
    """
    if x.array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    columns = len(x.array) if N is None else N
    if columns < 0:
        raise RuntimeError("N must be non-negative.")
    kind = np.promote_types(x.array.dtype, np.int64) if x.array.dtype.kind in "bui" else x.array.dtype
    powers = plain(np.empty((len(x.array), columns), kind, like=device_like(x.array)))
    if columns > 0:
        powers.select(1, 0).fill_(1)
    if columns > 1:
        powers.narrow(1, 1, columns - 1).copy_(x.unsqueeze(1))
        powers.narrow(1, 1, columns - 1).copy_(powers.narrow(1, 1, columns - 1).cumprod(1))
    return powers if increasing else powers.flip(1)
