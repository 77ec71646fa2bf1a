"""The state explorer: which states a tensor can be in, and which call leads from one to the other. For lesson 2.

    StateExplorer(explore(torch))

It shows what `explore` found by running: a graph of the states, a table of the attributes in each, and what each call
does there, or the error that forbids it. A student walks through it by making calls; the lines that lead to the current
state are written out, and run when pasted. `calls` holds the walk, `state` where it has led.
"""

from __future__ import annotations

from itertools import pairwise
from math import cos, hypot, pi, sin
from string import ascii_lowercase
from typing import Any

import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from minigrad_widgets.states import Exploration
from minigrad_widgets.widget import Widget

INK, SOFT, LINE, HERE, YES, NO = "#1d2127", "#5b626d", "#7a828e", "#0072b2", "#00805d", "#b04c00"
OBJECTS = {"grad_fn": "a node", "grad": "a tensor"}
SIZE = (460, 330)
RADIUS = 22
DPI = 100
ROW = 26
PARTS = (6, 8, 5, 7, 10, 4, 11, 12)  # of 16 parts of an arrow: where its letters may be, preferably near its start
LETTER = 6.5

Point = tuple[float, float]


def letter(call: int) -> str:
    """Return the name of a call in the table: a, b, …, z, aa, …"""
    return ascii_lowercase[call % 26] * (1 + call // 26)


def labels_of(attribute: str) -> list[str]:
    """Return how an attribute is shown: if there is no such object or it is false, and otherwise."""
    return ["None", OBJECTS[attribute]] if attribute in OBJECTS else ["False", "True"]


def draw_up(found: Exploration) -> dict[str, Any]:
    """Place the states and the arrows between them: on an ellipse, in pixels. The browser draws the same."""
    width, height = SIZE
    turn = 2 * pi / max(1, len(found["states"]))
    places = [(width / 2 - (width / 2 - 42) * cos(turn * at), height / 2 - (height / 2 - 40) * sin(turn * at))
              for at in range(len(found["states"]))]
    arrows: dict[tuple[int, int], list[int]] = {}
    for move in found["moves"]:
        if move["to"] is not None and move["to"] != move["from"]:
            arrows.setdefault((move["from"], move["to"]), []).append(move["call"])
    return {"words": [labels_of(name) for name in found["attributes"]], "size": list(SIZE),
            "places": [[round(x, 1), round(y, 1)] for x, y in places],
            "arrows": lettered([{"from": a, "to": b, "calls": calls, "points": bend(places[a], places[b])}
                                for (a, b), calls in sorted(arrows.items())])}


def lettered(arrows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return arrows with places for their letters, apart from the letters of earlier arrows if possible."""
    taken: list[tuple[float, float, float]] = []

    def is_free(spot: Point, half: float) -> bool:
        return all(abs(x - spot[0]) > half + other or abs(y - spot[1]) > 16 for x, y, other in taken)

    for arrow in arrows:
        half, line = LETTER * len(arrow["calls"]), curve(arrow["points"])
        spot = next((line[part] for part in PARTS if is_free(line[part], half)), line[PARTS[0]])
        taken.append((*spot, half))
        arrow["letters"] = [round(each, 1) for each in spot]
    return arrows


def curve(points: list[list[float]]) -> list[Point]:
    """17 points along an arrow."""
    (ax, ay), (x, y), (bx, by) = points
    weights = [((1 - t) ** 2, 2 * t * (1 - t), t * t) for t in [part / 16 for part in range(17)]]
    return [(p * ax + q * x + r * bx, p * ay + q * y + r * by) for p, q, r in weights]


def bend(start: Point, end: Point) -> list[list[float]]:
    """Return an arrow that bends to its left, so that one there and one back are apart: start, control point, end."""
    (ax, ay), (bx, by) = start, end
    x, y = (ax + bx) / 2 + 0.16 * (by - ay), (ay + by) / 2 - 0.16 * (bx - ax)

    def edge(cx: float, cy: float, gap: float) -> list[float]:
        far = hypot(x - cx, y - cy)
        return [round(cx + (x - cx) * gap / far, 1), round(cy + (y - cy) * gap / far, 1)]

    return [edge(ax, ay, RADIUS + 3), [round(x, 1), round(y, 1)], edge(bx, by, RADIUS + 6)]


class StateExplorer(Widget):
    """Shows an exploration; `calls` is the number of a start, and the calls made since.

    Raises:
        ValueError: if nothing was found.
    """

    STATE = ("exploration", "calls")

    exploration = traitlets.Dict(help="what was found, and where it is drawn").tag(sync=True)
    calls = traitlets.List(traitlets.Int(), help="the number of a start, and the calls made since").tag(sync=True)

    def __init__(self, exploration: Exploration) -> None:
        if not exploration["states"]:
            raise ValueError("there is nothing to show: no state was found")
        self._found = exploration
        self._steps = {(move["from"], move["call"]): move for move in exploration["moves"]}
        super().__init__(exploration={**exploration, "drawing": draw_up(exploration)}, calls=[0])

    @traitlets.validate("calls")
    def _known_calls(self, proposal: dict[str, Any]) -> list[int]:
        """Return the walk, as far as it is possible."""
        start, *calls = proposal["value"] or [0]
        walk = [start if 0 <= start < len(self._found["starts"]) else 0]
        state = self._start(walk[0])
        for call in calls:
            move = self._steps.get((state, call))
            if move is None or move["to"] is None:
                break
            walk.append(call)
            state = move["to"]
        return walk

    def _start(self, start: int) -> int:
        line = self._found["starts"][start]
        return next((at for at, each in enumerate(self._found["states"]) if each["recipe"] == [line]), 0)

    @property
    def state(self) -> int:
        """The state that the walk has led to, an index into `exploration["states"]`."""
        start, *calls = self.calls
        state = self._start(start)
        for call in calls:
            state = self._steps[state, call]["to"] or 0
        return state

    @property
    def python(self) -> list[str]:
        """The lines of the walk."""
        start, *calls = self.calls
        return [self._found["starts"][start], *(self._found["calls"][call] for call in calls)]

    @property
    def text(self) -> str:
        """The table of the states, what each call does in each, and where the walk has led."""
        found = self._found
        errors = list(dict.fromkeys([move["error"] for move in found["moves"] if move["error"]]))
        heads = ["state", *found["attributes"], *map(letter, range(len(found["calls"])))]
        states = range(len(found["states"]))
        rows = [heads, *([str(at + 1), *self._values(at), *self._row(at, errors)] for at in states)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        calls = [f"{letter(call)}  {line}" for call, line in enumerate(found["calls"])]
        told = [f"!{number}  {error.splitlines()[0]}" for number, error in enumerate(errors, 1)]
        here = f"in state {self.state + 1} after: {'; '.join(self.python)}"
        return "\n".join([f"StateExplorer, {len(found['states'])} states", *table, *calls, *told, here])

    def _values(self, at: int) -> list[str]:
        values = self._found["states"][at]["values"]
        return [labels_of(name)[value] for name, value in zip(self._found["attributes"], values, strict=True)]

    def _row(self, at: int, errors: list[str]) -> list[str]:
        """What each call does in a state: the number of the state it leads to, `=` for this one, or an error's."""
        cells = []
        for call in range(len(self._found["calls"])):
            move = self._steps[at, call]
            error, to = move["error"], move["to"]
            cells.append(f"!{errors.index(error) + 1}" if error else "=" if to == at else str((to or 0) + 1))
        return cells

    def figure(self) -> Figure:
        """Return the graph, and beside it the table and the calls."""
        return _Picture(self).figure


class _Picture:
    """The still picture of an explorer."""

    def __init__(self, explorer: StateExplorer) -> None:
        self.found, self.here = explorer.exploration, explorer.state
        self.explorer = explorer
        self.letters = [letter(call) for call in range(len(self.found["calls"]))]
        columns = [44.0, *(22 + 7.4 * len(name) for name in self.found["attributes"]), *(26.0 for _ in self.letters)]
        self.edges = [SIZE[0] + 16 + sum(columns[:at]) for at in range(len(columns))]
        rows = len(self.found["states"]) + 1
        width, height = self.edges[-1] + 40, max(SIZE[1], ROW * rows + 20 + 18 * len(self.letters)) + 16
        self.figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(height, 0)
        self.graph()
        self.table()
        for at, line in enumerate(self.found["calls"]):
            y = ROW * rows + 30 + 18 * at
            self.write(self.edges[0], y, self.letters[at], HERE, 8.5, "bold")
            self.write(self.edges[0] + 24, y, line, INK, 8, family="DejaVu Sans Mono")

    def write(self, x: float, y: float, text: str, color: str, size: float, weight: str = "normal",
              **more: Any) -> None:
        self.axes.text(x, y, text, fontsize=size, color=color, weight=weight, va="center", parse_math=False, **more)

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
            self.axes.plot([self.edges[0] - 4, self.edges[-1] + 26], [y - ROW / 2] * 2, color="#d9dce1", linewidth=0.8)
            self.write(self.edges[0] + 8, y, str(at + 1), HERE if at == self.here else INK, 9, "bold")
            for x, value, word in zip(self.edges[1:], state["values"], self.explorer._values(at), strict=False):
                text, color, weight = (f"✓ {word}", YES, "bold") if value else (word, SOFT, "normal")
                self.write(x, y, text, color, 8, weight)
            for x, call in zip(self.edges[1 + len(state["values"]):], range(len(self.letters)), strict=True):
                to = self.explorer._steps[at, call]["to"]
                text, color = ("✗", NO) if to is None else ("=", SOFT) if to == at else (str(to + 1), INK)
                self.write(x, y, text, color, 8.5, "normal" if text == "=" else "bold")
