"""Copies that keep the order in which elements lie in memory, on backends whose copies know two orders alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["kept"]


def kept(array: Any, copy: Callable[[Any], Any]) -> Any:
    """What `copy` makes of an array, in the order of its strides, as NumPy's order "K" and PyTorch's `preserve_format`:
    a dense array keeps its strides.

    CuPy's "K" for what comes from the host, and its "A", are the order of Fortran or that of C: so `copy` gets the axes
    turned to where the strides fall, row by row in memory if the array was dense, and they are turned back afterwards.
    """
    if array.flags.c_contiguous:
        return copy(array)
    strides = array.strides
    axes = sorted(range(array.ndim), key=lambda axis: -abs(strides[axis]))
    return copy(array.transpose(axes)).transpose([axes.index(axis) for axis in range(array.ndim)])
