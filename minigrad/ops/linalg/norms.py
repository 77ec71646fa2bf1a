"""Norms of vectors and of matrices, and condition numbers: mirrors `linalg_norm` and related functions in PyTorch's
LinearAlgebra.cpp. The p-norm of vectors is an op, everything else is composed of ops."""

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype, promote_types
from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.numpy import total
from minigrad.core import Node, Tensor, plain, record1
from minigrad.ops._dispatch import op, widened
from minigrad.ops.index.mask import masked_fill
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.solve import inverted
from minigrad.ops.linalg.spectral import svdvals
from minigrad.ops.pointwise.arithmetic import Div
from minigrad.ops.pointwise.minmax import ClampMin, nan_to_num
from minigrad.ops.reduce.minmax import amax, amin
from minigrad.ops.reduce.sums import Dims, SumDim, axes_of, converted, kept_shape, one_of, share_evenly
from minigrad.ops.shape.slices import narrow
from minigrad.ops.shape.views import Expand, Permute, SqueezeDim, Unsqueeze, dim_of
from minigrad.ops.tensor.copy import cast

__all__ = ["norm"]

Shape = tuple[int, ...]
Order = float | str | None
ORDERS = ("fro", "nuc", 1, 2, float("inf"), -1, -2, float("-inf"))


def p_norm(x: Any, p: float, axes: Shape, keepdim: bool) -> Any:
    """The p-norm of an array; for float16 in float32, since squares would overflow."""
    size = abs(widened(x))
    if p == 0:
        y = total(as_dtype(x != 0, size.dtype), axes, keepdims=keepdim)
    elif p == 1:
        y = total(size, axes, keepdims=keepdim)
    elif p == 2:
        y = np.sqrt(total(size * size, axes, keepdims=keepdim))
    elif math.isinf(p):
        y = size.max(axes, keepdims=keepdim) if p > 0 else size.min(axes, keepdims=keepdim)
    else:
        y = np.power(total(np.power(size, p), axes, keepdims=keepdim), 1 / p)
    return as_dtype(y, x.dtype, copy=False)


def norm_gradient(xp: Any, g: Any, a: Any, y: Any, p: float, axes: Shape) -> Any:
    """The gradient of `a`, whose p-norm over `axes` is `y`, with the reduced dimensions kept; 0 where the norm is 0."""
    if p == 1:
        return g * xp.sign(a)
    if p == 2:
        return g * xp.masked(y != 0, a / y)
    if math.isinf(p):
        return xp.sign(a) * share_evenly(xp, g, (a == y) | (a == -y) | (a != a), axes)
    sign = xp.sign(a)
    steep = xp.masked(a != 0, sign * xp.power(a * sign, p - 1))
    return steep * xp.masked(y != 0, g / xp.power(y, p - 1))


class VectorNorm(Node, number=None):
    """(sum |x|^p)^(1/p) over some dimensions, and its limits: the number of non-zeros, the maximum, the minimum."""

    saves = ("self", "result")

    @classmethod
    def forward(cls, a: Tensor, p: float, dim: Shape | None, keepdim: bool, dtype: Any = None) -> Tensor:
        x, input_metadata = converted(a.array, dtype)
        axes = tuple(range(x.ndim)) if dim is None else dim
        y = p_norm(x, p, axes, keepdim)
        return record1(cls, y, a, (a, y), (p, axes, kept_shape(x.shape, axes), dim, keepdim), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, y: Any, p: float, axes: Shape, kept: Shape, *_: Any) -> Any:
        return norm_gradient(xp, xp.reshape(g, kept), a, xp.reshape(y, kept), p, axes) if p else None


class LinalgVectorNorm(VectorNorm):
    constants = ("ord", "", "", "dim", "keepdim")


def check_filled(p: float, shape: Shape, dim: Dims) -> None:
    if 0 <= p < math.inf or 0 not in shape:
        return
    if dim is None or dim == ():
        raise RuntimeError(f"linalg.vector_norm cannot compute the {p:g} norm on an empty tensor because the "
                           "operation does not have an identity")
    for d in (dim,) if isinstance(dim, int) else dim:
        if shape[one_of(d, len(shape))] == 0:
            raise RuntimeError(f"linalg.vector_norm cannot compute the {p:g} norm on the dimension {d}because this "
                               "dimension is empty and the operation does not have an identity")


def vector_norm(x: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *,
                dtype: dtype_type | None = None) -> Tensor:
    """The norm of order `ord` of the elements, over all dimensions or over `dim`.

    Raises:
        RuntimeError: for an integer or bool tensor, a `dtype` narrower than the input's, and for the maximum or minimum
            of an empty tensor.
    """
    checks.floating(x, "linalg.vector_norm")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {dtype.type_name}")
    if dtype is not None and dtype.itemsize < x.dtype.itemsize:
        raise RuntimeError(f"linalg.vector_norm: the dtype of the input ({x.dtype.type_name}) should be "
                           f"convertible without narrowing to the specified dtype ({dtype.type_name})")
    check_filled(ord, x.array.shape, dim)
    axes = axes_of(dim, x.array.ndim)
    return LinalgVectorNorm.forward(x, ord, axes, keepdim, None if dtype is None else dtype.numpy)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """The tensor divided by its p-norm along `dim`, or by `eps` if that is larger."""
    norm = ClampMin.forward(vector_norm(input, float(p), dim, True), eps)
    return Div.forward(input, Expand.forward(norm, input.array.shape))


@op(method=True)
def norm(input: Tensor, p: Order = "fro", dim: Dims = None, keepdim: bool = False, *,
         dtype: dtype_type | None = None) -> Tensor:
    """The p-norm of the elements, over all dimensions or over `dim`; "fro": the 2-norm; "nuc": the nuclear norm.

    The gradient is 0 where the norm is 0; for the infinity norm, elements of equal magnitude share it.

    Raises:
        RuntimeError: for an integer or bool tensor, and as in `vector_norm`.
    """
    if p == "nuc":
        return matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return vector_norm(input, 2.0 if p is None or isinstance(p, str) else float(p), dim, keepdim, dtype=dtype)


def linalg_norm(input: Tensor, ord: Order = None, dim: Dims = None, keepdim: bool = False, *,
                dtype: dtype_type | None = None) -> Tensor:
    """A norm of vectors or of matrices (`torch.linalg.norm`).

    One dimension in `dim`: a vector norm; two: a matrix norm; None: all, as a vector if `ord` is None, else by number.
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
    return vector_norm(input, 2.0 if ord is None else ord, dims, keepdim, dtype=dtype)


def check_order(v: Tensor) -> None:
    if v.array.ndim not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{v.array.ndim}D.")


def matrix_norm(input: Tensor, ord: Order = "fro", dim: Dims = (-2, -1), keepdim: bool = False, *,
                dtype: dtype_type | None = None) -> Tensor:
    """A norm of matrices: "fro", "nuc", or 1, 2, infinity and their negatives."""
    checks.matrices(input, "linalg.matrix_norm")
    rows, columns = checked_dims(input, dim)
    if ord not in ORDERS:
        shown = f"{ord:g}" if isinstance(ord, float) else ord
        raise RuntimeError(f"linalg.matrix_norm: Order {shown} not supported.")
    (checks.precise if ord in ("nuc", 2, -2) else checks.floating)(input, "linalg.matrix_norm")
    if ord == "fro":
        return vector_norm(input, 2.0, (rows, columns), keepdim, dtype=dtype)
    if dtype is not None and promote_types(input.array.dtype, dtype.numpy) != dtype.numpy:
        raise RuntimeError(f"linalg.matrix_norm: the dtype of the input ({input.dtype.type_name}) should be "
                           f"convertible without narrowing to the specified dtype ({dtype.type_name})")
    x = input if dtype is None else cast(input, dtype.numpy)
    if ord in ("nuc", 2, -2):
        return of_singular_values(x, ord, rows, columns, keepdim)
    assert isinstance(ord, (int, float))
    if abs(ord) != 1:
        rows, columns = columns, rows
    sums = vector_norm(x, 1.0, (rows,), keepdim)
    return extreme(sums, ord, columns - int(rows < columns and not keepdim), keepdim)


def extreme(v: Tensor, ord: float, dim: int, keepdim: bool) -> Tensor:
    """The maximum along a dimension, or the minimum if `ord` is negative; the maximum of no elements is 0."""
    if ord > 0 and not v.array.shape[dim]:
        return plain(v.array.sum(dim, keepdims=keepdim))
    return (amax if ord > 0 else amin)(v, dim, keepdim)


def checked_dims(v: Tensor, dim: Dims) -> tuple[int, int]:
    """The dimensions of rows and columns, checked."""
    dims: tuple[Any, ...] = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dims))}")
    rows, columns = [dim_of(d, v.array.ndim) for d in dims]
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    return rows, columns


def of_singular_values(v: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    others = [d for d in range(v.array.ndim) if d not in (rows, columns)]
    order = (*others, rows, columns)
    values = svdvals(Permute.forward(v, order))
    if ord == "nuc":
        result = SumDim.forward(values, (values.array.ndim - 1,), keepdim)
    else:
        result = extreme(values, ord, -1, keepdim)
    if not keepdim:
        return result
    back = tuple([order.index(d) for d in range(v.array.ndim)])
    return Permute.forward(Unsqueeze.forward(result, result.array.ndim), back)


def cond(input: Tensor, p: Order = None) -> Tensor:
    """The condition number in the norm `p` (default: 2): the factor by which the inverse can amplify a relative error.

    Raises:
        RuntimeError: for another order, and for non-square matrices unless p is 2 or -2.
    """
    if input.array.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p is not None and p not in ORDERS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p not in (None, 2, -2):
        checks.square(input, f"linalg.cond(ord={p:g})" if isinstance(p, float) else f"linalg.cond(ord={p})")
    if p in (None, "nuc", 2, -2) or input.array.size == 0:
        values = svdvals(input)
    if input.array.size == 0:
        return plain(np.zeros(input.array.shape[:-2], input.array.dtype, like=input.array))
    if p == "nuc":
        last = (values.array.ndim - 1,)
        return SumDim.forward(values, last, False) * SumDim.forward(values.reciprocal(), last, False)
    if p in (None, 2, -2):
        dim = values.array.ndim - 1
        largest, smallest = narrow(values, dim, 0, 1), narrow(values, dim, values.array.shape[-1] - 1, 1)
        return SqueezeDim.forward(smallest / largest if p == -2 else largest / smallest, dim)
    inverse, info = inverted(input, None)
    inverse = masked_fill(inverse, plain((info.array > 0)[..., None, None]), float("inf"))
    return nan_to_num(matrix_norm(input, p) * matrix_norm(inverse, p), float("inf"), float("inf"), -float("inf"))
