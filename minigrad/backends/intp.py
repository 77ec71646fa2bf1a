"""NumPy's functions that find positions, with results in int64 on every platform, as PyTorch's indices are.

NOTE 12 (the size of a position). NumPy finds positions in its `intp`, which has 32 bits under WebAssembly, and some of
its functions accept no wider index. Here is the boundary: an op finds the positions in its result with these functions,
and passes an int64 index to `take` or `repeat` through `as_intp`. Where `intp` has 64 bits, they are NumPy's own, at no
cost. Positions that stay inside an op may have either size: a fancy index accepts both.
"""

from typing import Any

import numpy as np

__all__ = ["argmax", "argmin", "argpartition", "argsort", "argwhere", "as_intp", "bincount", "nonzero", "searchsorted",
           "unique"]

INTP = np.dtype(np.intp)
WIDE = INTP.itemsize == 8


def as_intp(indices: Any) -> Any:
    """An array of indices, for functions of NumPy that accept nothing wider than its own."""
    return indices if WIDE else indices.astype(INTP, copy=False)


def in_int64(found: Any) -> Any:
    """Positions that NumPy found, or a tuple of them, in int64."""
    if isinstance(found, tuple):
        return tuple([in_int64(each) for each in found])
    return found.astype(np.int64) if found.dtype == INTP else found


def widened(function: Any) -> Any:
    """A function of NumPy, with its positions in int64."""
    def call(*args: Any, **options: Any) -> Any:
        return in_int64(function(*args, **options))

    return function if WIDE else call


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """`numpy.bincount`, of int64 too."""
    return in_int64(np.bincount(as_intp(x), weights, minlength))


def unique(x: Any, axis: int | None = None) -> tuple[Any, Any, Any]:
    """The distinct elements or slices, the place of each element among them, and how often each occurs."""
    values, *positions = np.unique(x, return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    inverse, counts = positions if WIDE else map(in_int64, positions)
    return values, inverse, counts


argmax, argmin, argsort, argpartition = map(widened, (np.argmax, np.argmin, np.argsort, np.argpartition))
argwhere, nonzero, searchsorted = map(widened, (np.argwhere, np.nonzero, np.searchsorted))
