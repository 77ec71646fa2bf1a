"""A still picture of one frame: the graph pane, from the same positions as the live view, as PNG or SVG.

It is what a notebook shows where no widget can run: on a hosting site, in a PDF, in an untrusted notebook. It has the
light theme, the Okabe-Ito palette, and the same glyphs, dashes and words as the browser. A large graph is drawn around
the highlighted node.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import Any

from minigrad.trace.format import Names, brief, broken, piled
from minigrad_widgets.graph.derived import arrivals, tangents
from minigrad_widgets.graph.frames import CARD, frames
from minigrad_widgets.graph.geometry import HEIGHT, Point, Wire, fits, held_by, labels, width_of, wires, word_of
from minigrad_widgets.graph.labels import LINK_GAP, LINK_LETTER, Spot, label_spots, link_spots
from minigrad_widgets.graph.links import Link, bow, links
from minigrad_widgets.pictures.sketch import INK, SOFT, Look, Sketch

Data = dict[str, Any]
Box = tuple[float, float, float]

LINE = "#7a828e"
FLOW, FLOW_INK, BADGE, SAVED = "#56b4e9", "#005a8e", "#e69f00", "#cc79a7"
LARGEST = (1100.0, 900.0)
VERSION = "#8a5a00"
BROKEN = "#b3001b"  # NaN or infinite
PLACES = 9  # in the ready queue
UNTIL_IT_RUNS = ("waiting", "ready")
TANGENT, TANGENT_INK = "#e58a4a", "#b04c00"  # what goes forward
BADGES = 56.0  # room for what is pending at the rightmost node
LETTER = 7.0  # the width of a letter of a gradient


@dataclass(frozen=True)
class Style:
    """How one status is drawn; frontend/src/graph/look.ts and style.css say the same."""

    edge: str
    face: str
    text: str
    marker: str
    filled: bool
    word: str
    width: float = 1.2
    dash: tuple[float, ...] = ()


STYLES = {
    "recorded": Style(LINE, "#ffffff", INK, ".", True, ""),
    "waiting": Style(LINE, "#ffffff", INK, "o", False, "waits", dash=(4.0, 2.5)),
    "ready": Style("#e69f00", "#fcf3e0", INK, "D", True, "ready", 2.0),
    "running": Style("#0072b2", "#0072b2", "#ffffff", ">", True, "runs", 2.0),
    "done": Style("#009e73", "#e0f3ee", INK, "✓", True, "done", 1.4),
    "again": Style(SAVED, "#f9edf4", INK, "↻", True, "recomputed", 1.4, dash=(1.5, 1.5)),
}
RAISED = Style(BROKEN, "#ffffff", INK, "✕", True, "", dash=(4.0, 2.0))  # a module raised here


def draw(data: Data, frame: Data, title: str = "", hidden: Set[str] = frozenset()) -> Sketch:
    """Draw a frame of a graph under a title; without the parts of an inspector that are hidden."""
    left, top, width, height = _window(data, frame)
    room = max(30, int((width - 28) / 7.6))  # a margin of 14 on both sides, 7.6 pixels a letter
    lines = [line for part in title.split("\n") for line in wrap(part, room)]
    head = 16 + 17 * len(lines) if lines else 0
    sketch = Sketch(left, top - head, width, height + head)
    _Drawing(sketch, data, frame, (left, top, left + width, top + height), hidden).draw()
    if head:  # over what the graph has there
        sketch.box(left + width / 2, top - head / 2, width, head, 0, Look(None, "#ffffff"), 7)
    for at, line in enumerate(lines):
        sketch.text(left + 14, top - head + 20 + 17 * at, line, INK, 9, order=8)
    return sketch


def _window(data: Data, frame: Data) -> tuple[float, float, float, float]:
    """Return the part of the graph that is drawn: all of it, or the neighbourhood of the highlighted node."""
    width, height = data["layout"]["size"] if data["layout"]["nodes"] else (320.0, 120.0)
    ends = [spot.region(LINK_LETTER * len(link["label"])).right for link, spot in link_spots(data)]
    width = max([width + BADGES, *(end + LINK_GAP for end in ends)])
    wide, high = max(320.0, min(width, LARGEST[0])), max(90.0, min(height, LARGEST[1]))
    nodes = data["layout"]["nodes"]
    lit = frame["lit"] if frame["lit"] is not None else (frame["ready"] or [None])[0]
    x, y = nodes.get(str(lit), (width / 2, 0.0))
    around = frames(data)
    if around and width <= wide and height <= high:  # they stand out of the layout
        left = min(0.0, *(each.left for each in around)) - 8
        top = min(0.0, *(each.top - CARD * each.behind for each in around)) - 8
        right = max(wide, *(each.right + CARD * each.behind for each in around)) + 8
        return left, top, right - left, max(high, *(each.bottom for each in around)) + 8 - top
    left = (width - wide) / 2 if width <= wide else min(max(0.0, x - wide / 2), width - wide)
    top = 0.0 if height <= high else min(max(0.0, y - high / 2), height - high)
    return left, top, wide, high


class _Drawing:
    """Draws one frame, in the pixels of the layout."""

    def __init__(self, sketch: Sketch, data: Data, frame: Data, window: tuple[float, float, float, float],
                 hidden: Set[str] = frozenset()) -> None:
        self.sketch, self.data, self.frame, self.words, self.hidden = sketch, data, frame, Names(data), hidden
        self.window = window
        nodes = {int(node): spot for node, spot in data["layout"]["nodes"].items()}
        known = {node for node in nodes if node in frame["status"]}
        self.boxes: dict[int, Box] = {node: (*nodes[node], float(width_of(data, node))) for node in sorted(known)}

    def draw(self) -> None:
        drawn = wires(self.data)
        flows = {key: brief(self.words.value(value)) for key, value in self.frame["edges"].items()}
        self.moves = {f"{each['node']}:{each['index']}": f"↑ {brief(self.words.value(each['value']))}"
                      for each in tangents(self.data) if each["node"] in self.boxes}
        self.arrivals = arrivals(self.data)
        self.told = {key: "   ".join([self.moves[key], *([f"↓ {flows[key]}"] if key in flows else [])])
                     if key in self.moves else flows[key] for key in {**flows, **self.moves}}
        self.spots = label_spots(self.data, drawn, {key: LETTER * len(text) for key, text in self.told.items()})
        for frame in frames(self.data):
            for at in range(frame.behind, -1, -1):
                x, y = (frame.left + frame.right) / 2 + CARD * at, (frame.top + frame.bottom) / 2 - CARD * at
                self.sketch.box(x, y, frame.right - frame.left, frame.bottom - frame.top, 10, Look(LINE, "#ffffff"), 1)
            self.sketch.text(frame.left + 10, frame.top + 12, frame.title, SOFT, 8.5, bold=True, order=1)
        for wire in drawn:
            self.edge(wire)
        beside = {(link["kind"], link["from"], link["to"]): spot for link, spot in link_spots(self.data)}
        for link in links(self.data):
            if link["from"] in self.boxes and link["to"] in self.boxes:
                self.link(link, beside.get((link["kind"], link["from"], link["to"])))
        for node in self.boxes:
            if self.inside(node):
                self.node(node)

    def inside(self, node: int) -> bool:
        x, y, width = self.boxes[node]
        left, top, right, bottom = self.window
        return left <= x + width / 2 and x - width / 2 <= right and top - HEIGHT <= y <= bottom + HEIGHT

    def edge(self, wire: Wire) -> None:
        if wire.node not in self.boxes:
            return
        if wire.to is None:
            self.stub(wire)
        elif wire.to in self.boxes and self.passes(wire.points):
            flowed = wire.key in self.frame["edges"]
            lost = flowed and broken(self.words.value(self.frame["edges"][wire.key]))
            moved = wire.key in self.moves
            color = BROKEN if lost else FLOW if flowed else TANGENT if moved else LINE
            self.curve(wire.points, color, 2.0 if flowed or moved else 1.0)
            bx, by = wire.points[-1]
            if wire.output_nr is not None and "outputs" not in self.hidden:
                self.label(bx + 6, by - 8, str(wire.output_nr), INK if wire.output_nr else SOFT, 7)
            if flowed or moved:
                x, y, left = self.spots[wire.key]
                ink = BROKEN if lost else FLOW_INK if flowed else TANGENT_INK
                self.label(x, y, self.told[wire.key], ink, 8, True, "right" if left else "left")

    def passes(self, points: list[Point]) -> bool:
        left, top, right, bottom = self.window
        return any(top <= y <= bottom and left <= x <= right for x, y in points)

    def curve(self, points: list[Point], color: str, width: float) -> None:
        steps: list[Point] = [points[0]]
        for (ax, ay), (bx, by) in pairwise(points):
            middle = (ay + by) / 2
            steps += [(ax, middle), (bx, middle), (bx, by)]
        x, y = points[-1]
        look = Look(color, width=width)
        self.sketch.curve(steps, look)
        self.sketch.line([(x - 4, y - 6), (x, y - 0.5), (x + 4, y - 6)], look)

    def link(self, link: Link, spot: Spot | None) -> None:
        view = link["kind"] == "view"
        points = bow(link["kind"], self.boxes[link["from"]], self.boxes[link["to"]])
        stale = self.output_version(link["from"])[1]
        color = ("#b5b8bc" if stale else SOFT) if view else "#caba99" if stale else VERSION  # stale: half as strong
        self.sketch.curve(points, Look(color, width=1.1, dash=(2, 3) if view else (7, 3, 2, 3)))
        if spot is not None and not (view and stale):
            self.label(spot.x, spot.y, link["label"], SOFT if view else VERSION, 7,
                       align="right" if spot.left else "left")

    def output_version(self, node: int) -> tuple[int, bool]:
        """Return the version of the tensor that a node made; whether that tensor has another node by now."""
        record, now = self.data["nodes"][node], self.frame["rebased"]
        made = record["outputs"] if record.get("variable") is None else [record["variable"]]
        own = [tensor for tensor in made if now.get(tensor, node) == node]
        return max([self.frame["versions"].get(tensor, 0) for tensor in own], default=0), bool(made and not own)

    def stub(self, wire: Wire) -> None:
        (x, y), below = wire.start, wire.side == "below"
        end = y + (12 if below else 6)
        self.sketch.line([(x, y), (x, end)], Look(LINE, dash=(1, 1.65)))
        self.sketch.line([(x - 5, end), (x + 5, end)], Look(LINE))
        at = 0 if below else -8 if wire.side == "left" else 8
        self.label(x + at, end + (11 if below else 0), word_of(self.data, wire), SOFT, 7,
                   align={"below": "center", "left": "right"}.get(wire.side, "left"))

    def node(self, node: int) -> None:
        x, y, width = self.boxes[node]
        status = self.frame["status"][node]
        style = STYLES["again" if status == "recorded" and node in self.frame["recomputed"] else status]
        version, stale = self.output_version(node)
        leaf = self.data["nodes"][node].get("variable") is not None
        radius = HEIGHT / 2 if leaf else 8
        if node == self.frame["lit"]:
            self.sketch.box(x, y, width + 10, HEIGHT + 10, radius + 4, Look("#7fb8d8", width=2.5))
        if "caption" in self.data["nodes"][node]:  # folded: a box in front of others
            self.sketch.box(x + 5, y - 5, width, HEIGHT, radius, Look(LINE, "#f3f4f6"))
        lost = self.lost(node)
        raised, within = self.raised(node)
        self.sketch.box(x, y, width, HEIGHT, radius, Look(
            BROKEN if lost or within else style.edge, style.face, 2.0 if lost or within else style.width,
            (1.0, 3.0) if stale else RAISED.dash if within else style.dash))
        title, caption = labels(self.data, node)
        left, ink = x - width / 2, style.text
        soft = ink if style.face == style.edge else SOFT
        face = soft if style.face == style.edge else style.edge
        self.glyph(left + 17, y, RAISED if within else style, BROKEN if within else face)
        alone = leaf and "leaves" in self.hidden
        self.sketch.text(left + 32, y if alone else y - 8, caption if alone else title, ink, 8.5, bold=True)
        self.sketch.text(left + 32, y + 10, "" if alone else caption, BROKEN if raised else soft, 7.5)
        word = self.word(node, status, style)
        both = " · ".join(filter(None, [word, self.hooked(node, status), lost]))
        said = both if fits(both, caption, width) else lost or word
        self.sketch.text(x + width / 2 - 12, y + 10, said, BROKEN if lost and style.face != style.edge else soft, 7.5,
                         bold=True, align="right")
        if version:
            told = self.sketch.text(left + 15, y - HEIGHT / 2, f"v{version}", VERSION, 7, bold=True, align="center",
                                    order=6)
            self.sketch.pill(told, Look(VERSION, "#ffffff"), 0.2, 0.7, 5.5)
        if leaf and self.data["nodes"][node]["name"] != "Dual":
            self.tray(node, x, y + HEIGHT / 2 + 12)
        self.marks(node, x + width / 2, y - HEIGHT / 2, soft if style.face == style.edge else SAVED)

    def word(self, node: int, status: str, style: Style) -> str:
        """Return the word for a state."""
        needs = self.frame["needs"].get(node)
        place = self.frame["ready"].index(node) + 1 if node in self.frame["ready"] else 0
        if "counts" in self.hidden and status in UNTIL_IT_RUNS:
            return ""
        if 0 < place <= PLACES:
            return f"ready: {place}"
        return f"{style.word}: {needs}" if needs is not None and status == "waiting" else style.word

    def hooked(self, node: int, status: str) -> str:
        """Return the word for a hook of the program that has run at a node in this pass."""
        return "hook" if status in ("running", "done") and node in self.frame["hooked"] else ""

    def raised(self, node: int) -> tuple[bool, bool]:
        """Return whether a module raised in a box or after it, and whether it was in it."""
        failed = self.data.get("failed") or {"node": None}
        return failed["node"] == node, failed["node"] == node and failed["within"]

    def lost(self, node: int) -> str:
        """What at a node is NaN or infinite: a gradient that it passed on, one pending there, a result, a `.grad`."""
        record, frame = self.data["nodes"][node], self.frame
        given = [frame["edges"].get(f"{node}:{index}") for index in range(len(record["next"]))]
        results = [self.data["tensors"][tensor]["value"] for tensor in record["outputs"]]
        gradients = [*given, *frame["pending"].get(node, ()), frame["grads"].get(record.get("variable"))]
        for whose, values in ("", gradients), ("value ", results):
            found = {broken(self.words.value(value)) for value in values if value is not None}
            for word in ("nan", "inf"):
                if word in found:
                    return whose + word
        return ""

    def tray(self, node: int, x: float, y: float) -> None:
        """Draw the `.grad` of a leaf, under its box."""
        tensor = self.data["nodes"][node]["variable"]
        value = self.words.value(self.frame["grads"].get(tensor))
        before = value is None and self.data["tensors"][tensor].get("filled", False)
        coming = any(each is not None for each in self.frame["pending"].get(node, ()))
        held = ("#009e73", "#e0f3ee") if value or before else (LINE, "white")
        edge, face = (BADGE, "#fcf3e0") if coming else held
        text = brief(value) if value else "set before" if before else "None"
        ink = BROKEN if value and broken(value) else INK
        told = self.sketch.text(x, y, f".grad {text}", ink, 7, align="center")
        self.sketch.pill(told, Look(edge, face, dash=() if value or before or coming else (1, 1.65)), 0.25, 0.4, 4.5)

    def marks(self, node: int, right: float, top: float, color: str) -> None:
        state = self.frame["saved"].get(node)
        for at in range(min(4, held_by(self.data, node)) if state else 0):
            look = Look(color, color if state == "held" else None)
            self.sketch.box(right - 16.5 - at * 11, top + 11.5, 7, 7, 0, look, 4)
        pending = None if "counts" in self.hidden else self.frame["pending"].get(node)
        moved = self.arrivals.get(node)
        if moved is not None and not pending:
            told = self.sketch.text(right + 46, top, f"↑ {brief(self.words.value(moved))}", TANGENT_INK, 7.5, bold=True,
                                    align="right", order=6)
            self.sketch.pill(told, Look(TANGENT, "#ffffff"), 0.25, 0.8, 5.5)
        if pending:
            text = f"Σ {piled(['–' if each is None else brief(self.words.value(each)) for each in pending])}"
            told = self.sketch.text(right + 46, top, text, "#1d1500", 7.5, bold=True, align="right", order=6)
            self.sketch.pill(told, Look("#ffffff", BADGE), 0.25, 0.8, 5.5)

    def glyph(self, x: float, y: float, style: Style, color: str) -> None:
        """Draw the mark of a status."""
        look = Look(color, color if style.filled else "#ffffff", 1.2)
        if style.marker in "✓↻✕":
            self.sketch.text(x, y, style.marker, color, 14, align="center")
        elif style.marker in ".o":
            size = 5.5 if style.filled else 9.5
            self.sketch.box(x, y, size, size, size / 2, look if style.word else Look(None, color), 4)
        else:
            places: dict[str, list[Point]] = {"D": [(0, -6.5), (6.5, 0), (0, 6.5), (-6.5, 0)],
                                              ">": [(-5, -5.5), (5, 0), (-5, 5.5)]}
            self.sketch.line([(x + dx, y + dy) for dx, dy in places[style.marker]], look, 4, closed=True)

    def label(self, x: float, y: float, text: str, color: str, size: float, bold: bool = False,
              align: str = "left") -> None:
        """Write on an edge, over what is behind."""
        told = self.sketch.text(x, y, text, color, size, bold, align, 2)
        self.sketch.pill(told, Look(None, "#ffffff"), 0.1, 0, 1.5)
