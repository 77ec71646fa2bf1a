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
    """The root mean square of each parameter's gradient, by the statistics that the inspector shows."""
    found = {}
    for event in trace.events:
        if event["kind"] == "accumulate":
            value = trace.values[event["grad"]]
            norm = value["stats"]["norm"] if "stats" in value else float(np.linalg.norm(value["data"]))
            found[trace.tensors[event["tensor"]]["name"]] = norm / np.sqrt(np.prod(value["shape"]))
    return found


def test_the_page_is_true() -> None:
    names: dict[str, Any] = {}
    exec(BLOCKS[0], names)
    cold = sizes(names["inspector"]._trace)
    exec(BLOCKS[1], names)
    mended = sizes(names["inspector"]._trace)
    first, last = "model.0.weight", "model.12.weight"
    numbers = [("gets a gradient of 0.014,", cold[last], 0.014), ("one of 3.65e-7:", cold[first], 3.65e-7),
               ("a 38,000th", cold[last] / cold[first], 38_000), ("weight gets 2e-4,", mended[first], 2e-4),
               ("a 21st", mended[last] / mended[first], 21), ("layer's 0.0043.", mended[last], 0.0043)]
    for text, value, said in numbers:
        assert text in PAGE.replace("\n", " ") and value == pytest.approx(said, rel=0.02), (text, value)
    assert all(parameter.grad is None for parameter in names["model"].parameters())
    assert min(cold, key=lambda name: cold[name]).startswith("model.0.")
