"""What the pictures drawn by matplotlib share, and figures as bytes. The same figure gives the same bytes."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from PIL import Image

from minigrad_widgets.pictures import sketch
from minigrad_widgets.pictures.sketch import INK, SOFT

__all__ = ["DPI", "FONT", "INK", "RULE", "SOFT", "Sheet", "drawn", "to_image", "to_png", "to_svg"]

FONT: dict[Any, Any] = {"font.family": "DejaVu Sans"}  # comes with matplotlib: the same glyphs on every machine
RULE = "#d9dce1"
DPI = 100


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


def to_image(figure: Figure) -> Image.Image:
    """Return a figure as an image."""
    canvas: Any = FigureCanvasAgg(figure)
    with rc_context(FONT):
        canvas.draw()
    return Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba())).convert("RGB")


def to_png(figure: Figure) -> bytes:
    """Return a figure as PNG."""
    return sketch.to_png(to_image(figure))


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG text, with text as text and without a date."""
    canvas: Any = FigureCanvasSVG(figure)
    out = BytesIO()
    with rc_context({**FONT, "svg.hashsalt": "minigrad", "svg.fonttype": "none"}):
        canvas.print_svg(out, metadata={"Date": None, "Creator": None})
    return out.getvalue().decode()
