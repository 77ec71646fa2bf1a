"""Forward mode and transforms in the inspector's still picture and text, and what Python hands to the browser."""

from pathlib import Path

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from minigrad_widgets.graph.frames import frames


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
    trace.save(tmp_path / "trace.json")
    again = Inspector(Trace.load(tmp_path / "trace.json"), step=len(trace.events) - 1)
    assert again.to_svg() == shown.to_svg() and "vmap ×5" in again.to_html()


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
