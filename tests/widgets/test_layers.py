"""The layout in Python alone, for where fast-sugiyama is not built: as good as its on the graphs of lessons."""

from __future__ import annotations

import importlib
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import fast_sugiyama
import pytest

from minigrad_widgets.graph import layers, layout
from tests.widgets import layout_graphs, synthetic

FIXTURES = Path(__file__).parents[2] / "widgets" / "frontend" / "test" / "fixtures"
GRAPHS = {path.stem: json.loads(path.read_text(encoding="utf-8"))["trace"] for path in sorted(FIXTURES.glob("*.json"))}
GRAPHS |= {"layers": synthetic.layers(60), "fan": synthetic.fan(20), "mlp": layout_graphs.mlp(60),
           "chain": layout_graphs.chain(300)}


def measured(data: dict[str, Any]) -> tuple[int, float, float]:
    """How many edges cross, the width and the height of a layout."""
    found = layout.compute_layout(data)
    return layout_graphs.crossings(found["nodes"], layout_graphs.edges(data)), *found["size"]


@pytest.mark.parametrize("name", GRAPHS)
def test_as_good_as_the_library(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(layout, "from_edges", fast_sugiyama.from_edges)
    crossings, width, height = measured(GRAPHS[name])
    monkeypatch.setattr(layout, "from_edges", layers.from_edges)
    ours = measured(GRAPHS[name])
    assert ours[0] <= crossings and ours[1] <= 1.15 * width and ours[2] <= height


@pytest.mark.parametrize(("size", "crossings", "width"), [(46, 3, 1_250), (222, 15, 1_300)])
def test_a_transformer(monkeypatch: pytest.MonkeyPatch, size: int, crossings: int, width: float) -> None:
    monkeypatch.setattr(layout, "from_edges", layers.from_edges)  # tests/widgets/test_layout.py allows fast-sugiyama
    data = layout_graphs.transformer(size)  # the same crossings
    found = measured(data)
    assert found[0] <= crossings and found[1] <= width
    nodes = layout.compute_layout(data)["nodes"]
    assert all(nodes[str(to)][1] > nodes[str(node)][1] for node, to in layout_graphs.edges(data))


@pytest.mark.parametrize("ranking", ["up", "minimize"])
def test_every_edge_is_drawn_layer_by_layer(ranking: str) -> None:
    edges = [(0, 1), (1, 2), (2, 3), (0, 3), (4, 3), (0, 5)]
    (positions, _, tall, drawn), = layers.from_edges(edges, vertex_spacing=10.0, ranking_type=ranking)
    spots = {node: (x, y) for node, (x, y) in positions}
    assert len(set(spots.values())) == len(spots) and max(y for _, y in spots.values()) == tall
    assert all(spots[a][1] - spots[b][1] == 10.0 for a, b in drawn)
    onward = {a: b for a, b in drawn if a > 5}
    ends = []
    for start, end in drawn:
        while end > 5:
            end = onward[end]
        ends += [(start, end)] if start <= 5 else []
    assert sorted(ends) == sorted(edges)
    assert spots[4][1] == (10.0 if ranking == "minimize" else tall)


def test_crossings_are_counted() -> None:
    rows, down = [0, 1, 2], {0: [5, 4], 1: [3], 2: [4, 3, 5]}
    pairs = [(a, b) for a in rows for b in down[a]]
    by_hand = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(pairs, 2))
    assert layers.crossings(rows, [3, 4, 5], down) == by_hand == 5


def test_it_is_what_runs_where_the_library_is_missing() -> None:
    program = ("import sys; sys.modules['fast_sugiyama'] = None\n"
               "from minigrad_widgets.graph import layers, layout\n"
               "assert layout.from_edges is layers.from_edges")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])
    assert importlib.import_module("minigrad_widgets.graph.layout").from_edges is fast_sugiyama.from_edges
