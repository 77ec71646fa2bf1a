"""The still picture of a state explorer: the graph of the states, and beside it the table and the calls."""

from __future__ import annotations

from math import hypot
from typing import Any

from minigrad_widgets.lenses.state_explorer import RADIUS, SIZE, StateExplorer, curve, letter
from minigrad_widgets.pictures.sketch import INK, SOFT, Look, Sketch

LINE, HERE, YES, NO = "#7a828e", "#0072b2", "#00805d", "#b04c00"
ROW = 26


def draw(view: StateExplorer) -> Sketch:
    """Draw the states and the walk."""
    return _Picture(view)


class _Picture(Sketch):
    """The picture of an explorer."""

    def __init__(self, explorer: StateExplorer) -> None:
        self.found, self.here = explorer.exploration, explorer.state
        self.explorer = explorer
        self.letters = [letter(call) for call in range(len(self.found["calls"]))]
        columns = [44.0, *(22 + 7.4 * len(name) for name in self.found["attributes"]), *(26.0 for _ in self.letters)]
        self.edges = [SIZE[0] + 16 + sum(columns[:at]) for at in range(len(columns))]
        rows = len(self.found["states"]) + 1
        width, height = self.edges[-1] + 40, max(SIZE[1], ROW * rows + 20 + 18 * len(self.letters)) + 16
        super().__init__(0, 0, width, height)
        self.graph()
        self.table()
        for at, line in enumerate(self.found["calls"]):
            y = ROW * rows + 30 + 18 * at
            self.text(self.edges[0], y, self.letters[at], HERE, 8.5, bold=True)
            self.text(self.edges[0] + 24, y, line, INK, 8, mono=True)

    def graph(self) -> None:
        drawing = self.found["drawing"]
        for arrow in drawing["arrows"]:
            self.arrow(arrow, arrow["from"] == self.here)
        for at, (x, y) in enumerate(drawing["places"]):
            first = self.found["states"][at]["values"][:1] == [True]
            here = at == self.here
            look = Look(HERE if here else LINE, HERE if here else "#ffffff", 1.6)
            self.box(x, y, 2 * RADIUS, 2 * RADIUS, RADIUS if first else 6, look)
            self.text(x, y, str(at + 1), "#ffffff" if here else INK, 11, bold=True, align="center")
        names = self.found["attributes"][:1]
        if names:
            self.text(14, SIZE[1] + 4, f"round: {names[0]}   square: not {names[0]}", SOFT, 7.5)

    def arrow(self, arrow: dict[str, Any], here: bool) -> None:
        _, (x, y), (bx, by) = arrow["points"]
        color, order = (HERE, 2) if here else ("#b5bac1", 1)
        self.line(curve(arrow["points"]), Look(color, width=1.8 if here else 1.0), order)
        far = hypot(bx - x, by - y)
        dx, dy = 3 * (bx - x) / far, 3 * (by - y) / far  # where the arrow points
        px, py = bx - 2.3 * dx, by - 2.3 * dy
        self.line([(bx, by), (px - dy, py + dx), (px + dy, py - dx)], Look(None, color), order, closed=True)
        text = " ".join(self.letters[call] for call in arrow["calls"])
        x, y = arrow["letters"]
        told = self.text(x, y, text, HERE if here else SOFT, 8 if here else 7, here, "center", 2.6)
        self.pill(told, Look(None, "#ffffff"), 0.2, 0.2, 2.5)

    def table(self) -> None:
        for x, name in zip(self.edges, ["state", *self.found["attributes"], *self.letters], strict=True):
            self.text(x, ROW / 2 + 4, name, HERE if name in self.letters else SOFT, 8, bold=True)
        for at, state in enumerate(self.found["states"]):
            y = ROW * (at + 1.5) + 4
            self.rule(self.edges[0] - 4, self.edges[-1] + 26, y - ROW / 2)
            self.text(self.edges[0] + 8, y, str(at + 1), HERE if at == self.here else INK, 9, bold=True)
            for x, value, word in zip(self.edges[1:], state["values"], self.explorer._values(at), strict=False):
                text, color = (f"✓ {word}", YES) if value else (word, SOFT)
                self.text(x, y, text, color, 8, bold=value)
            for x, call in zip(self.edges[1 + len(state["values"]):], range(len(self.letters)), strict=True):
                to = self.explorer._steps[at, call]["to"]
                text, color = ("✗", NO) if to is None else ("=", SOFT) if to == at else (str(to + 1), INK)
                self.text(x, y, text, color, 8.5, bold=text != "=")
