"""docs/comparison.md has what `python -m tests.comparison` measured, and small pictures."""

from __future__ import annotations

import json

import pytest

from tests.groups import has_torch, require

require("torch", has_torch(), "PyTorch 2.13 is not installed")

from minigrad_widgets import inspect
from tests.comparison.models import MODELS
from tests.comparison.page import IMAGES, LARGEST, PAGE, RESULTS, page
from tests.comparison.tools import TOOLS


def test_the_page_has_the_results() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert {f"{model} {tool}" for model in MODELS for tool in TOOLS} <= results.keys()
    assert PAGE.read_text(encoding="utf-8") == page(results)


def test_pictures_are_small_and_shown() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for path in IMAGES.glob("*/*.png"):
        assert path.stat().st_size <= LARGEST
        assert f"images/comparison/{path.parent.name}/{path.name})" in text


@pytest.mark.parametrize("model", ["mlp", "unet", "lstm"])
def test_models_run_and_are_inspected(model: str) -> None:
    """Those that need no package besides PyTorch: each has a loss, and a gradient for each parameter."""
    case = MODELS[model][1]()
    trace = inspect(case.model, *case.inputs, **case.loss, detail="modules").recording
    got = {event["tensor"] for event in trace.events if event["kind"] == "accumulate"}
    assert len(got) == len(list(case.model.parameters()))
    assert not [note for note in trace.notes if note["where"] == "inspect"]
