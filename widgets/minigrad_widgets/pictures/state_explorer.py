"""The still picture of a state explorer: the graph of the states, and beside it the table and the calls."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from minigrad_widgets.lenses.state_explorer import RADIUS, SIZE, StateExplorer, curve, letter
from minigrad_widgets.pictures.canvas import INK, SOFT, Sheet

LINE, HERE, YES, NO = "#7a828e", "#0072b2", "#00805d", "#b04c00"
ROW = 26


def draw(view: StateExplorer) -> Figure:
    """Draw the states and the walk."""
    return _Picture(view).figure


class _Picture(Sheet):
    """The picture of an explorer."""

    def __init__(self, explorer: StateExplorer) -> None:
        self.found, self.here = explorer.exploration, explorer.state
        self.explorer = explorer
        self.letters = [letter(call) for call in range(len(self.found["calls"]))]
        columns = [44.0, *(22 + 7.4 * len(name) for name in self.found["attributes"]), *(26.0 for _ in self.letters)]
        self.edges = [SIZE[0] + 16 + sum(columns[:at]) for at in range(len(columns))]
        rows = len(self.found["states"]) + 1
        width, height = self.edges[-1] + 40, max(SIZE[1], ROW * rows + 20 + 18 * len(self.letters)) + 16
        super().__init__(width, height)
        self.graph()
        self.table()
        for at, line in enumerate(self.found["calls"]):
            y = ROW * rows + 30 + 18 * at
            self.write(self.edges[0], y, self.letters[at], HERE, 8.5, "bold")
            self.write(self.edges[0] + 24, y, line, INK, 8, family="DejaVu Sans Mono")

    def graph(self) -> None:
        drawing = self.found["drawing"]
        for arrow in drawing["arrows"]:
            self.arrow(arrow, arrow["from"] == self.here)
        for at, (x, y) in enumerate(drawing["places"]):
            first = self.found["states"][at]["values"][:1] == [True]
            here = at == self.here
            style = f"round,pad=0,rounding_size={RADIUS if first else 6}"
            self.axes.add_patch(FancyBboxPatch((x - RADIUS, y - RADIUS), 2 * RADIUS, 2 * RADIUS, boxstyle=style,
                                               facecolor=HERE if here else "white", edgecolor=HERE if here else LINE,
                                               linewidth=1.6, zorder=3))
            self.write(x, y, str(at + 1), "white" if here else INK, 11, "bold", ha="center", zorder=4)
        names = self.found["attributes"][:1]
        if names:
            self.write(14, SIZE[1] + 4, f"round: {names[0]}   square: not {names[0]}", SOFT, 7.5)

    def arrow(self, arrow: dict[str, Any], here: bool) -> None:
        _, (x, y), (bx, by) = arrow["points"]
        color, order = (HERE, 2) if here else ("#b5bac1", 1)
        for (px, py), (qx, qy) in pairwise(curve(arrow["points"])):
            self.axes.plot([px, qx], [py, qy], color=color, linewidth=1.8 if here else 1.0, zorder=order,
                           solid_capstyle="round")
        self.axes.add_patch(FancyArrowPatch((bx - (bx - x) * 0.05, by - (by - y) * 0.05), (bx, by), color=color,
                                            arrowstyle="-|>", mutation_scale=11, linewidth=0, zorder=order))
        text = " ".join(self.letters[call] for call in arrow["calls"])
        x, y = arrow["letters"]
        pad = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"}
        self.write(x, y, text, HERE if here else SOFT, 8 if here else 7, "bold" if here else "normal", ha="center",
                   bbox=pad, zorder=2.5)

    def table(self) -> None:
        for x, name in zip(self.edges, ["state", *self.found["attributes"], *self.letters], strict=True):
            self.write(x, ROW / 2 + 4, name, HERE if name in self.letters else SOFT, 8, "bold")
        for at, state in enumerate(self.found["states"]):
            y = ROW * (at + 1.5) + 4
            self.rule(self.edges[0] - 4, self.edges[-1] + 26, y - ROW / 2)
            self.write(self.edges[0] + 8, y, str(at + 1), HERE if at == self.here else INK, 9, "bold")
            for x, value, word in zip(self.edges[1:], state["values"], self.explorer._values(at), strict=False):
                text, color, weight = (f"✓ {word}", YES, "bold") if value else (word, SOFT, "normal")
                self.write(x, y, text, color, 8, weight)
            for x, call in zip(self.edges[1 + len(state["values"]):], range(len(self.letters)), strict=True):
                to = self.explorer._steps[at, call]["to"]
                text, color = ("✗", NO) if to is None else ("=", SOFT) if to == at else (str(to + 1), INK)
                self.write(x, y, text, color, 8.5, "normal" if text == "=" else "bold")
