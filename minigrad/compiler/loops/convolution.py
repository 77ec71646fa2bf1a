"""Convolutions as loops: what the op does with columns of windows and a product, these do without copies of windows.

The batch is the last dimension in memory (`last`), so that the loop inside is long: it runs over neighbours in a line
of the result, of all pictures. Each place of a kernel sees the same line of the input, moved by so many elements.
"""

import itertools
import math
from typing import Any

import numpy as np

from minigrad.compiler.program.statements import View
from minigrad.compiler.tracing.trace import Active, TracedArray, new_array, plain
from minigrad.ops.nn.conv import Convolve, ConvolveInput, ConvolveWeight, flipped, unstrided
from minigrad.ops.nn.fold import BatchLast, Window, first, last, padded

FEWEST, MOST_TAPS = 32, 25  # elements of a loop that pays, and places in a kernel whose weights registers hold
FORWARD = """\
def loop(x1, x2, y1):
    y1[:] = {zero}
    for o in range(0, {O}, {B}):
        for c in range({C}):
{weights}
            for i in range({I}):
                for j in range({J}):
                    for n in range({N}):
{taps}
{sums}
"""
WEIGHT = """\
def loop(x1, x2, y1):
    for o in range(0, {O}, {B}):
        for c in range({C}):
{zeros}
            for i in range({I}):
                for j in range({J}):
                    for n in range({N}):
{sums}
{results}
"""


class ConvolutionLoop:
    """The loop of a convolution (`of_weight`: of what goes back to its weights), with its sizes in the text.

    x: the input with its padding, (C, H, W, N); w: (O, C, *kernel); y: the result, (O, I, J, N). A few channels of the
    result at a time read the same elements of the input.
    """

    def __init__(self, x: Any, w: Any, y: Any, window: Window, dtype: Any, of_weight: bool) -> None:
        (_, height, width, n), (o, c, *_), (_, lines, row, _) = x, w, y
        (down, right), (down_tap, right_tap) = window.stride, window.dilation
        self.dtype, blocks, zero = dtype, range(2 if o % 2 == 0 else 1), f"{dtype.name}(0)"
        places = list(enumerate(itertools.product(*map(range, window.kernel))))
        taps = [(k, n * (down_tap * width * i + right_tap * j)) for k, (i, j) in places]
        sizes = {"O": o, "B": len(blocks), "C": c, "I": lines, "J": row, "N": n}
        if right == 1:
            sizes |= {"J": 1, "N": row * n}
        x_at = f"{n * height * width} * c + {n * down * width} * i + {n * right} * j + n"
        y_at = [f"{n * lines * row} * (o + {b}) + {n * row} * i + {n} * j + n" for b in blocks]
        w_at = [f"{len(taps)} * ({c} * (o + {b}) + c)" for b in blocks]
        if of_weight:
            self.code = WEIGHT.format(
                **sizes, zeros=written(12, [f"a{b}_{k} = {zero}" for b in blocks for k, _ in taps]),
                sums=written(24, [f"g{b} = x1[{y_at[b]}]" for b in blocks] + [line for k, at in taps for line in (
                    f"v = x2[{x_at} + {at}]", *[f"a{b}_{k} = plus(a{b}_{k}, g{b} * v)" for b in blocks])]),
                results=written(12, [f"y1[{w_at[b]} + {k}] = a{b}_{k}" for b in blocks for k, _ in taps]))
        else:
            self.code = FORWARD.format(
                **sizes, zero=zero, weights=written(12, [
                    f"w{b}_{k} = x2[{w_at[b]} + {k}]" for b in blocks for k, _ in taps]),
                taps=written(24, [f"v{k} = x1[{x_at} + {at}]" for k, at in taps]),
                sums=written(24, [f"y1[{y_at[b]}] += " + " + ".join([f"w{b}_{k} * v{k}" for k, _ in taps])
                                  for b in blocks]))
        self.text = self.code

    def kinds(self) -> tuple[Any, ...]:
        return (self.dtype,) * 3


def written(indent: int, lines: list[str]) -> str:
    return "\n".join([" " * indent + line for line in lines])


def whole(function: Any, a: Any, b: Any, window: Any, *size: Any) -> Any:
    """A convolution as one loop; None if there is none for it."""
    if function is ConvolveInput.values:
        back = unstrided(window)
        if set(window.stride) != {1} or min(back.padding) < 0 or back.out(a.shape[2:]) != tuple(size[0][2:]):
            return None
        return whole(Convolve.values, a, flipped(b, 1), back) if window.groups == 1 else None
    if function not in (Convolve.values, ConvolveWeight.values) or not (
            isinstance(a, TracedArray) and isinstance(b, TracedArray) and plain_window(a, b, window)):
        return None
    result = function(plain(a), plain(b), window, *size)
    if function is ConvolveWeight.values:
        g, x, out = last(a).copy(), last(padded(b, window.padding)).copy(), new_array(result)
        note(ConvolutionLoop(x.shape, out.shape, g.shape, window, a.dtype, True), g, x, out)
        return out
    x, out = last(padded(a, window.padding)).copy(), new_array(last(result).copy())
    w = b if b.flags.c_contiguous else b.copy()
    note(ConvolutionLoop(x.shape, w.shape, out.shape, window, a.dtype, False), x, w, out)
    return first(out).copy()


def as_product(function: Any, a: Any, b: Any, window: Window, *size: Any) -> Any:
    """A convolution as a product with windows, of which the batch is the last dimension; None for anything else."""
    if function is not Convolve.values or type(a) is not TracedArray or a.dtype.itemsize <= 2 or window.groups > 1:
        return None
    order = BatchLast(window, a.shape[2:])
    columns = order.columns(a).copy()
    return order.pictures(np.matmul(b.reshape(len(b), -1), columns.reshape(b[0].size, -1))).copy()


def note(loop: ConvolutionLoop, a: TracedArray, b: TracedArray, out: TracedArray) -> None:
    """Note a loop as a statement: it takes each array as one line of elements."""
    Active.trace.add("loop", "loop", loop, [flat(a), flat(b)], [out])
    Active.trace.statements[-1].outs = (flat(out),)


def flat(array: TracedArray) -> View:
    view = array.view_of()
    return view._replace(shape=(view.size,), strides=(view.dtype.itemsize,))


def plain_window(a: TracedArray, b: TracedArray, window: Window) -> bool:
    """Whether a window over pictures of two dimensions is small, and there are enough of these."""
    return (len(window.kernel) == 2 and window.groups == 1 and window.counts is None
            and math.prod(window.kernel) <= MOST_TAPS and a.dtype == b.dtype and a.dtype.kind == "f"
            and a.dtype.itemsize > 2 and a.size > 0 and b.size > 0
            and len(a) * (window.out(a.shape[2:])[1] if window.stride[1] == 1 else 1) >= FEWEST)
