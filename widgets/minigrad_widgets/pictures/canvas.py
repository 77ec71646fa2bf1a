"""Turns figures into bytes, and what several pictures share. The same figure gives the same bytes."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from math import ceil
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from PIL import Image, ImageDraw, ImageFont

FONT: dict[Any, Any] = {"font.family": "DejaVu Sans"}  # comes with matplotlib: the same glyphs on every machine
INK, SOFT, RULE = "#1d2127", "#5b626d", "#d9dce1"
DPI = 100
COLORS = 128
MARGIN, STRIP = 14, 26  # pixels


class Sheet:
    """A figure whose places are pixels from its left and its top."""

    def __init__(self, width: float, height: float) -> None:
        self.figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(height, 0)

    def write(self, x: float, y: float, text: str, color: str, size: float, weight: str = "normal",
              **more: Any) -> Any:
        """Write a text around the height `y`."""
        return self.axes.text(x, y, text, fontsize=size, color=color, weight=weight, va="center", parse_math=False,
                              **more)

    def rule(self, left: float, right: float, y: float) -> None:
        """Draw a thin line from side to side."""
        self.axes.plot([left, right], [y, y], color=RULE, linewidth=0.8)


def drawn(picture: str, *what: Any) -> Any:
    """Return the figure that a module of `minigrad_widgets.pictures` draws."""
    with rc_context(FONT):
        return import_module(f"minigrad_widgets.pictures.{picture}").draw(*what)


def to_png(figure: Figure) -> bytes:
    """Return a figure as PNG, in few colours: a lesson's picture stays well under 60 kB."""
    canvas: Any = FigureCanvasAgg(figure)
    with rc_context(FONT):
        canvas.draw()
    return _written(Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba())).convert("RGB"))


def with_note(png: bytes, note: str) -> bytes:
    """Return the picture with one line of text on a strip below it, as wide as the wider of the two."""
    picture = Image.open(BytesIO(png)).convert("RGB")
    font = ImageFont.truetype(findfont(FONT["font.family"]), 12)
    size = max(picture.width, ceil(font.getlength(note)) + 2 * MARGIN), picture.height + STRIP
    both = Image.new("RGB", size, "white")
    both.paste(picture)
    draw = ImageDraw.Draw(both)
    draw.rectangle((0, picture.height, *size), fill="#eef1f5")
    draw.text((MARGIN, picture.height + STRIP // 2), note, fill="#3d444d", font=font, anchor="lm")
    return _written(both)


def _written(image: Image.Image) -> bytes:
    out = BytesIO()
    image.quantize(COLORS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG text, with text as text and without a date."""
    canvas: Any = FigureCanvasSVG(figure)
    out = BytesIO()
    with rc_context({**FONT, "svg.hashsalt": "minigrad", "svg.fonttype": "none"}):
        canvas.print_svg(out, metadata={"Date": None, "Creator": None})
    return out.getvalue().decode()
