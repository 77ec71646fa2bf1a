"""Convolutions as loops: what the op does with columns of windows and a product, these do without copies of windows.

A picture is laid out as one line with zeros around it, P elements for each of its rows. Then the windows of neighbours
in the result are neighbours in the line, each tap of a kernel is the line at a distance that is known, and the loop
over a whole picture is one that vectors are made of. What comes out between two rows of the result is left behind.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from minigrad.compiler.program import Memory, View
from minigrad.compiler.tracer import Active, Traced, fresh, plain
from minigrad.ops.nn.conv import Convolve, ConvolveInput, ConvolveWeight, flipped, unstrided
from minigrad.ops.nn.windows import Window

__all__ = ["whole"]

MOST_TAPS = 25
FORWARD = """\
def loop(x1, x2, y1, z1, z2):
    z1[:] = {zero}
    for n in range({N}):
        for c in range({C}):
            for i in range({H}):
                for j in range({W}):
                    z1[{S} * c + {P} * i + j + {start}] = x1[{CHW} * n + {HW} * c + {W} * i + j]
        for o in range(0, {O}, {B}):
            z2[:] = {zero}
            for c in range({C}):
{weights}
                for p in range({L}):
{taps}
{sums}
            for i in range({I}):
                for j in range({J}):
{results}
"""
WEIGHT = """\
def loop(x1, x2, y1, z1, z2):
    y1[:] = {zero}
    z1[:] = {zero}
    z2[:] = {zero}
    for n in range({N}):
        for c in range({C}):
            for i in range({H}):
                for j in range({W}):
                    z1[{S} * c + {P} * i + j + {start}] = x2[{CHW} * n + {HW} * c + {W} * i + j]
        for o in range({O}):
            for i in range({I}):
                for j in range({J}):
                    z2[{P} * i + j] = x1[{OIJ} * n + {IJ} * o + {J} * i + j]
            for c in range({C}):
{zeros}
                for p in range({L}):
                    s = z2[p]
{sums}
{results}
"""


class ConvolutionLoop:
    """The loop of a convolution (`of_weight`: of what goes back to its weights), with its sizes in the text."""

    def __init__(self, x: Any, w: Any, window: Window, dtype: Any, of_weight: bool) -> None:
        (n, c, h, width), (o, _, kh, kw) = x, w
        ph, pw = window.padding
        out_h, out_w = window.out((h, width))
        p = width + 2 * pw
        self.dtype, self.length, self.line = dtype, out_h * p, (h + 2 * ph) * p + kw
        self.channels, self.block = c, 2 if o % 2 == 0 else 1
        self.of_weight = of_weight
        sizes = {"N": n, "C": c, "H": h, "W": width, "O": o, "I": out_h, "J": out_w, "P": p, "S": self.line,
                 "L": self.length, "B": self.block, "HW": h * width, "CHW": c * h * width, "IJ": out_h * out_w,
                 "OIJ": o * out_h * out_w, "start": ph * p + pw, "zero": f"{dtype.name}(0)"}
        taps = [(k, i * p + j) for k, (i, j) in enumerate(itertools.product(range(kh), range(kw)))]
        lines = self.weight_lines if of_weight else self.forward_lines
        self.text = self.code = (WEIGHT if of_weight else FORWARD).format(**sizes, **lines(sizes, taps))

    def forward_lines(self, sizes: dict[str, Any], taps: list[tuple[int, int]]) -> dict[str, str]:
        """What depends on the number of taps, for results of as many channels at a time as a block has."""
        blocks, count = range(self.block), len(taps)
        return {
            "weights": lines(16, [f"w{b}_{k} = x2[{count} * ({sizes['C']} * (o + {b}) + c) + {k}]"
                                  for b in blocks for k, _ in taps]),
            "taps": lines(20, [f"v{k} = z1[{sizes['S']} * c + p + {at}]" for k, at in taps]),
            "sums": lines(20, [f"z2[{sizes['L'] * b} + p] += " + " + ".join([f"w{b}_{k} * v{k}" for k, _ in taps])
                               for b in blocks]),
            "results": lines(20, [f"y1[{sizes['OIJ']} * n + {sizes['IJ']} * (o + {b}) + {sizes['J']} * i + j] = "
                                  f"z2[{sizes['L'] * b} + {sizes['P']} * i + j]" for b in blocks])}

    def weight_lines(self, sizes: dict[str, Any], taps: list[tuple[int, int]]) -> dict[str, str]:
        count = len(taps)
        return {
            "zeros": lines(16, [f"a{k} = {sizes['zero']}" for k, _ in taps]),
            "sums": lines(20, [f"a{k} = plus(a{k}, s * z1[{sizes['S']} * c + p + {at}])" for k, at in taps]),
            "results": lines(16, [f"y1[{count} * ({sizes['C']} * o + c) + {k}] += a{k}" for k, _ in taps])}

    def kinds(self) -> tuple[Any, ...]:
        return (self.dtype,) * 5

    def scratch(self) -> list[View]:
        """The line of a picture, and what is added up for one."""
        return [flat(Memory(np.empty(n, self.dtype), "temporary"), self.dtype) for n in (
            self.channels * self.line, self.length * (1 if self.of_weight else self.block))]


def lines(indent: int, found: list[str]) -> str:
    return "\n".join([" " * indent + line for line in found])


def flat(memory: Memory, dtype: Any, offset: int = 0, size: int | None = None) -> View:
    """Contiguous elements of a memory as one line."""
    return View(memory, (memory.nbytes // dtype.itemsize if size is None else size,), (dtype.itemsize,), offset, dtype)


def whole(function: Any, a: Any, b: Any, window: Window, *size: Any) -> Any:
    """A convolution as one statement; None if there is no loop for it."""
    if not isinstance(a, Traced) or not isinstance(b, Traced) or not plain_window(a, b, window):
        return None
    if function is ConvolveInput.values:
        back = unstrided(window)
        if min(back.padding) < 0 or back.out(a.shape[2:]) != tuple(size[0][2:]):
            return None
        return whole(Convolve.values, a, flipped(b, 1).copy(), back)
    of_weight = function is ConvolveWeight.values
    x, w = (b.shape, size[0]) if of_weight else (a.shape, b.shape)
    loop = ConvolutionLoop(x, w, window, a.dtype, of_weight)
    reads = [view if view.contiguous else t.copy().view_of() for t in (a, b) for view in (t.view_of(),)]
    out = fresh(function(plain(a), plain(b), window, *size))
    args = [flat(v.memory, v.dtype, v.offset, v.size) for v in reads]
    Active.trace.add("loop", "loop", loop, args, [out])
    statement = Active.trace.statements[-1]
    statement.outs = (flat(out.memory, out.dtype), *loop.scratch())
    return out


def plain_window(a: Traced, b: Traced, window: Window) -> bool:
    """Whether a window moves by one over pictures of two dimensions, and is small."""
    return (len(window.kernel) == 2 and set(window.stride) == set(window.dilation) == {1} and window.groups == 1
            and window.counts is None and window.kernel[0] * window.kernel[1] <= MOST_TAPS
            and a.dtype == b.dtype and a.dtype.kind == "f" and a.dtype.itemsize > 2 and a.size > 0 and b.size > 0)
