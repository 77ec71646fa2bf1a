"""How a question is put: as a card to click on in a notebook, as text in a terminal and where no widget runs."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from minigrad._base.optional import MissingExtra, optional

Line = tuple[str, str]  # a tone (good, bad, refused, code, quiet or nothing), and the text


@dataclass(frozen=True)
class Face:
    """What stands on a card; `minigrad_widgets.widget.question_card` says what each part means.

    `head` begins the text form, `how` ends it: it says how to answer where nothing can be clicked.
    """

    head: str
    label: str
    text: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    stacked: bool = False
    field: str = ""
    chosen: str = ""
    locked: bool = False
    lines: tuple[Line, ...] = ()
    done: bool = False
    how: str = ""

    @property
    def plain(self) -> str:
        """The card as text."""
        first = f"{self.head}  {self.text}".rstrip()
        told = [f"      {text}" if tone == "code" else f"    {text}" for tone, text in self.lines]
        open_reasons = self.choices if self.stacked and not self.chosen else ()
        options = [f"      {value}  {shown}" for value, shown in open_reasons]
        return "\n".join([first, *told, *options, *([f"    {self.how}"] if self.how else [])])

    def to_dict(self) -> dict[str, Any]:
        """The face as the widget wants it."""
        return {"label": self.label, "text": self.text, "choices": list(map(list, self.choices)), "field": self.field,
                "stacked": self.stacked, "chosen": self.chosen, "locked": self.locked, "done": self.done,
                "lines": list(map(list, self.lines)), "plain": self.plain}


class Shown:
    """A face on display, and what turns an answer into the next one.

    `kind` says who asks: predict, reveal or recall. `found` is what the run gave that a reveal tells of.
    """

    def __init__(self, face: Face, judge: Callable[[str], Face], kind: str, found: object = None) -> None:
        self.face, self._judge, self.kind, self.found = face, judge, kind, found
        self.widget: Any = None

    def show(self) -> None:
        """Put it on display: as a widget, as its text where there are none, printed where there is no notebook."""
        try:
            made = optional("minigrad_widgets.widget.question_card", "lessons").QuestionCard
        except MissingExtra:
            made = None
        marimo: Any = sys.modules.get("marimo")
        if made is not None and marimo is not None and marimo.running_in_notebook():
            display = marimo.output.append
        elif hasattr(builtins, "get_ipython"):  # that name is there while IPython runs a cell
            display = optional("IPython.display", "lessons").display
        else:
            print(self.face.plain)
            return
        if made is None:
            display({"text/plain": self.face.plain}, raw=True)
            return
        self.widget = made(self.face.to_dict(), lambda answer: self.answer(answer).to_dict())
        displayed[self.widget.model_id] = self
        display(self.widget)

    def answer(self, answer: str) -> Face:
        """Judge an answer, and put the new face on."""
        self.put(self._judge(answer))
        return self.face

    def put(self, face: Face) -> None:
        """Put another face on what is on display."""
        self.face = face
        if self.widget is not None:
            self.widget.face = face.to_dict()


displayed: dict[str, Shown] = {}  # by the ids of their widgets; website/sheets.py asks for it


def refused(face: Face, text: str) -> Face:
    """The same card, with why the answer was refused."""
    return replace(face, chosen="", lines=(("refused", text),), done=False)
