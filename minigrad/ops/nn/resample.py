"""Linear maps along single dimensions, which average pools and interpolation consist of.

Each element of the result is a weighted sum of elements of the input, and a weight is a product of one per dimension.
So each of these ops is a few products with small matrices, and its derivative the same with the matrices transposed.
"""

import functools
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends.registry import device_like, is_host, moved
from minigrad.core import Node, Tensor, record1
from minigrad.ops._dispatch import backward_of, check_kind, in_format_of, widely

Matrices = tuple[Any, ...]  # for each of the last dimensions one of shape (out, in), or None
LOOKED_AT = 5e-324  # a weight of 0 whose element is looked at all the same: if that is NaN, so is the result
GRAPHS: dict[int, Any] = {}  # matrices that CUDA graphs read must stay alive


@functools.lru_cache(maxsize=64)
def moved_matrix(handle: Any, dtype: Any, shape: tuple[int, ...], data: bytes) -> Any:
    """A matrix copied to a device."""
    return moved(np.frombuffer(data, dtype).reshape(shape), handle)


def matrix_on(handle: Any, dtype: Any, shape: tuple[int, ...], data: bytes) -> Any:
    """A matrix on a device, copied there once, so that a later call can be captured in a CUDA graph."""
    weights = moved_matrix(handle, dtype, shape, data)
    if handle.backend.capturing():
        GRAPHS[id(weights)] = weights
    return weights


def spread(rows: Any, weights: Any, matrix: Any) -> Any:
    """`rows @ weights.T`, where an infinity or NaN reaches only those elements that look at it, as `matrix` tells."""
    finite = np.isfinite(rows)
    out, rest = np.where(finite, rows, 0) @ weights.T, np.where(finite, 0, rows)
    for i in np.flatnonzero(~finite.reshape(-1, rows.shape[-1]).all(axis=0)):
        for o in np.flatnonzero(matrix[:, i]):
            out[..., o] += rest[..., i] * weights[o, i]
    return out


class Resample(Node):
    """The products themselves, as a formula uses them."""

    kernel = "resample"
    refuses = ""
    keeps_format = True  # a channels-last input gives a channels-last result

    @staticmethod
    def values(x: Any, matrices: Matrices) -> Any:
        handle = device_like(x)  # the matrices are computed on the CPU
        for dim, matrix in zip(range(-len(matrices), 0), matrices, strict=True):
            if matrix is None:
                continue
            weights = as_dtype(np.where(abs(matrix) > LOOKED_AT, matrix, 0), x.dtype)
            if not is_host(handle):
                weights = matrix_on(handle, x.dtype, matrix.shape, weights.tobytes())
            rows = x if dim == -1 else np.moveaxis(x, dim, -1)
            y = rows @ weights.T
            if type(y) is np.ndarray and not np.isfinite(np.add.reduce(y, None)):
                y = spread(rows, weights, matrix)
            x = y if dim == -1 else np.moveaxis(y, -1, dim)
        return np.ascontiguousarray(x, like=x)

    @classmethod
    def forward(cls, a: Tensor, matrices: Matrices, *shown: Any) -> Tensor:
        """The op on a Tensor; `shown` are the arguments from which the matrices were computed."""
        check_kind(a.array, cls.refuses, cls.kernel)
        y = widely(Resample.values, cls.kernel, a.array, matrices)
        return record1(cls, in_format_of(y, a.array) if cls.keeps_format else y, a, (a,) if cls.saves else (),
                       (matrices, *shown))

    def backward(self, xp: Any, g: Any, *saved: Any) -> Any:
        matrices = saved[len(self.saves)]
        of_input = xp.apply(Resample, g, tuple([None if m is None else m.T for m in matrices]))
        return xp.apply(backward_of(type(self)), of_input, saved[0]) if self.saves else of_input


def resampling(module: str, name: str, kernel: str, keeps_format: bool = True, saved: tuple[str, ...] = (),
               shown: tuple[str, ...] = (), refuses: str = "") -> type[Resample]:
    """The op of this name in a module; `kernel` is its name in PyTorch's errors, `shown` the names its nodes show, and
    `refuses` the kinds of floats that it does not accept (see `check_kind`)."""
    class Op(Resample, name=name):
        saves, constants = saved, ("", *shown)
    Op.kernel, Op.keeps_format, Op.refuses, Op.__module__ = kernel, keeps_format, refuses, module
    return Op
