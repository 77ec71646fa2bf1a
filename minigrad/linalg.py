"""Linear algebra: mirrors `torch.linalg`. Most names are ops with one derivative each, which `minigrad.ops` defines."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from minigrad import return_types
from minigrad._base.dtype import HALVES
from minigrad._base.optional import module_getattr
from minigrad.backends.registry import device_like
from minigrad.core import Tensor, plain
from minigrad.ops._dispatch.arg_parser import parse_module_functions
from minigrad.ops.linalg.checks import LinAlgError, floating
from minigrad.ops.linalg.factorizations import cholesky_ex, lu, lu_factor, lu_factor_ex
from minigrad.ops.linalg.factorizations import linalg_cholesky as cholesky
from minigrad.ops.linalg.factorizations import linalg_lu_solve as lu_solve
from minigrad.ops.linalg.factorizations import linalg_qr as qr
from minigrad.ops.linalg.matmul import matmul, vdot
from minigrad.ops.linalg.matmul import vector_cross as cross
from minigrad.ops.linalg.matrix_functions import matrix_exp, matrix_power, multi_dot
from minigrad.ops.linalg.norms import cond, matrix_norm, vector_norm
from minigrad.ops.linalg.norms import linalg_norm as norm
from minigrad.ops.linalg.solve import det, inv_ex, lstsq, signed, solve, solve_ex, solve_triangular
from minigrad.ops.linalg.solve import inverse as inv
from minigrad.ops.linalg.spectral import eigh, eigvalsh, matrix_rank, pinv, svdvals
from minigrad.ops.linalg.spectral import linalg_svd as svd
from minigrad.ops.pointwise import mul
from minigrad.ops.reduce import sums as reduce
from minigrad.ops.reduce.cumulative import cumprod
from minigrad.ops.shape import diagonal as diagonals
from minigrad.ops.shape import views as shape
from minigrad.ops.shape.join import cat

__all__ = ["LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv",
           "inv_ex", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm",
           "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex",
           "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm"]


def slogdet(A: Tensor) -> return_types.linalg_slogdet:
    """The sign of the determinant and the logarithm of its absolute value: 0 and -inf for a singular matrix."""
    return return_types.linalg_slogdet(signed(A, "linalg.slogdet"))


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sums of products along a dimension; the others are broadcast."""
    floating(x, "linalg.vecdot")
    if x.array.dtype != y.array.dtype:
        raise RuntimeError("linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
                           f"{x.dtype.type_name} and y of type {y.dtype.type_name} instead")
    if x.array.ndim == 1 and y.array.ndim == 1:
        return vdot(x, y)
    return reduce.sum(mul.Mul.forward(x, y), dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as the last dimension of a view."""
    return diagonals.diagonal(A, offset, dim1, dim2)


def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The inverse of the linear map that `tensordot` over the dimensions from `ind` on applies with `input`. Raises
    RuntimeError if the product of the dimensions before `ind` differs from that of the others."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = input.array.shape[:ind], input.array.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
                           f"but got {math.prod(columns)} != {math.prod(rows)}")
    n = math.prod(rows)
    return shape.ReshapeAlias.forward(inv(shape.reshape(input, (n, n))), columns + rows)


def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """The solution X of `tensordot(input, X, X.ndim) == other`; first, `dims` of `input` are moved to its end."""
    if dims is not None:
        input = shape.movedim(input, dims, tuple(range(-len(dims), 0)))
    rows, columns = input.array.shape[:other.array.ndim], input.array.shape[other.array.ndim:]
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {math.prod(columns)} != {math.prod(rows)}")
    n = math.prod(columns)
    return shape.reshape(solve(shape.reshape(input, (n, n)), shape.flatten(other)), columns)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, as a last dimension; N is by default the number of elements."""
    if x.array.dtype.kind == "b" or x.array.dtype in HALVES:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got "
                           f"{x.dtype.type_name}")
    x = x if x.array.ndim else shape.unsqueeze(x, 0)
    count = x.array.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    size = (*x.array.shape, count - 1)
    powers = cumprod(shape.Expand.forward(shape.unsqueeze(x, -1), size), -1)
    return cat([plain(np.ones((*x.array.shape, 1), powers.array.dtype, like=device_like(powers.array))), powers], -1)


# PyTorch's errors for arguments of a wrong type.
globals().update(parse_module_functions(__all__, globals(), "linalg_"))

if not TYPE_CHECKING:  # a type checker reports missing names itself
    __getattr__ = module_getattr(__name__)
