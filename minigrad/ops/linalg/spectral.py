"""Singular values and vectors, eigenvalues and eigenvectors of symmetric matrices, the pseudo-inverse.

Mirrors PyTorch's BatchLinearAlgebra.cpp. The signs of vectors are LAPACK's: only the gradients of results that do not
depend on them are meaningful. The derivatives are those of J. Townsend, "Differentiating the singular value
decomposition" (2016), and M. B. Giles (2008); where two values are equal they are not finite.
"""

from typing import Any

import numpy as np

from minigrad import return_types
from minigrad._base.dtype import as_dtype
from minigrad.backends.registry import is_array
from minigrad.core import Node, Tensor, plain, record1
from minigrad.ops._dispatch import op, where_is
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.checks import Factors, diagonal_matrices, mT, reports_failure
from minigrad.ops.shape.views import Transpose

__all__: list[str] = ["pinverse", "svd"]

FAILED = "{}: The algorithm failed to converge because the input matrix "


class LinalgSvd(Factors):
    """`U`, `S` and `Vh`, so that `A == U @ diag(S) @ Vh`; `full_matrices`: U and Vh are square."""

    saves = ("U", "S", "Vh")
    constants = ("full_matrices",)
    results = (0, 1, 2)

    @staticmethod
    def values(x: Any, full: bool = False) -> tuple[Any, ...]:
        try:
            with reports_failure(x):
                return tuple(np.linalg.svd(x, full))
        except np.linalg.LinAlgError:
            reason = "is ill-conditioned or has too many repeated singular values." if np.isfinite(x).all() else \
                     "contained non-finite values."
            raise checks.LinAlgError(FAILED.format("linalg.svd") + reason) from None

    def backward(self, xp: Any, gs: list[Any], u: Any, s: Any, vh: Any, full: bool) -> Any:
        gu, g_s, gvh = gs
        k = s.shape[-1]
        if full:
            u, vh = xp.getitem(u, (..., slice(k))), xp.getitem(vh, (..., slice(k), slice(None)))
            gu = None if gu is None else xp.getitem(gu, (..., slice(k)))
            gvh = None if gvh is None else xp.getitem(gvh, (..., slice(k), slice(None)))
        rows, columns = xp.reshape(s, (*s.shape, 1)), xp.reshape(s, (*s.shape[:-1], 1, k))
        u_transposed, vh_transposed = mT(xp, u), mT(xp, vh)
        inside = None if g_s is None else diagonal_matrices(xp, g_s)
        difference = off_diagonal(xp, (columns - rows) * (columns + rows))
        if gu is not None:
            inside = plus(inside, skew(xp, xp.matmul(u_transposed, gu)) * difference * columns)
        if gvh is not None:
            inside = plus(inside, rows * (skew(xp, xp.matmul(gvh, vh_transposed)) * -difference))
        ga = xp.matmul(xp.matmul(u, inside), vh)
        if gu is not None and u.shape[-2] > k:
            rest = gu / columns
            ga = ga + xp.matmul(rest - xp.matmul(u, xp.matmul(u_transposed, rest)), vh)
        if gvh is not None and vh.shape[-1] > k:
            rest = gvh / rows
            ga = ga + xp.matmul(u, rest - xp.matmul(xp.matmul(rest, vh_transposed), vh))
        return ga


def off_diagonal(xp: Any, differences: Any) -> Any:
    """1 over each difference of two values, 0 on the diagonal."""
    i = np.arange(differences.shape[-1], like=where_is(differences))
    return xp.masked(i != i[:, None], 1 / xp.put(differences, (..., i, i), 1.0))


def skew(xp: Any, m: Any) -> Any:
    return m - mT(xp, m)


def plus(a: Any, b: Any) -> Any:
    return b if a is None else a + b


class LinalgEigh(Factors):
    """The eigenvalues, ascending, and eigenvectors (columns) of symmetric matrices; only one triangle is read."""

    saves = ("eigenvalues", "eigenvectors")
    constants = ("",)
    results = (0, 1)

    @staticmethod
    def values(x: Any, upper: bool) -> tuple[Any, ...]:
        try:
            with reports_failure(x):
                return tuple(np.linalg.eigh(x, "U" if upper else "L"))
        except np.linalg.LinAlgError:
            raise checks.LinAlgError(FAILED.format("linalg.eigh") +
                                     "is ill-conditioned or has too many repeated eigenvalues.") from None

    def backward(self, xp: Any, gs: list[Any], values: Any, vectors: Any, upper: bool) -> Any:
        g, gv = gs
        transposed = mT(xp, vectors)
        if gv is None:
            return xp.matmul(vectors * xp.reshape(g, (*g.shape[:-1], 1, g.shape[-1])), transposed)
        n = values.shape[-1]
        rows, columns = xp.reshape(values, (*values.shape, 1)), xp.reshape(values, (*values.shape[:-1], 1, n))
        inside = skew(xp, xp.matmul(transposed, gv)) / 2 * off_diagonal(xp, columns - rows)
        return xp.matmul(xp.matmul(vectors, inside if g is None else inside + diagonal_matrices(xp, g)), transposed)


class LinalgPinv(Node):
    """The pseudo-inverse. Its derivative: G. Golub and V. Pereyra (1973)."""

    saves = ("self", "result")

    @staticmethod
    def forward(a: Tensor, y: Any) -> Tensor:
        return record1(LinalgPinv, y, a, (a, y))

    def backward(self, xp: Any, g: Any, a: Any, p: Any) -> Any:
        return of_inverse(xp, g, a, p)


def of_inverse(xp: Any, g: Any, a: Any, p: Any) -> Any:
    """The gradient of a matrix from that of its pseudo-inverse `p`."""
    transposed, g_transposed = mT(xp, p), mT(xp, g)
    left = xp.matmul(g_transposed - xp.matmul(a, xp.matmul(p, g_transposed)), xp.matmul(p, transposed))
    right = xp.matmul(xp.matmul(transposed, p), g_transposed - xp.matmul(xp.matmul(g_transposed, p), a))
    return left + right - xp.matmul(transposed, xp.matmul(g, transposed))


def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> return_types.linalg_svd:
    """`A == U @ diag(S) @ Vh`, the singular values S descending; `full_matrices`: U and Vh are square."""
    check_svd(A, driver)
    return return_types.linalg_svd(LinalgSvd.forward(A, full_matrices))


def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, descending."""
    check_svd(A, driver)
    return LinalgSvd.forward(A, False)[1]


def check_svd(a: Tensor, driver: str | None) -> None:
    checks.matrices(a, "linalg.svd")
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
                           "cuSOLVER backend.")
    checks.floating(a, "linalg.svd")
    checks.kernel(a, "linalg_svd_cpu")


@op(method=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> return_types.svd:
    """`input == U @ diag(S) @ V.mT`; not `some`: U and V are square; not `compute_uv`: they are zeros."""
    if input.array.ndim < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {input.array.ndim} "
                           "dimensions instead")
    check_svd(input, None)
    if compute_uv:
        u, s, vh = LinalgSvd.forward(input, not some)
        return return_types.svd((u, s, Transpose.forward(vh, vh.array.ndim - 2, vh.array.ndim - 1)))
    lead, dtype = input.array.shape[:-2], input.array.dtype
    zeros = [plain(np.zeros((*lead, n, n), dtype, like=input.array)) for n in input.array.shape[-2:]]
    return return_types.svd((zeros[0], LinalgSvd.forward(input, False)[1], zeros[1]))


def eigh(input: Tensor, UPLO: str = "L") -> return_types.linalg_eigh:
    """The eigenvalues, ascending, and eigenvectors (columns) of symmetric matrices; only one triangle is read."""
    return return_types.linalg_eigh(LinalgEigh.forward(input, is_upper(input, UPLO)))


def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices, ascending."""
    return LinalgEigh.forward(input, is_upper(input, UPLO))[0]


def is_upper(a: Tensor, triangle: str) -> bool:
    """Whether the upper triangle is read; PyTorch's errors for matrices without eigenvalues here."""
    checks.square(a, "linalg.eigh")
    if triangle.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {triangle}")
    checks.kernel(a, "linalg_eigh_cpu")
    return triangle.upper() == "U"


def cut(a: Tensor, s: Any, atol: Any, rtol: Any) -> Any:
    """The bound up to which singular values of `a`, the largest being `s`, count as 0; shape (…, 1).

    As in PyTorch: the larger of `atol` and `rtol * s`; without both, rtol is the dtype's epsilon times the longer
    side; with `atol` alone above 0, rtol is 0.
    """
    atol, rtol = [v.array[..., None] if isinstance(v, Tensor) else v for v in (atol, rtol)]
    if rtol is None:
        rtol = max(a.array.shape[-2:]) * np.finfo(a.array.dtype).eps
        if atol is not None:
            rtol = np.where(atol > 0, 0, rtol) if is_array(atol) else 0.0 if atol > 0 else rtol
    return np.maximum(0.0 if atol is None else atol, rtol * s)


def values_and_cut(a: Tensor, hermitian: bool, atol: Any, rtol: Any) -> tuple[Any, Any, Any]:
    """The factors of `a` on arrays: left vectors over its values, right vectors, and which values are not cut."""
    x = a.array
    if hermitian:
        s, u = LinalgEigh.values(x, False)
        vh = u.swapaxes(-1, -2)
    else:
        u, s, vh = LinalgSvd.values(x)
    size = abs(s)
    largest = size.max(-1, keepdims=True) if size.shape[-1] else 0
    keep = size > cut(a, largest, atol, rtol)
    return np.where(keep, 1 / np.where(keep, s, 1), 0)[..., None, :] * u, vh, keep


def pinv(input: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The pseudo-inverse; singular values up to `max(atol, rtol * the largest)` count as 0. Raises RuntimeError for an
    integer tensor, or fewer than two dimensions."""
    if input.array.ndim < 2 or input.array.dtype.kind != "f" or input.array.dtype.itemsize < 4:
        raise RuntimeError(f"linalg.pinv({input.dtype.type_name}{{{list(input.array.shape)}}}): expected a tensor with "
                           "2 or more dimensions of float, double, cfloat or cdouble types")
    if hermitian:
        checks.square(input, "linalg.eigh")
    u, vh, _ = values_and_cut(input, hermitian, 0.0 if rcond is not None else atol, rtol if rcond is None else rcond)
    return LinalgPinv.forward(input, as_dtype(np.matmul(u, vh).swapaxes(-1, -2), input.array.dtype, copy=False))


@op(method=True)
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse; singular values up to `rcond` times the largest count as 0."""
    return pinv(input, rcond)


def matrix_rank(input: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None,
                rtol: Any = None) -> Tensor:
    """The number of singular values above `max(atol, rtol * the largest)`, int64."""
    checks.matrices(input, "torch.linalg.matrix_rank")
    if hermitian:
        checks.square(input, "linalg.eigh")
    check_svd(input, None)
    *_, keep = values_and_cut(input, hermitian, atol if tol is None else tol, rtol if tol is None else 0.0)
    return plain(keep.sum(-1, dtype=np.int64))
