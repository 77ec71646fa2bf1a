"""The benchmark of several ranks runs, and gives every figure that docs/scale.md speaks of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.distributed.jobs import need_mpi, start
from tests.groups import has_torch, require

need_mpi()
require("torch", has_torch(), "PyTorch 2.13 is not installed")
pytestmark = pytest.mark.torch


def test_quick_figures(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    done = start(2, "../../benchmarks/ranks.py", "--quick", "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert figures["ranks"] == 2
    for row, peer in (("all-reduce", "mpi4py"), ("step", "torch")):
        assert {"minigrad", peer, "ratio"} < set(figures[row])
        assert min(figures[row].values()) > 0
    assert figures["model"]["alpha"] > 0
    step = figures["prediction"]
    assert step["predicted"] == pytest.approx(step["ratio"] * step["recorded"])
    assert min(step["recorded"], step["unrecorded"]) > 0 and 0 < step["computing"] <= step["predicted"]
