"""Linear algebra: mirrors `torch.linalg`. Most names are ops with one derivative each, which `minigrad.ops` defines."""

from __future__ import annotations

from minigrad import return_types
from minigrad._dtype import dtype as dtype_type
from minigrad._tensor import Tensor
from minigrad.ops import distance, pointwise, products, reduce
from minigrad.ops import solve as solvers
from minigrad.ops._frame import in_frames
from minigrad.ops._matrices import LinAlgError, check_float
from minigrad.ops.chain import matrix_power, multi_dot
from minigrad.ops.factor import cholesky_ex
from minigrad.ops.factor import linalg_cholesky as cholesky
from minigrad.ops.factor import linalg_qr as qr
from minigrad.ops.linalg import matmul
from minigrad.ops.matrix_norm import linalg_norm as norm
from minigrad.ops.matrix_norm import matrix_norm
from minigrad.ops.products import vector_cross as cross
from minigrad.ops.reduce import Dims
from minigrad.ops.solve import inv_ex, solve, solve_ex, solve_triangular
from minigrad.ops.spectral import eigh, eigvalsh, matrix_rank, pinv, svdvals
from minigrad.ops.spectral import linalg_svd as svd

__all__ = ["LinAlgError", "cholesky", "cholesky_ex", "cross", "det", "eigh", "eigvalsh", "inv", "inv_ex", "matmul",
           "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
           "solve_ex", "solve_triangular", "svd", "svdvals", "vecdot", "vector_norm"]


def inv(A: Tensor) -> Tensor:
    """The inverse of a square matrix.

    Raises:
        LinAlgError: if it has none.
    """
    return solvers.inverse(A)


def det(A: Tensor) -> Tensor:
    """The determinant of a square matrix."""
    return solvers.det(A)


def slogdet(A: Tensor) -> return_types.linalg_slogdet:
    """The sign of the determinant and the logarithm of its size: 0 and -inf for a singular matrix."""
    return return_types.linalg_slogdet(solvers.signed(A, "linalg.slogdet"))


def vector_norm(x: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *,
                dtype: dtype_type | None = None) -> Tensor:
    """The norm of order `ord` of the elements, over all dimensions or over `dim`."""
    return distance.vector_norm(x, ord, dim, keepdim, dtype)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sums of products along a dimension; the others are broadcast."""
    check_float(x, "linalg.vecdot")
    if x.array.dtype != y.array.dtype:
        raise RuntimeError("linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
                           f"{x.dtype.type_name} and y of type {y.dtype.type_name} instead")
    if x.array.ndim == 1 and y.array.ndim == 1:
        return products.vdot(x, y)
    return reduce.sum(pointwise.Mul.forward(x, y), dim)


globals().update(in_frames(__all__, globals(), "linalg_"))  # PyTorch's errors for arguments of a wrong type
