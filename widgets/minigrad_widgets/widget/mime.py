"""How a widget stands in a notebook's output. ipywidgets 7, which Colab has, does not say it as ipywidgets 8 does."""

from __future__ import annotations

from typing import Any


def view_of(widget: Any) -> dict[str, Any]:
    """Return what an output holds of a widget: the id of its model, under the MIME type of a view."""
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"application/vnd.jupyter.widget-view+json": view}
