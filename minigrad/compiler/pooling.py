"""Maximum pools as loops, for windows that lie side by side: each element is read once."""

from __future__ import annotations

import itertools
import math
from typing import Any

from minigrad.compiler.convolution import convolved, lines, noted
from minigrad.compiler.tracer import Traced, plain
from minigrad.ops.nn.conv import Convolve, ConvolveInput, ConvolveWeight
from minigrad.ops.nn.pool import MaxPoolBackward, greatest
from minigrad.ops.nn.windows import Window

__all__ = ["whole"]

POOL = """\
def loop(x1, y1):
    for i in range({rows}):
        for j in range({J}):
{reads}
            y1[{J} * i + j] = {greatest}
"""
BACKWARD = """\
def loop(x1, x2, x3, y1):
    for i in range({rows}):
        for j in range({J}):
            g = x1[{J} * i + j]
            top = x3[{J} * i + j]
            broken = top != top
            free = True
{takers}
"""


class PoolLoop:
    """The loop of a pool over two dimensions, or of what goes back (`backward`: to the first that is the greatest)."""

    def __init__(self, shape: Any, window: Window, dtype: Any, backward: bool) -> None:
        (kh, kw), (h, width) = window.kernel, shape[-2:]
        self.dtype, self.backward = dtype, backward
        places = [f"{kh * width} * i + {kw} * j + {k * width + m}" for k, m in itertools.product(range(kh), range(kw))]
        values = [f"v{k + 1}" for k in range(len(places))]
        sizes = {"rows": math.prod(shape[:-2]) * (h // kh), "J": width // kw}
        nested = values[0]
        for value in values[1:]:
            nested = f"maximum({nested}, {value})"
        takers = []
        for place in places:
            takers += [f"v = x2[{place}]", "taken = free & ((v == top) | (broken & (v != v)))",
                       f"y1[{place}] = select(taken, g, {dtype.name}(0))", "free = free ^ taken"]
        self.text = self.code = (BACKWARD if backward else POOL).format(
            **sizes, greatest=nested, takers=lines(12, takers[:-1]),
            reads=lines(12, [f"{value} = x1[{place}]" for value, place in zip(values, places)]))

    def kinds(self) -> tuple[Any, ...]:
        return (self.dtype,) * (4 if self.backward else 2)


def side_by_side(x: Any, window: Window) -> bool:
    """Whether windows of a pool cover an array of floats, and none overlaps another."""
    return (isinstance(x, Traced) and len(window.kernel) == 2 and window.kernel == window.stride
            and set(window.padding) == {0} and set(window.dilation) == {1} and x.dtype.kind == "f"
            and x.dtype.itemsize > 2 and x.size > 0 and math.prod(window.kernel) <= 16
            and all(n % k == 0 for n, k in zip(x.shape[-2:], window.kernel)))


def whole(function: Any, *args: Any) -> Any:
    """What a function of an op gives, as one statement; None if there is no loop for it."""
    if function in (Convolve.values, ConvolveInput.values, ConvolveWeight.values):
        return convolved(function, *args)
    if function is greatest and side_by_side(args[0], args[1]):
        x, window, _ = args
        return noted(PoolLoop(x.shape, window, x.dtype, False), [x], greatest(plain(x), *args[1:]))
    if function is MaxPoolBackward.values and side_by_side(args[1], args[3]):
        g, x, y, window = args
        if isinstance(g, Traced) and isinstance(y, Traced) and g.dtype == x.dtype:
            result = function(plain(g), plain(x), plain(y), window)
            return noted(PoolLoop(x.shape, window, x.dtype, True), [g, x, y], result)
    return None
