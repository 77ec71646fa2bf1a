"""The fixtures that the front end's tests read are what Python says today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import FunctionType

import pytest

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


def test_the_fixtures_cover_every_kind_of_event() -> None:
    kinds = {event["kind"] for program in golden.PROGRAMS for event in program().events}
    expected = {"forward", "save", "version", "mode", "backward_start", "ready", "run", "hook", "release", "flow"}
    expected |= {"accumulate", "capture", "backward_end", "call", "error", "checkpoint_begin", "checkpoint_end"}
    assert kinds == expected | {"recompute_begin", "holder_filled", "early_stop", "recompute_end"}
