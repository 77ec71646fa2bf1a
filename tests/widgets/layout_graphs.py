"""The graphs on which layouts are compared: a multilayer perceptron, a transformer, a chain, a fan-out, of any size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Edge = tuple[int, int]


class Graph:
    """Ops added in the order in which a program runs them; each leads back to what it was made of."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []

    def add(self, name: str, *inputs: int) -> int:
        self.nodes.append({"name": name, "next": [[each, 0] for each in inputs], "outputs": [], "saved": []})
        return len(self.nodes) - 1

    def linear(self, x: int) -> int:
        weight, bias = self.add("W"), self.add("b")
        return self.add("Add", self.add("MM", x, self.add("T", weight)), bias)

    def norm(self, x: int) -> int:
        return self.add("LN", x, self.add("g"), self.add("b"))

    @property
    def data(self) -> dict[str, Any]:
        return {"nodes": self.nodes, "tensors": []}


def mlp(size: int) -> dict[str, Any]:
    g = Graph()
    x = g.add("x")
    while len(g.nodes) < size - 3:
        x = g.add("ReLU", g.linear(x))
    g.add("Mean", g.add("Sub", x, g.add("y")))
    return g.data


def transformer(size: int) -> dict[str, Any]:
    g = Graph()
    x = g.add("x")
    while len(g.nodes) < size - 10:
        h = g.norm(x)
        q, k, v = g.linear(h), g.linear(h), g.linear(h)
        scores = g.add("Scale", g.add("QK", q, g.add("T", k)))
        x = g.add("Add", x, g.linear(g.add("AV", g.add("Softmax", scores), v)))
        h = g.add("GELU", g.linear(g.norm(x)))
        x = g.add("Add", x, g.linear(h))
    g.add("Loss", x)
    return g.data


def chain(size: int) -> dict[str, Any]:
    g = Graph()
    node = g.add("x")
    for _ in range(size - 1):
        node = g.add("op", node)
    return g.data


def fanout(size: int) -> dict[str, Any]:
    g = Graph()
    x = g.add("x")
    level = [g.add("Mul", x) for _ in range(max(2, (size - 1) // 2))]
    while len(level) > 1:
        rest = level[len(level) // 2 * 2 :]
        level = [g.add("Add", a, b) for a, b in zip(level[0::2], level[1::2], strict=False)] + rest
    return g.data


def recurrent(steps: int) -> dict[str, Any]:
    """One weight and one bias, used in every step: the longest edges there are."""
    g = Graph()
    weight, bias, h = g.add("W"), g.add("b"), g.add("h")
    for _ in range(steps):
        h = g.add("Tanh", g.add("Add", g.add("MM", h, weight), bias))
    return g.data


def edges(data: dict[str, Any]) -> list[Edge]:
    """Every pair of nodes that an edge joins."""
    return sorted({(node, edge[0]) for node, record in enumerate(data["nodes"]) for edge in record["next"] if edge})


def crossings(spots: dict[str, Any], pairs: Iterable[Edge]) -> int:
    """How many pairs of edges cross, drawn straight from centre to centre; those that share a node do not."""
    ends = np.array(list(pairs))
    places = np.array([spots[str(node)] for node in range(len(spots))])
    start, end = places[ends[:, 0]], places[ends[:, 1]]

    def side(a: Any, b: Any, c: Any) -> Any:
        """On which side of the line through a and b c is."""
        along, toward = b - a, c - a
        return along[..., 0] * toward[..., 1] - along[..., 1] * toward[..., 0]

    found = 0
    for at in range(len(ends)):
        a, b, c, d = start[at], end[at], start[at + 1 :], end[at + 1 :]
        cross = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
        found += int((cross & ~np.isin(ends[at + 1 :], ends[at]).any(axis=1)).sum())
    return found
