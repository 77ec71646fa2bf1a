"""LU: a matrix as a permutation, a lower and an upper triangular one. Mirrors PyTorch's BatchLinearAlgebra.cpp.

The derivative follows from `L**-1 @ dA @ U**-1 == L**-1 @ dL + dU @ U**-1`, whose terms are strictly lower and upper
triangular.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad import return_types
from minigrad._base.warnings import warn_once
from minigrad.backends.registry import beside
from minigrad.core.graph import Node
from minigrad.core.record import record1, record2, record_many
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.registration import op
from minigrad.ops._dispatch.same_device import where_is
from minigrad.ops.linalg.matrix_checks import (
    Factors,
    check_alike,
    check_float,
    check_kernel,
    check_matrices,
    check_square,
    factored,
    first_bad,
    fit_of_system,
    lower,
    zero_pivots,
)
from minigrad.ops.linalg.solve import LinalgSolveTriangular, check_sides

__all__ = ["lu_solve"]


def order_of(pivots: Any, rows: int) -> Any:
    """The order of rows, shape (…, rows), that swaps one after the other lead to."""
    lead = pivots.shape[:-1]
    order = np.tile(np.arange(rows, like=pivots), (int(np.prod(lead)), 1))
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
    """L, with its ones, and U of the two in one matrix."""
    rows, columns = lu.shape[-2:]
    k = min(rows, columns)
    i = np.arange(k, like=where_is(lu))
    left = xp.put(xp.masked(lower(lu, rows, columns, -1), lu), (..., i, i), 1.0)
    right = xp.masked(~lower(lu, rows, columns, -1), lu)
    return xp.getitem(left, (..., slice(k))), xp.getitem(right, (..., slice(k), slice(None)))


def of_matrix(xp: Any, gl: Any, gu: Any, left: Any, right: Any) -> Any:
    """The gradient of `L @ U` from those of L and U."""
    rows, columns = left.shape[-2], right.shape[-1]
    k = min(rows, columns)
    turned, turned_right = xp.swapaxes(left, -1, -2), xp.swapaxes(right, -1, -2)
    beyond = None
    if columns > k:  # U has more columns: they are L**-1 @ those of A
        beyond = xp.apply(LinalgSolveTriangular, turned, xp.getitem(gu, (..., slice(k, columns))), True, True, True)
        gl = gl - xp.matmul(beyond, xp.swapaxes(xp.getitem(right, (..., slice(k, columns))), -1, -2))
        gu, turned_right = xp.getitem(gu, (..., slice(k))), xp.getitem(turned_right, (..., slice(k), slice(None)))
    elif rows > k:  # L has more rows: they are those of A @ U**-1
        below = (..., slice(k, rows), slice(None))
        beyond = xp.apply(LinalgSolveTriangular, turned_right, xp.getitem(gl, below), False, False)
        gu = gu - xp.matmul(xp.swapaxes(xp.getitem(left, below), -1, -2), beyond)
        gl, turned = xp.getitem(gl, (..., slice(k), slice(None))), xp.getitem(turned, (..., slice(k)))
    inside = (xp.masked(lower(left, k, k, -1), xp.matmul(turned, gl)) +
              xp.masked(~lower(left, k, k, -1), xp.matmul(gu, turned_right)))
    inside = xp.apply(LinalgSolveTriangular, turned, inside, True, True, True)
    ga = xp.apply(LinalgSolveTriangular, turned_right, inside, False, False)
    return ga if beyond is None else xp.concatenate([ga, beyond], -1 if columns > k else -2)


class LinalgLuFactorEx(Node):
    """L and U in one matrix."""

    __slots__ = ()
    saves = ("LU", "pivots")
    constants = ("pivot",)
    formula = Factors.formula

    @staticmethod
    def forward(a: Tensor, lu: Any, pivots: Tensor) -> Tensor:
        back = np.argsort(order_of(pivots.array, a.array.shape[-2]), -1)
        return record1(LinalgLuFactorEx, lu, a, (lu, pivots), (True, back))

    def backward(self, xp: Any, g: Any, lu: Any, pivots: Any, pivot: bool, back: Any) -> Any:
        rows, columns = lu.shape[-2:]
        k = min(rows, columns)
        gl = xp.getitem(xp.masked(lower(g, rows, columns, -1), g), (..., slice(k)))
        gu = xp.getitem(xp.masked(~lower(g, rows, columns, -1), g), (..., slice(k), slice(None)))
        return in_order(xp, of_matrix(xp, gl, gu, *parts(xp, lu)), back)


class LinalgLu(Factors):
    """L and U as two matrices."""

    __slots__ = ()
    saves = ("L", "U")
    constants = ("pivot",)
    results = (0, 1)

    @staticmethod
    def forward(a: Tensor, made: tuple[Any, Any], order: Any) -> tuple[Tensor, ...]:
        return record_many(LinalgLu, made, a, (True, np.argsort(order, -1)), saved=made)

    def backward(self, xp: Any, gs: list[Any], left: Any, right: Any, pivot: bool, back: Any) -> Any:
        gl, gu = [xp.zeros(v.shape, v) if g is None else g for g, v in zip(gs, (left, right), strict=True)]
        k = left.shape[-1]
        gl = xp.masked(lower(left, left.shape[-2], k, -1), gl)
        gu = xp.masked(~lower(right, k, right.shape[-1], -1), gu)
        return in_order(xp, of_matrix(xp, gl, gu, left, right), back)


class LinalgLuSolve(Node):
    """A system whose matrix is known by its factors."""

    __slots__ = ()
    saves = ("LU", "result")
    constants = ("left", "adjoint")

    @staticmethod
    def values(lu: Any, b: Any, order: Any, left: bool, adjoint: bool) -> Any:
        """On arrays."""
        if not left:
            return LinalgLuSolve.values(lu, b.swapaxes(-1, -2), order, True, not adjoint).swapaxes(-1, -2)
        solve, turned = LinalgSolveTriangular.values, lu.swapaxes(-1, -2)
        lead = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
        b, order = np.broadcast_to(b, lead + b.shape[-2:]), np.broadcast_to(order, (*lead, lu.shape[-1]))
        if adjoint:
            y = solve(turned, solve(turned, b, False), True, True, True)
            return np.take_along_axis(y, np.argsort(order, -1)[..., None], -2)
        return solve(lu, solve(lu, np.take_along_axis(b, order[..., None], -2), False, True, True), True)

    @staticmethod
    def forward(lu: Tensor, b: Tensor, order: Any, left: bool, adjoint: bool) -> Tensor:
        out = LinalgLuSolve.values(lu.array, b.array, order, left, adjoint)
        return record2(LinalgLuSolve, out, lu, b, (lu, out), (left, adjoint, order),
                       fit_of_system(out, lu.array, b.array))

    def backward(self, xp: Any, g: Any, lu: Any, x: Any, left: bool, adjoint: bool, order: Any) -> tuple[Any, Any]:
        gb = xp.apply(LinalgLuSolve, lu, g, order, left, not adjoint)
        solved, found = (x, gb) if left else (xp.swapaxes(x, -1, -2), xp.swapaxes(gb, -1, -2))
        first, second = (solved, found) if adjoint == left else (found, solved)
        ga = -xp.matmul(first, xp.swapaxes(second, -1, -2))
        n, lead = lu.shape[-1], ga.shape[:-2]
        ga = in_order(xp, ga, np.broadcast_to(order, (*lead, n)))
        l_part, u_part = parts(xp, lu)
        return (xp.masked(lower(lu, n, n, -1), xp.matmul(ga, xp.swapaxes(u_part, -1, -2))) +
                xp.masked(~lower(lu, n, n, -1), xp.matmul(xp.swapaxes(l_part, -1, -2), ga)), gb)


def decomposed(a: Tensor, name: str, pivot: bool) -> tuple[Any, Any]:
    """L and U in one array, and the swaps of rows; PyTorch's errors for what has none."""
    if a.array.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(a.array.shape)} "
                           "instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    if a.array.size:
        check_kernel(a, "lu_cpu")
    return factored(a.array)


def factors_of(a: Tensor, pivot: bool, name: str | None) -> tuple[Tensor, Tensor, Tensor]:
    """What `lu_factor_ex` gives; `name`: who reports a zero on the diagonal of U (None: nobody)."""
    made, swaps = decomposed(a, "torch.lu_factor", pivot)
    info, pivots = zero_pivots(made), plain(swaps)
    if name is not None and info.any():
        where, at = first_bad(info)
        raise RuntimeError(f"torch.linalg.{name}: {where}U[{at},{at}] is zero and using it on lu_solve would result in "
                           "a division by zero. If you still want to perform the factorization, consider calling "
                           "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")
    return LinalgLuFactorEx.forward(a, made, pivots), pivots, plain(info)


def lu_factor(A: Tensor, *, pivot: bool = True) -> return_types.linalg_lu_factor:
    """L (without its ones) and U in one matrix, and the row that each row was swapped with, counted from 1."""
    return return_types.linalg_lu_factor(factors_of(A, pivot, "lu_factor")[:2])


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> return_types.linalg_lu_factor_ex:
    """The same, and for each matrix 0 or the number of the first zero on the diagonal of U."""
    return return_types.linalg_lu_factor_ex(factors_of(A, pivot, "lu_factor_ex" if check_errors else None))


def lu(A: Tensor, *, pivot: bool = True) -> return_types.linalg_lu:
    """`A == P @ L @ U`."""
    made, swaps = decomposed(A, "linalg.lu", pivot)
    rows, columns = made.shape[-2:]
    k, i = min(rows, columns), np.arange(min(rows, columns), like=made)
    left = np.where(lower(made, rows, columns, -1), made, made.dtype.type(0))
    left[..., i, i] = 1
    right = np.where(lower(made, rows, columns, -1), made.dtype.type(0), made)[..., :k, :]
    order = order_of(swaps, rows)
    turned = np.eye(rows, dtype=made.dtype, like=beside(made))[order]
    factors = LinalgLu.forward(A, (left[..., :k], right), order)
    return return_types.linalg_lu((plain(turned.swapaxes(-1, -2)), *factors))


def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """What `A @ X == B` is solved by, or `X @ A == B` if not `left`, where A (`adjoint`: its transpose) is known by
    what `lu_factor` gives."""
    check_float(LU, "torch.linalg.lu_solve")
    check_alike(LU, B, "LU B", "linalg.lu_solve")
    if pivots.array.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_square(LU, "torch.linalg.lu_solve")
    check_matrices(B, "linalg.lu_solve", "B")
    check_sides(LU.array.shape, B.array.shape, left, "linalg.lu_solve")
    shape = LU.array.shape[:-1]
    if shape[-1:] != pivots.array.shape[-1:]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if shape != pivots.array.shape:
        raise RuntimeError("linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots "
                           f"with shape {list(pivots.array.shape)} instead")
    check_kernel(LU, "linalg.lu_solve")
    return LinalgLuSolve.forward(LU, B, order_of(pivots.array, shape[-1]), left, adjoint)


LU_SOLVE_DEPRECATED = (
    "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
    "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be "
    "replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)"
)


@op(method=True)
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """What `A @ X == input` is solved by, where A is known by what `linalg.lu_factor` gives: deprecated."""
    warn_once(LU_SOLVE_DEPRECATED)
    return linalg_lu_solve(LU_data, LU_pivots, input)
