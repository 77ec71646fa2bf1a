"""The rows of the boxes of a graph: what each did, which its map, its table and its colours show."""

from __future__ import annotations

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
    scopes = [(nodes, scope if scope < calls else None) for scope, nodes in enumerate(inside)]
    found = trace.rows([*scopes, *(([node], None) for node in range(len(data["nodes"])))])
    reached = _reached(data)
    told = []
    for row, nodes in zip(found, [*inside, *([node] for node in range(len(data["nodes"])))], strict=True):
        gradient: float | str | None = row.gradient if answers else None
        if gradient is None and answers and not reached.isdisjoint(nodes):
            gradient = NOT_KEPT
        told.append([None if row.output is None else [*row.output], row.parameters, _short(row.forward_seconds),
                     _short(row.backward_seconds), row.saved, row.flops, _short(gradient)])
    return {"scopes": told[:len(inside)], "nodes": [row[4:] for row in told[len(inside):]]}


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
