"""The fixtures that the front end's tests read are what Python says today."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from minigrad.recorder import Trace
from minigrad.trace.frame import RULES
from minigrad.trace.schema import EVENTS

SCRIPT = Path(__file__).parents[2] / "widgets" / "frontend" / "scripts" / "golden.py"
spec = importlib.util.spec_from_file_location("golden", SCRIPT)
assert spec is not None
assert spec.loader is not None
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)


@pytest.mark.parametrize("program", golden.PROGRAMS, ids=lambda program: program.__name__)
def test_fixture_is_up_to_date(program: FunctionType) -> None:
    path = golden.FIXTURES / f"{program.__name__}.json"
    written = golden.written(program)
    assert path.read_text(encoding="utf-8") == written, f"run {SCRIPT.name} and look at what changed"


def fixtures() -> list[dict[str, Any]]:
    """All fixtures, as they stand in their files."""
    return [json.loads((golden.FIXTURES / f"{program.__name__}.json").read_text(encoding="utf-8"))
            for program in golden.PROGRAMS]


def test_the_fixtures_cover_every_kind_of_event() -> None:
    assert {event["kind"] for fixture in fixtures() for event in fixture["trace"]["events"]} == set(EVENTS)


@pytest.mark.parametrize("kind", RULES)
def test_a_fold_that_leaves_out_a_rule_is_noticed(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.delitem(RULES, kind)
    assert any(json.loads(json.dumps([trace.frame(step) for step in range(len(trace))])) != fixture["frames"]
               for fixture in fixtures() for trace in [Trace.from_dict(fixture["trace"])])
