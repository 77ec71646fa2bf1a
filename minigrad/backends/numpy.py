"""The functions that formulas call on arrays, and their sums and products, faster than NumPy's own."""

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._base.dtype import BFLOAT16, HALVES, as_dtype
from minigrad.backends.batched import Batched, copied_for
from minigrad.backends.registry import BACKEND_OF, backend_of, by_kernel, device_like, is_array, moved

BOOL = np.dtype(bool)
FLOAT16, FLOAT32 = np.dtype("float16"), np.dtype("float32")
BITS = {np.dtype(f"f{n}"): np.dtype(f"i{n}") for n in (2, 4, 8)}  # integers as long as floats
ONES = {np.dtype(name): np.ones(1 << 13, name) for name in ("f4", "f8")}
MANY, PAIRED = 1 << 11, 1 << 9  # rows whose sum is taken of blocks, and the rows of a block
add_up: Any = np.add.reduce  # NumPy's types accept only literals for `keepdims`
# NOTE 7 (memory that stays). glibc maps an array of 128 KiB or more separately, and unmaps it when it is freed; the
# next one of that size is mapped anew, and each of its pages faults when first touched. When such a block is freed,
# glibc raises that limit to its size, up to 32 MiB, and returns the heap's end only beyond twice as much. So one block
# just below 32 MiB, allocated and freed at import (no page of it is touched, 10 µs), puts all later arrays on the heap,
# which keeps up to 64 MiB. Relative time, measured in alternation: two transformer blocks 0.84, a CNN on 28 × 28 0.88,
# an embedding with 10,000 classes 0.74, small models 1. MINIGRAD_KEEP_MEMORY=0 leaves the C library as it is; C
# libraries other than glibc are unaffected.
LARGEST = (32 << 20) - (64 << 10)  # bytes: with the allocator's own header still below glibc's maximum limit


def keep_memory() -> bool:
    """Allocate and free one large block (NOTE 7), unless the environment forbids it; return whether that was done."""
    if os.environ.get("MINIGRAD_KEEP_MEMORY") == "0":
        return False
    np.empty(LARGEST, np.uint8)
    return True


keep_memory()


def ones_for(x: Any, count: int) -> Any:
    """A vector of ones for a product with `x`; it must not be modified."""
    if type(x) is not np.ndarray:
        return np.ones(count, x.dtype, like=device_like(x))
    ones = ONES.get(x.dtype, ())
    return ones[:count] if count <= len(ones) else np.ones(count, x.dtype)


def sum_of_all(x: Any) -> Any:
    """The sum of all elements; of few by a product with ones, in half of NumPy's time at 64 × 64, about as accurate."""
    size, ones = x.size, ONES.get(x.dtype)
    if ones is None or size > len(ones) or type(x) in BACKEND_OF:
        return x.sum() if type(x) in BACKEND_OF else add_up(x, None)
    return x.ravel().dot(ones[:size])


def sum_of_many_rows(x: Any, axes: tuple[int, ...] | None) -> Any:
    """The sum over dimensions of which the outermost in memory have more than `MANY` elements: of blocks of rows, and
    then of these sums, so that rounding errors grow with the logarithm of their number, as PyTorch's do.

    None where that does not apply: NumPy's own sums along rows are pairwise already.
    """
    if not axes or x.size <= MANY or x.dtype not in ONES or len(axes) == x.ndim:
        return None
    order = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))
    lead = next(n for n, i in enumerate(order) if i not in axes)
    if math.prod([x.shape[i] for i in order[:lead]]) <= MANY:
        return None
    inner = tuple([n for n, i in enumerate(order) if n > lead and i in axes])
    x, kept = x.transpose(order), [i for i in order if i not in axes]
    x = np.ascontiguousarray(add_up(x, inner) if inner else x)
    rows = x.reshape(math.prod(x.shape[:lead]), -1)
    while len(rows) > 1:
        whole = len(rows) // PAIRED * PAIRED
        sums = [ONES[x.dtype][:PAIRED] @ rows[:whole].reshape(-1, PAIRED, rows.shape[1])] if whole else []
        if whole < len(rows):
            sums.append((ONES[x.dtype][:len(rows) - whole] @ rows[whole:])[None])
        rows = np.concatenate(sums)
    return rows.reshape(x.shape[lead:]).transpose(np.argsort(kept))


def of_channels(x: Any) -> Any:
    """The sum over all but the second axis, as two products with ones, in a fifth of NumPy's time at 64 × 16 × 8 × 8.

    None if it is not worth it, or there are too many elements.
    """
    size, ones = math.prod(x.shape[2:]), ONES.get(x.dtype)
    if ones is None or not x.size or max(size, len(x)) > len(ones) or not x.flags.c_contiguous:
        return None
    return ones[:len(x)].dot(x.reshape(-1, size).dot(ones[:size]).reshape(x.shape[:2]))


def total(x: Any, axes: tuple[int, ...] | None, dtype: Any = None, *, keepdims: bool = False, count: int = 1) -> Any:
    """The sum over `axes` (None: all) divided by `count`; for float16 and bfloat16 in float32, where it neither
    overflows nor stagnates."""
    if dtype is not None and dtype in HALVES:
        x, dtype = as_dtype(x, dtype, copy=False), None
    if x.dtype in HALVES and dtype is None:
        return as_dtype(total(x, axes, FLOAT32, keepdims=keepdims) / FLOAT32.type(count), x.dtype)
    if axes is None and dtype is None and not keepdims:
        added = sum_of_all(x)
    elif type(x) in BACKEND_OF:
        added = sum_of_rows(x, axes, keepdims) if dtype is None else None
        added = x.sum(axes, dtype, keepdims=keepdims) if added is None else added
    elif axes == (0,) and x.ndim == 2 and dtype is None and x.dtype in ONES and len(x) <= 1 << 13:
        # rows by a product with ones, which is also more accurate: 0.3 of the time at 32 × 256, 0.2 at 1,024 × 64
        added = ONES[x.dtype][:len(x)].dot(x)
        added = added[None] if keepdims else added
    elif x.ndim > 2 and dtype is None and axes == (0, *range(2, x.ndim)) and (found := of_channels(x)) is not None:
        added = found.reshape(-1, *(1,) * (x.ndim - 2))[None] if keepdims else found
    else:
        added = sum_of_many_rows(x, axes) if dtype is None else None
        if added is None:
            added = add_up(x, axes, dtype, keepdims=keepdims)
        elif keepdims:
            added = np.expand_dims(added, axes or ())
        if added.ndim > 1 and not added.flags.c_contiguous:
            added = added.copy()  # row-major, as PyTorch's, whatever the order of `x` is
    return added if count == 1 else added / added.dtype.type(count)


def sum_of_rows(x: Any, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """The sum over the first dimensions of an array on a GPU, by a product with ones: in a quarter of the time at
    8,192 × 4,096. None where that does not apply."""
    if not axes or axes != tuple(range(len(axes))) or len(axes) == x.ndim or not x.size or not x.flags.c_contiguous or (
            x.dtype not in ONES or BACKEND_OF[type(x)].type != "cuda"):
        return None
    rows = x.reshape(math.prod(x.shape[:len(axes)]), -1)
    return ones_for(x, len(rows)).dot(rows).reshape((1,) * len(axes) * keepdims + x.shape[len(axes):])


def masked(mask: Any, x: Any, keep: bool = True) -> Any:
    """`x` where `mask`, of the same shape, is `keep`, else 0, even where `x` is infinite or NaN.

    By bit operations, in a third of the time of `where` and, for a random mask, in a sixth.
    """
    bits = BITS.get(x.dtype)
    if bits is None or not mask.shape or mask.shape != x.shape or type(x) is not np.ndarray:
        zero = x.dtype.type(0)
        return np.where(mask, x, zero) if keep else np.where(mask, zero, x)
    flags = mask.view(np.int8)  # True is 1: -1 keeps all bits, 0 none
    return np.bitwise_and(x.view(bits), np.negative(flags) if keep else np.subtract(flags, 1)).view(x.dtype)


def fills(x: Any, index: Any, part: Any) -> bool:
    """Whether, on a device, a mask of the shape of `x` selects where one number goes: then nothing needs to block."""
    return type(x) in BACKEND_OF and getattr(index, "dtype", None) == BOOL and index.shape == x.shape and not (
        type(part) in BACKEND_OF and part.ndim)


def add_at(out: Any, index: Any, x: Any) -> None:
    """Add `x` to the elements of `out` at an index, repeats included.

    NumPy's `add.at` is four times as fast on a flat array (4,096 rows of 64: 2.6 instead of 9.5 ms), which pays from
    about a thousand elements on, unless `out` is much larger than `x`.
    """
    backend = backend_of(out)
    if backend is not None:
        return backend.add_at(out, index, x)
    if out.ndim > 1 and 1000 < np.size(x) and out.size < 4 * np.size(x) and out.flags.c_contiguous:
        index = np.arange(out.size).reshape(out.shape)[index]
        out = out.reshape(-1)
    if out.ndim == 1 and type(index) is np.ndarray and index.dtype.kind == "i" and index.ndim > 1:
        index, x = index.reshape(-1), np.broadcast_to(x, index.shape).reshape(-1)
    np.add.at(out, index, x)


def accumulated(op: Any, x: Any, axis: int, dtype: Any = None, out: Any = None) -> Any:
    """`op.accumulate`: running sums, products, maxima ….

    CuPy has functions for two of them. The others use doubling (Hillis and Steele, 1986): after k passes each
    element has combined the 2^k elements up to itself.
    """
    if type(x) not in BACKEND_OF:
        return op.accumulate(x, axis, dtype, out)
    if op is np.add or op is np.multiply:
        return (np.cumsum if op is np.add else np.cumprod)(x, axis, dtype)
    front, step = (slice(None),) * (axis % x.ndim), 1
    while step < x.shape[axis]:
        head, tail = (*front, slice(None, -step)), (*front, slice(step, None))
        x = np.concatenate((x[(*front, slice(None, step))], op(x[tail], x[head])), axis)
        step *= 2
    return x


def product(x: Any, y: Any) -> Any:
    """`x @ y`. For small matrices each product of a sum is rounded before it is added, as in PyTorch: opposite ones
    then cancel to exactly 0, and the gradient of a weight over two samples is 0 where it should be. BLAS rounds once
    for both."""
    if x.ndim == 2 and y.ndim == 2:
        if 1 < x.size <= 64 and y.size <= 64 and type(x) is np.ndarray:
            return np.einsum("ij,jk", x, y, order="C")
        return x.dot(y) if type(x) is type(y) else np.dot(x, y)  # costs half as much as `matmul`
    return matmul(x, y)


def matmul(x: Any, y: Any) -> Any:
    """`x @ y` of batches."""
    backend = backend_of(x)
    return np.matmul(x, y) if backend is None else backend.matmul(x, y)


def turned_product(x: Any, y: Any) -> Any:
    """`(x @ y).T` in an array that owns its memory, so that a caller can keep it, or its transpose."""
    x, y = y.T, x.T
    if type(x) is not np.ndarray:
        return x.dot(y)
    if 1 < x.size <= 64 and y.size <= 64:
        return np.einsum("ij,jk", x, y, order="F")
    return np.matmul(x, y, order="F")


class ArrayNamespace:
    """The functions that the formula of a derivative may call (as `xp`) besides operators.

    There are two namespaces: this one for arrays, and `minigrad.ops.backward_namespace` for Tensors, so one formula
    serves a first-order pass on arrays and a recorded pass on Tensors. Where NumPy and PyTorch differ, the functions
    follow PyTorch.
    """

    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    sqrt = staticmethod(np.sqrt)
    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    where = staticmethod(np.where)
    matmul = bmm = staticmethod(product)
    turned_product = staticmethod(turned_product)
    broadcast_to = staticmethod(np.broadcast_to)
    stack = staticmethod(np.stack)
    concatenate = staticmethod(np.concatenate)
    copy = staticmethod(np.copy)
    moved = staticmethod(moved)
    masked = staticmethod(masked)

    # methods of arrays: NumPy's functions of these names take three times as long to reach them
    @staticmethod
    def swapaxes(x: Any, i: int, j: int) -> Any:
        return x.swapaxes(i, j)

    @staticmethod
    def t(x: Any) -> Any:
        """The transpose of a matrix, or of each matrix of a batch."""
        return x.swapaxes(-1, -2)

    @staticmethod
    def transpose(x: Any, dims: Sequence[int]) -> Any:
        return x.transpose(dims)

    @staticmethod
    def reshape(x: Any, shape: Any) -> Any:
        return x.reshape(shape)

    @staticmethod
    def power(x: Any, n: Any) -> Any:
        """`x ** n`. PyTorch computes the power -0.5 as 1 / sqrt(x), which is -inf for -0."""
        return 1 / np.sqrt(x) if type(n) is float and n == -0.5 else np.power(x, n)

    @staticmethod
    def sign(x: Any) -> Any:
        """-1, 0 or 1; 0 for NaN."""
        if x.dtype.kind == "b":
            return x.copy()
        return as_dtype(np.subtract(x > 0, x < 0, dtype=np.int8), x.dtype)

    @staticmethod
    def sigmoid(x: Any) -> Any:
        """1 / (1 + exp(-x)); exp overflows where the result is 0 in PyTorch too. For halves it is rounded once."""
        if x.dtype in HALVES:
            return as_dtype(1 / (1 + np.exp(-x.astype(FLOAT32))), x.dtype)
        return 1 / (1 + np.exp(-x))

    @staticmethod
    def threshold_backward(g: Any, y: Any) -> Any:
        """`g` where `y` is above 0 or NaN, else 0. (A user may have written negative numbers into relu's result.)"""
        result = by_kernel("threshold_backward", g, y) if type(g) in BACKEND_OF else None
        return masked(y <= 0, g, False) if result is None else result

    @staticmethod
    def sum(x: Any, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
        """The sum over `axes` (None: all)."""
        return total(x, axes, keepdims=keepdims)

    @staticmethod
    def zeros(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
        """Zeros on the device of `like`; with its dtype unless a NumPy dtype is given."""
        return np.zeros(shape, dtype or like.dtype, like=device_like(like, dtype))

    @staticmethod
    def getitem(x: Any, index: Any) -> Any:
        return x[index]

    @staticmethod
    def scatter(x: Any, index: Any, shape: tuple[int, ...]) -> Any:
        """Zeros of `shape` to which `x` is added at `index`, repeats included."""
        out = np.zeros(shape, x.dtype, like=device_like(x))
        parts: Sequence[Any] = index if type(index) is tuple else (index,)
        if all(isinstance(i, (int, slice, type(None), type(...))) for i in parts):
            out[index] = x
        elif getattr(index, "dtype", None) == BOOL:  # a mask has no repeats
            out[index] = x
        else:
            for part in parts if BACKEND_OF else ():  # of more examples than `x`, in a nested `vmap`
                out = out if type(part) is not Batched else copied_for(out, part)
            add_at(out, index, x)
        return out

    @staticmethod
    def put(x: Any, index: Any, part: Any) -> Any:
        """`x` with its elements at `index` replaced by `part`, an array (a Tensor) or a number."""
        if fills(x, index, part):
            return np.where(index, part if is_array(part) else x.dtype.type(part), x)
        out = copied_for(x, part)
        out[index] = part
        return out

    @staticmethod
    def apply(op: Any, *args: Any) -> Any:
        """An op inside a formula: `op.values` on arrays, `op.forward` on Tensors, with the same arguments."""
        return op.values(*args)

    @staticmethod
    def cast(x: Any, dtype: Any) -> Any:
        return x.astype(dtype) if dtype is not BFLOAT16 or x.dtype is BFLOAT16 else BFLOAT16.type(x)

    @staticmethod
    def dtype(x: Any) -> Any:
        """NumPy's dtype of `x`."""
        return x.dtype


XP = ArrayNamespace()
