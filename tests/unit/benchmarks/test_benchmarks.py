"""The benchmarks run and write what they should; nothing is timed here, so that nothing can flake."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks.rows import rows
from benchmarks.worker import summary

pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[3]


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True,
                          check=False)


@pytest.mark.slow
def test_a_quick_run_writes_every_row(tmp_path, torch):
    out = tmp_path / "new" / "performance.json"
    contenders = ["minigrad", "minigrad-numpy", "numpy", "torch"]  # numba would compile for longer than all the rest
    done = run("--quick", "--contenders", ",".join(contenders), "--out", str(out))
    assert done.returncode == 0, done.stderr
    written = json.loads(out.read_text(encoding="utf-8"))
    assert {"cpu", "numpy kernels", "torch kernels", "torch", "numpy", "minigrad"} <= set(written["machine"])
    names = [(row["name"], row["threads"]) for row in written["rows"]]
    expected = [(row.name, row.threads) for row in rows(quick=True) if row.ours in contenders]
    assert expected == names[:len(expected)]
    assert len(names) == len(expected) + 9  # recording, a loop, import, growth
    for row in written["rows"]:
        assert row["ratio"] > 0 and row["limit"] is None
        assert row["threads"] == 2 or row["name"][:52] in done.stdout
    history = json.loads((tmp_path / "new" / "history.json").read_text(encoding="utf-8"))
    assert len(history) == 1 and len(history[0]["ratios"]) == len(names)


def test_results_that_differ_are_no_contest():
    row = rows(quick=True)[0]
    same, other = [summary(2.0)], [summary(2.1)]
    benchmarks.same(row, "minigrad", same, same)
    with pytest.raises(AssertionError, match="minigrad's result 0"):
        benchmarks.same(row, "minigrad", other, same)


def test_limits():
    row = {"ratio": 0.9, "limit": 1.0, "to numpy": 1.3, "numpy limit": 1.25}
    assert benchmarks.broken(row) and not benchmarks.broken({**row, "to numpy": 1.2})
    assert benchmarks.broken({"ratio": 1.1, "limit": 1.0}) and not benchmarks.broken({"ratio": 1.1, "limit": None})


def test_rows_measured_anew_take_the_places_of_the_old():
    def row(name, ratio):
        return {"name": name, "threads": 1, "ratio": ratio}

    old = {"machine": {"cpu": "x"}, "rows": [row("a", 1), row("b", 2)]}
    where, rows = benchmarks.merged(old, {"date": "2026-11-27", "cpu": "y"}, [row("b", 3), row("c", 4)])
    later = {"measured": "2026-11-27, y"}
    assert where == {"cpu": "x"} and rows == [row("a", 1), row("b", 3) | later, row("c", 4) | later]


def test_a_wrong_option_is_refused():
    done = run("--slow")
    assert done.returncode == 2 and "unrecognized arguments" in done.stderr
