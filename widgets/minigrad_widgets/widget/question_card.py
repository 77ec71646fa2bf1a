"""A question with its answers to click, or with a field to type in, in the look of the inspectors.

    QuestionCard({"label": "Prediction 1.1", "choices": [["True", "True"], ["False", "False"]], ...}, judge)

It knows no question and no answer. `face` says what is on the card; what a student clicks or types goes to `judge`,
which returns the next face. A face holds:

- `label`, `text`: whose question it is, and the question; either may be empty
- `choices`: pairs of a value and its button's text; `stacked`: whether the buttons are one below the other
- `field`: what the field asks for; empty if there is no field
- `chosen`: the value that was chosen; `locked`: whether it can no longer be changed
- `lines`: the reply, as pairs of a tone (`good`, `bad`, `refused`, `code`, `quiet` or nothing) and a text
- `done`: whether the keyboard focus should move on to what comes next
- `plain`: the whole card as text, for a terminal and wherever no widget runs
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from minigrad_widgets.widget.mime import if_run
from minigrad_widgets.widget.page import STATIC

Face = dict[str, Any]


class QuestionCard(anywidget.AnyWidget):
    """Shows a face; `judge` gets each answer as text and returns the next face."""

    _esm = (STATIC / "card.js").read_text(encoding="utf-8")
    _css = (STATIC / "inspector.css").read_text(encoding="utf-8")
    _ipython_display_ = None  # as in `Widget`

    face = traitlets.Dict(help="what stands on the card").tag(sync=True)
    said = traitlets.Dict(help="the last answer, and its number: the same may be given twice").tag(sync=True)

    def __init__(self, face: Face, judge: Callable[[str], Face]) -> None:
        super().__init__(face=face, said={})
        self._judge = judge

    @traitlets.observe("said")
    def _answered(self, change: dict[str, Any]) -> None:
        said = change["new"]
        if "answer" in said:
            self.face = self._judge(str(said["answer"]))

    def __repr__(self) -> str:
        return str(self.face["plain"])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**if_run(data), "text/plain": repr(self)}, metadata
