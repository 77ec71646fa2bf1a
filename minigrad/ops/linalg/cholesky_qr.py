"""Cholesky and QR: matrices as products of triangular and orthogonal ones. Mirrors PyTorch's BatchLinearAlgebra.cpp.

The derivatives: for Cholesky, I. Murray, "Differentiation of the Cholesky decomposition" (2016); for QR, F. Roberts and
L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms" (2020).
"""

from typing import Any

import numpy as np

from minigrad import return_types
from minigrad._base.warnings import warn_once
from minigrad.backends.registry import device_like
from minigrad.core import Node, Tensor, plain, record1, record2
from minigrad.ops._dispatch import broadcast_shape, op, same_device
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.matrices import Factors, mT, reports_failure, system_metadata, triangle, zero_pivots
from minigrad.ops.linalg.solve import LinalgSolveTriangular

__all__ = ["cholesky", "cholesky_inverse", "cholesky_solve", "qr"]


def cholesky_factor(x: Any, upper: bool) -> tuple[Any, Any]:
    """L with `x == L @ L.T`, or its transpose; and per matrix 0 or the order of the first leading part without one."""
    transposed = x.swapaxes(-1, -2) if upper else x
    info = np.zeros(x.shape[:-2], np.int32, like=x)
    try:
        with reports_failure(x):
            result = np.linalg.cholesky(transposed)
    except np.linalg.LinAlgError:
        result = np.zeros_like(transposed)
        for i in np.ndindex(x.shape[:-2]):
            info[i], k = leading(transposed[i])
            result[i][:k, :k] = np.linalg.cholesky(transposed[i][:k, :k])
    return (result.swapaxes(-1, -2) if upper else result), info


def leading(x: Any) -> tuple[int, int]:
    """The order of the first leading part of a matrix without a factor (0: none), and of the last one with a factor."""
    for k in range(1, len(x) + 1):
        try:
            with reports_failure(x):
                np.linalg.cholesky(x[:k, :k])
        except np.linalg.LinAlgError:
            return k, k - 1
    return 0, len(x)


class CholeskyFactor(Node, number=None):
    """The derivative of a factor `y`, which `torch.cholesky` and `torch.linalg.cholesky` record under two names."""

    constants = ("upper",)

    @classmethod
    def forward(cls, a: Tensor, y: Any, upper: bool) -> Tensor:
        return record1(cls, y, a, (y,), (upper,))

    def backward(self, xp: Any, g: Any, y: Any, upper: bool) -> Any:
        g, y = (mT(xp, g), mT(xp, y)) if upper else (g, y)
        transposed = mT(xp, y)
        first = xp.apply(LinalgSolveTriangular, transposed, mirrored(xp, xp.matmul(transposed, g)) / 2, True)
        return mT(xp, xp.apply(LinalgSolveTriangular, transposed, mT(xp, first), True))


def mirrored(xp: Any, m: Any) -> Any:
    """The symmetric matrices with the given lower triangles."""
    n = m.shape[-1]
    return xp.masked(triangle(m, n, n), m) + mT(xp, xp.masked(triangle(m, n, n, -1), m))


class LinalgCholeskyEx(CholeskyFactor):
    saves = ("L",)


class Cholesky(CholeskyFactor):
    saves = ("result",)


class CholeskyInverse(Node):
    """The inverse of `L @ L.T` for a given L."""

    saves = ("self", "result")
    constants = ("upper",)

    @staticmethod
    def forward(a: Tensor, upper: bool) -> Tensor:
        eye = np.broadcast_to(np.eye(a.array.shape[-1], dtype=a.array.dtype, like=device_like(a.array)), a.array.shape)
        y = between(a.array, eye, upper)
        return record1(CholeskyInverse, y, a, (a, y), (upper,))

    def backward(self, xp: Any, g: Any, a: Any, y: Any, upper: bool) -> Any:
        both = xp.matmul(y, xp.matmul(g + mT(xp, g), y))
        return -(xp.matmul(a, both) if upper else xp.matmul(both, a))


class CholeskySolve(Node):
    """The solution X of `L @ L.T @ X == B` for a given L."""

    saves = ("input2", "result")
    constants = ("upper",)

    values = staticmethod(lambda b, a, upper: between(a, b, upper))

    @staticmethod
    def forward(b: Tensor, a: Tensor, upper: bool) -> Tensor:
        out = between(a.array, b.array, upper)
        return record2(CholeskySolve, out, b, a, (a, out), (upper,), system_metadata(out, b.array, a.array))

    def backward(self, xp: Any, g: Any, a: Any, x: Any, upper: bool) -> tuple[Any, Any]:
        gb = xp.apply(CholeskySolve, g, a, upper)
        both = xp.matmul(gb, mT(xp, x))
        both = both + mT(xp, both)
        return gb, -(xp.matmul(a, both) if upper else xp.matmul(both, a))


def between(a: Any, b: Any, upper: bool) -> Any:
    """The solution of `a @ a.T @ x == b`, or of `a.T @ a @ x == b` if `upper`; only one triangle of `a` is read."""
    values, transposed = LinalgSolveTriangular.values, a.swapaxes(-1, -2)
    return values(a, values(transposed, b, False), True) if upper else values(transposed, values(a, b, False), True)


class LinalgQr(Factors):
    """Q with orthonormal columns and an upper triangular R, so that `A == Q @ R`."""

    saves = ("Q", "R")
    constants = ("mode",)
    results = (0, 1)

    @staticmethod
    def values(x: Any, mode: Any) -> tuple[Any, ...]:
        return (np.zeros(0, x.dtype, like=x), np.linalg.qr(x, "r")) if mode == "r" else tuple(np.linalg.qr(x, mode))

    def backward(self, xp: Any, gs: list[Any], q: Any, r: Any, mode: str) -> Any:
        if mode == "r":
            raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
                               "use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.")
        rows, columns = q.shape[-2], r.shape[-1]
        if mode == "complete" and rows > columns:
            raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
        gq, gr = gs
        if rows >= columns:
            return from_factors(xp, gq, gr, q, r)
        left, right = (..., slice(rows)), (..., slice(rows, columns))
        if gr is None:
            ga = from_factors(xp, gq, None, q, xp.getitem(r, left))
            return xp.concatenate([ga, xp.zeros((*r.shape[:-1], columns - rows), ga)], -1)
        beyond = xp.getitem(gr, right)
        through = xp.matmul(q, xp.matmul(xp.getitem(r, right), mT(xp, beyond)))
        ga = from_factors(xp, through if gq is None else gq + through, xp.getitem(gr, left), q, xp.getitem(r, left))
        return xp.concatenate([ga, xp.matmul(q, beyond)], -1)


def from_factors(xp: Any, gq: Any, gr: Any, q: Any, r: Any) -> Any:
    """The gradient of A from those of Q and of a square R, either of which may be None."""
    inside = None if gr is None else xp.matmul(r, mT(xp, gr))
    if gq is not None:
        other = xp.matmul(mT(xp, gq), q)
        inside = -other if inside is None else inside - other
    ga = xp.matmul(q, mirrored(xp, inside))
    ga = ga if gq is None else gq + ga
    return xp.apply(LinalgSolveTriangular, mT(xp, r), ga, False, False)


def factor_of(input: Tensor, upper: bool, name: str | None) -> tuple[Tensor, Tensor]:
    """The result of `cholesky_ex`; `name`: the function that reports a matrix without a factor (None: none does)."""
    checks.square(input, "linalg.cholesky")
    checks.floating(input, "linalg.cholesky")
    checks.kernel(input, "cholesky_cpu")
    result, info = cholesky_factor(input.array, upper)
    checks.no_failure(name, info, checks.NOT_DEFINITE)
    return LinalgCholeskyEx.forward(input, result, upper), plain(info)


def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> return_types.linalg_cholesky_ex:
    """L with `input == L @ L.mT`, or its transpose if `upper`; and for each matrix 0, or the order of the first leading
    part that is not positive definite (its L is then meaningless). Only one triangle of `input` is read."""
    return return_types.linalg_cholesky_ex(factor_of(input, upper, "linalg.cholesky_ex" if check_errors else None))


def linalg_cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """L with `input == L @ L.mT`, or its transpose if `upper`; a LinAlgError if there is none."""
    return factor_of(input, upper, "linalg.cholesky")[0]


CHOLESKY_DEPRECATED = (
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, "
    "upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent "
    "results for all valid (symmetric positive definite) inputs."
)
QR_DEPRECATED = (
    "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
    "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced "
    "with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
)


@op(method=True)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """L with `input == L @ L.mT`, or its transpose if `upper`: deprecated in favour of `linalg.cholesky`."""
    warn_once(CHOLESKY_DEPRECATED)
    if not input.array.size:
        return Cholesky.forward(input, input.array.copy(), upper)
    checks.square(input, "cholesky")
    checks.kernel(input, "cholesky_cpu")
    result, info = cholesky_factor(input.array, upper)
    checks.no_failure("cholesky", info, checks.NOT_DEFINITE)
    return Cholesky.forward(input, result, upper)


@op(method=True)
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of `L @ L.mT`, where `input` is L, or its transpose if `upper`."""
    checks.square(input, "cholesky_inverse")
    checks.kernel(input, "cholesky_inverse_out_cpu")
    checks.no_failure("cholesky_inverse", zero_pivots(input.array), checks.SINGULAR)
    return CholeskyInverse.forward(input, upper)


@op(method=True)
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The solution X of `L @ L.mT @ X == input` (`L.mT @ L @ X` if `upper`)."""
    for name, v in (("b", input), ("u", L)):
        if v.array.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {v.array.ndim} dimensions instead")
    if input.array.dtype != L.array.dtype:
        raise RuntimeError("Expected b and A to have the same dtype, but found b of type "
                           f"{input.dtype.type_name} and A of type {L.dtype.type_name} instead.")
    checks.square_sizes(L)
    (n, k), size = input.array.shape[-2:], L.array.shape[-1]
    if n != size:
        raise RuntimeError(f"Incompatible matrix sizes for cholesky_solve: each A matrix is {size} by {size} but each "
                           f"b matrix is {n} by {k}")
    broadcast_shape(input.array.shape[:-2], L.array.shape[:-2])
    checks.kernel(input, "cholesky_solve_cpu")
    same_device(input.array, L.array)
    return CholeskySolve.forward(input, L, upper)


def linalg_qr(A: Tensor, mode: str = "reduced") -> return_types.linalg_qr:
    """`A == Q @ R`. Mode "complete": Q is square; "r": R alone, which has no derivative."""
    checks.matrices(A, "linalg.qr")
    checks.floating(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    checks.kernel(A, "geqrf_cpu")
    return return_types.linalg_qr(LinalgQr.forward(A, mode))


@op(method=True)
def qr(input: Tensor, some: bool = True) -> return_types.qr:
    """`input == Q @ R`; not `some`: Q is square. Deprecated in favour of `linalg.qr`."""
    warn_once(QR_DEPRECATED)
    return return_types.qr(linalg_qr(input, "reduced" if some else "complete"))
