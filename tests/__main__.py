"""Runs every check of the project: `python -m tests`, or some of its stages: `python -m tests unit parity`.

Each stage is a program of its own, so that one cannot spoil the next. The end is a table: tests run and skipped per
group, and minutes per stage. The exit status is 0 if every stage passed. A group that lacks what it needs (PyTorch, a
browser, node, MPI) skips and says so; `MINIGRAD_REQUIRE=torch,browser,node,mpi` makes such a skip a failure.

`python -m tests versions 2.6.0 newest` runs some of the tests with other versions of PyTorch (tests/torch_versions.py).

A group runs in two processes at once, which pytest-xdist starts: `--workers 8` asks for more, `--workers 0` for one.
Up to three tests in a browser that fail beside others run once more, alone, and the table names them; more fail.
With `MINIGRAD_MINUTES=50` they take about so many minutes on most machines, where need be by running a part of the
cases (tests/part.py).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests import torch_versions
from tests.groups import required
from tests.part import PART, hurry

ROOT = Path(__file__).resolve().parent.parent
TOOLS = {
    "ruff": ["-m", "ruff", "check"],
    "mypy": ["-m", "mypy"],
    "floors": ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
}
TESTS = {
    "unit": ["tests/unit", "tests/widgets",
             "tests/test_docs.py", "tests/test_house.py", "tests/test_layout.py",
             "tests/test_readme.py", "tests/test_runner.py"],
    "parity": ["tests/parity", "tests/programs", "tests/comparison", "tests/reports", "tests/test_ops_page.py"],
    "device": ["tests/device"],
    "distributed": ["tests/distributed"],
    "wasm": ["tests/wasm"],
    "frontend": ["tests/frontend"],
    "lessons": ["tests/lessons"],
    "browser": ["tests/browser"],
    "packaging": ["tests/packaging"],
    "models": ["tests/models"],
}
# What a group needs as a whole: with it required, not one test of the group may skip.
NEEDS = {"parity": "torch", "browser": "browser", "frontend": "node", "distributed": "mpi", "models": "models",
         "wasm": "wasm"}
TESTS_FAILED, NO_TESTS_COLLECTED = 1, 5
# The tests of a file of `browser` share a page, and those of the lessons in `wasm` one run of Pyodide, so one process
# has them all. Ranks wait for each other without sleeping: two jobs at once on two cores would take each other's time.
BY_FILE, ONE_BY_ONE = {"browser", "wasm"}, {"distributed"}
MOST_AGAIN = 3


@dataclass
class Result:
    """How one stage went; `why`: what is to be said of it."""

    stage: str
    passed: bool
    minutes: float
    run: int | None = None
    skipped: int | None = None
    why: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the stages that are named, or all; print the table."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["versions"]:
        return torch_versions.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m tests", description="Runs the checks of minigrad.")
    parser.add_argument("stage", nargs="*", choices=[[], *TOOLS, *TESTS], help="default: all of them, in this order")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes for a group (default: 2)")
    options = parser.parse_args(arguments)
    needed, start = required(), time.monotonic()
    results = [
        run_tool(stage) if stage in TOOLS
        else run_tests(stage, needed, options.workers, hurry(stage, (time.monotonic() - start) / 60))
        for stage in [*TOOLS, *TESTS]
        if stage in options.stage or not options.stage
    ]
    print(table(results), flush=True)
    return 0 if all(result.passed for result in results) else 1


def run_tool(stage: str) -> Result:
    """Run a linter over the whole project."""
    status, minutes = timed(stage, [sys.executable, *TOOLS[stage]])
    return Result(stage, status == 0, minutes)


def run_tests(stage: str, needed: frozenset[str], workers: int, hurried: dict[str, str]) -> Result:
    """Run one group of tests with pytest, and count."""
    shared = [f"--numprocesses={0 if stage in ONE_BY_ONE else workers}",
              *(["--dist=loadfile", "--no-loadscope-reorder"] if stage in BY_FILE else ["--dist=worksteal"])]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", *TESTS[stage], "-o", f"cache_dir={folder}/cache"]
        status, minutes = timed(stage, [*command, *shared, f"--junitxml={report}", "--durations=12"], hurried)
        run, skipped = count(report)
        said = [f"late: part {hurried[PART]}"] if hurried else []
        if stage == "browser" and status == TESTS_FAILED and 0 < len(names := failed(report)) <= MOST_AGAIN:
            status, more = timed(f"{stage}, once more, alone", [*command, "--last-failed"], hurried)
            minutes += more
            said.append(f"failed beside others, and ran again: {', '.join(names)}")
    why = verdict(status, run, skipped, NEEDS.get(stage) in needed)
    return Result(stage, not why, minutes, run, skipped, "; ".join([*([why] if why else []), *said]))


def timed(stage: str, command: list[str], more: Mapping[str, str] = {}) -> tuple[int, float]:
    """Run a command in the project's folder, its output as it comes. `more`: what its environment has besides."""
    print(f"\n===== {stage} =====", flush=True)
    start = time.monotonic()
    status = subprocess.run(command, cwd=ROOT, env={**os.environ, **more}).returncode
    return status, (time.monotonic() - start) / 60


def count(report: Path) -> tuple[int, int]:
    """Tests run and tests skipped, from pytest's report; zeros where it wrote none."""
    if not report.exists():
        return 0, 0
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    # pytest files an expected failure under skipped too, but that test has run.
    skipped = sum(mark.get("type") != "pytest.xfail" for case in cases for mark in case.findall("skipped"))
    return len(cases) - skipped, skipped


def failed(report: Path) -> list[str]:
    """The names of the tests that failed, from pytest's report."""
    cases = ElementTree.parse(report).getroot().iter("testcase") if report.exists() else ()
    return [case.attrib["name"] for case in cases if case.find("failure") is not None or case.find("error") is not None]


def verdict(status: int, run: int, skipped: int, required: bool) -> str:
    """Why a group failed; an empty string if it passed."""
    if status == NO_TESTS_COLLECTED and skipped:
        status = 0
    if status == NO_TESTS_COLLECTED:
        return "it holds no test"
    if status != 0:
        return f"pytest ended with status {status}"
    return f"{skipped} skipped, but none may be" if required and skipped else ""


def table(results: Sequence[Result]) -> str:
    """The results, one line each, and the whole time."""
    lines = ["", f"{'stage':12}{'result':>8}{'run':>8}{'skipped':>9}{'minutes':>9}"]
    for result in results:
        run, skipped = ("" if number is None else str(number) for number in (result.run, result.skipped))
        word = "passed" if result.passed else "FAILED"
        line = f"{result.stage:12}{word:>8}{run:>8}{skipped:>9}{result.minutes:9.2f}"
        lines.append(f"{line}  {result.why}".rstrip())
    lines.append(f"{'all':37}{sum(result.minutes for result in results):9.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
