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
    assert written["about"]["torch"]["version"].startswith("2.13") and written["date"].endswith("+00:00")
    assert [row["name"] for row in written["rows"]] == list(gpu.WORKLOADS)
    for row in written["rows"]:
        assert row["ratio"] > 0 and row["name"] in done.stdout
        assert len(set(row["losses"])) == (1 if "300 small ops" in row["name"] else 3)


def test_without_a_gpu_it_says_so():
    if minigrad.cuda.is_available():
        pytest.skip("gpu: there is one")
    done = run()
    assert done.returncode == 2 and "no GPU is there for minigrad" in done.stderr


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


class Told:
    """A worker that answers with what it was given, and raises what is an error."""

    class process:
        """It lives."""

        @staticmethod
        def poll():
            return None

    def __init__(self, answers):
        self.answers = answers

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def order(self, do, name, **what):
        said = self.answers.get(name, [1.0])
        if isinstance(said, Exception):
            raise said
        return said if do == "check" else {"ms": 2.0, "peak bytes": 1 << 20}


def test_a_row_that_fails_stands_with_its_error_and_the_others_go_on(monkeypatch, capsys):
    monkeypatch.setattr(gpu, "Worker", lambda library: Told({"cnn": RuntimeError("no memory")}))
    reports = []
    given = gpu.argparse.Namespace(device="cuda", tiny=True, only="", all=False)
    assert gpu.measure(given, ["minigrad"], lambda rows: reports.append(len(rows))) == 1
    assert reports == list(range(1, len(gpu.WORKLOADS) + 1))
    printed = capsys.readouterr().out
    assert "cnn                        FAILED\nno memory" in printed and "mlp" in printed
    assert printed.count("     - of at most") == len(gpu.TARGETS)  # no PyTorch, nothing to be measured by


def test_an_error_of_an_order_is_told_and_the_worker_goes_on():
    with gpu.Worker("minigrad") as worker:
        with pytest.raises(RuntimeError, match="KeyError: 'nothing'"):
            worker.order(do="check", name="nothing", device="cpu", tiny=True)
        assert len(worker.order(do="check", name="mlp", device="cpu", tiny=True)) == 3


def test_what_is_asked_is_said_with_what_was_measured():
    times = {"mlp": (3.2, 2.0), "small mlp, graph": (0.5, 0.4), "small mlp": (2.0, 1.0)}
    rows = [{"name": name, "minigrad": {"ms": ours, "peak bytes": 100}, "torch": {"ms": theirs, "peak bytes": 100}}
            for name, (ours, theirs) in times.items()] + [{"name": "cnn", "error": "no memory"}]
    found = {(name, figure): said for (name, figure, *_), said in zip(gpu.TARGETS, gpu.reached(rows), strict=True)}
    assert found["mlp", "ms"]["is"] == 1.6 and found["mlp", "ms"]["reached"] is False
    assert found["mlp", "peak bytes"]["reached"] is True
    assert found["small mlp, graph", "ms"]["is"] == 0.5  # by PyTorch's steps without a graph
    assert found["cnn", "peak bytes"] == {"what": "peak bytes of 'cnn', over PyTorch's of 'cnn'", "at most": 1.1,
                                          "is": None, "reached": None}


def test_the_tests_leave_a_log_and_are_stopped_in_time(tmp_path, monkeypatch):
    program = tmp_path / "test_it.py"
    program.write_text("import time\ndef test_a(): pass\ndef test_b(): time.sleep(0.01)\n", encoding="utf-8")
    monkeypatch.setattr(gpu, "TESTS", (str(program),))
    log = tmp_path / "gpu.log"
    done = gpu.tested(log)
    assert done["status"] == 0 and "2 passed" in done["said"] and "2 passed" in log.read_text(encoding="utf-8")
    program.write_text("import time\ndef test_c(): time.sleep(60)\n", encoding="utf-8")
    monkeypatch.setattr(gpu, "FOR_TESTS", 2)
    assert gpu.tested(log) == {"status": None, "said": "not done after 2 s"}
