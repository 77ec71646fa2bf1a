"""The benchmark for GPUs runs on the CPU in tiny sizes, compares the libraries and writes what it should."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad
from benchmarks import gpu
from tests.groups import has_torch, require

ROOT = Path(__file__).parents[2]


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "benchmarks.gpu", *arguments], cwd=ROOT, capture_output=True,
                          text=True, check=False)


def test_every_row_on_the_cpu(tmp_path):
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    out = tmp_path / "new" / "gpu.json"
    done = run("--device", "cpu", "--tiny", "--out", str(out))
    assert done.returncode == 0, done.stderr
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["about"]["torch"]["version"].startswith("2.13")
    assert [row["name"] for row in written["rows"]] == list(gpu.WORKLOADS)
    for row in written["rows"]:
        assert row["ratio"] > 0 and row["name"] in done.stdout
        assert len(set(row["losses"])) == (1 if row["name"] == "300 small ops" else 3)


def test_without_a_gpu_it_says_so():
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    if minigrad.cuda.is_available():
        pytest.skip("gpu: there is one")
    done = run()
    assert done.returncode == 2 and "no GPU is there for minigrad and torch" in done.stderr


def test_libraries_that_differ_are_not_timed():
    class Liar:
        def __init__(self, losses):
            self.losses = losses

        def order(self, do, **what):
            assert do == "check"
            return self.losses

    given = gpu.argparse.Namespace(device="cpu", tiny=True)
    with pytest.raises(AssertionError, match="mlp: the libraries differ"):
        gpu.compared({"minigrad": Liar([1.0, 0.9, 0.8]), "torch": Liar([1.0, 0.9, 0.7])}, "mlp", given)
