"""Where the nodes of a graph are placed: computed once in Python, kept in the trace, used by every picture.

fast-sugiyama (where it is missing, `graph/layers.py`) assigns the nodes to layers and orders each layer; `straighten`
places them within it. The roots (nothing leads to them) are at the top and every edge points down along
`next_functions`, so that a backward pass runs down the page. Nothing here recurses: a chain of 10,000 nodes and a
fan-out of 2,000 are laid out like any other graph.

Slow steps are avoided. The total length of all edges is not minimised where longest paths already do it, nor in the
largest graphs; and where there are many long edges (each step of a loop uses the same weight), the longest get no room
of their own: they are drawn straight, behind the boxes.

The library's own places within a layer lean to one side, so that a network of 2,000 nodes would be 77,000 pixels wide.
Here each sweep, down the layers and up, moves every node to the middle of its neighbours, by least squares in the order
of the layer, clear of one another, in linear time (frontend/src/layout/arrange.ts does the same). Nodes with many
others below them are kept straight and the rest gives way; edges that pass layers are the straightest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Literal, TypedDict

from minigrad_widgets.graph.geometry import HEIGHT, width_of

from_edges: Any  # the same arguments and results in both
try:
    from fast_sugiyama import from_edges
except ModuleNotFoundError:  # it is compiled, and not for every platform
    from minigrad_widgets.graph.layers import from_edges

LAYER = 98
GAP = 56  # pending gradients are drawn into it
MARGIN = 24
UNIT = 100.0
DUMMY = 0.25
LANE = 20.0  # the width for an edge that passes a layer
TIGHT = 1.02  # edges at most this much longer than one layer on average are not worth minimising
ROOM = 12_000  # how many layers edges may pass in all: each pass takes a place in one
MANY = 4_000  # with this many edges, their length is not minimised, and with this many places there are fewer sweeps
SWEEPS, FEWER = 24, 8
BOTH = 4  # this many sweeps at the end use both neighbouring layers
PASSING = 20.0  # how much straighter an edge should be where it passes a layer
STAY = 0.01

Point = list[float]
Edges = list[tuple[int, int]]
Layers = Literal["leaves", "roots", "shortest"]  # counted from one end, or so that edges are short


class Layout(TypedDict):
    """The `layout` of a trace, as docs/trace.md describes it."""

    nodes: dict[str, Point]
    size: Point
    edges: dict[str, list[Point]]


def edges_of(trace: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Return every edge as (node, index, next node)."""
    found = []
    for node, record in enumerate(trace["nodes"]):
        found += [(node, index, edge[0]) for index, edge in enumerate(record["next"]) if edge is not None]
    return found


def compute_layout(trace: dict[str, Any]) -> Layout:
    """Return positions for all nodes of a trace, in CSS pixels."""
    edges = edges_of(trace)
    widths = [width_of(trace, node) for node in range(len(trace["nodes"]))]
    placed, bends, right, bottom = place({(node, to) for node, _, to in edges}, widths)
    for node in range(len(trace["nodes"])):
        if node not in placed:
            placed[node] = [right + widths[node] / 2, MARGIN + HEIGHT / 2]
            right += widths[node] + GAP
    size = [right - GAP + MARGIN, max(bottom, MARGIN + HEIGHT / 2) + HEIGHT / 2 + MARGIN]
    return _written(placed, bends, edges, size)


def place(edges: Iterable[tuple[int, int]],
          widths: Sequence[int]) -> tuple[dict[int, Point], dict[tuple[int, int], list[Point]], float, float]:
    """Return the positions of all nodes that have edges, the points that long edges pass, and how far right and down
    this reaches. Every edge points one layer down or more; `widths` are the nodes' own, in pixels."""
    parts = _components(_downward(sorted(edges)))
    placed: dict[int, Point] = {}
    bends: dict[tuple[int, int], list[Point]] = {}
    right, bottom = float(MARGIN), 0.0
    for piece, layers in chain.from_iterable(map(_plans, parts)):
        spots, between = _spread(piece, widths, layers)
        ways = [x for points in between.values() for x, _ in points]
        left = min(*ways, *(x - widths[node] / 2 for node, (x, _) in spots.items()))
        shift = right - left
        placed.update({node: [x + shift, y] for node, (x, y) in spots.items()})
        bends.update({edge: [[x + shift, y] for x, y in points] for edge, points in between.items()})
        right = max(*ways, *(x + widths[node] / 2 for node, (x, _) in spots.items())) + shift + GAP
        bottom = max(bottom, *(y for _, y in spots.values()))
    return placed, bends, right, bottom


def _written(placed: dict[int, Point], bends: dict[tuple[int, int], list[Point]], edges: Iterable[tuple[int, int, int]],
             size: Point) -> Layout:
    nodes = {str(node): [round(x, 1), round(y, 1)] for node, (x, y) in sorted(placed.items())}
    long = {f"{node}:{index}": [[round(x, 1), round(y, 1)] for x, y in bends[node, to]]
            for node, index, to in edges if bends.get((node, to))}
    return {"nodes": nodes, "size": [round(each, 1) for each in size], "edges": long}


def _components(edges: Edges) -> list[Edges]:
    """Return the connected parts of the graph, each as its edges, in the order of their first node."""
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


def _depths(edges: Edges) -> dict[int, int]:
    """Return the longest path to each node, from nodes to which nothing leads."""
    onward: dict[int, list[int]] = {}
    waits: dict[int, int] = {}
    for a, b in edges:
        onward.setdefault(a, []).append(b)
        waits[b] = waits.get(b, 0) + 1
    depths = {a: 0 for a in onward if a not in waits}
    queue = deque(depths)
    while queue:
        node = queue.popleft()
        for to in onward.get(node, ()):
            waits[to] -= 1
            if waits[to] == 0:
                depths[to] = depths[node] + 1
                queue.append(to)
    return depths


def _downward(edges: Edges) -> Edges:
    """Return the edges without those that close a cycle, as there may be between folded boxes."""
    ends = {node for edge in edges for node in edge}
    circled = ends - _depths(edges).keys()
    return [(a, b) for a, b in edges if not (circled and a in circled and b in circled and b > a)]


def _plans(edges: Edges) -> list[tuple[Edges, Layers]]:
    """Decide how a connected part is laid out: in which pieces, and from which end the layers of each are counted."""
    high, deep = _depths([(b, a) for a, b in edges]), _depths(edges)
    passed = {(a, b): deep[b] - deep[a] - 1 for a, b in edges}
    if sum(high[a] - high[b] for a, b in edges) <= TIGHT * len(edges):
        return [(edges, "leaves")]
    long = sum(passed.values())
    if long <= ROOM:
        return [(edges, "roots" if long <= (TIGHT - 1) * len(edges) or len(edges) > MANY else "shortest")]
    # The edges that determine a node's depth pass no layer: they are kept, so all others still point down.
    kept, room = [], ROOM
    for edge in sorted(edges, key=lambda edge: (passed[edge], edge)):
        room -= passed[edge]
        if room < 0:
            break
        kept.append(edge)
    return [(piece, "roots") for piece in _components(sorted(kept))]


def _spread(edges: Edges, widths: Sequence[int],
            layers: Layers) -> tuple[dict[int, Point], dict[tuple[int, int], list[Point]]]:
    """Lay out one connected piece: return positions of its nodes, and the points that its long edges pass."""
    nodes = sorted({node for edge in edges for node in edge})
    number = {node: at for at, node in enumerate(nodes)}  # the library numbers its dummies from len(nodes) on
    # From the leaves up: with the edges reversed, the library's result has half the crossings.
    turned = layers != "roots"
    (positions, _, tall, drawn), = from_edges(
        [(number[b], number[a]) if turned else (number[a], number[b]) for a, b in edges], vertex_spacing=UNIT,
        dummy_vertices=True, dummy_size=DUMMY, ranking_type="minimize" if layers == "shortest" else "up",
        crossing_minimization="barycenter", transpose=len(edges) < 500,
    )
    levels: dict[float, list[tuple[float, int]]] = {}
    for at, (x, y) in positions:
        levels.setdefault(y if turned else tall - y, []).append((x, int(at)))
    places = _places([[at for _, at in sorted(levels[y])] for y in sorted(levels)], [widths[node] for node in nodes],
                     [(int(b), int(a)) if turned else (int(a), int(b)) for a, b in drawn or []])
    spots = {at: [places[at], y / UNIT * LAYER + MARGIN + HEIGHT / 2] for y, level in levels.items() for _, at in level}
    bends = _bends(drawn or [], spots, len(nodes))
    return ({node: spots[at] for node, at in number.items()},
            {(nodes[b], nodes[a]) if turned else (nodes[a], nodes[b]): points[::-1] if turned else points
             for (a, b), points in bends.items()})


def _places(layers: list[list[int]], widths: list[int], pieces: Edges) -> dict[int, float]:
    """Return the place of everything in its layer: of the nodes, and, numbered after them, of what long edges pass."""
    links: dict[int, list[int]] = {}
    for a, b in pieces:
        links.setdefault(a, []).append(b)
    count = len(widths)

    def gap(a: int, b: int) -> float:
        beside = LANE if a >= count or b >= count else GAP
        return sum(widths[at] if at < count else LANE for at in (a, b)) / 2 + beside

    return straighten(layers, links, lambda at: at >= count, gap)


def _bends(drawn: Iterable[tuple[Any, Any]], spots: dict[int, Point], count: int) -> dict[tuple[int, int], list[Point]]:
    """Follow each long edge through the layers that it passes; dummies are numbered from `count` on."""
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


def straighten(layers: Sequence[Sequence[int]], links: Mapping[int, Sequence[int]], passes: Callable[[int], bool],
               gap: Callable[[int, int], float]) -> dict[int, float]:
    """Return the place of each node. `links` leads to the layer below; `passes` tells what only marks a long edge."""
    down = {node: list(links.get(node, ())) for layer in layers for node in layer}
    up: dict[int, list[int]] = {node: [] for node in down}
    weight: dict[int, float] = {}
    for layer in reversed(layers):
        for node in layer:
            weight[node] = 1 + max((weight[to] for to in down[node]), default=0)
            for to in down[node]:
                up[to].append(node)
    pulls = {node: {to: min(weight[node], weight[to]) * (PASSING if passes(node) or passes(to) else 1)
                    for to in [*up[node], *down[node]]} for node in down}
    gaps = [[0.0, *(gap(a, b) for a, b in pairwise(layer))] for layer in layers]
    places = {node: x for layer, steps in zip(layers, gaps) for node, x in zip(layer, packed(steps))}
    sweeps = SWEEPS if len(down) < MANY else FEWER
    for sweep in range(sweeps):
        near = up if sweep % 2 == 0 else down
        both = sweep >= sweeps - BOTH
        for at in range(len(layers)) if sweep % 2 == 0 else reversed(range(len(layers))):
            wishes = [wish(places, node, pulls[node], pulls[node] if both else near[node]) for node in layers[at]]
            places.update(zip(layers[at], settled(wishes, gaps[at])))
    return places


def packed(gaps: Sequence[float]) -> list[float]:
    """Return places close together, around zero."""
    found, x = [], -sum(gaps) / 2
    for gap in gaps:
        x += gap
        found.append(x)
    return found


def wish(places: Mapping[int, float], node: int, pulls: Mapping[int, float],
         near: Sequence[int] | Mapping[int, float]) -> tuple[float, float]:
    """Return where a node would be if it were alone, times its weight, and the weight."""
    total, weight = places[node] * STAY, STAY
    for other in near:
        total += places[other] * pulls[other]
        weight += pulls[other]
    return total, weight


def settled(wishes: Sequence[tuple[float, float]], gaps: Sequence[float]) -> list[float]:
    """Solve least squares under the order of a layer: nodes that would overlap move as a block."""
    blocks: list[tuple[float, float, int]] = []
    offset = 0.0
    offsets = []
    for (total, weight), gap in zip(wishes, gaps):
        offset += gap
        offsets.append(offset)
        total, count = total - offset * weight, 1
        while blocks and blocks[-1][0] * weight > total * blocks[-1][1]:
            other, heavy, members = blocks.pop()
            total, weight, count = total + other, weight + heavy, count + members
        blocks.append((total, weight, count))
    middles = [total / weight for total, weight, count in blocks for _ in range(count)]
    return [middle + offset for middle, offset in zip(middles, offsets)]
