"""Layers and their order, in Python alone: for platforms for which fast-sugiyama is not built, such as WebAssembly.

`from_edges` has its arguments and its result, and the same quality on graphs of the size of a lesson's (Sugiyama's
method). Layers are counted along longest paths; for the shortest edges, nodes are then moved between their neighbours.
The order within layers starts from walks of the graph, from either end, and from the order given; sweeps down and up
move each node to the mean place of its neighbours, neighbours change places where fewer edges cross for it, and the
best order of all is kept.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

Edges = list[tuple[int, int]]
Links = Mapping[int, Sequence[int]]
SWEEPS, TURNS = 24, 16
LARGE = 3_000  # with so many places, one start and few sweeps


def from_edges(edges: Iterable[tuple[int, int]], *, vertex_spacing: float, ranking_type: str,
               **options: Any) -> list[tuple[list[tuple[int, tuple[float, float]]], float, float, Edges]]:
    """Lay out one connected graph: its (positions, width, height, edges), an edge that passes layers in pieces.

    `ranking_type`: "minimize" for short edges, otherwise each node is as near to the sources as it can be. What marks
    a passed layer is numbered after the nodes. `options` are those of fast-sugiyama that change nothing here.
    """
    edges = list(edges)
    ranks = ranks_of(edges, shortest=ranking_type == "minimize")
    drawn = in_pieces(edges, ranks)
    layers = best_order(ranks, drawn)
    tall = (len(layers) - 1) * vertex_spacing
    positions = [(node, (place * vertex_spacing, tall - rank * vertex_spacing))
                 for rank, layer in enumerate(layers) for place, node in enumerate(layer)]
    return [(positions, max(map(len, layers)) * vertex_spacing, tall, drawn)]


def links_of(edges: Edges) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """By node: where its edges come from, and where they lead."""
    into: dict[int, list[int]] = {}
    onward: dict[int, list[int]] = {}
    for a, b in edges:
        for node in (a, b):
            into.setdefault(node, [])
            onward.setdefault(node, [])
        onward[a].append(b)
        into[b].append(a)
    return into, onward


def ranks_of(edges: Edges, shortest: bool) -> dict[int, int]:
    """The layer of each node, counted from 0 at the sources."""
    into, onward = links_of(edges)
    if not shortest:
        return depths(into, onward)
    late = depths(onward, into)  # what leads to little stands beside it
    ranks = {node: -late[node] for node in into}
    order = sorted(ranks, key=ranks.__getitem__)
    best, least = ranks, -1
    for turn in range(TURNS):  # a node that gains nothing goes along with its neighbours, in one direction at a time
        for node in order if turn % 2 == 0 else reversed(order):
            move(node, ranks, into[node], onward[node], early=turn % 2 == 0)
        length = sum(ranks[b] - ranks[a] for a, b in edges)
        if least < 0 or length < least:
            best, least = dict(ranks), length
    first = min(best.values())
    return {node: rank - first for node, rank in best.items()}


def depths(into: Links, onward: Links) -> dict[int, int]:
    """The longest path to each node, from nodes to which nothing leads."""
    waits = {node: len(before) for node, before in into.items()}
    ranks = {node: 0 for node, count in waits.items() if not count}
    order = list(ranks)
    for node in order:
        for to in onward[node]:
            waits[to] -= 1
            if not waits[to]:
                ranks[to] = 1 + max(ranks[before] for before in into[to])
                order.append(to)
    return ranks


def move(node: int, ranks: dict[int, int], before: Sequence[int], after: Sequence[int], early: bool) -> None:
    """Move a node to where its edges are shortest; `early`: of places that are as good, to the first, else the last."""
    if before and (len(before) > len(after) or (early and len(before) == len(after))):
        ranks[node] = max(ranks[other] for other in before) + 1
    elif after and (len(after) > len(before) or (not early and len(before) == len(after))):
        ranks[node] = min(ranks[other] for other in after) - 1


def in_pieces(edges: Edges, ranks: dict[int, int]) -> Edges:
    """The edges, each cut where it passes a layer; what marks these places gets a number and a rank of its own."""
    number = max(ranks) + 1
    drawn = []
    for start, end in edges:
        for rank in range(ranks[start] + 1, ranks[end]):
            ranks[number] = rank
            drawn.append((start, number))
            start, number = number, number + 1
        drawn.append((start, end))
    return drawn


def best_order(ranks: Mapping[int, int], drawn: Edges) -> list[list[int]]:
    """The layers, each in an order in which few edges cross."""
    up, down = links_of(drawn)
    large = len(ranks) > LARGE
    starts: list[Iterable[int]] = [walk(ranks, down, up)]
    if not large:
        starts += [walk(ranks, up, down), ranks]
    best: list[list[int]] = []
    least = -1
    for start in starts:
        layers: list[list[int]] = [[] for _ in range(max(ranks.values()) + 1)]
        for node in start:
            layers[ranks[node]].append(node)
        for sweep in range(SWEEPS // 4 if large else SWEEPS):
            if sweep:
                downward = sweep % 2 == 1
                for at in range(len(layers)) if downward else reversed(range(len(layers))):
                    by_means(layers, at, -1 if downward else 1, up if downward else down)
                if not large:
                    exchange(layers, up, down)
            count = sum(crossings(layer, below, down) for layer, below in pairwise(layers))
            if least < 0 or count < least:
                best, least = [list(layer) for layer in layers], count
            if not least:
                return best
    return best


def walk(ranks: Mapping[int, int], onward: Links, back: Links) -> list[int]:
    """The nodes in the order in which a walk in depth reaches them, from those to which nothing leads."""
    found: dict[int, None] = {}
    stack = [node for node in reversed(ranks) if not back[node]]
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            stack += reversed(onward[node])
    return list(found)


def by_means(layers: list[list[int]], at: int, beside: int, near: Links) -> None:
    """Sort a layer by the mean place of each node's neighbours in the layer beside it."""
    if not 0 <= at + beside < len(layers):
        return
    place = {node: x for x, node in enumerate(layers[at + beside])}
    own = {node: x for x, node in enumerate(layers[at])}
    scale = len(place) / max(len(own), 1)  # a node without neighbours stays where it is
    layers[at].sort(key=lambda node: fmean([place[other] for other in near[node]]) if near[node] else own[node] * scale)


def exchange(layers: list[list[int]], up: Links, down: Links) -> None:
    """Let nodes that stand side by side change places wherever fewer edges cross for it."""
    places = [{node: x for x, node in enumerate(layer)} for layer in layers]
    for at, layer in enumerate(layers):
        above, below = places[at - 1] if at else {}, places[at + 1] if at + 1 < len(layers) else {}
        ends = {node: (sorted(above[other] for other in up[node]), sorted(below[other] for other in down[node]))
                for node in layer}
        better = True
        while better:
            better = False
            for x in range(len(layer) - 1):
                a, b = layer[x], layer[x + 1]
                gain = sum(inverted(p, q) - inverted(q, p) for p, q in zip(ends[a], ends[b]))
                if gain > 0:
                    layer[x], layer[x + 1] = b, a
                    better = True
        places[at] = {node: x for x, node in enumerate(layer)}


def inverted(left: Sequence[int], right: Sequence[int]) -> int:
    """How many edges of the left node, by the places of their ends, cross one of the right node."""
    return sum(len(left) - bisect_right(left, end) for end in right)


def crossings(layer: Sequence[int], below: Sequence[int], down: Links) -> int:
    """How many edges between two layers cross."""
    place = {node: x for x, node in enumerate(below)}
    ends: list[int] = []
    count = 0
    for node in layer:
        own = sorted(place[to] for to in down[node])
        count += sum(len(ends) - bisect_right(ends, end) for end in own)
        for end in own:
            insort(ends, end)
    return count
