"""Writes to a tensor of which several elements lie in one place: the result of `expand`, or windows that overlap.

Most in-place ops refuse an expanded tensor. Those that write some of its elements take it, with a warning or without.
They write these elements one after another, and no others: what is copied back to an element that the op left alone
would undo what was written to its place.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.warnings import warn
from minigrad.backends.numpy import add_at
from minigrad.core import LOCAL, Tensor, plain
from minigrad.core.accumulate import repeats
from minigrad.core.grad_mode import switch
from minigrad.core.saved import WRITTEN_TWICE

__all__ = ["check_overlap", "write_some"]

DEPRECATED = ("Use of {} on expanded tensors is deprecated. Please clone() the tensor before performing this "
              "operation. This also applies to advanced indexing e.g. tensor[{}")
INDEX_PUT, MASKED_FILL, INDEX_FILL = [
    DEPRECATED.format(*of) for of in (("index_put_", "indices] = tensor"), ("masked_fill_", "mask] = scalar"),
                                      ("index_fill_", "mask] = scalar"))]
WARNINGS = {"IndexPut.forward": INDEX_PUT, "index_put": INDEX_PUT, "masked_fill": MASKED_FILL, "index_fill": INDEX_FILL}
WITHOUT_WARNING = ("tril", "triu")
ADD = ("index_add", "scatter_add")
NOT_EXPANDED = ("scatter", "put", "index_copy", "masked_scatter", *ADD)
WRITE_SOME = {*WARNINGS, *WITHOUT_WARNING, *NOT_EXPANDED}


def check_overlap(target: Any, name: str, args: tuple[Any, ...]) -> None:
    """What PyTorch says of an op that writes into an expanded tensor.

    Raises:
        RuntimeError: if it is none that writes only some elements.
    """
    if not repeats(target):
        return
    if name not in WARNINGS and name not in WITHOUT_WARNING:
        raise RuntimeError(WRITTEN_TWICE)
    if name in WARNINGS:
        warn(WARNINGS[name])
    if WARNINGS.get(name) == INDEX_PUT:
        value, index, accumulate = put_arguments(name, args)
        arrays = [i for i in index if isinstance(i, np.ndarray)]
        if value.size == 1 and not accumulate and [i.dtype.kind for i in arrays] == ["b"]:
            warn(MASKED_FILL)  # which PyTorch then calls


def overlaps(array: Any) -> bool:
    """Whether several elements may lie in one place in memory."""
    if array.flags.c_contiguous or type(array) is not np.ndarray or not array.size:
        return False
    end = 0
    for step, n in sorted((abs(step), n) for step, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if step <= end:
            return True
        end += step * (n - 1)
    return False


def put_arguments(name: str, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], bool]:
    """What an index_put writes, where, and whether it adds."""
    if name == "index_put":
        indices, value, *accumulate = args
        index = tuple([i.array for i in indices])
    else:
        value, index, _, *accumulate = args
        index = index if isinstance(index, tuple) else (index,)
    return value.array if isinstance(value, Tensor) else np.asarray(value), index, any(accumulate)


def write_some(forward: Callable[..., Tensor], target: Any, args: tuple[Any, ...], options: Any, result: Any) -> None:
    """Write `result`, which `forward` gave, into `target`: where elements overlap, only those that it changes."""
    name = forward.__qualname__
    if name not in WRITE_SOME or not overlaps(target):
        target[...] = result
        return
    if WARNINGS.get(name) == INDEX_PUT:
        value, index, accumulate = put_arguments(name, (*args, *options.values()))
        value = value.astype(target.dtype, copy=False)
        if accumulate:
            add_at(target, index, value)
        else:
            target[index] = value
        return
    grad_enabled = LOCAL.grad_enabled
    try:
        switch(False)
        zeros, ones = [forward(plain(make(target.shape, target.dtype)), *args, **options).array
                       for make in (np.zeros, np.ones)]
    finally:
        switch(grad_enabled)
    if name in ADD:
        added = np.nonzero(zeros)
        add_at(target, added, zeros[added])
    else:
        written = ~((zeros == 0) & (ones == 1))  # it does not depend on what was there
        target[written] = result[written]
