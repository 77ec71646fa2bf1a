"""The still picture of the lens "values": boxes with their numbers and gradients, and the operations between them."""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap
from typing import Any

from minigrad_widgets.graph.calculation import ENTRY, ROW, SIGN, Box, Data, gradient, plain, summed
from minigrad_widgets.pictures.sketch import INK, SOFT, Look, Sketch

NAME = 8
BLUE, FACE, LINE = "#005a8e", "#e8f3fa", "#7a828e"


def draw(data: Data, step: int, title: str) -> Sketch:
    """Draw the calculation at a step under a title."""
    found = data["calculation"]
    width, height = found["size"]
    lines = wrap(title, max(30, int((width - 28) / 8)))
    head = 12 + 18 * len(lines)
    sketch = Sketch(0, -head, max(width, 420), height + head)
    for at, line in enumerate(lines):
        sketch.text(14, 18 * at + 18 - head, line, INK, 10)
    for sign in found["signs"]:
        for box, way in zip(sign["inputs"], sign["ways"], strict=True):
            given = found["boxes"][box]
            wire(sketch, [(given["x"] + given["width"] / 2, given["y"]), *way, (sign["x"] - SIGN / 2, sign["y"])])
        for output in (found["boxes"][box] for box in sign["outputs"]):
            wire(sketch, [(sign["x"] + SIGN / 2, sign["y"]), (output["x"] - output["width"] / 2, output["y"])])
        wide = max(SIGN, 10 * len(sign["sign"]) + 14)
        sketch.box(sign["x"], sign["y"], wide, SIGN - 8, SIGN / 2, Look(LINE, "#ffffff", 1.2))
        sketch.text(sign["x"], sign["y"], sign["sign"], INK, 12 if len(sign["sign"]) < 3 else 10, align="center")
    for each in found["boxes"]:
        box_at(sketch, data, each, step)
    return sketch


def shorten(name: str, most: int) -> str:
    """Return a name with a mark in place of what does not fit."""
    return name if len(name) <= most else f"{name[:most - 1]}…"


def wire(sketch: Sketch, points: list[Any]) -> None:
    """Draw a line from left to right, level where it passes a point."""
    steps = [points[0]]
    for (ax, ay), (bx, by) in pairwise(points):
        steps += [((ax + bx) / 2, ay), ((ax + bx) / 2, by), (bx, by)]
    x, y = points[-1]
    sketch.curve(steps, Look(LINE, width=1.1))
    sketch.line([(x - 7, y - 4), (x - 1, y), (x - 7, y + 4)], Look(LINE, width=1.1))


def box_at(sketch: Sketch, data: Data, box: Box, step: int) -> None:
    """Draw a box: its name and numbers, and under them what has come back."""
    parts, total = gradient(data, box, step)
    look = Look(LINE, "#ffffff", 1.2) if total is None else Look(BLUE, FACE, 1.6)
    sketch.box(box["x"], box["y"], box["width"], box["height"], 9, look)
    left, top = box["x"] - box["width"] / 2, box["y"] - box["height"] / 2 + 8
    rows = (box["height"] - 16) // (2 * ROW)
    sketch.text(left + 12, top + ROW / 2, shorten(box["name"], NAME), INK, 9.5)
    numbers(sketch, data["values"][data["tensors"][box["tensor"]]["value"]], box, top, (INK, 10.5))
    if total is not None:
        sketch.text(left + 12, top + ROW * (rows + 0.5), "gradient", SOFT, 8.5)
        numbers(sketch, data["values"][total], box, top + ROW * rows, (BLUE, 10))
    if len(parts) > 1 and not data["values"][parts[0]]["shape"]:
        told = summed([plain(data["values"][part]["data"][0], "float32") for part in parts])
        sketch.text(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 + 12, f"= {told}", BLUE, 8.5,
                    align="right")


def numbers(sketch: Sketch, value: Data, box: Box, top: float, ink: tuple[str, float]) -> None:
    """Write the numbers of a value in rows, each as wide as its column."""
    columns = value["shape"][-1] if value["shape"] else 1
    right = box["x"] + box["width"] / 2 - 12
    for at, entry in enumerate(value.get("data", ())):
        x = right - ENTRY * (columns - 1 - at % columns)
        sketch.text(x, top + ROW * (at // columns + 0.5), plain(entry, value["dtype"]), ink[0], ink[1], bold=True,
                    align="right")
