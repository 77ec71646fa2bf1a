"""Convolutions as loops: what the op does with columns of windows and a product, these do without copies of windows.

Pictures are laid out as one line, one row after the other and one picture after the other, with zeros between them.
Then the windows of neighbours in the result are neighbours in the line, each tap of a kernel is the line at a distance
that is known, and the loop over whole pictures is one that vectors are made of. What comes out between two rows of the
result is left behind. Small pictures are put together, so that the line is long enough for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.compiler.program import Memory, View
from minigrad.compiler.tracer import Active, Traced, fresh, plain
from minigrad.ops.nn.conv import Convolve, ConvolveInput, ConvolveWeight, flipped, unstrided
from minigrad.ops.nn.windows import Window

__all__ = ["convolved", "flat", "lines", "noted"]

MOST_TAPS = 25
PICTURES = """\
    for n in range(0, {N}, {M}):
        for c in range({C}):
            for m in range({M}):
                for i in range({H}):
                    for j in range({W}):
                        z1[{S} * c + {Q} * m + {P} * i + j + {start}] = {x}[{CHW} * (n + m) + {HW} * c + {W} * i + j]
"""
FORWARD = """\
def loop(x1, x2, y1, z1, z2):
    z1[:] = {zero}
""" + PICTURES + """\
        for o in range(0, {O}, {B}):
            z2[:] = {zero}
            for c in range({C}):
{weights}
                for p in range({L}):
{taps}
{sums}
            for m in range({M}):
                for i in range({I}):
                    for j in range({J}):
{results}
"""
WEIGHT = """\
def loop(x1, x2, y1, z1, z2):
    y1[:] = {zero}
    z1[:] = {zero}
    z2[:] = {zero}
""" + PICTURES + """\
        for o in range(0, {O}, {B}):
            for m in range({M}):
                for i in range({I}):
                    for j in range({J}):
{slopes}
            for c in range({C}):
{zeros}
                for p in range({L}):
{sums}
{results}
"""
CACHE = 4096  # elements of a line with all channels, so that it stays in the first cache


class ConvolutionLoop:
    """The loop of a convolution (`of_weight`: of what goes back to its weights), with its sizes in the text."""

    def __init__(self, x: Any, w: Any, window: Window, dtype: Any, of_weight: bool) -> None:
        (n, c, h, width), (o, _, kh, kw) = x, w
        ph, pw = window.padding
        out_h, out_w = window.out((h, width))
        p, between = width + pw, (h + ph) * (width + pw)
        together = 1
        while n % (2 * together) == 0 and 2 * together * between * c <= CACHE:
            together *= 2
        self.dtype, self.channels, self.block = dtype, c, 2 if o % 2 == 0 else 1
        self.length, self.line = ((together - 1) * (h + ph) + out_h) * p, together * between + (ph + 1) * p + pw + kw
        sizes = {"N": n, "C": c, "H": h, "W": width, "O": o, "I": out_h, "J": out_w, "M": together, "P": p,
                 "Q": between, "S": self.line, "L": self.length, "B": self.block, "HW": h * width, "CHW": c * h * width,
                 "IJ": out_h * out_w, "OIJ": o * out_h * out_w, "start": ph * p + pw, "zero": f"{dtype.name}(0)",
                 "x": "x2" if of_weight else "x1"}
        taps = [(k, i * p + j) for k, (i, j) in enumerate(itertools.product(range(kh), range(kw)))]
        written = self.weight_lines if of_weight else self.forward_lines
        self.text = self.code = (WEIGHT if of_weight else FORWARD).format(**sizes, **written(sizes, taps))

    def forward_lines(self, sizes: dict[str, Any], taps: list[tuple[int, int]]) -> dict[str, str]:
        """What depends on the number of taps, for results of as many channels at a time as a block has."""
        blocks, count = range(self.block), len(taps)
        return {
            "weights": lines(16, [f"w{b}_{k} = x2[{count} * ({sizes['C']} * (o + {b}) + c) + {k}]"
                                  for b in blocks for k, _ in taps]),
            "taps": lines(20, [f"v{k} = z1[{sizes['S']} * c + p + {at}]" for k, at in taps]),
            "sums": lines(20, [f"z2[{sizes['L'] * b} + p] += " + " + ".join([f"w{b}_{k} * v{k}" for k, _ in taps])
                               for b in blocks]),
            "results": lines(24, [f"y1[{sizes['OIJ']} * (n + m) + {sizes['IJ']} * (o + {b}) + {sizes['J']} * i + j] = "
                                  f"z2[{sizes['L'] * b} + {sizes['Q']} * m + {sizes['P']} * i + j]" for b in blocks])}

    def weight_lines(self, sizes: dict[str, Any], taps: list[tuple[int, int]]) -> dict[str, str]:
        blocks, count = range(self.block), len(taps)
        return {
            "slopes": lines(24, [f"z2[{sizes['L'] * b} + {sizes['Q']} * m + {sizes['P']} * i + j] = "
                                 f"x1[{sizes['OIJ']} * (n + m) + {sizes['IJ']} * (o + {b}) + {sizes['J']} * i + j]"
                                 for b in blocks]),
            "zeros": lines(16, [f"a{b}_{k} = {sizes['zero']}" for b in blocks for k, _ in taps]),
            "sums": lines(20, [f"s{b} = z2[{sizes['L'] * b} + p]" for b in blocks] + [
                line for k, at in taps for line in (
                    f"v = z1[{sizes['S']} * c + p + {at}]",
                    *[f"a{b}_{k} = plus(a{b}_{k}, s{b} * v)" for b in blocks])]),
            "results": lines(16, [f"y1[{count} * ({sizes['C']} * (o + {b}) + c) + {k}] += a{b}_{k}"
                                  for b in blocks for k, _ in taps])}

    def kinds(self) -> tuple[Any, ...]:
        return (self.dtype,) * 5

    def scratch(self) -> list[View]:
        """The line of a picture, and what is added up for one."""
        return [flat(Memory(np.empty(n, self.dtype), "temporary"), self.dtype) for n in (
            self.channels * self.line, self.length * self.block)]


def lines(indent: int, found: list[str]) -> str:
    return "\n".join([" " * indent + line for line in found])


def flat(memory: Memory, dtype: Any, offset: int = 0, size: int | None = None) -> View:
    """Contiguous elements of a memory as one line."""
    return View(memory, (memory.nbytes // dtype.itemsize if size is None else size,), (dtype.itemsize,), offset, dtype)


def convolved(function: Any, a: Any, b: Any, window: Window, *size: Any) -> Any:
    """A convolution as one statement; None if there is no loop for it."""
    if not isinstance(a, Traced) or not isinstance(b, Traced) or not plain_window(a, b, window):
        return None
    if function is ConvolveInput.values:
        back = unstrided(window)
        if min(back.padding) < 0 or back.out(a.shape[2:]) != tuple(size[0][2:]):
            return None
        return convolved(Convolve.values, a, flipped(b, 1).copy(), back)
    of_weight = function is ConvolveWeight.values
    x, w = (b.shape, size[0]) if of_weight else (a.shape, b.shape)
    loop = ConvolutionLoop(x, w, window, a.dtype, of_weight)
    return noted(loop, (a, b), function(plain(a), plain(b), window, *size), loop.scratch())


def noted(loop: Any, reads: Sequence[Traced], result: Any, scratch: Sequence[View] = ()) -> Traced:
    """Note a loop as one statement; gives its result."""
    views = [(x if x.view_of().contiguous else x.copy()).view_of() for x in reads]
    out = fresh(result)
    Active.trace.add("loop", "loop", loop, [flat(v.memory, v.dtype, v.offset, v.size) for v in views], [out])
    Active.trace.statements[-1].outs = (flat(out.memory, out.dtype), *scratch)
    return out


def plain_window(a: Traced, b: Traced, window: Window) -> bool:
    """Whether a window moves by one over pictures of two dimensions, and is small."""
    return (len(window.kernel) == 2 and set(window.stride) == set(window.dilation) == {1} and window.groups == 1
            and window.counts is None and all(p < k for p, k in zip(window.padding, window.kernel))
            and window.kernel[0] * window.kernel[1] <= MOST_TAPS and a.dtype == b.dtype and a.dtype.kind == "f"
            and a.dtype.itemsize > 2 and a.size > 0 and b.size > 0)
