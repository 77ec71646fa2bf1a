"""The page for those who have a PyTorch model runs, and its numbers are PyTorch's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.torch

PAGE = (Path(__file__).parents[3] / "docs" / "your_own_model.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def sizes(trace: Any) -> dict[str, float]:
    """The norm of each parameter's gradient, by the statistics that the inspector shows."""
    found = {}
    for event in trace.events:
        if event["kind"] == "accumulate":
            value = trace.values[event["grad"]]
            norm = value["stats"]["norm"] if "stats" in value else float(np.linalg.norm(value["data"]))
            found[trace.tensors[event["tensor"]]["name"]] = norm
    return found


def test_the_page_is_true() -> None:
    names: dict[str, Any] = {}
    exec(BLOCKS[0], names)
    cold = sizes(names["inspector"]._trace)
    exec(BLOCKS[1], names)
    mended = sizes(names["inspector"]._trace)
    first, last = "model.0.weight", "model.12.weight"
    numbers = [("gets a gradient of norm 0.097,", cold[last], 0.097), ("one of 5.84e-6:", cold[first], 5.84e-6),
               ("a 16,600th", cold[last] / cold[first], 16_600), ("weight gets 0.00324,", mended[first], 0.00324),
               ("a ninth", mended[last] / mended[first], 9.1), ("layer's 0.0297.", mended[last], 0.0297)]
    for text, value, said in numbers:
        assert text in PAGE.replace("\n", " ") and value == pytest.approx(said, rel=0.02), (text, value)
    assert all(parameter.grad is None for parameter in names["model"].parameters())
    assert min(cold, key=lambda name: cold[name]).startswith("model.0.")
