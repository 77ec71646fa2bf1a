"""The form of a tensor: its shape and dtype, as one object for all tensors that have the same.

Whether two operands need broadcasting or promotion is the first question of every op with two of them. NumPy makes a
tuple each time it is asked for a shape; to compare two takes a tenth of a small op's time. So a tensor keeps its form
once somebody knows it, an op hands it on where its result has the same, and the question becomes `is`.
"""

from __future__ import annotations

import functools
from math import prod
from typing import Any

import numpy as np

from minigrad.backends.numpy import ONES
from minigrad.backends.registry import OF_TYPE
from minigrad.core.tensor import Tensor

__all__ = ["Form", "common_form", "form_of"]

SMALL, LARGE = 64, 1 << 15  # elements: up to here a number is as good as an array of zeros; up to here they are kept
ZEROS = {np.dtype(name): np.zeros(LARGE, name) for name in ("f2", "f4", "f8", "u1", "i1", "i2", "i4", "i8")}
for flat in ZEROS.values():
    flat.flags.writeable = False


class Form:
    """A shape and a NumPy dtype, and on another device than the CPU the `kind` of array.

    `zeros`, read-only, are what relu compares with: 0-d for a `small` form, for larger ones of its shape, since NumPy
    has fast code for the maximum of two arrays, but not of a number and an array (twice the time at 64 × 64, three
    times at 1024 × 1024); None where they would be too large to keep, on other devices, and for bool, which has no zero
    to compare with. `ones`: what a sum of all elements is a product with, None where it is no such product.
    """

    __slots__ = ("dtype", "ones", "shape", "small", "zeros")

    def __init__(self, shape: tuple[int, ...], dtype: Any, kind: Any) -> None:
        self.shape, self.dtype, self.zeros = shape, dtype, None
        size = prod(shape)
        self.small = size < SMALL
        ones = ONES.get(dtype, ()) if kind is None else ()
        self.ones = ones[:size] if 1 < size <= len(ones) else None
        if dtype in ZEROS and kind is None and size <= LARGE:
            flat = ZEROS[dtype]
            self.zeros = flat[0] if not shape else flat[:1].reshape(()) if self.small else flat[:size].reshape(shape)


form_for = functools.lru_cache(maxsize=1024)(Form)


def kind_of(array: Any) -> Any:
    """The type of an array that is not NumPy's, else None."""
    return type(array) if type(array) in OF_TYPE else None


def form_of(a: Tensor) -> Form:
    """The form of a tensor, which keeps it."""
    form: Form | None = a._form
    if form is None:
        form = a._form = form_for(a.array.shape, a.array.dtype, kind_of(a.array))
    return form


def common_form(a: Tensor, b: Tensor) -> Form | None:
    """The form of two tensors that have the same, which keep it; None where they have not."""
    x, y = a.array, b.array
    if x.shape != y.shape or x.dtype is not y.dtype or (kind := kind_of(x)) is not kind_of(y):
        return None
    form = a._form = b._form = form_for(x.shape, x.dtype, kind)
    return form
