"""Links between nodes that are not edges: from a view's node to its base's, and from the node of a tensor that was
written to to its previous one. frontend/src/graph/links.ts is handed them, and draws the same."""

from __future__ import annotations

from typing import TypedDict

from minigrad.trace.format import Names
from minigrad_widgets.graph.geometry import Data, Point

__all__ = ["Link", "bow", "links"]

Box = tuple[float, float, float]  # centre and width


# `from` is a keyword in Python
Link = TypedDict("Link", {"kind": str, "from": int, "to": int, "tensor": int, "label": str})


def links(data: Data) -> list[Link]:
    """Return all links of a trace. A link exists once the node that it starts at exists."""
    words, tensors = Names(data), data["tensors"]
    leaves = {node["variable"]: at for at, node in enumerate(data["nodes"]) if node.get("variable") is not None}
    written = {tensors[event["tensor"]].get("base", event["tensor"])
               for event in data["events"] if event["kind"] == "version"}
    now: dict[int, int] = {}
    found: dict[tuple[str, int, int], Link] = {}

    def node_of(tensor: int) -> int | None:
        known = now.get(tensor, tensors[tensor]["node"])
        return leaves.get(tensor) if known is None else known

    def add(kind: str, start: int | None, to: int | None, tensor: int, label: str) -> None:
        if start is not None and to is not None and start != to:
            found.setdefault((kind, start, to), {"kind": kind, "from": start, "to": to, "tensor": tensor,
                                                 "label": label})

    for event in data["events"]:
        if event["kind"] != "forward" or event["node"] is None:
            continue
        rebased = event.get("rebased", [])
        now.update(dict.fromkeys(event["outputs"], event["node"]))
        for tensor, before, after in rebased:
            now[tensor] = after
            add("rebased", after, before, tensor, f"was {words.tensor(tensor)}’s")
        for tensor in [*event["outputs"], *(tensor for tensor, _, _ in rebased)]:
            base = tensors[tensor].get("base")
            if base is not None:
                add("view", node_of(tensor), node_of(base), tensor,
                    f"view of {words.tensor(base)}" if base in written else "")
    return list(found.values())


def bow(kind: str, start: Box, end: Box) -> list[Point]:
    """The four points of a curve between two boxes: on their left for views, on their right for previous nodes."""
    side = -1 if kind == "view" else 1
    (x, y, width), (to_x, to_y, to_width) = start, end
    ax, bx = x + side * width / 2, to_x + side * to_width / 2
    reach = min(70.0, 22 + 0.08 * abs(y - to_y))
    out = min(ax, bx) - reach if side < 0 else max(ax, bx) + reach
    return [(ax, y), (out, y), (out, to_y), (bx, to_y)]
