"""The still pictures of the widgets, for where none can run. Nothing else imports matplotlib, and never `pyplot`."""

from typing import Any

from minigrad._base.optional import optional

__all__ = ["load_canvas"]


def load_canvas() -> Any:
    """Return `minigrad_widgets.pictures.canvas`. It loads matplotlib, which takes longer than all else together."""
    return optional("minigrad_widgets.pictures.canvas", "widgets")
