"""What the browser is handed with a trace: links of nodes, runs of checkpointed functions, gradients from before,
tangents; and frames, which pictures have."""

from __future__ import annotations

import json
from pathlib import Path

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad.trace.packing import unpacked
from minigrad_widgets import Inspector
from minigrad_widgets.graph.derived import derived
from minigrad_widgets.graph.frames import frames
from tests.widgets.programs import blocks


def test_a_write_into_a_view_links_its_nodes() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    with record() as trace:
        base = x * 1
        row = base[0]
        row.mul_(2)
    assert [(link["kind"], link["from"], link["to"], link["label"]) for link in derived(trace.to_dict())["links"]] == [
        ("view", 2, 1, "view of base"), ("rebased", 3, 1, "was base’s"), ("rebased", 4, 2, "was row’s"),
        ("view", 4, 3, "view of base")]


def test_a_run_says_itself() -> None:
    (first, *_, last) = derived(blocks(False).to_dict())["runs"]
    assert first["told"].startswith("checkpoint 0 (block, non-reentrant): first run, steps ")
    assert last["told"].startswith("checkpoint 0 (block, non-reentrant): runs again, steps ")
    assert last["told"].endswith(f", stops early at {last['stop']}")


def test_a_gradient_from_before_is_told_of_its_leaf_only() -> None:
    old, new = (torch.ones(2, requires_grad=True) for _ in range(2))
    (old * 2).sum().backward()
    with record() as trace:
        (old * new).sum().backward()
    assert {tensor["name"] for tensor in derived(trace.to_dict())["tensors"] if "filled" in tensor} == {"old"}
    assert not any("filled" in tensor for tensor in trace.tensors), "the trace itself stays as recorded"
    sent = unpacked(json.loads(Inspector(trace).trace))
    assert [tensor.get("filled", False) for tensor in sent["tensors"]].count(True) == 1


def test_nothing_is_added_where_nothing_is_found() -> None:
    with record() as trace:
        torch.ones(2, requires_grad=True).exp().sum().backward()
    assert derived(trace.to_dict()) == {"tensors": trace.tensors}


def pushed() -> Trace:
    """The product of two numbers, of which one moves; nothing requires grad."""
    with record() as trace:
        torch.func.jvp(lambda x: torch.relu(x * 2.0), (torch.tensor(3.0),), (torch.tensor(1.5),))
    return trace


def per_example() -> Trace:
    """The gradient of each of five examples."""
    w, xs = torch.ones(2), torch.ones(5, 2)
    with record() as trace:
        torch.func.vmap(torch.func.grad(lambda w, x: (x @ w) ** 2), in_dims=(None, 0))(w, xs)
    return trace


def test_tangents_go_up_the_edges() -> None:
    trace = pushed()
    shown = Inspector(trace, lens="forward", step=len(trace.events) - 1)
    data = shown._data
    assert [[each["node"], each["index"], data["values"][each["value"]]["data"]] for each in data["tangents"]] == [
        [1, 0, [1.5]], [2, 0, [3.0]]]
    picture = shown.to_svg()
    assert picture.count("↑ 1.5") == 1 and picture.count("↑ 3.") == 2  # the last one stands at the result
    assert ".grad" not in picture
    shown.step = 3
    assert "moved by tensor(3.)" in shown.text
    assert "↑" not in Inspector(trace, lens="forward", step=0).to_svg()  # nothing has arrived yet


def test_a_frame_is_drawn_around_what_a_transform_runs(tmp_path: Path) -> None:
    trace = per_example()
    shown = Inspector(trace, step=len(trace.events) - 1)
    (frame,) = frames(shown._data)
    assert frame.title == "vmap ×5 › grad" and frame.behind == 2
    assert "vmap ×5 › grad" in shown.to_svg()
    assert "vmap ×5 › grad: a frame around what it runs" in shown.text
    trace.save(tmp_path / "trace.json")
    again = Inspector(Trace.load(tmp_path / "trace.json"), step=len(trace.events) - 1)
    assert again.to_svg() == shown.to_svg() and "vmap ×5" in again.to_html()


def test_the_text_of_a_folded_map_names_no_frame() -> None:
    model = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(12)])
    with record() as trace:
        model(torch.ones(1, 2)).sum().backward()
    shown = Inspector(trace)
    assert shown._data["folded"] and "a frame around" not in shown.text


def test_there_is_no_frame_around_what_a_transform_does_not_run() -> None:
    x = torch.ones(2, requires_grad=True)
    with record() as trace:
        y = x * 2
        z = torch.func.vmap(lambda each: each.sin())(y)
        (z + y).sum().backward()
    data = Inspector(trace)._data
    for frame in frames(data):
        inside = [node for node, (at, y) in data["layout"]["nodes"].items()
                  if frame.left < at < frame.right and frame.top < y < frame.bottom]
        assert all("scope" in data["nodes"][int(node)] for node in inside)
