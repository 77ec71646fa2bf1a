"""Charts: pictures that matplotlib draws. The same figure gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from io import BytesIO
from typing import Any, ParamSpec

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from PIL import Image

__all__ = ["DPI", "Chart", "chart"]

FONT: dict[Any, Any] = {"font.family": "DejaVu Sans"}  # comes with matplotlib: the same glyphs on every machine
DPI = 100
What = ParamSpec("What")


class Chart:
    """A figure as a picture: it offers what a `Sketch` does."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def image(self) -> Image.Image:
        """Return the figure as an image."""
        canvas: Any = FigureCanvasAgg(self.figure)
        with rc_context(FONT):
            canvas.draw()
        return Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba())).convert("RGB")

    def svg(self) -> str:
        """Return the figure as SVG text, with text as text and without a date."""
        canvas: Any = FigureCanvasSVG(self.figure)
        out = BytesIO()
        with rc_context({**FONT, "svg.hashsalt": "minigrad", "svg.fonttype": "none"}):
            canvas.print_svg(out, metadata={"Date": None, "Creator": None})
        return out.getvalue().decode()


def chart(draw: Callable[What, Figure]) -> Callable[What, Chart]:
    """Make what draws a figure return a chart."""
    @wraps(draw)
    def drawn(*what: What.args, **more: What.kwargs) -> Chart:
        with rc_context(FONT):
            return Chart(draw(*what, **more))
    return drawn
