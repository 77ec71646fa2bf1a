"""Places the nodes of each layer from side to side: near their neighbours, clear of one another, in linear time.

The layers, and the order within each, are the layout library's; its own places lean to one side, so that a network of
2,000 nodes is 77,000 pixels wide. Here each sweep, down the layers and up, moves every node to the middle of its
neighbours, by least squares in the order of the layer (frontend/src/layout/straighten.ts does the same). Nodes with
many others below them are kept straight and the rest gives way; edges that pass layers are the straightest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

SWEEPS, FEWER = 24, 8
MANY = 4_000  # with this many places there are fewer sweeps
BOTH = 4  # this many sweeps at the end use both neighbouring layers
PASSING = 20.0  # how much straighter an edge should be where it passes a layer
STAY = 0.01

Layers = Sequence[Sequence[int]]
Links = Mapping[int, Sequence[int]]


def straighten(layers: Layers, links: Links, passes: Callable[[int], bool],
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
