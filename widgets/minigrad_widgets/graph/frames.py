"""Frames around what transforms of functions run: `grad`, `jvp`, and `vmap` as a stack of cards, one for each example.

The still pictures use it; the browser, which knows what is folded, has the same rules in frontend/src/layout/frames.ts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from minigrad_widgets.graph.geometry import HEIGHT, Data, width_of

TRANSFORMS = ("grad", "jvp", "linearize", "vjp", "vmap")
HEAD, SIDE, TRAY = 22, 12, 24  # the room of a title, that at the other sides, and of the `.grad` below a leaf
CARDS, CARD = 3, 6  # how many cards a stack shows, and how far each stands out


class Frame(NamedTuple):
    """The transforms that run the same boxes, as a title; the sides; and how many more cards lie behind it."""

    title: str
    left: float
    top: float
    right: float
    bottom: float
    behind: int


def frames(data: Data) -> list[Frame]:
    """Return the frames, outer ones first. There is none where it would have boxes in it that are not of the
    transform."""
    scopes, inside = data.get("scopes", []), dict[int, set[int]]()
    places = {int(node): place for node, place in data["layout"]["nodes"].items()}
    for node in places:
        scope = data["nodes"][node].get("scope")
        while scope is not None:
            module, name = scopes[scope]["module"], scopes[scope]["name"] or ""
            if module in TRANSFORMS and name.partition(" ")[0] == module:
                inside.setdefault(scope, set()).add(node)
            scope = scopes[scope]["parent"]
    groups: list[tuple[list[str], set[int]]] = []
    for scope in sorted(inside, key=lambda each: (-len(inside[each]), each)):
        same = next((names for names, nodes in groups if nodes == inside[scope]), None)
        if same is None:
            groups.append(([scopes[scope]["name"]], inside[scope]))
        else:
            same.append(scopes[scope]["name"])
    found = []
    for names, nodes in groups:
        within = [other for _, other in groups if other < nodes]
        deep = max([1 + sum(each < other for each in within) for other in within], default=0)
        sides = [(x - width_of(data, node) / 2, x + width_of(data, node) / 2, y) for node in nodes
                 for x, y in [places[node]]]
        side = SIDE * (deep + 1)
        frame = Frame(" › ".join(names), min(left for left, _, _ in sides) - side,
                      min(y for *_, y in sides) - HEIGHT / 2 - HEAD * (deep + 1) - 4,
                      max(right for _, right, _ in sides) + side,
                      max(y for *_, y in sides) + HEIGHT / 2 + TRAY + SIDE * deep, max(map(cards_behind, names)))
        if not any(meets(data, frame, node, *places[node]) for node in places.keys() - nodes):
            found.append(frame)
    return found


def meets(data: Data, frame: Frame, node: int, x: float, y: float) -> bool:
    """Whether a box is in a frame, at least in part."""
    half = width_of(data, node) / 2
    return (frame.left < x + half and x - half < frame.right
            and frame.top < y + HEIGHT / 2 and y - HEIGHT / 2 < frame.bottom)


def cards_behind(name: str) -> int:
    """Return the cards of a stack behind its first, by the name of the transform: `vmap ×64`."""
    count = re.fullmatch(r"vmap ×(\d+)", name)
    return max(0, min(CARDS, int(count[1])) - 1) if count else 0
