"""What all widgets have in common: besides the view in the browser, each has a picture and a text.

A notebook gets all three: the widget, a PNG where none can run (under WebAssembly a widget always can, and no PNG is
made), and a text that is the same on every machine. SVG is only a method, since in the bundle it breaks the export to
PDF.
"""

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar

import anywidget

from minigrad.recorder import Trace
from minigrad_widgets.pictures import load
from minigrad_widgets.widget.mime import if_run, picture_of
from minigrad_widgets.widget.page import STATIC, write_page

MOST_EVENTS = 500_000  # the front end has the same limit
STILL = "This is a saved picture. Run the cell to step through it."


def refuse_too_many_events(trace: Trace) -> None:
    """Raise a ValueError for a trace that no browser would step through."""
    if len(trace) > MOST_EVENTS:
        raise ValueError(f"this trace has {len(trace):,} events, and at most {MOST_EVENTS:,} can be shown: record a "
                         "smaller part of the program, or fewer iterations")


class Widget(anywidget.AnyWidget):
    """A widget; its traits tell `frontend/src/index.ts` which view it is. A subclass defines its text and picture."""

    # As text: with a path anywidget would watch the file, by a callback that keeps every instance alive.
    _esm = (STATIC / "inspector.js").read_text(encoding="utf-8")
    _css = (STATIC / "inspector.css").read_text(encoding="utf-8")

    _ipython_display_ = None  # in ipywidgets 7 it comes before the bundle below, with neither the text nor the picture

    STATE: ClassVar[tuple[str, ...]] = ()
    """The traits that make up the view, which a page of its own gets."""
    PICTURE: ClassVar[str] = ""
    """The module of `minigrad_widgets.pictures` that draws it."""

    @property
    def text(self) -> str:
        """The widget in words, the same on every machine."""
        raise NotImplementedError

    def picture(self) -> Any:
        """Return the widget as a still picture: a `Sketch`, or a `Chart` that matplotlib draws."""
        return load(self.PICTURE).draw(self)

    def to_png(self) -> bytes:
        """Return the picture as PNG."""
        png: bytes = load("sketch").to_png(self.picture().image())
        return png

    def to_svg(self) -> str:
        """Return the picture as SVG text, the same for the same state."""
        svg: str = self.picture().svg()
        return svg

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a page that shows this widget on its own, without network requests; also written to `path`."""
        return write_page({name: getattr(self, name) for name in self.STATE}, path)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        shown = {**if_run(data), "text/plain": self.text}
        if sys.platform == "emscripten":  # in a browser there is always one that runs it, and the fonts are 10 MB
            return shown, metadata
        sketch = load("sketch")
        picture, alt = picture_of(sketch.to_png(sketch.with_note(self.picture().image(), STILL)), self.text)
        return {**shown, **picture}, {**metadata, **alt}
