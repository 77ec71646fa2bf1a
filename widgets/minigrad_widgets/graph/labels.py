"""Where to put gradients beside their edges, and labels beside links: apart from each other and from boxes, if there is
room.

The browser has the same rules in frontend/src/layout/labels.ts and graph/links.ts, and a golden test compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import floor, inf
from typing import NamedTuple

from minigrad_widgets.graph.geometry import HEIGHT, Data, Point, Wire, stub_region, width_of
from minigrad_widgets.graph.links import Link, bow, links

PARTS = (0.44, 0.3, 0.58, 0.16, 0.74)  # how far along a piece of an edge, in the order of preference
PIECES = 12  # how many pieces of a long edge, from its end, may have the label
GAP, HALF, CELL = 5, 7, 120
NUMBER = 13  # what an edge's output_nr takes at its right, with a gap
LINK_PARTS = (0.5, 0.35, 0.65, 0.2, 0.8)  # the same for a link
LINK_LETTER, LINK_GAP = 5.8, 4  # the width of a letter of its label, and the distance between them


class Region(NamedTuple):
    """A part of the picture: its sides."""

    left: float
    top: float
    right: float
    bottom: float


class Spot(NamedTuple):
    """A label begins at this point, or ends there if it is at the left of its edge."""

    x: float
    y: float
    left: bool

    def region(self, width: float) -> Region:
        """Return what a label of this width covers."""
        return Region(self.x - width * self.left, self.y - HALF, self.x + width * (not self.left), self.y + HALF)


class Taken:
    """The regions already taken, found by position."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], list[Region]] = {}

    def add(self, region: Region) -> None:
        """Take a region."""
        for cell in cells(region):
            self.cells.setdefault(cell, []).append(region)

    def add_boxes(self, data: Data) -> None:
        """Take the boxes of all nodes."""
        for node, (x, y) in data["layout"]["nodes"].items():
            half = width_of(data, int(node)) / 2
            self.add(Region(x - half, y - HEIGHT / 2, x + half, y + HEIGHT / 2))

    def take(self, spots: Iterable[Spot], width: float) -> Spot | None:
        """Take the first of some spots that is free for a label of this width, or the freest."""
        best, least = None, inf
        for spot in spots:
            covered = self.overlap(spot.region(width))
            if covered < least:
                best, least = spot, covered
            if not covered:
                break
        if best is not None:
            self.add(best.region(width))
        return best

    def overlap(self, region: Region) -> float:
        """Return the area of a region that is taken."""
        others = {id(other): other for cell in cells(region) for other in self.cells.get(cell, [])}
        area = 0.0
        for left, top, right, bottom in others.values():
            wide = min(region.right, right) - max(region.left, left)
            high = min(region.bottom, bottom) - max(region.top, top)
            if wide > 0 and high > 0:
                area += wide * high
        return area


def cells(region: Region) -> Iterator[tuple[int, int]]:
    """Return the cells of a grid that a region touches."""
    columns = range(floor(region.left / CELL), floor(region.right / CELL) + 1)
    rows = range(floor(region.top / CELL), floor(region.bottom / CELL) + 1)
    return product(columns, rows)


def label_spots(data: Data, wires: list[Wire], widths: Mapping[str, float]) -> dict[str, Spot]:
    """A spot for each edge that has a label, by its width in pixels: the first one that is free, or the freest."""
    taken = Taken()
    for link, spot in link_spots(data):
        taken.add(spot.region(LINK_LETTER * len(link["label"])))
    taken.add_boxes(data)
    for wire in wires:
        if wire.to is not None and wire.output_nr is not None:
            taken.add(Region(wire.end[0] + 5, wire.end[1] - 15, wire.end[0] + 15, wire.end[1] - 2))
        elif wire.to is None:  # it ends in the word None
            taken.add(Region(*stub_region(data, wire)))
    spots: dict[str, Spot] = {}
    for wire in sorted(wires, key=lambda wire: (wire.node, wire.index)):
        if wire.to is None or wire.key not in widths:
            continue
        best = taken.take(choices(wire), widths[wire.key])
        if best is not None:
            spots[wire.key] = best
    return spots


def link_spots(data: Data) -> list[tuple[Link, Spot]]:
    """Return the places of the labels of links: on no box and on no other label, if there is room."""
    taken, found, places = Taken(), [], data["layout"]["nodes"]
    taken.add_boxes(data)
    for node, (x, y) in places.items():  # the version of a tensor that was written to is at a corner
        left, top = x - width_of(data, int(node)) / 2, y - HEIGHT / 2
        taken.add(Region(left - 12, top - 9, left + 13, top + 9))
    for link in links(data):
        ends = [(node, places.get(str(node), places.get(node))) for node in (link["from"], link["to"])]
        if link["label"] and all(spot is not None for _, spot in ends):
            start, end = [(spot[0], spot[1], float(width_of(data, node))) for node, spot in ends]
            beside = link_choices(link["kind"] == "view", bow(link["kind"], start, end))
            best = taken.take(beside, LINK_LETTER * len(link["label"]))
            if best is not None:
                found.append((link, best))
    return found


def link_choices(left: bool, points: list[Point]) -> Iterator[Spot]:
    """Yield the possible places of the label of a link, in the order of preference."""
    for t in LINK_PARTS:
        s = 1 - t
        x, y = [s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d
                for a, b, c, d in zip(*points, strict=True)]
        yield Spot(x + (-LINK_GAP if left else LINK_GAP), y, left)


def choices(wire: Wire) -> Iterator[Spot]:
    """The possible places of a label, in the order of preference: beside its edge's last piece, then those before, then
    a step aside."""
    for end in range(len(wire.points) - 1, max(0, len(wire.points) - PIECES - 1), -1):
        for part, left in product(PARTS, (wire.left, not wire.left)):
            yield beside(along(wire.points, end, part), left)
    x, y = along(wire.points, len(wire.points) - 1, PARTS[0])
    yield beside((x + NUMBER, y), left=False)


def beside(point: Point, left: bool) -> Spot:
    """Return the spot at one side of a point."""
    return Spot(point[0] - GAP if left else point[0] + GAP, point[1], left)


def along(points: list[Point], end: int, t: float) -> Point:
    """Return the point at the fraction `t` of the piece of an edge that ends with the point number `end`."""
    (ax, ay), (bx, by) = points[end - 1], points[end]
    s, middle = 1 - t, (ay + by) / 2
    x = s * s * s * ax + 3 * s * s * t * ax + 3 * s * t * t * bx + t * t * t * bx
    y = s * s * s * ay + 3 * s * s * t * middle + 3 * s * t * t * middle + t * t * t * by
    return x, y
