"""What ops on matrices share: checks of their operands, nodes with several factors, inputs saved by products,
triangles, Gaussian elimination. Each check raises PyTorch's error for a wrong shape, dtype or value.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar

import numpy as np

from minigrad._base.tensor_errors import IN_C
from minigrad.backends.batched import in_all_examples
from minigrad.backends.registry import backend_of
from minigrad.core import ManyOutputs, Tensor, record_many
from minigrad.ops._dispatch import number_in, same_device, where_is
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.views import expand


class Factors(ManyOutputs, number=None):
    """A node with several outputs whose formula takes None for a gradient that did not arrive.

    `results`: for each saved value, which output it is (0 for an input). `values`: the op on arrays.
    """

    fills_missing = False
    results: ClassVar[tuple[int, ...]] = ()
    values: ClassVar[Callable[..., tuple[Any, ...]]]

    @classmethod
    def forward(cls, a: Tensor, *const: Any) -> tuple[Tensor, ...]:
        """The factors of a matrix, all of which the derivative needs."""
        factors = cls.values(a.array, *const)
        return record_many(cls, factors, a, const, saved=factors)

    def saved_output_nr(self, index: int) -> int:
        return self.results[index]


def mT(xp: Any, v: Any) -> Any:
    """The transposes of matrices, as `Tensor.mT`."""
    return xp.swapaxes(v, -1, -2)


def scaled_sum(x: Any, y: Any, beta: float, alpha: float) -> Any:
    """`beta * x + alpha * y` in the dtype of `y`, to which the scales are cast; if beta is 0, `x` is ignored."""
    cast = y.dtype.type if y.dtype.kind == "f" else partial(number_in, dtype=y.dtype)
    beta, alpha = (cast(scale).item() for scale in (beta, alpha))
    y = y if alpha == 1 else y * alpha
    return y if beta == 0 else y + (x if beta == 1 else x * beta)


def triangle(v: Any, rows: int, columns: int, k: int = 0, upper: bool = False) -> Any:
    """A mask of the elements on or below diagonal `k` (negative: below the main one), or mirrored if `upper`; on the
    device of `v`."""
    like = where_is(v)
    return np.tri(columns, rows, k, bool, like=like).T if upper else np.tri(rows, columns, k, bool, like=like)


def reports_failure(x: Any) -> AbstractContextManager[Any]:
    """A `with` block in which a device, too, raises NumPy's LinAlgError if there is no result."""
    backend = backend_of(x)
    return nullcontext() if backend is None else backend.linalg_errors()


def diagonal_matrices(xp: Any, v: Any) -> Any:
    n = v.shape[-1]
    diagonal = np.eye(n, dtype=bool, like=where_is(v))
    return xp.masked(diagonal, xp.broadcast_to(xp.reshape(v, (*v.shape, 1)), (*v.shape, n)))


def system_metadata(x: Any, *operands: Any) -> tuple[Any, ...] | None:
    """What the engine must undo for the operands of a system whose solution is `x` (input metadata)."""
    if all(v.shape[:-2] == x.shape[:-2] and v.dtype is x.dtype for v in operands):
        return None
    return tuple([(v.shape, v.dtype) for v in operands])


def zero_pivots(lu: Any) -> Any:
    """For each matrix, the position of the first zero on the diagonal of U (from 1), 0 for none; int32."""
    zero = np.diagonal(lu, 0, -2, -1) == 0
    at = zero.argmax(-1) if zero.shape[-1] else 0
    return np.where(zero.any(-1), at + 1, 0).astype(np.int32)


def lu_factored(x: Any) -> tuple[Any, Any]:
    """L (below the diagonal, its ones left out) and U in one matrix, and for each row the one it was swapped with
    (counted from 1, int32): the LU factors of a batch of matrices, by Gaussian elimination."""
    rows, columns = x.shape[-2:]
    lu = np.array(x, like=x).reshape(math.prod(x.shape[:-2]), rows, columns)
    steps, each = min(rows, columns), np.arange(len(lu), like=x)
    pivots = np.zeros((len(lu), steps), np.int32, like=x)
    for j in range(steps if lu.size else 0):
        at = j + abs(lu[:, j:, j]).argmax(1)
        pivots[:, j] = at + 1
        lu[each, j], lu[each, at] = lu[each, at], lu[each, j]
        top = lu[:, j, j, None]
        lu[:, j + 1:, j] /= np.where(top == 0, 1, top)
        lu[:, j + 1:, j + 1:] -= lu[:, j + 1:, j, None] * lu[:, j, None, j + 1:]
    return lu.reshape(x.shape), pivots.reshape((*x.shape[:-2], steps))


CASTING: list[Any] = []  # autocast's state once it is loaded: while it is on, the op casts its operands
DTYPES_DIFFER = {  # products do not promote, and each has its own message for it
    "mm": "expected m1 and m2 to have the same dtype, but got: {c} != {d}",
    "bmm": "expected scalar type {a} but found {b}",
    "dot": "dot : expected both vectors to have same dtype, but found {a} and {b}",
    "addmm": "self and mat2 must have the same dtype, but got {a} and {b}",
    "addmm of two": "mat1 and mat2 must have the same dtype, but got {a} and {b}",
}
SINGULAR = ("The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
            "singular.")
UNSOLVABLE = "The solver failed because the input matrix is singular."
NOT_DEFINITE = ("The factorization could not be completed because the input is not positive-definite (the leading "
                "minor of order {} is not positive-definite).")


class _LinAlgError(RuntimeError):
    """A matrix that is singular or cannot be factorised."""


LinAlgError = _LinAlgError


def autocast_is_on() -> bool:
    """Whether autocast is on in this thread."""
    return bool(CASTING) and CASTING[0].enabled


def autocast(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function as autocast does, with its tensors in a lower dtype."""
    return CASTING[0].call(function, *args, **options)


def matrices(v: Tensor, name: str, argument: str = "A") -> None:
    if v.array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def square(v: Tensor, name: str) -> None:
    matrices(v, name)
    square_sizes(v, f"{name}: ")


def square_sizes(v: Tensor, prefix: str = "") -> None:
    rows, columns = v.array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{prefix}A must be batches of square matrices, but they are {rows} by {columns} matrices")


def same_dtype(first: Tensor, second: Tensor, names: str, name: str) -> None:
    """Refuse two tensors of an equation with different dtypes; `names` are theirs: "A B"."""
    same_device(first.array, second.array)
    a, b = names.split()
    if first.array.dtype != second.array.dtype:
        raise RuntimeError(f"{name}: Expected {a} and {b} to have the same dtype, but found {a} of type "
                           f"{first.dtype.type_name} and {b} of type {second.dtype.type_name} instead")


def floating(v: Tensor, name: str) -> None:
    if v.array.dtype.kind != "f":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {v.dtype.type_name}")


def precise(v: Tensor, name: str) -> None:
    """Refuse float16 and bfloat16 too."""
    floating(v, name)
    if v.array.dtype.itemsize < 4:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {v.dtype.type_name}")


def kernel(v: Tensor, kernel: str) -> None:
    """Refuse dtypes without PyTorch code on the CPU: all but float32 and float64, also for an empty tensor."""
    if v.array.dtype.kind != "f" or v.array.dtype.itemsize < 4:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{v.dtype.type_name}'")


def product_dtypes(a: Tensor, b: Tensor, product: str) -> None:
    if a.array.dtype != b.array.dtype and not autocast_is_on():
        raise RuntimeError(DTYPES_DIFFER[product].format(a=a.dtype.type_name, b=b.dtype.type_name,
                                                         c=IN_C[a.dtype.name], d=IN_C[b.dtype.name]))


def vectors(op: str, **arguments: Tensor) -> None:
    for name, v in arguments.items():
        if v.array.ndim != 1:
            raise RuntimeError(f"{op}: Expected 1-D argument {name}, but got {v.array.ndim}-D")


def no_bools(v: Tensor, kernel: str) -> None:
    if v.array.dtype.kind == "b":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def size_of(v: Tensor, dim: int) -> int:
    return int(v.array.shape[one_of(dim, v.array.ndim)])


def expands_to(v: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse a tensor to be added that does not expand to the shape of a product."""
    own = v.array.shape
    if own not in (shape, shape[1:]) and (len(own) > len(shape) or
                                          any(n not in (1, m) for n, m in zip(own[::-1], shape[::-1]))):
        expand(v, shape)  # raises


def in_place_output(v: Tensor, shape: tuple[int, ...], like: Tensor) -> None:
    """Refuse an in-place output without this shape and the dtype of `like`."""
    for what, own, result in (("dtype", IN_C[v.dtype.name], IN_C[like.dtype.name]),
                              ("size", list(v.array.shape), list(shape))):
        if own != result:
            raise RuntimeError(f"Bad in-place call: input tensor {what} {own} and output tensor {what} {result} should "
                               "match")


def no_failure(name: str | None, info: Any, sentence: str, error: type[Exception] = LinAlgError) -> None:
    """Raise PyTorch's error for the first matrix whose number in `info` is not 0; nothing if `name` is None."""
    info = in_all_examples(info)
    if name is None or not info.any():
        return
    numbers = np.ravel(info)
    index = int(np.flatnonzero(numbers)[0])
    batch = f"(Batch element {index}): " if np.ndim(info) else ""
    raise error(f"{name}: {batch}{sentence.format(int(numbers[index]))}")
