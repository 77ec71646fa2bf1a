"""Least squares: the `x` that minimises `|a @ x - b|`, and the shortest of those."""

from typing import Any

import numpy as np

from minigrad import return_types
from minigrad._base.dtype import as_dtype
from minigrad.core import Tensor, plain, record_many
from minigrad.ops._dispatch import broadcast_shape, same_device
from minigrad.ops.linalg.checks import LinAlgError
from minigrad.ops.linalg.matrices import Factors, mT
from minigrad.ops.linalg.spectral import LinalgSvd, of_inverse, pinv
from minigrad.ops.shape.views import expand

__all__: list[str] = []  # torch.linalg.lstsq

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


class Inverted:
    """The pseudo-inverse inside a formula."""

    @staticmethod
    def values(x: Any) -> Any:
        return pinv(plain(x)).array

    forward = staticmethod(pinv)


class LinalgLstsq(Factors):
    """The solution, and the sums of squared residuals."""

    saves = ("self", "b", "solution")
    results = (0, 0, 0)

    @staticmethod
    def forward(a: Tensor, b: Tensor, x: Any, left: Any, vector: bool) -> tuple[Tensor, ...]:
        return record_many(LinalgLstsq, (x, left), (a, b), (vector,), saved=(a, b, x))

    def backward(self, xp: Any, gs: list[Any], a: Any, b: Any, x: Any, vector: bool) -> tuple[Any, Any]:
        g, left = gs
        shape, of_a, of_b = b.shape, None, None
        if vector:
            g, b, x = [v if v is None else xp.reshape(v, (*v.shape, 1)) for v in (g, b, x)]
        if g is not None:
            p = xp.apply(Inverted, a)
            of_a = of_inverse(xp, xp.matmul(g, mT(xp, b)), a, p)
            of_b = xp.matmul(mT(xp, p), g)
        if left is not None and left.shape != (0,):
            over = 2 * (xp.matmul(a, x) - b) * xp.reshape(left, (*left.shape[:-1], 1, left.shape[-1]))
            more = xp.matmul(over, mT(xp, x))
            of_a, of_b = (more, -over) if of_a is None else (of_a + more, of_b - over)
        return of_a, of_b if of_b is None else xp.reshape(of_b, shape)


def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *,
          driver: str | None = None) -> return_types.linalg_lstsq:
    """The `x` of (…, n, k) that minimises `|input @ x - b|` for (…, m, n) and (…, m, k) or (…, m).

    `residuals`: the sums of squares if m > n and the rank is n, for all drivers but the default, "gelsy".
    `singular_values`: for "gelsd" and "gelss". `rcond`: singular values up to `rcond` times the largest count as 0.

    Raises:
        RuntimeError: if the shapes or dtypes do not fit, or for another driver.
        LinAlgError: if the rank is not full, with "gels".
    """
    vector = check(input, b, driver)
    # PyTorch counts the batch of `b` by the dimensions of `input`, even if `b` is a matrix with one dimension less.
    end, inner = input.array.ndim - 2, b.array.shape[-1 if vector else -2:]
    batch = broadcast_shape(input.array.shape[:end], b.array.shape[:end])
    a = input if input.array.shape[:-2] == batch else expand(input, *batch, *input.array.shape[-2:])
    b = b if b.array.shape == (*batch, *inner) else expand(b, *batch, *inner)
    (m, n), dtype, right = a.array.shape[-2:], a.array.dtype, b.array[..., None] if vector else b.array
    u, s, vh = LinalgSvd.values(a.array)
    bound = np.finfo(dtype).eps * max(m, n) if rcond is None else rcond
    keep = s > bound * s.max(-1, keepdims=True) if s.shape[-1] else s > 0
    rank = keep.sum(-1, dtype=np.int64)
    if driver == "gels" and (rank < min(m, n)).any():
        raise LinAlgError("torch.linalg.lstsq: The least squares solution could not be computed because the input "
                          f"matrix does not have full rank (error code: {int(rank.min()) + 1}).")
    transposed = np.swapaxes(u, -1, -2) @ right
    x = np.swapaxes(vh, -1, -2) @ (np.where(keep, 1 / np.where(keep, s, 1), 0)[..., None] * transposed)
    has_left = driver not in (None, "gelsy") and m > n and bool((rank == n).all())
    left = ((a.array @ x - right) ** 2).sum(-2) if has_left else np.empty(0, dtype, like=s)
    x = as_dtype(x[..., 0] if vector else x, dtype, copy=False)
    return return_types.linalg_lstsq((
        *LinalgLstsq.forward(a, b, x, left, vector),
        plain(np.empty(0, np.int64, like=s) if driver == "gels" else rank),
        plain(s if driver in ("gelsd", "gelss") else np.empty(0, dtype, like=s))))


def check(a: Tensor, b: Tensor, driver: str | None) -> bool:
    """Raise PyTorch's errors for invalid operands; return whether `b` is a vector, or a batch of them."""
    m, n = a.array.ndim, b.array.ndim
    if m < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if n < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if a.array.dtype != b.array.dtype:
        raise RuntimeError("torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
                           f"{a.dtype.type_name} and other's dtype {b.dtype.type_name}")
    if not 0 <= m - n <= 1:
        raise RuntimeError("torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - "
                           "other.dim()) <= 1")
    same_device(a.array, b.array)
    vector = n == 1 or b.array.shape == a.array.shape[:-1]
    if a.array.shape[-2] != b.array.shape[-1 if vector else -2]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    if driver is not None and driver not in DRIVERS:
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if a.array.dtype.name not in ("float32", "float64"):
        raise RuntimeError("This function doesn't handle types other than float and double")
    return vector
