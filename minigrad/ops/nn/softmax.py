"""softmax and log_softmax: positive numbers that sum to 1 along a dimension, and their logarithms.

The maximum is subtracted first, so that no exponential overflows; in softmax only where one did, or where the
exponentials of a row are all small.
"""

import functools
from typing import Any

import numpy as np

from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.registry import by_row_kernel
from minigrad.core import Tensor, plain
from minigrad.ops._dispatch import OfResult, check_kind, op
from minigrad.ops._dispatch.elementwise import BLOCK, in_blocks
from minigrad.ops.reduce.sums import SumDim
from minigrad.ops.shape.views import dim_of
from minigrad.ops.tensor.copy import cast

__all__ = ["log_softmax", "softmax"]

def below_greatest(x: Any, dim: int) -> Any:
    """`x` minus its maximum along a dimension, row-major, as PyTorch's results are.

    NumPy finds the index of a row's maximum several times faster than the maximum.
    """
    if type(x) is np.ndarray and not x.flags.c_contiguous:
        x = x.copy()
    if dim == x.ndim - 1 and 1 < x.shape[-1] <= 256 and x.size and type(x) is np.ndarray:
        rows = x.reshape(-1, x.shape[-1])
        return (rows - rows[np.arange(len(rows)), rows.argmax(-1)][:, None]).reshape(x.shape)
    return x - x.max(dim, keepdims=True) if x.size and x.ndim else x - x


@functools.cache
def ones_of(length: int, dtype: Any) -> Any:
    """A column of ones, which must not be modified."""
    return np.ones((length, 1), dtype)


def summed(x: Any, dim: int) -> Any:
    """The sum along a dimension, which is kept; for short rows by a product with ones, several times as fast."""
    if x.ndim and dim == x.ndim - 1 and x.shape[-1] <= 256 and type(x) is np.ndarray:
        return x.dot(ones_of(x.shape[-1], x.dtype))
    return x.sum(dim, keepdims=True) if x.ndim else x


def powers(x: Any, dim: int) -> tuple[Any, Any]:
    """exp(x) and its sums along a dimension, or both for `below_greatest`.

    The sums show whether exp(x) is good enough: half of the time at 4,096 × 64. Where they are not small, what
    underflows in exp(x) would also vanish next to the largest element.
    """
    if x.size and x.ndim and type(x) is np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # even if the user's filter turns warnings into errors
            y = np.exp(x, np.empty(x.shape, x.dtype))
            sums = summed(y, dim)
        if sums.min() > 0.1 and sums.max() < 1e30:  # not for NaN
            return y, sums
    y = below_greatest(x, dim)
    y = np.exp(y, out=y if y.ndim else None)
    return y, summed(y, dim)


class SoftmaxBackward:
    """The derivative of softmax from its result. Not a node: on Tensors it is composed of other ops."""

    @staticmethod
    def values(g: Any, y: Any, dim: int) -> Any:
        """On arrays; along the last dimension by products of rows, in 0.8 of the time."""
        if type(y) is not np.ndarray:
            result = by_row_kernel("softmax_backward", dim, g, y)
            if result is not None:
                return result
        elif y.ndim and dim == y.ndim - 1 and g.dtype is y.dtype:
            return in_blocks(SoftmaxBackward.of_rows, g, y, width=y.shape[-1])
        both = g * y
        both -= y * summed(both, dim)
        return both

    @staticmethod
    def of_rows(g: Any, y: Any) -> Any:
        """The same along the last dimension."""
        out = g - np.vecdot(g, y)[..., None]
        out *= y
        return out

    @staticmethod
    def forward(g: Tensor, y: Tensor, dim: int) -> Tensor:
        """On Tensors."""
        both = g * y
        return both - y * SumDim.forward(both, (dim,)[:y.array.ndim], True)


class LogSoftmaxBackward:
    """The same for log_softmax."""

    @staticmethod
    def values(g: Any, y: Any, dim: int) -> Any:
        """On arrays."""
        result = None if type(y) is np.ndarray else by_row_kernel("log_softmax_backward", dim, g, y)
        if result is not None:
            return result
        added, part = summed(g, dim), np.exp(y)
        part *= added
        return np.subtract(g, part, out=part) if type(part) is np.ndarray and g.dtype is y.dtype else g - part

    @staticmethod
    def forward(g: Tensor, y: Tensor, dim: int) -> Tensor:
        """On Tensors."""
        return g - y.exp() * SumDim.forward(g, (dim,)[:y.array.ndim], True)


class Softmax(OfResult):
    """exp(x) / sum(exp(x)) along a dimension."""

    kernel = "softmax_lastdim_kernel_impl"
    constants = ("dim",)

    @staticmethod
    def values(x: Any, dim: int) -> Any:
        result = None if type(x) is np.ndarray else by_row_kernel("softmax", dim, x)
        if result is not None:
            return result
        y, sums = powers(x, dim)
        y /= sums
        return y

    def backward(self, xp: Any, g: Any, y: Any, dim: int) -> Any:
        return xp.apply(SoftmaxBackward, g, y, dim)


class LogSoftmax(OfResult):
    """log(softmax(x)), without underflow."""

    kernel = "log_softmax_lastdim_kernel_impl"
    constants = ("dim",)

    @staticmethod
    def values(x: Any, dim: int) -> Any:
        result = None if type(x) is np.ndarray else by_row_kernel("log_softmax", dim, x)
        if result is not None:
            return result
        if type(x) is np.ndarray and x.nbytes > 2 * BLOCK and dim == x.ndim - 1 and x.flags.c_contiguous and (
                x.shape[-1] * x.itemsize <= BLOCK):  # the blocks are no longer than that, and the recursion ends
            return in_blocks(functools.partial(LogSoftmax.values, dim=1), x, width=x.shape[-1])
        y = below_greatest(x, dim)
        y -= np.log(summed(np.exp(y), dim))
        return y

    def backward(self, xp: Any, g: Any, y: Any, dim: int) -> Any:
        return xp.apply(LogSoftmaxBackward, g, y, dim)


def along(op: Any, input: Tensor, dim: int, dtype: dtype_type | None) -> Tensor:
    """One of the ops along a dimension; a given dtype converts the input first."""
    source = cast(input, dtype.numpy) if dtype is not None else input
    axis = dim_of(dim, input.array.ndim)
    if not source.array.size and source.array.dtype.kind != "f":
        return plain(source.array.copy())  # PyTorch checks the dtype only if there is something to compute
    if axis < input.array.ndim - 1:
        check_kind(source.array, "bui", op.kernel.replace("_lastdim", ""))
    result: Tensor = op.forward(source, axis)
    return result


@op(method=True)
def softmax(input: Tensor, dim: int, dtype: dtype_type | None = None) -> Tensor:
    """`exp(input) / exp(input).sum(dim)`; `dtype` converts the input first. Raises IndexError if `dim` is out of range,
    and NotImplementedError for a tensor of integers or bools."""
    return along(Softmax, input, dim, dtype)


@op(method=True)
def log_softmax(input: Tensor, dim: int, dtype: dtype_type | None = None) -> Tensor:
    """`log(softmax(input, dim))`; arguments and errors as in `softmax`."""
    return along(LogSoftmax, input, dim, dtype)
