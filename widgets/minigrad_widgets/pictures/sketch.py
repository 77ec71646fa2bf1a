"""Draws lines, boxes and texts as PNG or SVG, without matplotlib, of which only the font's file is used.

It is for the picture that an inspector makes of itself whenever a cell shows it: loading matplotlib for that would take
longer than everything else until the inspector appears. Places are pixels; widths of lines and sizes of letters are
points, of which a picture has 72 in 100 pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.util import find_spec
from io import BytesIO
from itertools import pairwise
from math import ceil, hypot
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

Point = tuple[float, float]
INK, SOFT, RULE = "#1d2127", "#5b626d", "#d9dce1"
POINT = 100 / 72  # pixels
FINE = 3  # a picture is drawn this many times as large, and then reduced: its lines are smooth
COLORS = 128
PIECES = 12  # straight pieces of a curve
BASE = 0.26  # how far a text's base line is below its middle, of its size
ROUND = 0.5523  # where the control points of a quarter of a circle are
MARGIN, STRIP = 14, 26  # of the note


@cache
def font(size: float, bold: bool = False, mono: bool = False) -> ImageFont.FreeTypeFont:
    """Return DejaVu Sans, which comes with matplotlib: the same glyphs on every machine."""
    found = find_spec("matplotlib")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
    fonts = Path(found.submodule_search_locations[0]) / "mpl-data" / "fonts" / "ttf"
    return ImageFont.truetype(str(fonts / f"DejaVuSans{'Mono' * mono}{'-Bold' * bold}.ttf"), size)


@dataclass(frozen=True)
class Look:
    """How a line is drawn, and what is inside it; None: not at all. `dash`: lengths of strokes and gaps, in widths."""

    line: str | None = None
    face: str | None = None
    width: float = 1.0
    dash: Sequence[float] = ()


class Shape(NamedTuple):
    """A curve: a point, and for each piece two control points and its end."""

    points: list[Point]
    look: Look
    closed: bool = False

    def svg(self) -> str:
        (x, y), *rest = self.points
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in rest)
        dash = " ".join(f"{each * self.look.width * POINT:.1f}" for each in self.look.dash)
        return (f'<path d="M{x:.1f},{y:.1f}C{way}{"Z" * self.closed}" fill="{self.look.face or "none"}" stroke='
                f'"{self.look.line or "none"}" stroke-width="{self.look.width * POINT:.2f}"'
                + (f' stroke-dasharray="{dash}"/>' if dash else "/>"))

    def flat(self) -> list[Point]:
        """Return it as straight pieces."""
        found = [self.points[0]]
        for at in range(0, len(self.points) - 1, 3):
            a, b, c, d = self.points[at: at + 4]
            count = 1 if (a, d) == (b, c) else PIECES
            for step in range(1, count + 1):
                t = step / count
                p, q, r, u = (1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t * t, t ** 3
                found.append((p * a[0] + q * b[0] + r * c[0] + u * d[0], p * a[1] + q * b[1] + r * c[1] + u * d[1]))
        return found

    def paint(self, draw: ImageDraw.ImageDraw, left: float, top: float) -> None:
        line = [((x - left) * FINE, (y - top) * FINE) for x, y in self.flat()]
        width = self.look.width * POINT * FINE
        if self.look.face:
            draw.polygon(line, fill=self.look.face)
        if self.look.line:
            lengths = [each * width for each in self.look.dash]
            for stroke in strokes(line, lengths) if lengths else [line]:
                draw.line(stroke, fill=self.look.line, width=round(width), joint="curve")


class Text(NamedTuple):
    """A text around the height `y`; `align` says what `x` is: its `left`, `center` or `right`."""

    x: float
    y: float
    text: str
    color: str
    size: float
    bold: bool
    align: str
    mono: bool = False

    @property
    def width(self) -> float:
        return font(16 * self.size, self.bold, self.mono).getlength(self.text) * POINT / 16

    def svg(self) -> str:
        anchor = {"left": "start", "center": "middle", "right": "end"}[self.align]
        weight = ' font-weight="bold"' * self.bold + ' font-family="DejaVu Sans Mono, monospace"' * self.mono
        return (f'<text x="{self.x:.1f}" y="{self.y + BASE * self.size * POINT:.1f}" fill="{self.color}" font-size='
                f'"{self.size * POINT:.2f}" text-anchor="{anchor}" xml:space="preserve"{weight}>'
                f'{escape(self.text)}</text>')

    def paint(self, draw: ImageDraw.ImageDraw, left: float, top: float) -> None:
        place = (self.x - left) * FINE, (self.y + BASE * self.size * POINT - top) * FINE
        anchor = {"left": "ls", "center": "ms", "right": "rs"}[self.align]
        draw.text(place, self.text, fill=self.color, font=font(self.size * POINT * FINE, self.bold, self.mono),
                  anchor=anchor)


def strokes(line: Sequence[Point], lengths: Sequence[float]) -> Iterator[list[Point]]:
    """Cut a line into the strokes of its dashes."""
    at, left, stroke = 0, lengths[0], [line[0]]
    for (ax, ay), (bx, by) in pairwise(line):
        whole = hypot(bx - ax, by - ay)
        done = 0.0
        while whole - done > left:
            done += left
            point = (ax + (bx - ax) * done / whole, ay + (by - ay) * done / whole)
            if at % 2 == 0:
                yield [*stroke, point]
            at += 1
            left, stroke = lengths[at % len(lengths)], [point]
        left -= whole - done
        stroke.append((bx, by))
    if at % 2 == 0:
        yield stroke


class Sketch:
    """A picture of a part of the plane. What has a higher `order` is drawn later."""

    def __init__(self, left: float, top: float, width: float, height: float) -> None:
        self.left, self.top, self.width, self.height = left, top, width, height
        self.drawn: list[tuple[float, Shape | Text]] = []

    def curve(self, points: list[Point], look: Look, order: float = 1, closed: bool = False) -> None:
        """Draw a curve of cubic pieces."""
        self.drawn.append((order, Shape(points, look, closed)))

    def line(self, points: Sequence[Point], look: Look, order: float = 1, closed: bool = False) -> None:
        """Draw straight pieces."""
        ends = [*points, points[0]] if closed else points
        self.curve([ends[0], *(each for a, b in pairwise(ends) for each in (a, b, b))], look, order, closed)

    def box(self, x: float, y: float, width: float, height: float, radius: float, look: Look, order: float = 3) -> None:
        """Draw a box with round corners around a point."""
        radius = min(radius, width / 2, height / 2)
        points: list[Point] = []
        for dx, dy, first in ((1, -1, False), (1, 1, True), (-1, 1, False), (-1, -1, True)):
            corner = x + dx * width / 2, y + dy * height / 2
            ends = (corner[0], corner[1] - dy * radius), (corner[0] - dx * radius, corner[1])
            start, end = ends if first else ends[::-1]
            bend = [(px + (corner[0] - px) * ROUND, py + (corner[1] - py) * ROUND) for px, py in (start, end)]
            points += [points[-1], start, start] if points else [start]
            points += [*bend, end]
        self.curve([*points, points[-1], points[0], points[0]], look, order, closed=True)

    def rule(self, left: float, right: float, y: float) -> None:
        """Draw a thin line from side to side."""
        self.line([(left, y), (right, y)], Look(RULE, width=0.8))

    def text(self, x: float, y: float, text: str, color: str, size: float, bold: bool = False, align: str = "left",
             order: float = 5, mono: bool = False) -> Text:
        """Write a text."""
        written = Text(x, y, text, color, size, bold, align, mono)
        self.drawn.append((order, written))
        return written

    def pill(self, text: Text, look: Look, pad: float, radius: float, order: float) -> None:
        """Draw a box behind a text; `pad` and `radius` are parts of its size."""
        size = text.size * POINT
        middle = text.x + {"left": 0.5, "center": 0, "right": -0.5}[text.align] * text.width
        self.box(middle, text.y, text.width + 2 * pad * size, (1.17 + 2 * pad) * size, radius * size, look, order)

    def svg(self) -> str:
        """Return the picture as SVG text, the same for the same picture."""
        parts = "\n".join(each.svg() for _, each in sorted(self.drawn, key=lambda each: each[0]))
        width, height = f"{self.width:.0f}", f"{self.height:.0f}"
        box = f"{self.left:.1f} {self.top:.1f} {width} {height}"
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="{box}" '
                f'font-family="DejaVu Sans, sans-serif">\n<rect x="{self.left:.1f}" y="{self.top:.1f}" width="100%" '
                f'height="100%" fill="#ffffff"/>\n{parts}\n</svg>\n')

    def image(self) -> Image.Image:
        """Return the picture, smooth."""
        size = ceil(self.width), ceil(self.height)
        large = Image.new("RGB", (size[0] * FINE, size[1] * FINE), "white")
        draw = ImageDraw.Draw(large)
        for _, each in sorted(self.drawn, key=lambda each: each[0]):
            each.paint(draw, self.left, self.top)
        return large.reduce(FINE)


def to_png(image: Image.Image) -> bytes:
    """Return an image as PNG, in few colours: a lesson's picture stays well under 60 kB."""
    out = BytesIO()
    image.quantize(COLORS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def with_note(picture: Image.Image, note: str) -> Image.Image:
    """Return an image with one line of text on a strip below it, as wide as the wider of the two."""
    letters = font(12)
    size = max(picture.width, ceil(letters.getlength(note)) + 2 * MARGIN), picture.height + STRIP
    both = Image.new("RGB", size, "white")
    both.paste(picture)
    draw = ImageDraw.Draw(both)
    draw.rectangle((0, picture.height, *size), fill="#eef1f5")
    draw.text((MARGIN, picture.height + STRIP // 2), note, fill="#3d444d", font=letters, anchor="lm")
    return both
