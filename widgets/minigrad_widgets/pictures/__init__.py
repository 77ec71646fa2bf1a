"""The still pictures of the widgets, for where none can run. Nothing else imports matplotlib, and never `pyplot`."""

from typing import Any

from minigrad._base.optional import optional

__all__ = ["load"]


def load(name: str) -> Any:
    """Return a module of this package. Those that draw charts load matplotlib, which takes long."""
    return optional(f"minigrad_widgets.pictures.{name}", "widgets")
