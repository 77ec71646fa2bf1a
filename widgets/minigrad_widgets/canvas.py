"""Turns figures into bytes: the only place where matplotlib's canvases draw. `pyplot` is never used."""

from __future__ import annotations

from io import BytesIO
from math import ceil
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from PIL import Image, ImageDraw, ImageFont

FONT: dict[Any, Any] = {"font.family": "DejaVu Sans"}  # comes with matplotlib: the same glyphs on every machine
COLORS = 128
MARGIN, STRIP = 14, 26  # pixels


def to_png(figure: Figure) -> bytes:
    """Return a figure as PNG, in few colours: a lesson's picture stays well under 60 kB."""
    canvas: Any = FigureCanvasAgg(figure)
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
    """Return a figure as SVG text without a date: the same figure gives the same text."""
    canvas: Any = FigureCanvasSVG(figure)
    out = BytesIO()
    canvas.print_svg(out, metadata={"Date": None, "Creator": None})
    return out.getvalue().decode()
