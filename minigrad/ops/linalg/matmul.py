"""Products of matrices and vectors, composed as in PyTorch: which op runs depends on the dimensions.

`mm`, `bmm`, `mv`, `dot`, `vdot`, `trace` and `cross` are ops; `outer`, `inner`, `tensordot` and `kron` are composed of
`mul`, `mm` and views, as in PyTorch's LinearAlgebra.cpp, so their graphs show the steps. `addmm`, `addmv`, `addr`,
`addbmm` and `baddbmm` add a product to a tensor. PyTorch compares the dtypes of batches only if there is something to
multiply: those of empty ones may differ.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minigrad._base.contexts import SIGNALS, quiet, silently
from minigrad._base.dtype import HALVES, as_dtype
from minigrad._base.tensor_errors import IN_C, check_tensor
from minigrad._base.warnings import warn_once
from minigrad.backends.numpy import XP, product
from minigrad.backends.registry import HOST
from minigrad.core import Node, Tensor, attributes, plain, record1, record2, record_n
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import (
    broadcast_shape,
    check_cast,
    check_scale,
    input_metadata_of,
    needed_by_product,
    op,
    same_device,
    tensor_method,
    where_is,
    widened,
)
from minigrad.ops._dispatch.memory_order import inverse, memory_order, row_by_row
from minigrad.ops._dispatch.type_promotion import INT64
from minigrad.ops.linalg import checks
from minigrad.ops.linalg.checks import (
    CASTING,
    autocast,
    autocast_is_on,
    expands_to,
    in_place_output,
    no_bools,
    product_dtypes,
    scaled_sum,
    size_of,
)
from minigrad.ops.pointwise.add import Add
from minigrad.ops.pointwise.mul import Mul
from minigrad.ops.reduce.sums import Sum, SumDim, axes_of
from minigrad.ops.shape import views
from minigrad.ops.tensor.copy import contiguous

__all__ = [
    "addbmm", "addmm", "addmv", "addmv_", "addr", "baddbmm", "bmm", "cross", "dot", "ger", "inner", "kron",
    "matmul", "mm", "mv", "outer", "tensordot", "trace", "vdot",
]

BOOL = np.dtype(bool)


class Mm(Node):
    saves = ("self", "mat2")

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        x, y = a.array, b.array
        if x.dtype is not y.dtype or x.dtype is BOOL:
            check_matrices(a, b)
        alike = type(x) is type(y)
        if not alike:
            same_device(x, y)
        try:
            result = x.dot(y) if alike else np.dot(x, y)
        except ValueError:  # NumPy's: the sizes do not fit
            check_matrices(a, b)
            raise
        return record2(Mm, result, a, b, (a if b._requires_grad else None, b if a._requires_grad else None))

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return (None if b is None else xp.matmul(g, xp.t(b)),
                None if a is None else xp.matmul(xp.t(a), g))


class Bmm(Node):
    saves = ("self", "mat2")

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        x, y = a.array, b.array
        if type(x) is not type(y):
            same_device(x, y)
        result = as_dtype(x @ y if type(x) is np.ndarray else product(x, y), y.dtype, copy=False)
        metadata = None if x.dtype is y.dtype else ((x.shape, x.dtype), (y.shape, y.dtype))
        return record2(Bmm, result, a, b, needed_by_product(a, b), (), metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return None if b is None else xp.bmm(g, xp.t(b)), None if a is None else xp.bmm(xp.t(a), g)


class VectorProduct(Node, number=None):
    """A matrix or a vector times a vector."""

    @classmethod
    def forward(cls, a: Tensor, b: Tensor) -> Tensor:
        x, y = a.array, b.array
        if type(x) is not type(y):
            same_device(x, y)
        return record2(cls, x.dot(y) if type(x) is type(y) else np.dot(x, y), a, b, needed_by_product(a, b))


class Mv(VectorProduct):
    saves = ("self", "vec")

    def backward(self, xp: Any, g: Any, a: Any, v: Any) -> tuple[Any, Any]:
        return (None if v is None else xp.reshape(g, (-1, 1)) * v,
                None if a is None else xp.matmul(xp.t(a), g))


class Dot(VectorProduct):
    saves = ("self", "tensor")

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return None if b is None else g * b, None if a is None else g * a


def rounded_once(x: Any, v: Any, w: Any) -> tuple[Any, Any]:
    """The term that is added to the product of two matrices, and that product, in float32."""
    x, v, w = map(widened, (x, v, w))
    return x, np.dot(v, w)


class Addmm(Node):
    saves = ("mat1", "mat2")
    constants = ("beta", "alpha")

    @staticmethod
    def forward(bias: Tensor, a: Tensor, b: Tensor, scales: tuple[float, ...] = ()) -> Tensor:
        x, v, w = bias.array, a.array, b.array
        if type(v) is not type(w) or type(x) is not type(v):
            same_device(x, v, w)
        transposed = w.flags.f_contiguous and not scales
        if transposed and 8 <= len(v) <= 48 and w.size >= 1 << 15 and type(w) is type(v) is np.ndarray:
            y = np.add(w.T.dot(v.T).T, x, np.empty((len(v), w.shape[1]), w.dtype))  # BLAS is slow the other way round
        elif v.dtype in HALVES:
            y = as_dtype(scaled_sum(*rounded_once(x, v, w), *(scales or (1, 1))), v.dtype)
        elif scales:
            y = scaled_sum(x, np.dot(v, w), *scales)
        else:
            y = v.dot(w) if type(v) is type(w) else np.dot(v, w)
            y += x
        metadata = None if x.shape == y.shape else ((x.shape, x.dtype), None, None)
        return record_n(AddmmOfT if transposed else Addmm, y, (bias, a, b), needed_by_product(a, b), scales, metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1) -> tuple[Any, Any, Any]:
        scaled = g if alpha == 1 else g * alpha
        return (g if beta == 1 else g * beta, None if b is None else xp.matmul(scaled, xp.t(b)),
                None if a is None else xp.matmul(xp.t(a), scaled))


class AddmmOfT(Addmm, name="Addmm"):
    """The same for a column-major matrix, such as the transposed weight of a Linear: its gradient is column-major too.

    Transposed back, the gradient is row-major, and the weight can keep it.
    """

    def backward(self, xp: Any, g: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1) -> tuple[Any, Any, Any]:
        return (g, None if b is None else xp.matmul(g, xp.t(b)),
                None if a is None else xp.turned_product(xp.t(g), a))


SMALL = 400  # multiplications, below which PyTorch has separate code for a batch


def check_inner(a: Tensor, b: Tensor) -> None:
    m, n = a.array.shape, b.array.shape
    if m[1] != n[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m[0]}x{m[1]} and {n[0]}x{n[1]})")


@op(method=True)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, shapes (n, m) and (m, p)."""
    if input.array.ndim != 2 or mat2.array.ndim != 2:
        check_matrices(input, mat2)
    return Mm.forward(input, mat2)


def check_matrices(input: Tensor, mat2: Tensor) -> None:
    for name, v in (("self", input), ("mat2", mat2)):
        if v.array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    check_inner(input, mat2)
    product_dtypes(input, mat2, "mm")
    if input.array.size and mat2.array.size:
        no_bools(input, "addmm_impl_cpu_")


def check_batches(input: Tensor, mat2: Tensor, kernel: str) -> None:
    """Check the dtypes of batches, which PyTorch compares only if there is something to multiply."""
    (count, n, m), p = input.array.shape, mat2.array.shape[2]
    if not count * n * m * p:
        return
    if n * m * p < SMALL:
        no_bools(input, kernel)
        product_dtypes(input, mat2, "bmm")
    elif mat2.array.dtype.kind == "f":
        product_dtypes(mat2, input, "bmm")
    else:
        check_matrices(plain(input.array[0]), plain(mat2.array[0]))


def check_3d(batch1: Tensor, batch2: Tensor) -> None:
    for name, v in (("batch1", batch1), ("batch2", batch2)):
        if v.array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")


def check_bmm(batch1: Tensor, batch2: Tensor) -> None:
    check_3d(batch1, batch2)
    (count, _, m), shape = batch1.array.shape, batch2.array.shape
    if shape[:2] != (count, m):
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {m}] but got: "
                           f"[{shape[0]}, {shape[1]}].")


@op(method=True)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices, shapes (b, n, m) and (b, m, p)."""
    check_bmm(input, mat2)
    check_batches(input, mat2, "bmm")
    return Bmm.forward(input, mat2)


def check_mv(mat: Tensor, vec: Tensor, input: Tensor | None = None) -> None:
    """Check a matrix, a vector and the `input` to which their product is added, if there is one."""
    a, v = mat.array, vec.array
    ndim = 1 if input is None else input.array.ndim
    if a.ndim != 2 or v.ndim != 1 or ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {ndim}, {a.ndim}, {v.ndim}")
    size = a.shape[0] if input is None else input.array.size
    if a.shape[1] != v.shape[0] or size not in (1, a.shape[0]):
        raise RuntimeError(f"size mismatch, got input ({size}), mat ({a.shape[0]}x{a.shape[1]}), vec ({v.shape[0]})")
    other = vec if input is None else input
    if not other.array.dtype == a.dtype == v.dtype:
        names = [t.dtype.type_name for t in (other, mat, vec)]
        raise RuntimeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names))
    if input is not None or a.size:
        no_bools(mat, "addmv_impl_cpu")


@op(method=True)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix (n, m) and a vector (m)."""
    size_of(input, 0)  # raises if there is none
    check_mv(input, vec)
    return Mv.forward(input, vec)


def check_vectors(a: Tensor, b: Tensor) -> None:
    if a.array.ndim != 1 or b.array.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.array.ndim}D and {b.array.ndim}D tensors")
    product_dtypes(a, b, "dot")
    if a.array.shape != b.array.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{a.array.shape[0]}] and src "
                           f"[{b.array.shape[0]}] to have the same number of elements, but got "
                           f"{a.array.shape[0]} and {b.array.shape[0]} elements respectively")
    no_bools(a, "dot")


@op(method=True)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors of equal length."""
    check_vectors(input, tensor)
    return Dot.forward(input, tensor)


def check_addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> tuple[int, int]:
    """Check the operands of `addmm`; return the shape of the product."""
    product_dtypes(input, mat2, "addmm")
    product_dtypes(mat1, mat2, "addmm of two")
    for name, v in (("mat1", mat1), ("mat2", mat2)):
        if v.array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {v.array.ndim}-D tensor")
    check_inner(mat1, mat2)
    no_bools(mat1, "addmm_impl_cpu_")
    return mat1.array.shape[0], mat2.array.shape[1]


@op(method=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * mat1 @ mat2`."""
    expands_to(input, check_addmm(input, mat1, mat2))
    return Addmm.forward(input, mat1, mat2, () if beta == alpha == 1 else (beta, alpha))


@tensor_method
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`addmm`, in place."""
    in_place_output(input, check_addmm(input, mat1, mat2), mat2)
    return in_place(addmm, input, mat1, mat2, beta=beta, alpha=alpha)


def at(self: Tensor, other: Any) -> Any:
    """`self @ other`; Python then tries an `other` that is not a tensor."""
    try:
        if not isinstance(other, Tensor):
            return NotImplemented
        return (Mm.forward if self.array.ndim == 2 and other.array.ndim == 2 else matmul)(self, other)
    except SIGNALS as error:
        return silently(error, at, self, other)


def rat(self: Tensor, other: Any) -> Any:
    """`other @ self`."""
    return at(other, self) if isinstance(other, Tensor) else NotImplemented


@op(method=True)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of two tensors: of vectors, of matrices, or of batches of matrices, which are broadcast. Raises
    RuntimeError if an operand is 0-d or the sizes do not fit."""
    check_tensor(other, "matmul", "other", 2)
    if CASTING and autocast_is_on():
        return autocast(matmul, input, other)
    m, n = input.array.ndim, other.array.ndim
    if m == 2 and n == 2:
        return mm(input, other)
    if m == 0 or n == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D")
    if m == 1 and n == 1:
        return dot(input, other)
    if m == 2 and n == 1:
        return mv(input, other)
    if m == 1 and n == 2:
        return SqueezeDim4.forward(mm(views.Unsqueeze.forward(input, 0), other))
    if m == n == 3 and input.array.shape[0] != other.array.shape[0]:
        input, other = as_matrix(input), as_matrix(other)
        m, n = input.array.ndim, other.array.ndim
    return folded(input, other) if (m <= 2 or n <= 2) and folds(input, other) else batched(input, other)


class SqueezeDim4(Node, name="Squeeze", number=4):
    """Removes the row dimension that a vector received for a product; not a view."""

    constants = ("self_sym_sizes",)
    shows = attributes(dim=lambda node: 0)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record_n(SqueezeDim4, a.array[0], (a,), (), (a.array.shape,))

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...]) -> Any:
        return xp.reshape(g, shape)


def as_matrix(x: Tensor) -> Tensor:
    """A batch of one matrix as a matrix if it requires grad: its gradient would be as large as the other batch."""
    return views.SqueezeDim.forward(x, 0) if x.array.shape[0] == 1 and x._requires_grad else x


def folds(a: Tensor, b: Tensor) -> bool:
    """Whether a batch times one matrix or vector is computed as a product of two matrices: if the single one requires
    grad (whose gradient would be as large as the batch), or if the rows of the batch need not be copied for it."""
    batch, one = (a, b) if a.array.ndim >= b.array.ndim else (b, a)
    if one._requires_grad or a.array.ndim == 2:
        return one._requires_grad
    x = batch.array if batch is a else batch.array.swapaxes(-1, -2)
    return not x.size or all(x.strides[i] == x.strides[i + 1] * x.shape[i + 1] for i in range(x.ndim - 2))


def folded(a: Tensor, b: Tensor) -> Tensor:
    """The product of a batch with one matrix or vector: all the batch's rows at once."""
    batch, other = (a, b) if b.array.ndim <= 2 else (views.Transpose.forward(b, -1, -2), a)
    shape = batch.array.shape
    rows = views.reshape(batch, (int(np.prod(shape[:-1])), shape[-1]))
    if other.array.ndim == 1:
        return views.UnsafeView.forward(mv(rows, other), shape[:-1])
    if batch is a:
        return views.UnsafeView.forward(mm(rows, other), (*shape[:-1], other.array.shape[1]))
    product = views.UnsafeView.forward(mm(rows, views.T.forward(other)), (*shape[:-1], other.array.shape[0]))
    return contiguous(views.Transpose.forward(product, -1, -2))


def batched(a: Tensor, b: Tensor) -> Tensor:
    """The product of batches, which are broadcast; a vector is a row on the left, a column on the right."""
    lead = broadcast_shape(a.array.shape[:-2], b.array.shape[:-2])
    size = int(np.prod(lead))
    columns = b if b.array.ndim > 1 else views.Unsqueeze.forward(b, 1)
    sides = [(1, *v.array.shape)[-2:] for v in (a, columns)]
    left, right = [views.reshape(views.Expand.forward(v, lead + side), (size, *side))
                   for v, side in zip((a, columns), sides, strict=True)]
    product = bmm(left, right)
    shape = (*lead, *a.array.shape[-2:-1], *b.array.shape[-1:] * (b is columns))
    return views.UnsafeView.forward(product if b is columns else views.SqueezeDim.forward(product, 2), shape)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`; shapes (…, in), (out, in), (out) give (…, out)."""
    try:
        try:
            shape, size = input.array.shape, weight.array.shape
        except AttributeError:
            check_tensor(input, "linear")
            check_tensor(weight, "linear", "weight", 2)
            raise
        if CASTING and autocast_is_on():
            return autocast(linear, input, weight, bias)
        if not shape or not size:
            raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {len(shape)}D and "
                               f"{len(size)}D")
        views.check_matrix(weight, "t")
        if bias is None:
            return matmul(input, views.T.forward(weight))
        if len(shape) == 2:
            return addmm(bias, input, views.T.forward(weight))
        if not input.is_contiguous():
            return Add.forward(matmul(input, views.T.forward(weight)), bias)
        rows = views.View.forward(input, (int(np.prod(shape[:-1])), shape[-1]))
        return views.View.forward(addmm(bias, rows, views.T.forward(weight)), (*shape[:-1], size[0]))
    except SIGNALS as error:
        return silently(error, linear, input, weight, bias)


class Vdot(VectorProduct):
    """For real numbers the same as Dot."""

    saves = ("self", "other")
    backward = Dot.backward


class AddProduct(Node, number=None):
    """`beta * input + alpha * product`. A subclass defines the product and the gradients of its factors."""

    constants = ("beta", "alpha")
    product: ClassVar[Callable[..., Any]]  # from the three arrays
    of_factors: ClassVar[Callable[..., tuple[Any, Any]]]  # `backward` of the product

    @classmethod
    def forward(cls, input: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
        x, v, w = input.array, a.array, b.array
        same_device(x, v, w)
        product = cls.product(*map(widened, (x, v, w)))
        y = scaled_sum(as_dtype(x, product.dtype, copy=False), product, beta, alpha)
        y = as_dtype(y, w.dtype, copy=False) if w.dtype in HALVES else y
        metadata = (*input_metadata_of(y.shape, y.dtype, x),
                    *[None if factor.dtype is y.dtype else (factor.shape, factor.dtype) for factor in (v, w)])
        return record_n(cls, y, (input, a, b), needed_by_product(a, b), (beta, alpha), metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, beta: float, alpha: float) -> tuple[Any, Any, Any]:
        return (g if beta == 1 else g * beta, *self.of_factors(xp, g if alpha == 1 else g * alpha, a, b))


class Addmv(AddProduct):
    saves = ("mat", "vec")
    product = staticmethod(lambda x, a, v: np.dot(a, v))
    of_factors = Mv.backward


class Addr(AddProduct):
    saves = ("vec1", "vec2")
    product = staticmethod(lambda x, v, w: as_dtype(v[:, None] * w, np.result_type(x, v, w), copy=False))

    def of_factors(self, xp: Any, g: Any, v: Any, w: Any) -> tuple[Any, Any]:
        return None if w is None else xp.matmul(g, w), None if v is None else xp.matmul(xp.t(g), v)


class Baddbmm(AddProduct):
    saves = ("batch1", "batch2")
    product = staticmethod(lambda x, v, w: as_dtype(v @ w, w.dtype, copy=False))
    of_factors = Bmm.backward


class Addbmm(AddProduct):
    saves = ("batch1", "batch2")
    product = staticmethod(lambda x, v, w: quiet((v @ w).sum)(0, x.dtype))
    of_factors = Mm.backward


class Trace(Node):
    constants = ("self_sym_sizes",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = a.array
        return record1(Trace, x.trace(dtype=np.int64 if x.dtype.kind in "iu" else None), a, (), (x.shape,))

    def backward(self, xp: Any, g: Any, shape: tuple[int, int]) -> Any:
        return xp.masked(np.eye(*shape, dtype=bool, like=where_is(g)), xp.broadcast_to(g, shape))


class LinalgCross(Node):
    """The cross product, along a dimension of size 3."""

    saves = ("self", "other")
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, dim: int) -> Tensor:
        same_device(a.array, b.array)
        y = vector_product(XP, a.array, b.array, dim)
        return record2(LinalgCross, y, a, b, needed_by_product(a, b), (dim,),
                       input_metadata_of(y.shape, y.dtype, a.array, b.array))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, dim: int) -> tuple[Any, Any]:
        return (None if b is None else vector_product(xp, b, g, dim),
                None if a is None else vector_product(xp, g, a, dim))


def vector_product(xp: Any, a: Any, b: Any, dim: int) -> Any:
    """Component i is `a[i + 1] * b[i + 2] - a[i + 2] * b[i + 1]`, counted modulo 3."""
    front, like = (slice(None),) * (dim % a.ndim), where_is(a)
    first, second = (*front, cyclic(1, like)), (*front, cyclic(2, like))
    product = xp.getitem(a, first) * xp.getitem(b, second) - xp.getitem(a, second) * xp.getitem(b, first)
    return product if isinstance(product, Tensor) else row_by_row(product)


def cyclic(n: int, like: Any) -> Any:
    """The numbers 0, 1, 2 cyclically from `n` on. A GPU computes them itself: a CUDA graph takes no CPU copies."""
    return np.array([n, (n + 1) % 3, (n + 2) % 3]) if like is HOST else np.arange(n, n + 3, like=like) % 3


@op(method=True, aliases=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of each element of one vector with each of another, shape (n, m)."""
    checks.vectors("outer", self=input, vec2=vec2)
    return Mul.forward(views.reshape(input, (input.array.shape[0], 1)), vec2)


ger = outer


@op(method=True)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of the products of two vectors of equal length."""
    check_vectors(input, other)
    return Vdot.forward(input, other)


@op(method=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products along the last dimensions; with a 0-d tensor, the elementwise product."""
    if input.array.ndim == 0 or other.array.ndim == 0:
        return Mul.forward(input, other)
    if input.array.shape[-1] != other.array.shape[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(input.array.shape)} and {list(other.array.shape)}")
    return contracted(input, other, (-1,), (-1,))


@op
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sums of products over some dimensions of `a` and some of `b`.

    `dims` is a number (the last dimensions of `a`, the first of `b`), or two lists of dimensions.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        first, second = dims
        return contracted(a, b, tuple(first), tuple(second))
    if not isinstance(dims, int):
        raise RuntimeError("tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
                           f"containing two lists, but got dims={dims}")
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.array.ndim, b.array.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return contracted(a, b, tuple(range(-dims, 0)), tuple(range(dims)))


def contracted(a: Tensor, b: Tensor, dims_a: tuple[int, ...], dims_b: tuple[int, ...]) -> Tensor:
    """`tensordot` over pairs of dimensions, by one matrix product."""
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.array.dtype != b.array.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for i, j in zip(dims_a, dims_b, strict=True):
        m, n = checks.size_of(a, i), checks.size_of(b, j)
        if n == 1:
            a = SumDim.forward(a, (views.dim_of(i, a.array.ndim),), True, a.array.dtype)
        elif m == 1:
            b = SumDim.forward(b, (views.dim_of(j, b.array.ndim),), True, b.array.dtype)
        elif m != n:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {m} in dim {i} and second "
                               f"has size {n} in dim {j}")
    over_a, over_b = axes_of(dims_a, a.array.ndim) or (), axes_of(dims_b, b.array.ndim) or ()
    free_a = tuple([i for i in range(a.array.ndim) if i not in over_a])
    free_b = tuple([j for j in range(b.array.ndim) if j not in over_b])
    left, right = views.Permute.forward(a, free_a + over_a), views.Permute.forward(b, over_b + free_b)
    shape = tuple([a.array.shape[i] for i in free_a] + [b.array.shape[j] for j in free_b])
    rows, columns = math.prod(shape[:len(free_a)]), math.prod(shape[len(free_a):])
    if rows == columns == 1:
        straight = left.is_contiguous() and right.is_contiguous()
        return views.View.forward(dot(flat(left), flat(right)) if straight else
                            Sum.forward(Mul.forward(views.Squeeze.forward(left), views.Squeeze.forward(right))), shape)
    inside = math.prod([a.array.shape[i] for i in over_a])
    return views.reshape(mm(views.reshape(left, (rows, inside)), views.reshape(right, (inside, columns))), shape)


def flat(v: Tensor) -> Tensor:
    return v if v.array.ndim == 1 else views.reshape(v, (-1,))


@op(method=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: a block `input[i] * other` for each element of `input`."""
    a, b = [(1,) * (max(input.array.ndim, other.array.ndim) - v.array.ndim) + v.array.shape for v in (input, other)]
    left = tuple([n for size in a for n in (size, 1)])
    right = tuple([n for size in b for n in (1, size)])
    left_view, right_view = views.UnsafeView.forward(input, left), views.UnsafeView.forward(other, right)
    product, shape = Mul.forward(left_view, right_view), tuple([m * n for m, n in zip(a, b, strict=True)])
    expanded = [np.broadcast_to(v.array, product.array.shape).strides for v in (left_view, right_view)]
    axes = memory_order(product.array.shape, *expanded)
    product.array = product.array.transpose(axes).copy(order="C").transpose(inverse(axes))
    views.view(plain(product.array), shape)  # PyTorch's error if the product is in another memory order
    return views.UnsafeView.forward(product, shape)


@op(method=True)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal; integers sum to int64."""
    checks.no_bools(input, "trace")
    if input.array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.array.ndim}")
    return Trace.forward(input)


DIM_NOT_GIVEN = (
    "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
    "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
    "release."
)


@op(method=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along `dim`, by default the first dimension of size 3."""
    if dim is None:
        warn_once(DIM_NOT_GIVEN)
        dims = [i for i, n in enumerate(input.array.shape) if n == 3]
        if not dims:
            raise RuntimeError("no dimension of size 3 in input")
        dim = dims[0]
    return vector_cross(input, other, dim=dim)


def vector_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product along a dimension of size 3; the other dimensions are broadcast (`torch.linalg.cross`)."""
    if input.array.ndim != other.array.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    m, n = checks.size_of(input, dim), checks.size_of(other, dim)
    if m != 3 or n != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {m} and {n}")
    broadcast_shape(input.array.shape, other.array.shape)
    checks.no_bools(input, "cross")
    checks.product_dtypes(input, other, "bmm")
    return LinalgCross.forward(input, other, dim)


@op(method=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * mat @ vec`; shapes (n) or expandable to it, (n, m), (m)."""
    check_mv(mat, vec, input)
    return Addmv.forward(input, mat, vec, beta, alpha)


@op(method=True)
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`addmv`, in place."""
    check_mv(mat, vec, input)
    checks.in_place_output(input, mat.array.shape[:1], mat)
    return in_place(addmv, input, mat, vec, beta=beta, alpha=alpha)


@op(method=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`; shapes (n, m) or expandable to it, (n), (m). Dtypes are promoted."""
    checks.vectors("addr", vec1=vec1, vec2=vec2)
    same_device(input.array, vec1.array, vec2.array)
    checks.expands_to(input, (vec1.array.shape[0], vec2.array.shape[0]))
    dtype = np.result_type(input.array, vec1.array, vec2.array)
    for name, scale in (("beta", beta), ("alpha", alpha)):
        check_scale(name, scale, dtype)
    return Addr.forward(input, vec1, vec2, beta, alpha)


@tensor_method
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`addr`, in place."""
    checks.vectors("addr", vec1=vec1, vec2=vec2)
    x, n, m = input.array, vec1.array.shape[0], vec2.array.shape[0]
    if x.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {x.ndim}D tensor for input")
    if x.shape != (n, m):
        raise RuntimeError(f"size mismatch, input: {list(x.shape)}, v1: [{n}], v2: [{m}]")
    return in_place(addr, input, vec1, vec2, beta=beta, alpha=alpha)


@op(method=True, in_place=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2).sum(0)`; shapes (n, p) or expandable to it, (b, n, m), (b, m, p)."""
    if checks.autocast_is_on():
        return checks.autocast(addbmm, input, batch1, batch2, beta=beta, alpha=alpha)
    checks.expands_to(input, (checks.size_of(batch1, 1), checks.size_of(batch2, 2)))
    check_3d(batch1, batch2)
    (count, n, m), (other, k, p) = batch1.array.shape, batch2.array.shape
    if count != other:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {count} and {other}")
    if m != k:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({n}x{m} and {k}x{p})")
    if count:
        checks.product_dtypes(input, batch2, "addmm")
        checks.product_dtypes(batch1, batch2, "addmm of two")
        if batch1.array.size and batch2.array.size:
            checks.no_bools(batch1, "addmm_impl_cpu_")
    if not batch1.array.size:  # PyTorch multiplies the bias by an integer
        check_cast(INT64, input.array.dtype)
    return Addbmm.forward(input, batch1, batch2, beta, alpha)


def check_baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor) -> tuple[int, ...]:
    """Check shapes and dtypes; return the shape of the result."""
    shape = checks.size_of(batch1, 0), checks.size_of(batch1, 1), checks.size_of(batch2, 2)
    checks.expands_to(input, shape)
    check_bmm(batch1, batch2)
    if input.array.dtype != batch1.array.dtype:
        names = [IN_C[v.dtype.name] for v in (input, batch1, batch2)]
        raise RuntimeError("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*names))
    return shape


@op(method=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * batch1 @ batch2`; shapes (b, n, p) or expandable to it, (b, n, m), (b, m, p)."""
    if checks.autocast_is_on():
        return checks.autocast(baddbmm, input, batch1, batch2, beta=beta, alpha=alpha)
    shape = check_baddbmm(input, batch1, batch2)
    check_batches(batch1, batch2, "baddbmm")
    if not batch1.array.size and 0 not in shape:
        check_cast(INT64, batch2.array.dtype)
    return Baddbmm.forward(input, batch1, batch2, beta, alpha)


@tensor_method
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`baddbmm`, in place; a RuntimeError unless `input` has the shape and dtype of the result."""
    checks.in_place_output(input, check_baddbmm(input, batch1, batch2), batch2)
    return in_place(baddbmm, input, batch1, batch2, beta=beta, alpha=alpha)
