"""Norms of vectors and of matrices, and condition numbers, made of other ops: mirrors `linalg_norm` and its like in
PyTorch's LinearAlgebra.cpp."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.dtype import promote_types
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.registration import op
from minigrad.ops.index.mask import masked_fill
from minigrad.ops.linalg.distance import vector_norm
from minigrad.ops.linalg.matrix_checks import check_float, check_matrices, check_precise, check_square
from minigrad.ops.linalg.solve import inverted
from minigrad.ops.linalg.spectral import svdvals
from minigrad.ops.pointwise.arithmetic import Div, Mul
from minigrad.ops.pointwise.minmax import nan_to_num
from minigrad.ops.reduce.minmax import amax, amin
from minigrad.ops.reduce.sums import Dims, SumDim
from minigrad.ops.shape.slices import narrow
from minigrad.ops.shape.views import Permute, SqueezeDim, Unsqueeze, dim_of
from minigrad.ops.tensor.copy import cast

__all__ = ["norm"]

Order = float | str | None


@op(method=True)
def norm(input: Tensor, p: Order = "fro", dim: Dims = None, keepdim: bool = False, *,
         dtype: dtype_type | None = None) -> Tensor:
    """The p-norm of the elements, over all dimensions or over `dim`; "fro" is the 2-norm; "nuc" that of matrices.

    The gradient is 0 where the norm is 0; of the infinity norm it is shared by elements that are equally large.

    Raises:
        RuntimeError: for a tensor of integers or bools, and as `vector_norm`.
    """
    if p == "nuc":
        return matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return vector_norm(input, 2.0 if p is None or isinstance(p, str) else float(p), dim, keepdim, dtype)


def linalg_norm(input: Tensor, ord: Order = None, dim: Dims = None, keepdim: bool = False, *,
         dtype: dtype_type | None = None) -> Tensor:
    """A norm of vectors or of matrices (`torch.linalg.norm`).

    `dim` of one dimension: of vectors; of two: of matrices; None: of the whole, as a vector if `ord` is None.
    """
    dims = None if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if isinstance(ord, str):
        if dims is None:
            check_order(input)
        return matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None:
        check_order(input)
    if ord is not None and (input.array.ndim if dims is None else len(dims)) == 2:
        return matrix_norm(input, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)
    return vector_norm(input, 2.0 if ord is None else ord, dims, keepdim, dtype)


def check_order(v: Tensor) -> None:
    """PyTorch's error for an order without dimensions where it is not clear which it is of."""
    if v.array.ndim not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{v.array.ndim}D.")


def matrix_norm(input: Tensor, ord: Order = "fro", dim: Dims = (-2, -1), keepdim: bool = False, *,
                dtype: dtype_type | None = None) -> Tensor:
    """A norm of matrices: "fro", "nuc", or 1, 2, infinity and their negatives."""
    check_matrices(input, "linalg.matrix_norm")
    rows, columns = checked_dims(input, dim)
    if ord not in ("fro", "nuc", 1, 2, float("inf"), -1, -2, float("-inf")):
        shown = f"{ord:g}" if isinstance(ord, float) else ord
        raise RuntimeError(f"linalg.matrix_norm: Order {shown} not supported.")
    (check_precise if ord in ("nuc", 2, -2) else check_float)(input, "linalg.matrix_norm")
    if ord == "fro":
        return vector_norm(input, 2.0, (rows, columns), keepdim, dtype)
    x = input if dtype is None else in_dtype(input, dtype)
    if ord in ("nuc", 2, -2):
        return of_singular_values(x, ord, rows, columns, keepdim)
    assert isinstance(ord, (int, float))
    if abs(ord) != 1:
        rows, columns = columns, rows
    sums = vector_norm(x, 1.0, (rows,), keepdim, None)
    return extreme(sums, ord, columns - int(rows < columns and not keepdim), keepdim)


def extreme(v: Tensor, ord: float, dim: int, keepdim: bool) -> Tensor:
    """The largest values along a dimension, or the smallest if `ord` is negative; the largest of none is 0."""
    if ord > 0 and not v.array.shape[dim]:
        return plain(v.array.sum(dim, keepdims=keepdim))
    return (amax if ord > 0 else amin)(v, dim, keepdim)


def checked_dims(v: Tensor, dim: Dims) -> tuple[int, int]:
    """The dimensions of rows and columns; PyTorch's errors where they are not two."""
    dims: tuple[Any, ...] = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dims))}")
    rows, columns = [dim_of(d, v.array.ndim) for d in dims]
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    return rows, columns


def in_dtype(v: Tensor, dtype: dtype_type) -> Tensor:
    """A tensor in a wider dtype; PyTorch's error for a narrower one."""
    if promote_types(v.array.dtype, dtype.numpy) != dtype.numpy:
        raise RuntimeError(f"linalg.matrix_norm: the dtype of the input ({v.dtype.type_name}) should be convertible "
                           f"without narrowing to the specified dtype ({dtype.type_name})")
    return cast(v, dtype.numpy)


def of_singular_values(v: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    """The sum of the singular values, the largest or the smallest."""
    others = [d for d in range(v.array.ndim) if d not in (rows, columns)]
    order = (*others, rows, columns)
    values = svdvals(Permute.forward(v, order))
    if ord == "nuc":
        made = SumDim.forward(values, (values.array.ndim - 1,), keepdim)
    else:
        made = extreme(values, ord, -1, keepdim)
    if not keepdim:
        return made
    back = tuple([order.index(d) for d in range(v.array.ndim)])
    return Permute.forward(Unsqueeze.forward(made, made.array.ndim), back)


def cond(input: Tensor, p: Order = None) -> Tensor:
    """The condition number: how much the inverse can enlarge a relative error, in the norm `p` (default: 2).

    Raises:
        RuntimeError: for another order, and for matrices that are not square unless p is 2 or -2.
    """
    check = "linalg.cond"
    if input.array.ndim < 2:
        raise RuntimeError(f"{check}: The input tensor must have at least 2 dimensions.")
    if p not in (None, "fro", "nuc", 1, 2, float("inf"), -1, -2, float("-inf")):
        raise RuntimeError(f"{check} got an invalid norm type: {p}")
    if p not in (None, 2, -2):
        check_square(input, f"{check}(ord={p:g})" if isinstance(p, float) else f"{check}(ord={p})")
    if p in (None, "nuc", 2, -2) or input.array.size == 0:
        values = svdvals(input)
    if input.array.size == 0:
        return plain(np.zeros(input.array.shape[:-2], input.array.dtype, like=input.array))
    if p == "nuc":
        last = (values.array.ndim - 1,)
        return Mul.forward(SumDim.forward(values, last, False), SumDim.forward(values.reciprocal(), last, False))
    if p in (None, 2, -2):
        dim = values.array.ndim - 1
        largest, smallest = narrow(values, dim, 0, 1), narrow(values, dim, values.array.shape[-1] - 1, 1)
        top, bottom = (smallest, largest) if p == -2 else (largest, smallest)
        return SqueezeDim.forward(Div.forward(top, bottom), dim)
    inverse, info = inverted(input, None)
    inverse = masked_fill(inverse, plain((info.array > 0)[..., None, None]), float("inf"))
    product = Mul.forward(matrix_norm(input, p), matrix_norm(inverse, p))
    return nan_to_num(product, float("inf"), float("inf"), -float("inf"))
