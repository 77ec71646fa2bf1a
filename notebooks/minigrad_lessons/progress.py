"""`progress()` shows how far the student is: as text, as a table, and in a notebook as a widget that keeps up."""

from collections import deque
from dataclasses import dataclass
from html import escape
from typing import Any

from minigrad._base.optional import MissingExtra, optional
from minigrad_lessons import check, notes
from minigrad_lessons.bank import PREDICTIONS, QUESTIONS, lesson_of

HEAD = ("lesson", "predicted", "right", "reasons", "exercises", "hints", "recalled")
LINE = "1px solid var(--jp-border-color2,#d9dce1)"
TABLE = (f"border-collapse:separate;border-spacing:0;margin:4px 0;font-size:13px;border:{LINE};border-radius:10px;"
         "overflow:hidden;text-align:left;color:var(--jp-ui-font-color1,#1d2127)")
TH = ("padding:7px 14px;font-weight:600;font-size:12px;text-align:left;background:var(--jp-layout-color2,#f3f4f6);"
      f"border-bottom:{LINE}")
TD = "padding:7px 14px;text-align:left;white-space:nowrap;font-variant-numeric:tabular-nums"
BAR = "display:block;height:4px;margin-top:4px;border-radius:2px;width:72px;background:var(--jp-border-color2,#d9dce1)"
DONE = "display:block;height:4px;border-radius:2px;background:var(--jp-brand-color1,#1a6fb5)"

_shown: deque[Any] = deque(maxlen=4)  # the widgets on display, which keep up; a cell that is run again leaves old ones


@dataclass(frozen=True)
class Part:
    """So many of so many; without a whole it is a bare number."""

    done: int
    whole: int | None = None

    def __str__(self) -> str:
        return str(self.done) if self.whole is None else f"{self.done} of {self.whole}" if self.whole else "-"


def _lessons() -> dict[tuple[str, str], int]:
    """The lesson of everything that can be noted."""
    return {
        **{(kind, id): int(id.partition(".")[0]) for id in PREDICTIONS for kind in ("predict", "why")},
        **{("recall", id): lesson_of(id) for id in QUESTIONS},
        **{(kind, name): check.lesson_of(name) for name in check.__all__ for kind in ("check", "hint")},
    }


def _row(lesson: int, found: dict[tuple[str, str], str]) -> tuple[Part, ...]:
    """What is to be shown of a lesson, in the order of HEAD."""
    of = [key for key, number in _lessons().items() if number == lesson]
    noted = {kind: [found[key] for key in of if key[0] == kind and key in found] for kind in notes.KINDS}
    good = {kind: hows.count(notes.GOOD.get(kind, "")) for kind, hows in noted.items()}
    whole = {kind: sum(key[0] == kind for key in of) for kind in notes.KINDS}
    return (Part(len(noted["predict"]), whole["predict"]), Part(good["predict"], len(noted["predict"])),
            Part(good["why"], whole["why"]), Part(good["check"], whole["check"]),
            Part(sum(map(int, noted["hint"]))), Part(good["recall"], len(noted["recall"])))


class Progress:
    """A table of the lessons that were begun."""

    def rows(self) -> dict[int, tuple[Part, ...]]:
        """What is to be shown of each lesson that was begun."""
        found, lessons = notes.kept(), _lessons()
        return {lesson: _row(lesson, found) for lesson in sorted({lessons[key] for key in found if key in lessons})}

    @property
    def text(self) -> str:
        """The table as aligned text, and where it is kept."""
        lines = [HEAD, *((str(lesson), *map(str, row)) for lesson, row in self.rows().items())]
        if len(lines) == 1:
            return f"Nothing so far. {notes.where()}"
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
                 for line in lines]
        return "\n".join([*table, notes.where()])

    def __repr__(self) -> str:
        return self.text

    def to_html(self) -> str:
        """The table with a bar under each share; it follows the notebook's theme."""
        rows = self.rows()
        if not rows:
            return f"<p>{escape(self.text)}</p>"
        head = "".join(f'<th scope="col" style="{TH}">{name}</th>' for name in HEAD)
        body = "".join(f'<tr><th scope="row" style="{TD}">{lesson}</th>{"".join(map(_cell, row))}</tr>'
                       for lesson, row in rows.items())
        return (f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
                f'<p style="font-size:12px">{escape(notes.where())}</p>')

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": self.text, "text/html": self.to_html()}
        try:
            widget = optional("ipywidgets", "lessons").HTML(self.to_html())
        except MissingExtra:
            return bundle
        _shown.append(widget)
        return {**optional("minigrad_widgets.widget.mime", "lessons").view_of(widget), **bundle}


def _cell(part: Part) -> str:
    share = f'<span style="{BAR}"><span style="{DONE};width:{100 * part.done // part.whole}%"></span></span>' \
        if part.whole else ""
    return f'<td style="{TD}">{part}{share}</td>'


def progress() -> Progress:
    """How far you are: predictions, reasons, exercises, hints taken, and what you still knew when you were asked."""
    return Progress()


def _keep_up() -> None:
    for widget in _shown:
        widget.value = Progress().to_html()


notes.watchers.append(_keep_up)
