"""Adds to a `.grad`, or lays out a new one in memory, for `AccumulateGrad.accumulate` in graph.py.

Mirrors PyTorch's `accumulate_grad.h`.
"""

from typing import Any

import numpy as np

from minigrad._base.tensor_errors import mismatch
from minigrad.backends.registry import BACKEND_OF
from minigrad.core.saved import WRITTEN_TWICE, refuse_outside_inference_mode
from minigrad.core.tensor import Tensor, counter_of

__all__ = ["add_in_place", "repeats", "with_layout_of"]


def add_in_place(total: Tensor, grad: Any) -> None:
    """Add an array to a `.grad` that is there already, and increment its version."""
    refuse_outside_inference_mode(total)
    counter = counter_of(total)
    if counter.before_write is not None:
        counter.before_write()
    if isinstance(total.array, np.generic) and not grad.shape:
        total.array = total.array + grad
    elif repeats(total.array):
        raise RuntimeError(WRITTEN_TWICE)
    else:
        try:
            total.array += grad if total.array.shape or not grad.shape else np.add(total.array, grad, np.empty(()))
        except ValueError:  # the leaf has got another shape
            raise RuntimeError(mismatch(total.array.shape, grad.shape)) from None
    counter.value += 1


def with_layout_of(leaf: Any, grad: Any, can_steal: bool) -> Any:
    """Return an array to be the `.grad` of a leaf, laid out as PyTorch's "gradient layout contract" says.

    It is in row-major order, or has the strides of a leaf that is dense in another order. `grad` itself is returned if
    the caller owns it (`can_steal`) and it is laid out like this already, else a copy.
    """
    backend = BACKEND_OF.get(type(grad))
    if backend is not None:  # the copy belongs on the device of the gradient, which need not be the one in use
        with backend.on(backend.index_of(grad)):
            return copy_with_layout(leaf, grad, can_steal)
    return copy_with_layout(leaf, grad, can_steal)


def copy_with_layout(leaf: Any, grad: Any, can_steal: bool) -> Any:
    """`with_layout_of` on the device in use."""
    if not leaf.flags.c_contiguous:
        result = np.empty_like(leaf, grad.dtype)
        if result.strides == leaf.strides:
            if can_steal and grad.strides == leaf.strides:
                return grad
            result[...] = grad
            return result
    return grad if can_steal and grad.flags.c_contiguous else grad.copy()


def repeats(array: Any) -> bool:
    """Return whether several elements of an array are at one place in memory, as in the result of `expand`."""
    return array.size > 0 and any(step == 0 and n > 1 for n, step in zip(array.shape, array.strides, strict=True))
