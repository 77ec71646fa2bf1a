"""The still picture of a parameter ledger: a mark for each change, and what each row has at the shown step."""

from __future__ import annotations

from textwrap import shorten

from minigrad_widgets.lenses.parameter_ledger import ParameterLedger
from minigrad_widgets.pictures.sketch import INK, SOFT, Look, Sketch

HERE = "#e6f1f8"
# A sign, its colour, and its colour where the change is to come.
MARKS = {"grad": ("●", "#0072b2", "#a6cee4"), "cleared": ("○", "#7a828e", "#d0d3d7"),
         "value": ("▲", "#8a5a00", "#d6c5a6")}
WORDS = {"grad": ".grad written", "cleared": ".grad cleared", "value": "changed in place"}
ROW, LEFT, NAMES, MARK = 26, 14, 150, 22
ROWS, MOMENTS = 16, 30


def draw(view: ParameterLedger) -> Sketch:
    """Draw the marks and the table at the view's step."""
    return _Picture(view)


class _Picture(Sketch):
    """The picture of a ledger."""

    def __init__(self, view: ParameterLedger) -> None:
        self.found, self.rows, self.done = view._found, view.now[:ROWS], len(view.moments)
        self.first = max(0, self.done - MOMENTS)
        self.shown = self.found["moments"][self.first: self.first + MOMENTS]
        table = LEFT + NAMES + 480
        width = max(table, LEFT + NAMES + MARK * len(self.shown) + 60)
        height = 44 + ROW * (2 * len(self.rows) + 3)
        super().__init__(0, 0, width, height)
        moment = self.found["moments"][self.done - 1] if self.done else None
        head = "before the first change" if moment is None else f"{moment['place']}:  {moment['source']}"
        self.text(LEFT, 20, shorten(head, int(width / 7.4), placeholder=" …"), INK, 9)
        self.marks(44)
        self.table(44 + ROW * (len(self.rows) + 1.6), width)

    def marks(self, top: float) -> None:
        here = self.done - 1 - self.first
        if 0 <= here < len(self.shown):
            high = ROW * len(self.rows)
            self.box(LEFT + NAMES + MARK * (here + 0.5), top + high / 2, MARK, high + 4, 0, Look("#0072b2", HERE))
        for at, row in enumerate(self.rows):
            self.text(LEFT, top + ROW * (at + 0.5), row["name"], INK, 8.5, bold=True)
        for at, moment in enumerate(self.shown):
            for change in moment["changes"]:
                if change["row"] < len(self.rows):
                    text = "".join(MARKS[new][0] for new in change["new"])
                    self.text(LEFT + NAMES + MARK * (at + 0.5), top + ROW * (change["row"] + 0.5), text,
                              MARKS[change["new"][-1]][1 if at <= here else 2], 8, align="center")
        x = float(LEFT)
        for kind, (mark, color, _) in MARKS.items():
            y = top + ROW * (len(self.rows) + 0.6)
            self.text(x, y, mark, color, 8)
            self.text(x + 14, y, WORDS[kind], SOFT, 7.5)
            x += 34 + 6.6 * len(WORDS[kind])

    def table(self, top: float, width: float) -> None:
        edges = (LEFT, LEFT + NAMES, LEFT + NAMES + 190, LEFT + NAMES + 380)
        for x, head in zip(edges, ("tensor", "value", ".grad", "version"), strict=True):
            self.text(x, top, head, SOFT, 8, bold=True)
        for at, row in enumerate(self.rows):
            y = top + ROW * (at + 1)
            self.rule(0, width, y - ROW / 2)
            fresh = {"value": "value" in row["new"], "version": "value" in row["new"],
                     "grad": bool({"grad", "cleared"} & set(row["new"]))}
            self.text(edges[0], y, row["name"], INK, 8.5, bold=True)
            for x, key in zip(edges[1:], ("value", "grad", "version"), strict=True):
                self.text(x, y, str(row[key])[:28], "#005a8e" if fresh[key] else INK, 8.5, bold=fresh[key])
