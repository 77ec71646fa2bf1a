"""The checkpoint lens and the comparison without a browser: spans, figures, text, picture."""

from __future__ import annotations

import re
from typing import Any

import pytest

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad.utils.checkpoint import checkpoint
from minigrad_widgets import Inspector, compare
from minigrad_widgets.graph.derived import spans
from minigrad_widgets.lenses.checkpoints import summary
from tests.widgets import synthetic
from tests.widgets.programs import WAYS, block, blocks


def test_runs_and_where_they_stop() -> None:
    found = spans(blocks(False).to_dict())
    assert [(span["call"], span["again"], span["level"]) for span in found] == [
        (0, False, 0), (1, False, 0), (1, True, 0), (0, True, 0)]
    assert [span["stop"] is not None for span in found] == [False, False, True, True]
    assert all(span["start"] < span["end"] and span["name"] == "block" for span in found)
    assert not any(span["stop"] for span in spans(blocks(True).to_dict()))
    assert spans(blocks(None).to_dict()) == []


def test_a_run_inside_another_has_a_higher_level() -> None:
    x = torch.ones(3, requires_grad=True)

    def outer(t: Any) -> Any:
        return checkpoint(block, t.exp(), use_reentrant=False).exp()

    with record() as trace:
        checkpoint(outer, x, use_reentrant=False).sum().backward()
    assert [span["level"] for span in spans(trace.to_dict()) if not span["again"]][:2] == [0, 1]


def test_a_run_that_an_error_ended_is_closed() -> None:
    def fail(t: Any) -> Any:
        raise ValueError("no")

    x = torch.ones(3, requires_grad=True)
    with record() as trace, pytest.raises(ValueError, match="no"):
        checkpoint(fail, x, use_reentrant=False)
    found = spans(trace.to_dict())
    assert len(found) == 1
    assert found[0]["end"] < len(trace.events)


def test_the_price_and_the_gain() -> None:
    plain, reentrant, other = (summary(blocks(way).to_dict()) for way in WAYS.values())
    assert (plain["again"], reentrant["again"], other["again"]) == (0, 4, 4)
    assert plain["atBackward"] is not None
    assert other["atBackward"] is not None
    assert other["atBackward"] < plain["atBackward"]
    assert summary({"events": []}) == {
        "steps": 0, "peak": 0, "peakStep": 0, "atBackward": None, "ops": 0, "again": 0}


def test_the_lens_in_words_and_as_a_picture() -> None:
    inspector = Inspector(blocks(False), lens="checkpoint", step=3)
    lines = inspector.text.splitlines()
    assert lines[0] == "Inspector, checkpoints"
    assert lines[1].startswith("step 3 of ")
    assert lines[-1].startswith("checkpoint 0 (block, non-reentrant): runs again, steps ")
    assert re.search(r"stops early at \d+$", lines[-1])
    assert inspector.to_png() == Inspector(blocks(False), lens="checkpoint", step=3).to_png()
    assert "runs again" in inspector.to_svg()
    assert len(inspector.to_png()) < 60_000
    nothing = Inspector(Trace.from_dict(synthetic.diamond()), lens="checkpoint")
    assert nothing.text.endswith("no function was checkpointed")
    assert nothing.to_png().startswith(b"\x89PNG")


def test_a_comparison() -> None:
    shown = compare({"plain": blocks(None), "reentrant": blocks(True), "non-reentrant": blocks(False)}, step=4)
    assert shown.figures["reentrant"]["again"] == 4
    lines = shown.text.splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == ["plain", "reentrant", "non-reentrant"]
    assert "at step 4" in lines[1]
    shown.step = 10_000
    assert shown.step == max(len(blocks(way).events) for way in WAYS.values()) - 1
    bundle, _ = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown) == shown.text
    assert len(shown.to_png()) < 60_000
    assert "non-reentrant" in shown.to_svg()
    with pytest.raises(ValueError, match="nothing to compare"):
        Inspector.compare({})


def test_names_are_text(tmp_path: Any) -> None:
    shown = Inspector.compare({"$x$ </script><b>": blocks(None)})
    page = shown.to_html(tmp_path / "page.html")
    assert "</script><b>" not in page
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert shown.to_png().startswith(b"\x89PNG")
