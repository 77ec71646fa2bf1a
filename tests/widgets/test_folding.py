"""What is folded at first, what runs are found in a large graph, and that pictures show what is folded."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from minigrad_widgets.graph.folding import Folding, owners, repetition
from minigrad_widgets.graph.layout import compute_layout


def sequential(layers: int) -> Trace:
    net = nn.Sequential(*[nn.Linear(2, 2) for _ in range(layers)])
    with record() as trace:
        net(torch.ones(1, 2)).sum().backward()
    return trace


def chain(length: int) -> Trace:
    x = torch.ones(2, requires_grad=True)
    with record() as trace:
        h = x
        for _ in range(length):
            h = h * 2
        h.sum().backward()
    return trace


def loop(steps: int) -> Trace:
    w, h = torch.ones(2, 2, requires_grad=True), torch.ones(1, 2)
    with record() as trace:
        for _ in range(steps):
            h = (h @ w + 1).tanh()
        h.sum().backward()
    return trace


def boxes(inspector: Inspector) -> int:
    return len(set(owners(inspector._data, inspector._data["folded"])))


def test_a_small_graph_opens_whole() -> None:
    inspector = Inspector(sequential(7))
    assert inspector._data["folded"] == []
    assert "opening" not in inspector._data
    assert len(inspector._data["scopes"]) == 8


@pytest.mark.parametrize(("make", "most"), [(lambda: chain(10_000), 102), (lambda: sequential(2_000), 102),
                                            (lambda: loop(300), 105)], ids=["chain", "modules", "loop"])
def test_a_large_graph_opens_with_runs_folded(make: Any, most: int) -> None:
    inspector = Inspector(make())
    assert 10 < boxes(inspector) <= most
    assert set(inspector._data["opening"]["nodes"]) == set(map(str, owners(inspector._data, inspector._data["folded"])))


def test_runs_are_cut_where_they_repeat() -> None:
    data = Inspector(loop(300))._data
    titles = {scope["name"] for scope in data["scopes"]}
    assert "Mm, Add, Tanh × 6" in titles
    assert repetition(["a", *["x", "y", "z"] * 20]) == (3, 1)
    assert repetition([f"op{at}" for at in range(90)]) == (1, 0)


def test_folded_boxes_are_a_graph_without_circles() -> None:
    data = Inspector(loop(300))._data
    seen = Folding(data, data["folded"], compute_layout).data
    spots = seen["layout"]["nodes"]
    for node, box in enumerate(seen["nodes"]):
        for edge in box["next"]:
            assert edge is None or spots[str(edge[0])][1] > spots[str(node)][1]


def test_a_folded_box_is_as_far_as_its_first_node_that_is_not_done() -> None:
    trace = sequential(2)
    data = Inspector(trace)._data
    folding = Folding(data, [1, 2], compute_layout)
    first = folding.at[next(at for at, node in enumerate(trace.nodes) if node["name"] == "AddmmBackward0")]
    seen = [folding.frame(dict(trace.frame(step)))["status"].get(first) for step in range(len(trace.events))]
    changes = [status for at, status in enumerate(seen) if at == 0 or status != seen[at - 1]]
    assert changes[:4] == ["recorded", "waiting", "ready", "running"]
    assert changes[-1] == "done"
    last = folding.frame(dict(trace.frame(len(trace.events) - 1)))
    assert set(last["status"].values()) == {"done"}
    assert set(last["saved"].values()) <= {"released"}


def test_pictures_show_what_is_folded() -> None:
    inspector = Inspector(sequential(3))
    whole, small = inspector.to_svg(), inspector.to_png()
    assert whole.count("AddmmBackward0") >= 3
    inspector.collapsed = [1, 2]
    folded = inspector.to_svg()
    assert folded.count("AddmmBackward0") < whole.count("AddmmBackward0")
    assert folded.count("Linear · 4 nodes") == 2
    assert inspector.to_png() != small
    assert inspector.to_svg(5) != folded
    inspector.collapsed = []
    assert inspector.to_svg() == whole


def test_the_traversal_is_drawn_folded_too() -> None:
    inspector = Inspector(sequential(3), lens="traversal")
    inspector.collapsed = [0]
    assert "Sequential" in inspector.to_svg()
