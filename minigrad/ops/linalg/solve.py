"""Inverses, determinants, systems of equations, and least squares: mirrors PyTorch's BatchLinearAlgebra.cpp.

All of them accept one matrix or a batch of matrices, shape (…, n, n). The derivatives are those of M. B. Giles,
"Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008).
"""

import functools
import operator
from typing import Any

import numpy as np

from minigrad import return_types
from minigrad._base.contexts import errstate
from minigrad._base.dtype import as_dtype
from minigrad.backends.batched import in_all_examples
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Node, Tensor, plain, record1, record2, record_many
from minigrad.ops._dispatch import broadcast_shape, op, same_device
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.checks import (
    Factors,
    LinAlgError,
    lu_factored,
    mT,
    reports_failure,
    system_metadata,
    triangle,
    zero_pivots,
)
from minigrad.ops.linalg.spectral import LinalgSvd, of_inverse, pinv
from minigrad.ops.pointwise.ternary import Where
from minigrad.ops.shape.views import expand

__all__ = ["det", "inverse", "logdet", "slogdet"]

def solved(a: Any, b: Any) -> Any:
    """The solution of `a @ x == b`, shapes (…, n, n) and (…, n, k); NaN where a matrix is singular."""
    if backend_of(a) is not None and a.shape[:-2] != b.shape[:-2]:  # NumPy broadcasts itself
        a, b = of_one_batch(a, b)
    try:
        with reports_failure(a), errstate(all="ignore"):
            return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        a, b = of_one_batch(a, b)
        out = np.full(b.shape, np.nan, b.dtype, like=device_like(b))
        regular = determinant(a) != 0
        out[regular] = np.linalg.solve(a[regular], b[regular])
        return out


def determinant(x: Any) -> Any:
    """The determinant of each matrix. NumPy's Python code would warn of NaN and of overflow."""
    with errstate(all="ignore"):
        return np.linalg.det(x)


def of_one_batch(a: Any, b: Any) -> tuple[Any, Any]:
    """Matrices and right-hand sides with the same batch dimensions."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.broadcast_to(a, lead + a.shape[-2:]), np.broadcast_to(b, lead + b.shape[-2:])


def failures(x: Any, result: Any) -> Any:
    """For each matrix the position of its first zero pivot, 0 for none; it tests only those with NaN in the result."""
    if not in_all_examples(np.isnan(result)).any():
        return np.zeros(x.shape[:-2], np.int32, like=x)
    return zero_pivots(lu_factored(x)[0])


class LinalgInvEx(Node):
    """The inverse; NaN for a singular matrix."""

    saves = ("inverse",)

    @staticmethod
    def values(x: Any) -> Any:
        return solved(x, np.eye(x.shape[-1], dtype=x.dtype, like=device_like(x)))

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = LinalgInvEx.values(a.array)
        return record1(LinalgInvEx, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        transposed = mT(xp, y)
        return -xp.matmul(transposed, xp.matmul(g, transposed))


class LinalgSolveEx(Node):
    """The solution X of `A @ X == B`, or of `X @ A == B` if not `left`; `vector`: B and X have no last dimension."""

    saves = ("A", "result")
    constants = ("left", "")

    values = staticmethod(solved)

    @staticmethod
    def forward(a: Tensor, b: Tensor, left: bool = True, vector: bool = False) -> Tensor:
        x, y = a.array, b.array[..., None] if vector else b.array
        out = solved(x, y) if left else solved(x.swapaxes(-1, -2), y.swapaxes(-1, -2)).swapaxes(-1, -2)
        input_metadata = system_metadata(out, x, y)
        if vector:
            out, input_metadata = out[..., 0], input_metadata and (input_metadata[0], (b.array.shape, y.dtype))
        return record2(LinalgSolveEx, out, a, b, (a, out), (left, vector), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, x: Any, left: bool, vector: bool) -> tuple[Any, Any]:
        if vector:
            g, x = xp.reshape(g, (*g.shape, 1)), xp.reshape(x, (*x.shape, 1))
        if left:
            gb = xp.apply(LinalgSolveEx, mT(xp, a), g)
            ga = -xp.matmul(gb, mT(xp, x))
        else:
            gb = mT(xp, xp.apply(LinalgSolveEx, a, mT(xp, g)))
            ga = -xp.matmul(mT(xp, x), gb)
        return ga, xp.reshape(gb, gb.shape[:-1]) if vector else gb


class LinalgSolveTriangular(Node):
    """The same for a triangular matrix, whose other triangle is ignored, with ones on its diagonal if `unit`."""

    saves = ("self", "result")
    constants = ("upper", "left", "unitriangular")

    @staticmethod
    def values(a: Any, b: Any, upper: bool, left: bool = True, unit: bool = False) -> Any:
        n = a.shape[-1]
        a = np.where(triangle(a, n, n, -int(unit), upper), a, a.dtype.type(0))
        a = a + np.eye(n, dtype=a.dtype, like=device_like(a)) if unit else a
        return solved(a, b) if left else solved(a.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)

    @staticmethod
    def forward(a: Tensor, b: Tensor, upper: bool, left: bool = True, unit: bool = False) -> Tensor:
        x, y = a.array, b.array
        out = LinalgSolveTriangular.values(x, as_dtype(y, x.dtype, copy=False), upper, left, unit)
        return record2(LinalgSolveTriangular, out, a, b, (a, out), (upper, left, unit), system_metadata(out, x, y))

    def backward(self, xp: Any, g: Any, a: Any, x: Any, upper: bool, left: bool, unit: bool) -> tuple[Any, Any]:
        gb = xp.apply(LinalgSolveTriangular, mT(xp, a), g, not upper, left, unit)
        transposed = mT(xp, x)
        ga = -(xp.matmul(gb, transposed) if left else xp.matmul(transposed, gb))
        return xp.masked(triangle(a, a.shape[-1], a.shape[-1], -int(unit), upper), ga), gb


class LinalgDet(Node):
    saves = ("A", "result")
    constants = ("",)

    @staticmethod
    def values(x: Any) -> Any:
        return determinant(x)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = determinant(a.array)
        return record1(LinalgDet, y, a, (a, y), (a._requires_grad and nothing_but_rounding(a.array, y),))

    def backward(self, xp: Any, g: Any, a: Any, det: Any, singular: bool) -> Any:
        if singular:
            return xp.reshape(g, (*g.shape, 1, 1)) * cofactors(xp, a)
        return xp.reshape(g * det, (*g.shape, 1, 1)) * mT(xp, xp.apply(LinalgInvEx, a))


def nothing_but_rounding(x: Any, det: Any) -> bool:
    """Whether any determinant is 0 up to rounding, compared to the product of its rows' norms."""
    bound = np.prod(np.sqrt((x * x).sum(-1)), -1)
    return bool(in_all_examples(abs(det) <= 4 * x.shape[-1] * np.finfo(x.dtype).eps * bound).any())


def cofactors(xp: Any, a: Any) -> Any:
    """The derivative of a determinant, which exists even without an inverse: with `a == U @ diag(S) @ Vh`, the factor
    of each singular value is the product of the others."""
    u, s, vh = xp.apply(LinalgSvd, a, False)
    parts = [xp.getitem(s, (..., j)) for j in range(a.shape[-1])]
    sign = xp.apply(LinalgDet, u) * xp.apply(LinalgDet, vh)
    others = xp.stack([functools.reduce(operator.mul, parts[:j] + parts[j + 1:], sign) for j in range(len(parts))], -1)
    return xp.matmul(u * xp.reshape(others, (*s.shape[:-1], 1, s.shape[-1])), vh)


class LinalgSlogdet(Factors):
    """The sign of the determinant, and the logarithm of its absolute value."""

    saves = ("A",)
    results = (0,)

    @staticmethod
    def forward(a: Tensor) -> tuple[Tensor, ...]:
        with errstate(all="ignore"):
            sign, log = np.linalg.slogdet(a.array)
        return record_many(LinalgSlogdet, (sign * (log == log), log), a, saved=(a,))  # PyTorch's sign of NaN is 0

    def backward(self, xp: Any, gs: list[Any], a: Any) -> Any:
        g = gs[1]
        return None if g is None else xp.reshape(g, (*g.shape, 1, 1)) * mT(xp, xp.apply(LinalgInvEx, a))


def inverted(a: Tensor, name: str | None) -> tuple[Tensor, Tensor]:
    """The result of `inv_ex`; `name`: the function that reports a matrix without an inverse (None: none does)."""
    checks.square(a, "linalg.inv")
    checks.precise(a, "linalg.inv")
    result = LinalgInvEx.forward(a)
    info = failures(a.array, result.array)
    checks.no_failure(name, info, checks.SINGULAR)
    return result, plain(info)


def inv_ex(A: Tensor, *, check_errors: bool = False) -> return_types.linalg_inv_ex:
    """The inverse, and for each matrix 0, or the position of a zero pivot, from 1, if it has no inverse."""
    return return_types.linalg_inv_ex(inverted(A, "linalg.inv_ex" if check_errors else None))


@op(method=True)
def inverse(input: Tensor) -> Tensor:
    """The inverse of a square matrix. Raises LinAlgError if a matrix has none."""
    return inverted(input, "linalg.inv")[0]


def solution(a: Tensor, b: Tensor, left: bool, name: str | None) -> tuple[Tensor, Tensor]:
    """The result of `solve_ex`; `name`: the function that reports a matrix without an inverse (None: none does)."""
    checks.square(a, "linalg.solve")
    checks.floating(a, "linalg.solve")
    m, n = a.array.shape, b.array.shape
    checks.same_dtype(a, b, "A B", "linalg.solve")
    vector = len(n) == 1 or n == m[:-1]
    if not vector:
        checks.matrices(b, "linalg.solve", "B")
    check_sides(m, (*n, 1) if vector else n, left, "linalg.solve")
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
                           "In this case linalg.solve is equivalent to B / A.squeeze(-1)")
    checks.kernel(a, "lu_cpu")
    result = LinalgSolveEx.forward(a, b, left, vector)
    info = failures(a.array, result.array)
    checks.no_failure(name, info, checks.UNSOLVABLE)
    return result, plain(info)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> return_types.linalg_solve_ex:
    """The solution X of `A @ X == B` (`X @ A == B` if not `left`), and per matrix 0 or the position of a zero pivot.

    B is a vector if it has one dimension, or one less than A and the shape `A.shape[:-1]`.
    """
    return return_types.linalg_solve_ex(solution(A, B, left, "torch.linalg.solve_ex" if check_errors else None))


def check_sides(a: tuple[int, ...], b: tuple[int, ...], left: bool, name: str) -> None:
    if a[-1] != b[-2 if left else -1]:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
                           f"({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})")
    broadcast_shape(b[:-2], a[:-2])


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution X of `A @ X == B` (`X @ A == B` if not `left`); batches are broadcast. Raises LinAlgError if a
    matrix has no inverse."""
    return solution(A, B, left, "torch.linalg.solve")[0]


def solve_triangular(input: Tensor, B: Tensor, *, upper: bool, left: bool = True,
                     unitriangular: bool = False) -> Tensor:
    """`solve` for a triangular matrix, whose other triangle is ignored, with ones on the diagonal if `unitriangular`;
    NaN if it has no inverse."""
    checks.square(input, "linalg.solve_triangular")
    checks.matrices(B, "linalg.solve_triangular", "B")
    check_sides(input.array.shape, B.array.shape, left, "linalg.solve_triangular")
    checks.kernel(input, "triangular_solve_cpu")
    same_device(input.array, B.array)
    return LinalgSolveTriangular.forward(input, B, upper, left, unitriangular)


@op(method=True)
def det(input: Tensor) -> Tensor:
    """The determinant of a square matrix."""
    checks.square(input, "linalg.det")
    checks.floating(input, "linalg.det")
    checks.kernel(input, "lu_cpu")
    return LinalgDet.forward(input)


@op(method=True)
def slogdet(input: Tensor) -> return_types.slogdet:
    """The sign of the determinant and the logarithm of its absolute value: 0 and -inf for a singular matrix."""
    return return_types.slogdet(signed(input, "linalg.slogdet"))


def signed(v: Tensor, name: str) -> tuple[Tensor, ...]:
    """The same as a tuple; `name`: the function's name in PyTorch's errors."""
    checks.square(v, name)
    checks.precise(v, name)
    return LinalgSlogdet.forward(v)


@op(method=True)
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN if that is negative, -inf if it is 0."""
    sign, size = signed(input, "logdet")
    return Where.forward(plain(sign.array == -1), float("nan"), size)


DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


class Inverted:
    """The pseudo-inverse inside a formula."""

    @staticmethod
    def values(x: Any) -> Any:
        return pinv(plain(x)).array

    forward = staticmethod(pinv)


class LinalgLstsq(Factors):
    """The solution, and the sums of squared residuals."""

    saves = ("self", "b", "solution")
    results = (0, 0, 0)

    @staticmethod
    def forward(a: Tensor, b: Tensor, x: Any, left: Any, vector: bool) -> tuple[Tensor, ...]:
        return record_many(LinalgLstsq, (x, left), (a, b), (vector,), saved=(a, b, x))

    def backward(self, xp: Any, gs: list[Any], a: Any, b: Any, x: Any, vector: bool) -> tuple[Any, Any]:
        g, left = gs
        shape, of_a, of_b = b.shape, None, None
        if vector:
            g, b, x = [v if v is None else xp.reshape(v, (*v.shape, 1)) for v in (g, b, x)]
        if g is not None:
            p = xp.apply(Inverted, a)
            of_a = of_inverse(xp, xp.matmul(g, mT(xp, b)), a, p)
            of_b = xp.matmul(mT(xp, p), g)
        if left is not None and left.shape != (0,):
            over = 2 * (xp.matmul(a, x) - b) * xp.reshape(left, (*left.shape[:-1], 1, left.shape[-1]))
            more = xp.matmul(over, mT(xp, x))
            of_a, of_b = (more, -over) if of_a is None else (of_a + more, of_b - over)
        return of_a, of_b if of_b is None else xp.reshape(of_b, shape)


def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *,
          driver: str | None = None) -> return_types.linalg_lstsq:
    """The `x` of (…, n, k) that minimises `|input @ x - b|` for (…, m, n) and (…, m, k) or (…, m).

    `residuals`: the sums of squares if m > n and the rank is n, for all drivers but the default, "gelsy".
    `singular_values`: for "gelsd" and "gelss". `rcond`: singular values up to `rcond` times the largest count as 0.
    Raises RuntimeError if the shapes or dtypes do not fit, or for another driver, and LinAlgError if the rank is not
    full, with "gels".
    """
    vector = check(input, b, driver)
    # PyTorch counts the batch of `b` by the dimensions of `input`, even if `b` is a matrix with one dimension less.
    end, inner = input.array.ndim - 2, b.array.shape[-1 if vector else -2:]
    batch = broadcast_shape(input.array.shape[:end], b.array.shape[:end])
    a = input if input.array.shape[:-2] == batch else expand(input, *batch, *input.array.shape[-2:])
    b = b if b.array.shape == (*batch, *inner) else expand(b, *batch, *inner)
    (m, n), dtype, right = a.array.shape[-2:], a.array.dtype, b.array[..., None] if vector else b.array
    u, s, vh = LinalgSvd.values(a.array)
    bound = np.finfo(dtype).eps * max(m, n) if rcond is None else rcond
    keep = s > bound * s.max(-1, keepdims=True) if s.shape[-1] else s > 0
    rank = keep.sum(-1, dtype=np.int64)
    if driver == "gels" and (rank < min(m, n)).any():
        raise LinAlgError("torch.linalg.lstsq: The least squares solution could not be computed because the input "
                          f"matrix does not have full rank (error code: {int(rank.min()) + 1}).")
    transposed = np.swapaxes(u, -1, -2) @ right
    x = np.swapaxes(vh, -1, -2) @ (np.where(keep, 1 / np.where(keep, s, 1), 0)[..., None] * transposed)
    has_left = driver not in (None, "gelsy") and m > n and bool((rank == n).all())
    left = ((a.array @ x - right) ** 2).sum(-2) if has_left else np.empty(0, dtype, like=s)
    x = as_dtype(x[..., 0] if vector else x, dtype, copy=False)
    return return_types.linalg_lstsq((
        *LinalgLstsq.forward(a, b, x, left, vector),
        plain(np.empty(0, np.int64, like=s) if driver == "gels" else rank),
        plain(s if driver in ("gelsd", "gelss") else np.empty(0, dtype, like=s))))


def check(a: Tensor, b: Tensor, driver: str | None) -> bool:
    """Raise PyTorch's errors for invalid operands; return whether `b` is a vector, or a batch of them."""
    m, n = a.array.ndim, b.array.ndim
    if m < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if n < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if a.array.dtype != b.array.dtype:
        raise RuntimeError("torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
                           f"{a.dtype.type_name} and other's dtype {b.dtype.type_name}")
    if not 0 <= m - n <= 1:
        raise RuntimeError("torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - "
                           "other.dim()) <= 1")
    same_device(a.array, b.array)
    vector = n == 1 or b.array.shape == a.array.shape[:-1]
    if a.array.shape[-2] != b.array.shape[-1 if vector else -2]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    if driver is not None and driver not in DRIVERS:
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if a.array.dtype.name not in ("float32", "float64"):
        raise RuntimeError("This function doesn't handle types other than float and double")
    return vector
