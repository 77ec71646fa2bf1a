"""Figures to bytes: the one place where matplotlib's canvases are asked to draw. `pyplot` is never used."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from PIL import Image

FONT: dict[Any, Any] = {"font.family": "DejaVu Sans"}  # comes with matplotlib: the same letters on every machine
COLORS = 128


def to_png(figure: Figure) -> bytes:
    """A figure as PNG, in few colours: a lesson's picture stays well under 60 kB."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    image = Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba())).convert("RGB")
    out = BytesIO()
    image.quantize(COLORS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def to_svg(figure: Figure) -> str:
    """A figure as SVG text without a date: the same figure gives the same text."""
    canvas: Any = FigureCanvasSVG(figure)
    out = BytesIO()
    canvas.print_svg(out, metadata={"Date": None, "Creator": None})
    return out.getvalue().decode()
