"""The runner counts right, and a missing PyTorch, browser or node cannot look like a passing run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import groups, part
from tests.__main__ import NEEDS, TESTS, Result, count, run_tests, table, verdict

ROOT = Path(__file__).resolve().parent.parent


def test_every_test_file_belongs_to_one_group() -> None:
    listed = [ROOT / path for paths in TESTS.values() for path in paths]
    files = list((ROOT / "tests").rglob("test_*.py"))
    homes = {file: [path for path in listed if file.is_relative_to(path)] for file in files}
    assert files and {file: found for file, found in homes.items() if len(found) != 1} == {}
    assert NEEDS.keys() <= TESTS.keys() and set(NEEDS.values()) == set(groups.GROUPS)


@pytest.mark.parametrize(
    ("status", "run", "skipped", "required", "why"),
    [
        (0, 3, 0, True, ""),
        (0, 3, 1, False, ""),
        (0, 3, 1, True, "1 skipped, but none may be"),
        (1, 3, 0, False, "pytest ended with status 1"),
        (5, 0, 0, False, "it holds no test"),
        (5, 0, 2, False, ""),
        (5, 0, 2, True, "2 skipped, but none may be"),
        (2, 0, 0, False, "pytest ended with status 2"),
    ],
)
def test_verdict(status: int, run: int, skipped: int, required: bool, why: str) -> None:
    assert verdict(status, run, skipped, required) == why


def test_the_table_shows_a_failure_and_the_counts() -> None:
    shown = table([Result("ruff", True, 0.1), Result("parity", False, 1.5, 40, 2, "2 skipped, but none may be")])
    assert "FAILED      40        2     1.50  2 skipped, but none may be" in shown
    assert shown.splitlines()[-1].split() == ["all", "1.60"]


PROGRAM = """
import pytest
from tests.groups import require
@pytest.mark.xfail
def test_that_is_known_to_fail():
    raise AssertionError
def test_plain():
    assert True
def test_needs_node():
    require("node", {ok}, "node is not installed here")
"""


@pytest.mark.parametrize(
    ("ok", "needed", "status", "counts"),
    [(True, "node", 0, (3, 0)), (False, "", 0, (2, 1)), (False, "torch", 0, (2, 1)), (False, "torch,node", 1, (3, 0))],
)
def test_a_skip_is_a_failure_where_the_group_is_required(
    ok: bool, needed: str, status: int, counts: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_program.py").write_text(PROGRAM.format(ok=ok))
    monkeypatch.setenv("MINIGRAD_REQUIRE", needed)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = subprocess.run([*command, "test_program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status, done.stdout
    assert count(report) == counts
    assert ok or "node is not installed here" in done.stdout


UNSTEADY = """
from pathlib import Path
import pytest
RAN = Path(__file__).with_suffix(".ran")
AGAIN = RAN.exists()
@pytest.mark.parametrize("number", range({count}))
def test_fails(number):
    RAN.touch()
    assert {passes}
def test_plain():
    {then}
"""


@pytest.mark.parametrize(("stage", "number", "passes", "again", "passed"), [
    ("browser", 3, "AGAIN", True, True), ("browser", 1, "False", True, False), ("browser", 4, "AGAIN", False, False),
    ("unit", 1, "AGAIN", False, False),
])
def test_up_to_three_tests_in_a_browser_run_again_alone(
    stage: str, number: int, passes: str, again: bool, passed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "test_unsteady.py").write_text(UNSTEADY.format(count=number, passes=passes, then="pass"))
    monkeypatch.setitem(TESTS, stage, [str(tmp_path / "test_unsteady.py")])
    result = run_tests(stage, frozenset(), 1, {})
    assert (result.passed, result.run) == (passed, number + 1)
    assert ("ran again: test_fails[" in result.why) == ("once more, alone" in capfd.readouterr().out) == again


def test_a_run_that_was_cut_off_stays_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off = UNSTEADY.format(count=1, passes="AGAIN", then="raise KeyboardInterrupt")
    (tmp_path / "test_unsteady.py").write_text(cut_off)
    monkeypatch.setitem(TESTS, "browser", [str(tmp_path / "test_unsteady.py")])
    assert not run_tests("browser", frozenset(), 0, {}).passed


CASES = """
import pytest
@pytest.mark.parametrize("number", range(40))
def test_many(number):
    assert True
@pytest.mark.parametrize("number", range(3))
def test_few(number):
    assert True
def test_one():
    assert True
"""


@pytest.mark.parametrize("parts", [2, 4])
def test_a_stage_that_hurries_runs_another_part_each_day(parts: int, tmp_path: Path) -> None:
    """Of each test with many cases; the rest runs each time."""
    (tmp_path / "test_cases.py").write_text(CASES)
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_collection_modifyitems")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "test_cases.py"]
    ran = []
    for day in range(parts):
        own = {**os.environ, part.PART: f"{day}/{parts}", "PYTHONPATH": str(ROOT)}
        said = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True).stdout
        ran.append(set(re.findall(r"::(\S+) PASSED", said)))
    always = set.intersection(*ran)
    assert {each.partition("[")[0] for each in always} == {"test_few", "test_one"} and len(always) == 4
    assert sum(len(each - always) for each in ran) == len(set.union(*ran) - always) == 40


def test_a_stage_hurries_if_it_begins_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIGRAD_MINUTES", raising=False)
    assert part.hurry("browser", 1000) == {}
    monkeypatch.setenv("MINIGRAD_MINUTES", "50")
    assert part.hurry("unit", 20) == part.hurry("browser", 29) == {}
    assert part.hurry("browser", 30)[part.PART] in ("0/2", "1/2")
    assert part.hurry("browser", 40)[part.PART] in ("0/4", "1/4", "2/4", "3/4")


def test_no_report_counts_as_nothing(tmp_path: Path) -> None:
    assert count(tmp_path / "report.xml") == (0, 0)


def test_names_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIGRAD_REQUIRE", "torch,chromium")
    with pytest.raises(ValueError, match="names chromium; the groups are torch, browser, node"):
        groups.required()
    with pytest.raises(ValueError, match="no test group is named 'chromium'"):
        groups.require("chromium", True, "")
