"""The benchmark runs and writes what it should; it is not timed here, so that nothing can flake."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[2]


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "benchmarks.smoke", *arguments], cwd=ROOT, capture_output=True,
                          text=True, check=False)


def test_a_quick_run_writes_every_row(tmp_path, torch):
    done = run("--quick", "--out", str(tmp_path / "new" / "smoke.json"))
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "new" / "smoke.json").read_text(encoding="utf-8"))
    assert {"cpu", "numpy kernels", "torch kernels", "torch", "numpy", "minigrad"} <= set(written["machine"])
    names = " ".join(row["name"] for row in written["rows"])
    for word in ("add, shape []", "matmul, shape [1, 1]", "relu, shape [1]", "sum, shape [64, 64]", "chain of",
                 "the longest", "fan-out of", "diamonds", "recording on", "import"):
        assert word in names
    assert len(written["rows"]) == 30
    for row in written["rows"]:
        assert row["ratio"] > 0 and row["limit"] is None
        assert row["name"] in done.stdout


def test_a_wrong_option_is_refused():
    done = run("--slow")
    assert done.returncode == 2 and "unrecognized arguments" in done.stderr
