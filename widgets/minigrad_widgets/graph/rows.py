"""The rows of the boxes of a graph: what each did, which its map, its table and its colours show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minigrad.recorder import Trace
from minigrad_widgets.graph.folding import parents_first

Data = dict[str, Any]
NOT_KEPT = "not kept"


def rows(trace: Trace, data: Data, answers: bool) -> Data:
    """Return the rows of all scopes and of all nodes of a graph, to be handed to the browser.

    Each is a list: shape, parameters, seconds of the ops and of their derivatives, saved bytes, FLOPs, and the norm of
    the gradient, "not kept" if one came of which the trace has no numbers; without `answers`, no norm is told. What a
    node's own record tells is left out: its row begins with its saved bytes.
    """
    inside = _inside(data)
    calls = len(trace.scopes)  # those after them are the map's own
    reached = _reached(data)

    def gradient(norm: float | None, nodes: Iterable[int]) -> float | str | None:
        """The norm, or that it was not kept, if a question does not ask for it."""
        if norm is None and answers:
            return None if reached.isdisjoint(nodes) else NOT_KEPT
        return _short(norm) if answers else None

    found = trace.rows((nodes, scope if scope < calls else None) for scope, nodes in enumerate(inside))
    scopes = [[None if row.output is None else [*row.output], row.parameters, _short(row.forward_seconds),
               _short(row.backward_seconds), row.saved, row.flops, gradient(row.gradient, nodes)]
              for row, nodes in zip(found, inside, strict=True)]
    return {"scopes": scopes, "nodes": [[saved, flops, gradient(norm, (node,))]
                                        for node, (saved, flops, norm) in enumerate(trace.node_rows())]}


def _inside(data: Data) -> list[list[int]]:
    """By scope, the nodes in it and in those inside it."""
    inside: list[list[int]] = [[] for _ in data["scopes"]]
    for node, record in enumerate(data["nodes"]):
        if record.get("scope") is not None:
            inside[record["scope"]].append(node)
    for scope, parent in reversed(list(parents_first(data["scopes"]))):
        if parent is not None:
            inside[parent] += inside[scope]
    return inside


def _reached(data: Data) -> set[int]:
    """The nodes to which a gradient came."""
    return {event["node"] for event in data["events"] if event["kind"] == "run"}


def _short(number: float | str | None) -> float | str | None:
    """A number in six digits, of which the browser shows three; JSON has neither NaN nor infinity."""
    if number is None or isinstance(number, str):
        return number
    return float(f"{number:.6g}") if abs(number) < float("inf") else f"{number}"
