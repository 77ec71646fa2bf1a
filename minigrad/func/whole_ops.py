"""What `vmap` makes of convolutions and pools: one call for all examples, in place of the many that they consist of.

The rules of `batched_rules.py` do for any op, but each call to NumPy pays for its rule. A pool makes a dozen calls for
each position of its kernel, and its dimensions before the pictures are free: one more makes no difference to it. A
convolution has a dimension for examples, where weights are the same for all; otherwise each example is a group of
channels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends.batched import Batched, Level, batched_at, innermost
from minigrad.backends.batched_rules import whole
from minigrad.backends.registry import is_array
from minigrad.ops._dispatch import widened
from minigrad.ops.nn.conv import Convolve, ConvolveInput, ConvolveWeight
from minigrad.ops.nn.fold import Window, columns
from minigrad.ops.nn.pooling import MaxPoolBackward, Taken, greatest

__all__ = ["WHOLE_OPS"]

Shape = tuple[int, ...]


def with_leading_dimensions(function: Callable[..., Any], *args: Any) -> Any:
    """A function that takes any dimensions before those that it works on."""
    level = innermost(args)
    assert level is not None
    return Batched(function(*[whole(each, level) if is_array(each) else each for each in args]), level)


# ---- Convolutions of x (N, C, …) by w (O, C / groups, *kernel), with a gradient g (N, O, *out); B examples of them.
def merged(x: Any) -> Any:
    """(B, N, …) as (B N, …)."""
    return x.reshape((x.shape[0] * x.shape[1], *x.shape[2:]))


def grouped(x: Any) -> Any:
    """(B, N, C, …) as (N, B C, …)."""
    value = np.moveaxis(x, 0, 1)
    return value.reshape((len(value), value.shape[1] * value.shape[2], *value.shape[3:]))


def apart(y: Any, level: Level) -> Any:
    """(N, B C, …) as a batch of (N, C, …)."""
    return Batched(np.moveaxis(y.reshape((len(y), level.size, y.shape[1] // level.size, *y.shape[2:])), 1, 0), level)


def by_weights(function: Callable[..., Any], x: Any, w: Any, window: Window, *size: Shape) -> Any:
    """A convolution by weights, or its input's gradient, which is one as well: `size` is that of an example."""
    level = innermost((x, w))
    assert level is not None
    if not level.size:
        return None
    if batched_at(w, level):
        lengths = [(n, level.size * c, *rest) for n, c, *rest in size]
        return apart(function(grouped(whole(x, level)), merged(w.value), many(window, level), *lengths), level)
    lengths = [(level.size * n, *rest) for n, *rest in size]
    y = function(merged(x.value), w, window, *lengths)
    return Batched(y.reshape((level.size, len(y) // level.size, *y.shape[1:])), level)


def of_weights(g: Any, x: Any, window: Window, size: Shape) -> Any:
    """The gradient of the weights, which differs between examples."""
    level = innermost((g, x))
    assert level is not None
    if not level.size:
        return None
    g, x = whole(g, level), whole(x, level)
    if g.shape[1] == 1:  # one picture in each example: its windows times its gradient, without a detour
        groups, channels, outputs = level.size * window.groups, size[1:], size[0] // window.groups
        count = math.prod(g.shape[3:])
        windows = columns(widened(x[:, 0]), window).reshape((groups, math.prod(channels), count))
        y = np.matmul(widened(g[:, 0]).reshape((groups, outputs, count)), windows.swapaxes(1, 2))
        return Batched(as_dtype(y.reshape((level.size, *size)), g.dtype, copy=False), level)
    lengths = (level.size * size[0], *size[1:])
    y = ConvolveWeight.values(grouped(g), grouped(x), many(window, level), lengths)
    return Batched(y.reshape((level.size, *size)), level)


def many(window: Window, level: Level) -> Window:
    """A window with the groups of all examples."""
    return window._replace(groups=window.groups * level.size)


WHOLE_OPS: dict[Any, Callable[..., Any]] = {  # rules by the function that each replaces
    **{each: functools.partial(with_leading_dimensions, each)
       for each in (greatest, MaxPoolBackward.values, Taken.values)},
    **{each: functools.partial(by_weights, each) for each in (Convolve.values, ConvolveInput.values)},
    ConvolveWeight.values: of_weights,
}
