"""The state explorer: which states a tensor can be in, and which call leads from one to the other. For lesson 2.

    StateExplorer(explore(torch))

It shows what `explore` found by running every call in every state, breadth first: a graph of the states, a table of the
attributes in each, and what each call does there, or the error that forbids it. A student walks through it by making
calls; the lines that lead to the current state are written out, and run when pasted. `calls` holds the walk, `state`
where it has led.

The library is an argument, so it runs with minigrad and with PyTorch alike; no table is typed by hand. A state is the
combined value of some attributes of a tensor. Each call is a line of Python about a tensor `t`; it runs on a new `t`
that the shortest known lines have brought into the state.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import cos, hypot, pi, sin
from string import ascii_lowercase
from typing import Any, TypedDict

import traitlets

from minigrad_widgets.widget.base import Widget

ATTRIBUTES = ("is_leaf", "requires_grad", "retains_grad", "grad_fn")
STARTS = ("t = torch.ones(2)", "t = torch.ones(2, requires_grad=True)")
CALLS = (
    "t.requires_grad_()",
    "t.requires_grad_(False)",
    "t.retain_grad()",
    "t.detach_()",
    "t.add_(1)",
    "t = t.detach()",
    "t = t * 2",
    "with torch.no_grad(): t = t * 2",
)
MOST = 64
OBJECTS = {"grad_fn": "a node", "grad": "a tensor"}
SIZE = (460, 330)
RADIUS = 22
PARTS = (6, 8, 5, 7, 10, 4, 11, 12)  # of 16 parts of an arrow: where its letters may be, preferably near its start
LETTER = 6.5

Point = tuple[float, float]
Values = tuple[bool, ...]


class State(TypedDict):
    """The attributes, in order (for `grad_fn` and `grad`: whether there is one), and the way there."""

    values: list[bool]
    recipe: list[str]


Move = TypedDict("Move", {"from": int, "call": int, "to": int | None, "error": str | None})
"""What a call does in a state: the state that it leads to, or the error that forbids it."""


class Exploration(TypedDict):
    """Everything that was found. States and calls are named by their index in their lists."""

    attributes: list[str]
    starts: list[str]
    calls: list[str]
    states: list[State]
    moves: list[Move]


def letter(call: int) -> str:
    """Return the name of a call in the table: a, b, …, z, aa, …"""
    return ascii_lowercase[call % 26] * (1 + call // 26)


def labels_of(attribute: str) -> list[str]:
    """Return how an attribute is shown: if there is no such object or it is false, and otherwise."""
    return ["None", OBJECTS[attribute]] if attribute in OBJECTS else ["False", "True"]


class StateExplorer(Widget):
    """Shows an exploration; `calls` is the number of a start, and the calls made since. Raises ValueError if nothing
    was found."""

    STATE = ("exploration", "calls")
    PICTURE = "state_explorer"

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


def explore(torch: Any, calls: Sequence[str] = CALLS, starts: Sequence[str] = STARTS,
            attributes: Sequence[str] = ATTRIBUTES) -> Exploration:
    """Find all states that these calls reach from these starts, and what each call does in each of them.

    Args:
        torch: minigrad or PyTorch; the lines refer to it as `torch`.
        calls: lines of Python about a tensor `t`.
        starts: lines that make `t`.
        attributes: which attributes of `t` make up its state; a method is called.

    Raises ValueError if a call treats two tensors in one state differently, so that the attributes are not enough to
    tell states apart, or if there are more than 64 states.
    """
    known: dict[Values, int] = {}
    states: list[State] = []
    outcomes: list[list[Values | str]] = []  # by state, the result of each call

    def meet(recipe: list[str]) -> None:
        values = run(torch, recipe, attributes)
        if isinstance(values, str):
            raise ValueError(f"{recipe[-1]!r} does not make a tensor: {values}")
        gives = [run(torch, [*recipe, call], attributes) for call in calls]
        if values not in known:
            if len(states) == MOST:
                raise ValueError(f"there are more than {MOST} states: look at fewer attributes, or make fewer calls")
            known[values] = len(states)
            states.append({"values": list(values), "recipe": recipe})
            outcomes.append(gives)
        elif gives != outcomes[known[values]]:
            raise ValueError(unlike(states[known[values]]["recipe"], recipe, calls, outcomes[known[values]], gives))

    for start in starts:
        meet([start])
    at = 0
    while at < len(states):
        for call, gives in zip(calls, outcomes[at], strict=True):
            if not isinstance(gives, str):
                meet([*states[at]["recipe"], call])
        at += 1
    moves: list[Move] = [
        {"from": at, "call": call, "to": None, "error": gives} if isinstance(gives, str)
        else {"from": at, "call": call, "to": known[gives], "error": None}
        for at, row in enumerate(outcomes) for call, gives in enumerate(row)]
    return {"attributes": list(attributes), "starts": list(starts), "calls": list(calls), "states": states,
            "moves": moves}


def run(torch: Any, lines: Sequence[str], attributes: Sequence[str]) -> Values | str:
    """Return the attributes of `t` after these lines, or the error that the last one raised."""
    names = {"torch": torch}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reading a result's .grad warns
        try:
            for line in lines:
                exec(line, names)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is what the call does)
            return f"{type(error).__name__}: {error}"
        return tuple([as_bool(getattr(names["t"], name)) for name in attributes])


def as_bool(value: Any) -> bool:
    """Return an attribute as a bool: for an object, whether there is one."""
    if callable(value) and not hasattr(value, "next_functions"):
        value = value()
    return value if isinstance(value, bool) else value is not None


def unlike(one: list[str], other: list[str], calls: Sequence[str], first: list[Any], second: list[Any]) -> str:
    """Return a message that says which call tells two recipes apart."""
    call = next(call for call, a, b in zip(calls, first, second, strict=True) if a != b)
    return (f"the attributes do not tell two tensors apart that {call!r} does: the one made by {'; '.join(one)!r} and "
            f"the one made by {'; '.join(other)!r}. Look at one attribute more")
