"""Products of matrices and vectors, composed as in PyTorch: which op runs depends on the dimensions."""

from typing import Any

import numpy as np

from minigrad._base.dtype import HALVES, as_dtype
from minigrad._base.tensor_errors import check_tensor
from minigrad.backends.numpy import product
from minigrad.core import Node, Tensor, attributes, plain, record2, record_n
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import broadcast_shape, needed_by_product, op, same_device, tensor_method, widened
from minigrad.ops.linalg.checks import (
    CASTING,
    autocast,
    autocast_is_on,
    expands_to,
    in_place_output,
    no_bools,
    product_dtypes,
    size_of,
)
from minigrad.ops.linalg.matrices import scaled_sum
from minigrad.ops.pointwise.arithmetic import Add
from minigrad.ops.shape.views import (
    Expand,
    SqueezeDim,
    T,
    Transpose,
    UnsafeView,
    Unsqueeze,
    View,
    check_matrix,
    reshape,
)
from minigrad.ops.tensor.copy import contiguous

__all__ = ["addmm", "bmm", "dot", "matmul", "mm", "mv"]

BOOL = np.dtype(bool)


class Mm(Node):
    saves = ("self", "mat2")

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        x, y = a.array, b.array
        if x.dtype is not y.dtype or x.dtype is BOOL:
            check_matrices(a, b)
        if type(x) is not type(y):
            same_device(x, y)
        try:
            result = x.dot(y)
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
        if type(a.array) is not type(b.array):
            same_device(a.array, b.array)
        return record2(cls, a.array.dot(b.array), a, b, needed_by_product(a, b))


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
    return x, v.dot(w)


class Addmm(Node):
    saves = ("mat1", "mat2")
    constants = ("beta", "alpha")

    @staticmethod
    def forward(bias: Tensor, a: Tensor, b: Tensor, scales: tuple[float, ...] = ()) -> Tensor:
        x, v, w = bias.array, a.array, b.array
        if type(v) is not type(w) or type(x) is not type(v):
            same_device(x, v, w)
        transposed = w.flags.f_contiguous and not scales
        if transposed and 8 <= len(v) <= 48 and w.size >= 1 << 15 and type(w) is np.ndarray:
            y = np.add(w.T.dot(v.T).T, x, np.empty((len(v), w.shape[1]), w.dtype))  # BLAS is slow the other way round
        elif v.dtype in HALVES:
            y = as_dtype(scaled_sum(*rounded_once(x, v, w), *(scales or (1, 1))), v.dtype)
        elif scales:
            y = scaled_sum(x, v.dot(w), *scales)
        else:
            y = v.dot(w)
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
    if not isinstance(other, Tensor):
        return NotImplemented
    return (Mm.forward if self.array.ndim == 2 and other.array.ndim == 2 else matmul)(self, other)


@op(method=True)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of two tensors: of vectors, of matrices, or of batches of matrices, which are broadcast.

    Raises:
        RuntimeError: if an operand is 0-d or the sizes do not fit.
    """
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
        return SqueezeDim4.forward(mm(Unsqueeze.forward(input, 0), other))
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
    return SqueezeDim.forward(x, 0) if x.array.shape[0] == 1 and x._requires_grad else x


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
    batch, other = (a, b) if b.array.ndim <= 2 else (Transpose.forward(b, -1, -2), a)
    shape = batch.array.shape
    rows = reshape(batch, (int(np.prod(shape[:-1])), shape[-1]))
    if other.array.ndim == 1:
        return UnsafeView.forward(mv(rows, other), shape[:-1])
    if batch is a:
        return UnsafeView.forward(mm(rows, other), (*shape[:-1], other.array.shape[1]))
    product = UnsafeView.forward(mm(rows, T.forward(other)), (*shape[:-1], other.array.shape[0]))
    return contiguous(Transpose.forward(product, -1, -2))


def batched(a: Tensor, b: Tensor) -> Tensor:
    """The product of batches, which are broadcast; a vector is a row on the left, a column on the right."""
    lead = broadcast_shape(a.array.shape[:-2], b.array.shape[:-2])
    size = int(np.prod(lead))
    columns = b if b.array.ndim > 1 else Unsqueeze.forward(b, 1)
    sides = [(1, *v.array.shape)[-2:] for v in (a, columns)]
    left, right = [reshape(Expand.forward(v, lead + side), (size, *side))
                   for v, side in zip((a, columns), sides, strict=True)]
    product = bmm(left, right)
    shape = (*lead, *a.array.shape[-2:-1], *b.array.shape[-1:] * (b is columns))
    return UnsafeView.forward(product if b is columns else SqueezeDim.forward(product, 2), shape)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`; shapes (…, in), (out, in), (out) give (…, out)."""
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
    check_matrix(weight, "t")
    if bias is None:
        return matmul(input, T.forward(weight))
    if len(shape) == 2:
        return addmm(bias, input, T.forward(weight))
    if not input.is_contiguous():
        return Add.forward(matmul(input, T.forward(weight)), bias)
    rows = View.forward(input, (int(np.prod(shape[:-1])), shape[-1]))
    return View.forward(addmm(bias, rows, T.forward(weight)), (*shape[:-1], size[0]))
