"""Where the nodes of a graph stand: computed once in Python, kept in the trace, used by every picture.

fast-sugiyama places the nodes in layers. The roots (nothing leads to them) are at the top and every edge points down
along `next_functions`, so that a backward pass runs down the page. Nothing here recurses: a chain of 10,000 nodes and
a fan-out of 2,000 are laid out like any other graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

from fast_sugiyama import from_edges

from minigrad_widgets.geometry import HEIGHT, width_of

LAYER = 98
GAP = 44
MARGIN = 24
UNIT = 100.0
DUMMY = 0.25

Point = list[float]
Edges = list[tuple[int, int]]


class Layout(TypedDict):
    """The `layout` of a trace, as docs/trace.md describes it."""

    nodes: dict[str, Point]
    size: Point
    edges: dict[str, list[Point]]


def edges_of(trace: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Every edge as (node, index, next node)."""
    found = []
    for node, record in enumerate(trace["nodes"]):
        found += [(node, index, edge[0]) for index, edge in enumerate(record["next"]) if edge is not None]
    return found


def place(trace: dict[str, Any]) -> Layout:
    """Positions for all nodes of a trace, in CSS pixels."""
    edges = edges_of(trace)
    widths = [width_of(trace, node) for node in range(len(trace["nodes"]))]
    parts = _components(sorted({(node, to) for node, _, to in edges}))
    placed, bends, right, bottom = {}, {}, float(MARGIN), 0.0
    for part in parts:
        spots, between = _spread(part, widths)
        left = min(x - widths[node] / 2 for node, (x, _) in spots.items())
        shift = right - left
        placed.update({node: [x + shift, y] for node, (x, y) in spots.items()})
        bends.update({edge: [[x + shift, y] for x, y in points] for edge, points in between.items()})
        right = max(x + shift + widths[node] / 2 for node, (x, _) in spots.items()) + GAP
        bottom = max(bottom, *(y for _, y in spots.values()))
    for node in range(len(trace["nodes"])):
        if node not in placed:
            placed[node] = [right + widths[node] / 2, MARGIN + HEIGHT / 2]
            right += widths[node] + GAP
    size = [right - GAP + MARGIN, max(bottom, MARGIN + HEIGHT / 2) + HEIGHT / 2 + MARGIN]
    return _written(placed, bends, edges, size)


def _written(placed: dict[int, Point], bends: dict[tuple[int, int], list[Point]], edges: Iterable[tuple[int, int, int]],
             size: Point) -> Layout:
    nodes = {str(node): [round(x, 1), round(y, 1)] for node, (x, y) in sorted(placed.items())}
    long = {f"{node}:{index}": [[round(x, 1), round(y, 1)] for x, y in bends[node, to]]
            for node, index, to in edges if bends.get((node, to))}
    return {"nodes": nodes, "size": [round(each, 1) for each in size], "edges": long}


def _components(edges: Edges) -> list[Edges]:
    """The connected parts of the graph, each as its edges, in the order of their first node."""
    group: dict[int, int] = {}

    def find(node: int) -> int:
        while group.setdefault(node, node) != node:
            group[node] = group[group[node]]
            node = group[node]
        return node

    for a, b in edges:
        group[find(a)] = find(b)
    parts: dict[int, Edges] = {}
    for edge in edges:
        parts.setdefault(find(edge[0]), []).append(edge)
    return list(parts.values())


def _spread(edges: Edges, widths: Sequence[int]) -> tuple[dict[int, Point], dict[tuple[int, int], list[Point]]]:
    """One connected part: positions of its nodes, and the points that its long edges pass."""
    nodes = sorted({node for edge in edges for node in edge})
    number = {node: at for at, node in enumerate(nodes)}  # the library numbers its dummies from len(nodes) on
    # From the leaves up: with the edges turned round the library finds half the crossings.
    (positions, _, _, drawn), = from_edges(
        [(number[b], number[a]) for a, b in edges], vertex_spacing=UNIT, dummy_vertices=True, dummy_size=DUMMY,
        ranking_type="minimize", crossing_minimization="barycenter", transpose=len(edges) < 500,
    )
    wide = max(widths[node] for node in nodes) + GAP
    spots = {int(at): [x / UNIT * wide, y / UNIT * LAYER + MARGIN + HEIGHT / 2] for at, (x, y) in positions}
    bends = _bends(drawn or [], spots, len(nodes))
    return ({node: spots[at] for node, at in number.items()},
            {(nodes[a], nodes[b]): points[::-1] for (b, a), points in bends.items()})


def _bends(drawn: Iterable[tuple[Any, Any]], spots: dict[int, Point], count: int) -> dict[tuple[int, int], list[Point]]:
    """Follows each long edge through the layers that it passes; dummies are numbered from `count` on."""
    onward = {start: end for start, end in drawn if start >= count}
    found: dict[tuple[int, int], list[Point]] = {}
    for start, point in drawn:
        if start >= count:
            continue
        passed = []
        while point >= count:
            passed.append(spots[point])
            point = onward[point]
        found[start, point] = passed
    return found
