"""Norms of vectors and of matrices, condition numbers, and distances: mirrors `linalg_norm` and related functions in
PyTorch's LinearAlgebra.cpp, and Distance.cpp.

The p-norm of vectors, the distances of rows, and `renorm`, which scales slices down to a bound, are ops; everything
else is composed of ops.
"""

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import HALVES, as_dtype, from_numpy_dtype, promote_types
from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.numpy import XP, total
from minigrad.core import Node, Tensor, plain, record1, record2, record_n
from minigrad.ops._dispatch import Scaled, broadcast_and_promote, broadcast_shape, check_minus, op, same_device, widened
from minigrad.ops._dispatch.memory_order import row_by_row
from minigrad.ops._dispatch.out_argument import delivered
from minigrad.ops.index.flat_indexing import raw
from minigrad.ops.index.mask import masked_fill
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.checks import mT, system_metadata
from minigrad.ops.linalg.solve import inverted
from minigrad.ops.linalg.spectral import svdvals
from minigrad.ops.pointwise.add import AddScalar, Sub
from minigrad.ops.pointwise.div import Div
from minigrad.ops.pointwise.minmax import ClampMin, nan_to_num
from minigrad.ops.reduce.minmax import amax, amin
from minigrad.ops.reduce.sums import Dims, SumDim, axes_of, converted, kept_shape, one_of, share_evenly, sum
from minigrad.ops.shape.slices import narrow
from minigrad.ops.shape.views import Expand, Permute, SqueezeDim, Unsqueeze, View, dim_of, reshape
from minigrad.ops.tensor.copy import Clone, cast

__all__ = ["cdist", "cosine_similarity", "dist", "norm", "pairwise_distance", "renorm"]

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
    """The norm of order `ord` of the elements, over all dimensions or over `dim`. Raises RuntimeError for an integer or
    bool tensor, a `dtype` narrower than the input's, and for the maximum or minimum of an empty tensor."""
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
def norm(input: Tensor, p: Order = "fro", dim: Dims = None, keepdim: bool = False, out: Tensor | None = None,
         dtype: dtype_type | None = None) -> Tensor:
    """The p-norm of the elements, over all dimensions or over `dim`; "fro": the 2-norm; "nuc": the nuclear norm.

    The gradient is 0 where the norm is 0; for the infinity norm, elements of equal magnitude share it. Raises
    RuntimeError for an integer or bool tensor, and as in `vector_norm`.
    """
    if out is not None:
        done: Tensor = delivered("linalg_vector_norm", out, (input,), lambda: norm(input, p, dim, keepdim, dtype=dtype))
        return done
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
    Raises RuntimeError for another order, and for non-square matrices unless p is 2 or -2."""
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


MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": True,
         "donot_use_mm_for_euclid_dist": False}
MANY = 25  # rows, above which distances are computed by a matrix product


class Dist(Node):
    saves = ("self", "other", "result")
    constants = ("p",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, p: float) -> Tensor:
        x, y, _ = broadcast_and_promote(a.array, b.array)
        z = p_norm(x - y, p, tuple(range(max(x.ndim, y.ndim))), False)
        return record2(Dist, z, a, b, (a, b, z), (p,), tuple([(v.array.shape, v.array.dtype) for v in (a, b)]))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, z: Any, p: float) -> tuple[Any, Any]:
        if p == 0:
            return None, None
        difference = a - b
        if xp.dtype(difference) in HALVES:
            difference = xp.cast(difference, xp.dtype(difference))  # rounded, as when its norm was computed
        d = norm_gradient(xp, g, difference, z, p, tuple(range(difference.ndim)))
        return d, -d


class NormDim(VectorNorm, name="Norm", number=1):
    """The node name of the p-norm inside a distance."""

    constants = ("p", "", "", "dim", "keepdim")


class Cdist(Node):
    saves = ("x1", "x2", "result")
    constants = ("p",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, p: float) -> Tensor:
        x, y = a.array, b.array
        z = np.zeros((*broadcast_shape(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-2]), x.dtype, like=x)
        if z.size and x.shape[-1]:
            z = p_norm(x[..., :, None, :] - y[..., None, :, :], p, (-1,), False)
        return record2(Cdist, z, a, b, (a, b, z), (p,), system_metadata(z, x, y))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, z: Any, p: float) -> tuple[Any, Any]:
        return xp.apply(CdistBackward, g, a, b, z, p), xp.apply(CdistBackward, mT(xp, g), b, a, mT(xp, z), p)


class CdistBackward(Node):
    """The gradient of the first rows; it has no derivative, as in PyTorch."""

    @staticmethod
    def values(g: Any, a: Any, b: Any, z: Any, p: float) -> Any:
        if p == 0 or 0 in (*z.shape, a.shape[-1]):
            return np.zeros((*z.shape[:-2], *a.shape[-2:]), a.dtype, like=a)
        if p not in (1, math.inf):  # equal rows have the gradient 0, even where `g` is infinite
            g = XP.masked(z != 0, g)
        difference = a[..., :, None, :] - b[..., None, :, :]
        last = difference.ndim - 1
        return XP.sum(norm_gradient(XP, g[..., None], difference, z[..., None], p, (last,)), (last - 1,), False)

    @staticmethod
    def forward(g: Tensor, a: Tensor, b: Tensor, z: Tensor, p: float) -> Tensor:
        y = CdistBackward.values(g.array, a.array, b.array, z.array, p)
        return record_n(CdistBackward, y, (g, a, b, z))

    def backward(self, xp: Any, g: Any) -> Any:
        raise NotImplementedError("the derivative for '_cdist_backward' is not implemented.")


class EuclideanDist(Node):
    """All pairs at once: `|a - b|**2 == |a|**2 + |b|**2 - 2 * a @ b`."""

    saves = ("x1", "x2", "result")

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        x, y = a.array, b.array
        same_device(x, y)
        squares = (x * x).sum(-1)[..., :, None] + (y * y).sum(-1)[..., None, :] - 2 * (x @ y.swapaxes(-1, -2))
        z = np.sqrt(np.maximum(squares, 0))
        return record2(EuclideanDist, z, a, b, (a, b, z))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, z: Any) -> tuple[Any, Any]:
        ratio = xp.masked(z != 0, g / z)
        transposed = mT(xp, ratio)
        return (a * xp.sum(ratio, (z.ndim - 1,), True) - xp.matmul(ratio, b),
                b * xp.sum(transposed, (z.ndim - 1,), True) - xp.matmul(transposed, a))


@op
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distance of each row of `x1` from each of `x2`; shapes (…, n, m), (…, k, m), result (…, n, k).

    For p = 2, `compute_mode` may force or exclude a matrix product; by default it is used for many rows. Raises
    ValueError for another `compute_mode`, and RuntimeError if the numbers of columns differ, p is negative, or there
    are fewer than two dimensions.
    """
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, v in (("X1", x1), ("X2", x2)):
        if v.array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {v.array.ndim}D")
    for name, v in (("X1", x1), ("X2", x2)):
        if v.array.dtype.kind != "f":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {v.dtype.type_name}")
    m, n = x1.array.shape, x2.array.shape
    if m[-1] != n[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {m[-1]} X2: {n[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    lead = broadcast_shape(m[:-2], n[:-2])
    if 0 not in (*lead, *m, *n):
        checks.product_dtypes(x1, x2, "bmm")
    by_product = MODES[compute_mode]
    if by_product is None:
        by_product = m[-2] > MANY or n[-2] > MANY
    size = math.prod(lead)
    if p != 2 or not by_product or 0 in (*m, *n) or not size:
        if 0 not in (*lead, *m, *n):
            checks.kernel(x1, "cdist")
        return Cdist.forward(x1, x2, p)
    if size > 1:
        x1, x2 = [reshape(Expand.forward(v, (*lead, *v.array.shape[-2:])), (size, *v.array.shape[-2:]))
                  for v in (x1, x2)]
    return View.forward(EuclideanDist.forward(x1, x2), (*lead, m[-2], n[-2]))


@op(method=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of `input - other`. Raises RuntimeError if the shapes do not broadcast, or both have an integer or
    bool dtype."""
    check_minus(input.array, other.array)
    if "f" not in (input.array.dtype.kind, other.array.dtype.kind):
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{input.dtype.type_name} instead.")
    return Dist.forward(input, other, p)


@op
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of `x1 - x2 + eps` over the last dimension."""
    difference = AddScalar.forward(Sub.forward(x1, x2), eps)
    ndim = difference.array.ndim
    return NormDim.forward(difference, float(p), (ndim - 1,) if ndim else (), keepdim)


@op
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms are at least `eps`. Raises RuntimeError for
    integers, or shapes that do not broadcast, and IndexError if `dim` is out of range."""
    shape = broadcast_shape(x1.array.shape, x2.array.shape)
    dtype = from_numpy_dtype(promote_types(x1.array.dtype, x2.array.dtype))
    if not dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtype.type_name}")
    axis = dim_of(dim, len(shape))
    rows = []
    for tensor in (x1, x2):
        x = cast(tensor, dtype.numpy)
        x = x if x.array.shape == shape else Expand.forward(x, shape)
        norm = Clone.forward(LinalgVectorNorm.forward(x, 2.0, (axis,)[:len(shape)], True))
        norm.array = np.maximum(norm.array, norm.array.dtype.type(eps))  # as in PyTorch not part of the graph
        rows.append(x / norm)
    return sum(rows[0] * rows[1], axis)


EPSILON = 1e-7  # added to the norm before dividing by it, as in PyTorch


class Renorm(Node):
    """Scales a slice v whose norm exceeds the bound m to v · m / (|v| + ε). The derivative is that factor, plus the
    effect of the norm: -(g · v) · m / (|v| + ε)² · ∂|v|/∂v."""

    saves = ("self",)
    constants = ("p", "dim", "maxnorm")

    @staticmethod
    def forward(a: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
        x = a.array
        axes = tuple([d for d in range(x.ndim) if d != dim])
        size = np.abs(x)
        if np.isfinite(p) or not x.size:
            norm = (size ** p).sum(axes, keepdims=True) ** (1 / p)
        else:
            norm = size.max(axes, keepdims=True)
        factor = as_dtype(np.where(norm > maxnorm, maxnorm / (norm + EPSILON), 1), x.dtype)
        return record1(Renorm, row_by_row(x * factor), a, (a,), (p, dim, maxnorm))

    def backward(self, xp: Any, g: Any, x: Any, p: float, dim: int, maxnorm: float) -> Any:
        axes = tuple([d for d in range(len(x.shape)) if d != dim])
        size = x * xp.sign(x)  # whose slope at 0 is 0, as PyTorch's
        if np.isfinite(p):
            norm = xp.power(xp.sum(x * x if p == 2 else xp.power(size, p), axes, True), 1 / p)
            slope = norm_gradient(xp, norm * 0 + 1, x, norm, p, axes)
        else:  # that of the largest element, divided among equal ones
            lengths = np.abs(raw(x))
            largest = lengths == lengths.max(axes, keepdims=True)
            share = as_dtype(largest / largest.sum(axes, keepdims=True), xp.dtype(x))
            norm = xp.sum(xp.apply(Scaled, size, share), axes, True)
            slope = xp.apply(Scaled, xp.sign(x), share)
        long, length = norm > maxnorm, norm + EPSILON
        factor = xp.where(long, maxnorm / length, norm * 0 + 1)
        turned = xp.sum(g * x, axes, True) * maxnorm / (length * length) * slope
        return g * factor - xp.masked(xp.broadcast_to(long, tuple(x.shape)), turned)


@op(method=True, in_place=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale each slice along `dim` whose p-norm exceeds `maxnorm` down to it; other slices are unchanged. Raises
    RuntimeError if `p` is not positive, `maxnorm` is negative, or the tensor has fewer than two dimensions."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.array.ndim} dimensions")
    if input.array.dtype.kind != "f":
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{input.dtype.type_name}")
    return Renorm.forward(input, float(p), dim_of(dim, input.array.ndim), float(maxnorm))
