"""An explanation as a notebook shows it: the doctor's card, and a button that opens an inspector at the error."""

from __future__ import annotations

from typing import Any

import ipywidgets

from minigrad_widgets.doctor import Explanation
from minigrad_widgets.inspector.inspector import Inspector
from minigrad_widgets.widget.mime import view_of

__all__ = ["bundle", "with_button"]


def bundle(explanation: Explanation, include: Any = None, exclude: Any = None) -> Any:
    """Return an explanation as a notebook shows it: the card, and a button if there is something to inspect."""
    if not explanation.trace.events:
        return {"text/plain": str(explanation), "text/html": explanation._repr_html_()}
    view = view_of(with_button(explanation))
    return {**view, "text/plain": str(explanation), "text/html": explanation._repr_html_()}


def with_button(explanation: Explanation) -> ipywidgets.VBox:
    """Return the card, and a button that opens the inspector under it."""
    card = ipywidgets.HTML(explanation._repr_html_())
    button = ipywidgets.Button(description="Open the inspector here", icon="search",
                               layout=ipywidgets.Layout(width="max-content"))
    box = ipywidgets.VBox([card, button])

    def opened(_: Any) -> None:
        box.children = [card, Inspector(explanation.trace, lens="all", step=explanation.step)]

    button.on_click(opened)
    return box
