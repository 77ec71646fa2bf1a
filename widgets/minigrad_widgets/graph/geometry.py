"""Where things are drawn in a laid-out graph: sizes of boxes, ports on them, the points of every edge.

The still pictures use it; the browser has the same rules in frontend/src/layout/geometry.ts, and a golden test
compares them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from minigrad.trace.format import shape_text

HEIGHT = 46
PORTS = 34.0

Data = dict[str, Any]
Point = tuple[float, float]


@dataclass
class Wire:
    """One edge of the graph: input `index` of `node` leads to output `output_nr` of `to` (None: no gradient needed).

    For an edge from or to a folded box, `output_nr` is None: it stands for several edges.
    """

    node: int
    index: int
    to: int | None
    output_nr: int | None
    bends: list[Point] = field(default_factory=list)
    start: Point = (0.0, 0.0)
    end: Point = (0.0, 0.0)
    left: bool = False  # its gradient is at its left, as at the first of several edges between two boxes
    side: str = "right"  # of an edge to nothing: where its word is, "left", "right" or "below"

    @property
    def key(self) -> str:
        """The edge's name in a frame."""
        return f"{self.node}:{self.index}"

    @property
    def points(self) -> list[Point]:
        """All points that the edge passes: straight down beside the boxes of each layer that it crosses."""
        passed = [point for x, y in self.bends for point in ((x, y - HEIGHT / 2), (x, y + HEIGHT / 2))]
        return [self.start, *passed, self.end]


NUMBERED = 60  # so many nodes and no modules: then a node without a name shows the number that sentences give it
NAMED, LETTER, PLAIN = 6, 6.4, 33.0  # the longest name before "None"; the widths of the word with a name and without


def word_of(data: Data, wire: Wire) -> str:
    """Return the word at an edge to nothing: "None" and, where there is room, the name of the input."""
    inputs = data["nodes"][wire.node].get("inputs") or []
    tensor = inputs[wire.index] if wire.index < len(inputs) else None
    name = "" if tensor is None else data["tensors"][tensor]["name"] or ""
    return f"{name}: None" if 0 < len(name) <= NAMED and wire.side != "below" else "None"


def stub_region(data: Data, wire: Wire) -> tuple[float, float, float, float]:
    """Return what the word of an edge to nothing covers: its left, top, right and bottom."""
    (x, y), word = wire.start, word_of(data, wire)
    wide = PLAIN if word == "None" else LETTER * len(word)
    if wire.side == "below":
        return x - PLAIN / 2, y, x + PLAIN / 2, y + 28
    return (x - 5 - wide, y, x + 5, y + 12) if wire.side == "left" else (x - 5, y, x + 5 + wide, y + 12)


def labels(data: Data, node: int) -> tuple[str, str]:
    """Return the two lines of text on a node: its name, and its tensor's name and shape."""
    record, failed = data["nodes"][node], data.get("failed")
    if failed and failed["node"] == node:
        return record["name"], failed["caption"]
    if "caption" in record:  # a folded box
        return record["name"], record["caption"]
    outputs = record["outputs"]
    shown = record.get("variable", outputs[0] if outputs else None)
    tensor = None if shown is None else data["tensors"][shown]
    parts = [] if tensor is None else [tensor["name"] or number_of(data, node), shape_text(tensor["shape"])]
    if len(outputs) > 1:
        parts.append(f"× {len(outputs)}")
    return record["name"], " · ".join(part for part in parts if part)


def number_of(data: Data, node: int) -> str:
    """Return the number that sentences give a node, if it has no name of its own and others of its class are there."""
    record = data["nodes"][node]
    if len(data["nodes"]) > NUMBERED or "variable" in record or data.get("scopes"):
        return ""
    return f"#{node}" if sum(each["name"] == record["name"] for each in data["nodes"]) > 1 else ""


def held_by(data: Data, node: int) -> int:
    """Return how many tensors a node saves; a plain number, such as the 3 of `w * 3`, is none."""
    return sum(tensor is not None or value is None or bool(data["values"][value]["shape"])
               for _, tensor, value in data["nodes"][node]["saved"])


def width_of(data: Data, node: int) -> int:
    """Return the width that fits both lines, the marks of the saved tensors, and the longest word for a state."""
    title, caption = labels(data, node)
    marks = 11 * min(4, len(data["nodes"][node]["saved"])) + 8
    # A folded box only runs or is ready; its title is larger on a map that is drawn small.
    # There is room on it for what it did.
    letter, word, least = (10.6, 44, 176) if "caption" in data["nodes"][node] else (9.2, 78, 132)
    return max(least, ceil(max(len(title) * letter + marks, len(caption) * 6.6 + word)) + 44)


def fits(word: str, caption: str, width: float) -> bool:
    """Return whether a word for a state fits beside the caption of its box; its bold letters are a little wider."""
    return 5.6 * len(caption) + 6.1 * len(word) + 4 <= width - 44


def wires(data: Data) -> list[Wire]:
    """Return every edge of the graph with the points that it passes; edges to nothing have only a start."""
    spots = {int(node): (float(x), float(y)) for node, (x, y) in data["layout"]["nodes"].items()}
    long = data["layout"].get("edges", {})
    leaving: dict[int, list[Wire]] = {}
    arriving: dict[int, list[Wire]] = {}
    for node in spots:
        for index, edge in enumerate(data["nodes"][node]["next"]):
            bends = [(float(x), float(y)) for x, y in long.get(f"{node}:{index}", [])]
            wire = Wire(node, index, edge and edge[0], edge[1] if edge else 0, bends)
            leaving.setdefault(node, []).append(wire)
            if edge:
                arriving.setdefault(edge[0], []).append(wire)
    for node, group in leaving.items():
        _ports(group, spots[node][0], width_of(data, node), lambda wire: _first(wire, spots))
        for wire in group:
            wire.start = (wire.end[0], spots[node][1] + HEIGHT / 2)
    for node, group in arriving.items():
        _ports(group, spots[node][0], width_of(data, node), lambda wire: _last(wire, spots))
        for wire in group:
            wire.end = (wire.end[0], spots[node][1] - HEIGHT / 2)
    found = [wire for group in leaving.values() for wire in group]
    pairs = Counter((wire.node, wire.to) for wire in found)
    firsts: dict[tuple[int, int | None], Wire] = {}
    for wire in found:  # those of a node come from left to right
        first = firsts.setdefault((wire.node, wire.to), wire)
        wire.left = wire is first and wire.to is not None and pairs[wire.node, wire.to] > 1
    return found


def _first(wire: Wire, spots: dict[int, Point]) -> float:
    if wire.to is None:
        return 0.0  # its place is that of its input
    return wire.bends[0][0] if wire.bends else spots[wire.to][0]


def _last(wire: Wire, spots: dict[int, Point]) -> float:
    return wire.bends[-1][0] if wire.bends else spots[wire.node][0]


def _ports(group: list[Wire], x: float, width: float, toward: Callable[[Wire], float]) -> None:
    """Spread edges over a side of a box, close together and centred: each on the side that it comes from, and one to
    nothing at the place of its input.
    """
    stubs = sorted((wire for wire in group if wire.to is None), key=lambda wire: wire.index)
    before = {wire.index: sum(other.index < wire.index for other in group) for wire in stubs}
    group[:] = sorted((wire for wire in group if wire.to is not None),
                      key=lambda wire: (toward(wire), wire.node, wire.index))
    for wire in stubs:
        group.insert(before[wire.index], wire)
    gap = min(PORTS, (width - PORTS) / max(1, len(group) - 1))
    for at, wire in enumerate(group):
        wire.side = "right" if at == len(group) - 1 else "left" if at == 0 else "below"
        wire.end = (x + (at - (len(group) - 1) / 2) * gap, 0.0)
