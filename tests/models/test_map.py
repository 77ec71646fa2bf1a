"""Twenty public models and loops open as maps: 8 to 30 boxes, each with a name, the loss one of them."""

from __future__ import annotations

import pytest

from tests.groups import has_models, require

require("models", has_models(), "the extra `models` is not installed, or PyTorch is missing")

from minigrad_widgets import Inspector, inspect
from minigrad_widgets.graph.folding import Folding
from minigrad_widgets.graph.layout import compute_layout
from minigrad_widgets.graph.model_map import FEWEST, SMALL
from minigrad_widgets.torch_reader import record
from tests.comparison.models import MODELS
from tests.models.zoo import ZOO, loop_of


@pytest.mark.parametrize("name", ZOO)
def test_a_model_opens_as_a_map(name: str) -> None:
    with loop_of(name) as loop, record(detail="modules") as trace:
        loop.step()
    data = Inspector(trace)._data
    boxes = Folding(data, data["folded"], compute_layout).data["nodes"]
    assert len(boxes) <= SMALL
    assert len(boxes) >= min(FEWEST, len(trace.nodes))
    titles = [box["name"] for box in boxes]
    assert all(titles)
    if len(trace.nodes) <= SMALL:
        return
    passes = sum(event["kind"] == "backward_start" for event in trace.events)
    assert 1 <= titles.count("loss") <= passes
    assert not any("Loss" in title or "Softmax" in title for title in titles)
    assert "AccumulateGrad" not in titles


def test_the_page_of_gpt2_small_is_small() -> None:
    """Of the whole training step, forward and backward, with what was computed in both."""
    case = MODELS["gpt2"][1]()
    inspector = inspect(case.model, *case.inputs, **case.loss)
    assert len(inspector.recording.nodes) > 800
    assert len(inspector.to_html().encode()) < 2_000_000
