"""The gallery's page says what its list says, its pictures are there and small, and its programs run."""

from __future__ import annotations

from typing import Any

import pytest
from ipywidgets.embed import dependency_state

from minigrad.recorder import Trace
from minigrad_widgets import Comparison
from tests.gallery import ENTRIES, IMAGES, LINKED, PAGE, PROGRAM, Entry, execute, page, run


def test_page_and_files_agree() -> None:
    again = "run python -m tests.browser.gallery, and look at what changed"
    assert PAGE.read_text(encoding="utf-8") == page(), again
    assert {path.name for path in IMAGES.iterdir()} == {file for entry in ENTRIES for file in entry.files}, again


@pytest.mark.parametrize("file", [file for entry in ENTRIES for file in entry.files])
def test_a_picture_is_small(file: str) -> None:
    assert 5_000 < (IMAGES / file).stat().st_size <= 60_000


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.name in ("backward", "comparison", "ask")],
                         ids=lambda entry: entry.name)
def test_the_programs_run(entry: Entry) -> None:
    shown = run(entry)
    assert isinstance(shown, Comparison) == (entry.name == "comparison")
    assert bool(getattr(shown, "ask", [])) == (entry.name == "ask")
    assert f"{entry.name}.py" in shown.text or "program.py" in shown.text or entry.name == "comparison"


def test_a_slider_is_linked_in_the_browser_and_in_python_both() -> None:
    names: dict[str, Any] = {}
    execute(PROGRAM, "program.py", names)
    execute(LINKED, "linked.py", names)
    inspector, slider, trace = names["inspector"], names["slider"], names["trace"]
    assert isinstance(trace, Trace)
    assert slider.max == names["play"].max == len(trace.events) - 1
    state = dependency_state([names["play"], slider, inspector])
    links = [each["state"] for each in state.values() if each["model_name"] == "LinkModel"]
    ends = [[tuple(link["source"]), tuple(link["target"])] for link in links]
    model = "IPY_MODEL_{}".format
    assert [(model(slider.model_id), "value"), (model(inspector.model_id), "step")] in ends
    assert [(model(names["play"].model_id), "value"), (model(slider.model_id), "value")] in ends
    assert state[inspector.model_id]["state"]["trace"] == inspector.trace
    assert "step" in inspector.traits(sync=True)
