"""Matrices as products: LU (a permutation, a lower and an upper triangular one), Cholesky, and QR.

Mirrors PyTorch's BatchLinearAlgebra.cpp. The derivative of LU follows from
`L**-1 @ dA @ U**-1 == L**-1 @ dL + dU @ U**-1`, whose terms are strictly lower and upper triangular. For Cholesky, see
I. Murray, "Differentiation of the Cholesky decomposition" (2016); for QR, F. Roberts and L. Roberts, "QR and LQ
decomposition matrix backpropagation algorithms" (2020).
"""

import math
from typing import Any

import numpy as np

from minigrad import return_types
from minigrad._base.warnings import warn_once
from minigrad.backends.batched import beside
from minigrad.backends.numpy import XP
from minigrad.backends.registry import device_like
from minigrad.core import Node, Tensor, plain, record1, record2, record_many
from minigrad.ops._dispatch import broadcast_shape, op, same_device, where_is
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.checks import Factors, lu_factored, mT, reports_failure, system_metadata, triangle, zero_pivots
from minigrad.ops.linalg.solve import LinalgSolveTriangular, check_sides

__all__ = ["cholesky", "cholesky_inverse", "cholesky_solve", "lu_solve", "qr"]

ZERO_PIVOT = ("U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
              "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")


def order_of(pivots: Any, rows: int) -> Any:
    """The order of rows, shape (…, rows), that the swaps produce when applied in turn."""
    lead = pivots.shape[:-1]
    order = np.zeros((math.prod(lead), rows), np.int64, like=device_like(pivots))
    order += np.arange(rows, like=pivots)
    each = np.arange(len(order), like=pivots)
    for j, at in enumerate(pivots.reshape(len(order), pivots.shape[-1]).T - 1):
        order[each, j], order[each, at] = order[each, at], order[each, j]
    return order.reshape(*lead, rows)


def in_order(xp: Any, v: Any, order: Any) -> Any:
    """Matrices with their rows in this order."""
    lead = order.shape[:-1]
    grids = [np.arange(n, like=order).reshape((n,) + (1,) * (len(lead) - i)) for i, n in enumerate(lead)]
    return xp.getitem(v, (*grids, order))


def parts(xp: Any, lu: Any) -> tuple[Any, Any]:
    """L, with its ones, and U, from one matrix that holds both."""
    rows, columns = lu.shape[-2:]
    k = min(rows, columns)
    i = np.arange(k, like=where_is(lu))
    below = triangle(lu, rows, columns, -1)
    left, right = xp.put(xp.masked(below, lu), (..., i, i), 1.0), xp.masked(~below, lu)
    return xp.getitem(left, (..., slice(k))), xp.getitem(right, (..., slice(k), slice(None)))


def of_matrix(xp: Any, gl: Any, gu: Any, left: Any, right: Any) -> Any:
    """The gradient of `L @ U` from those of L and U, of which only the triangles count."""
    rows, columns = left.shape[-2], right.shape[-1]
    k = min(rows, columns)
    gl = xp.masked(triangle(left, rows, k, -1), gl)
    gu = xp.masked(~triangle(right, k, columns, -1), gu)
    transposed, right_transposed = mT(xp, left), mT(xp, right)
    beyond = None
    if columns > k:  # U has more columns: they are L**-1 @ those of A
        beyond = xp.apply(LinalgSolveTriangular, transposed, xp.getitem(gu, (..., slice(k, columns))), True, True, True)
        gl = gl - xp.matmul(beyond, mT(xp, xp.getitem(right, (..., slice(k, columns)))))
        gu = xp.getitem(gu, (..., slice(k)))
        right_transposed = xp.getitem(right_transposed, (..., slice(k), slice(None)))
    elif rows > k:  # L has more rows: they are those of A @ U**-1
        below = (..., slice(k, rows), slice(None))
        beyond = xp.apply(LinalgSolveTriangular, right_transposed, xp.getitem(gl, below), False, False)
        gu = gu - xp.matmul(mT(xp, xp.getitem(left, below)), beyond)
        gl, transposed = xp.getitem(gl, (..., slice(k), slice(None))), xp.getitem(transposed, (..., slice(k)))
    inside = (xp.masked(triangle(left, k, k, -1), xp.matmul(transposed, gl)) +
              xp.masked(~triangle(left, k, k, -1), xp.matmul(gu, right_transposed)))
    inside = xp.apply(LinalgSolveTriangular, transposed, inside, True, True, True)
    ga = xp.apply(LinalgSolveTriangular, right_transposed, inside, False, False)
    return ga if beyond is None else xp.concatenate([ga, beyond], -1 if columns > k else -2)


class LinalgLuFactorEx(Node):
    saves = ("LU", "pivots")
    constants = ("pivot",)

    @staticmethod
    def forward(a: Tensor, lu: Any, pivots: Tensor) -> Tensor:
        back = np.argsort(order_of(pivots.array, a.array.shape[-2]), -1)
        return record1(LinalgLuFactorEx, lu, a, (lu, pivots), (True, back))

    def backward(self, xp: Any, g: Any, lu: Any, pivots: Any, pivot: bool, back: Any) -> Any:
        k = min(lu.shape[-2:])
        gl, gu = xp.getitem(g, (..., slice(k))), xp.getitem(g, (..., slice(k), slice(None)))
        return in_order(xp, of_matrix(xp, gl, gu, *parts(xp, lu)), back)


class LinalgLu(Factors):
    saves = ("L", "U")
    constants = ("pivot",)
    results = (0, 1)

    @staticmethod
    def forward(a: Tensor, factors: tuple[Any, Any], order: Any) -> tuple[Tensor, ...]:
        return record_many(LinalgLu, factors, a, (True, np.argsort(order, -1)), saved=factors)

    def backward(self, xp: Any, gs: list[Any], left: Any, right: Any, pivot: bool, back: Any) -> Any:
        gl, gu = [xp.zeros(v.shape, v) if g is None else g for g, v in zip(gs, (left, right), strict=True)]
        return in_order(xp, of_matrix(xp, gl, gu, left, right), back)


class LinalgLuSolve(Node):
    """A system of equations whose matrix is given by its LU factors."""

    saves = ("LU", "result")
    constants = ("left", "adjoint")

    @staticmethod
    def values(lu: Any, b: Any, order: Any, left: bool, adjoint: bool) -> Any:
        if not left:
            return LinalgLuSolve.values(lu, b.swapaxes(-1, -2), order, True, not adjoint).swapaxes(-1, -2)
        solve, transposed = LinalgSolveTriangular.values, lu.swapaxes(-1, -2)
        lead = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
        b, order = np.broadcast_to(b, lead + b.shape[-2:]), np.broadcast_to(order, (*lead, lu.shape[-1]))
        if adjoint:
            y = solve(transposed, solve(transposed, b, False), True, True, True)
            return np.take_along_axis(y, np.argsort(order, -1)[..., None], -2)
        return solve(lu, solve(lu, np.take_along_axis(b, order[..., None], -2), False, True, True), True)

    @staticmethod
    def forward(lu: Tensor, b: Tensor, order: Any, left: bool, adjoint: bool) -> Tensor:
        out = LinalgLuSolve.values(lu.array, b.array, order, left, adjoint)
        return record2(LinalgLuSolve, out, lu, b, (lu, out), (left, adjoint, order),
                       system_metadata(out, lu.array, b.array))

    def backward(self, xp: Any, g: Any, lu: Any, x: Any, left: bool, adjoint: bool, order: Any) -> tuple[Any, Any]:
        gb = xp.apply(LinalgLuSolve, lu, g, order, left, not adjoint)
        solved, of_b = (x, gb) if left else (mT(xp, x), mT(xp, gb))
        first, second = (solved, of_b) if adjoint == left else (of_b, solved)
        ga = -xp.matmul(first, mT(xp, second))
        n, lead = lu.shape[-1], ga.shape[:-2]
        ga = in_order(xp, ga, np.broadcast_to(order, (*lead, n)))
        l_part, u_part = parts(xp, lu)
        return (xp.masked(triangle(lu, n, n, -1), xp.matmul(ga, mT(xp, u_part))) +
                xp.masked(~triangle(lu, n, n, -1), xp.matmul(mT(xp, l_part), ga)), gb)


def decomposed(a: Tensor, name: str, pivot: bool) -> tuple[Any, Any]:
    """L and U in one array, and the swaps of rows; PyTorch's errors for invalid operands."""
    if a.array.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(a.array.shape)} "
                           "instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    if a.array.size:
        checks.kernel(a, "lu_cpu")
    return lu_factored(a.array)


def factors_of(a: Tensor, pivot: bool, name: str | None) -> tuple[Tensor, Tensor, Tensor]:
    """The result of `lu_factor_ex`; `name`: the function that reports a zero on the diagonal of U (None: none does)."""
    result, swaps = decomposed(a, "torch.lu_factor", pivot)
    info, pivots = zero_pivots(result), plain(swaps)
    checks.no_failure(name, info, ZERO_PIVOT, RuntimeError)
    return LinalgLuFactorEx.forward(a, result, pivots), pivots, plain(info)


def lu_factor(A: Tensor, *, pivot: bool = True) -> return_types.linalg_lu_factor:
    """L (without its ones) and U in one matrix, and for each row the one it was swapped with, counted from 1."""
    return return_types.linalg_lu_factor(factors_of(A, pivot, "torch.linalg.lu_factor")[:2])


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> return_types.linalg_lu_factor_ex:
    """The same, and for each matrix 0 or the position of the first zero on the diagonal of U, from 1."""
    return return_types.linalg_lu_factor_ex(factors_of(A, pivot, "torch.linalg.lu_factor_ex" if check_errors else None))


def lu(A: Tensor, *, pivot: bool = True) -> return_types.linalg_lu:
    """`A == P @ L @ U`."""
    matrix, swaps = decomposed(A, "linalg.lu", pivot)
    rows = matrix.shape[-2]
    order = order_of(swaps, rows)
    rows_of_one = np.eye(rows, dtype=matrix.dtype, like=device_like(matrix))
    permutation = beside(rows_of_one, (order,))[order].swapaxes(-1, -2)
    return return_types.linalg_lu((plain(permutation), *LinalgLu.forward(A, parts(XP, matrix), order)))


def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The solution X of `A @ X == B`, or of `X @ A == B` if not `left`, where A (`adjoint`: its transpose) is given by
    the result of `lu_factor`."""
    checks.floating(LU, "torch.linalg.lu_solve")
    checks.same_dtype(LU, B, "LU B", "linalg.lu_solve")
    if pivots.array.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    checks.square(LU, "torch.linalg.lu_solve")
    checks.matrices(B, "linalg.lu_solve", "B")
    check_sides(LU.array.shape, B.array.shape, left, "linalg.lu_solve")
    shape = LU.array.shape[:-1]
    if shape[-1:] != pivots.array.shape[-1:]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if shape != pivots.array.shape:
        raise RuntimeError("linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots "
                           f"with shape {list(pivots.array.shape)} instead")
    checks.kernel(LU, "linalg.lu_solve")
    return LinalgLuSolve.forward(LU, B, order_of(pivots.array, shape[-1]), left, adjoint)


LU_SOLVE_DEPRECATED = (
    "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
    "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be "
    "replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)"
)


@op(method=True)
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution X of `A @ X == input`, where A is given by the result of `linalg.lu_factor`: deprecated."""
    warn_once(LU_SOLVE_DEPRECATED)
    return linalg_lu_solve(LU_data, LU_pivots, input)


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
