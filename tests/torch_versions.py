"""Runs the tests that hold with any PyTorch on other versions of it: `python -m tests versions 2.6.0 2.9.1 newest`.

For each version it makes an environment of its own in a temporary folder, with pip's default wheel (which brings CUDA's
libraries on Linux: about 5 GB, none of which stays on the disk), and runs the tests of the reader of PyTorch's graphs,
of the doctor, and of the programs whose output is known. minigrad itself is compared with one version only. What is
known to differ is in `EXCEPTIONS`; docs/differences.md says what was last run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.groups import torch_version

ROOT = Path(__file__).resolve().parent.parent
TESTED = ["tests/parity/trace", "tests/parity/test_programs.py", "tests/widgets/doctor"]
NOT_OURS = ["-k", "not minigrad"]  # a case of minigrad itself, which runs without PyTorch
EXTRAS = ".[bfloat16,lessons]"
TOOLS = ["hypothesis>=6.130", "pytest>=9,<10", "pytest-xdist>=3.8,<4"]
NEWEST = "newest"
FIRST, LAST = (2, 6), (3, 0)


class Exempt(NamedTuple):
    """A test that must fail with some versions: the end of its id, the first version, the first that passes, why."""

    test: str
    since: tuple[int, int]
    until: tuple[int, int]
    why: str


SLICED = "a[:, 1] was a slice and a select; now it is one select"
SENTENCES = "its sentences about gradients and printed modules had other words"
EXCEPTIONS = [
    Exempt("test_views_that_are_written_to", FIRST, (2, 9), SLICED),
    Exempt("test_both_libraries_note_the_same[a[0] + a[:, 1]]", FIRST, (2, 9), SLICED),
    Exempt("test_same_story[views_in_place]", FIRST, (2, 9), SLICED),
    Exempt("test_same_story[transformer]", FIRST, (2, 9), "dropout on the CPU drew its mask in another order"),
    Exempt("test_same_story[rnn]", (2, 15), LAST, "an RNN's layers end in UnsafeViewBackward0, not ViewBackward0"),
    Exempt("test_a_schedule_that_steps_first[torch]", FIRST, (2, 10), "the warning named a line of PyTorch's own"),
    Exempt("test_pytorch_still_prints_it[03_autograd_grad]", FIRST, (2, 13), SENTENCES),
    Exempt("test_pytorch_still_prints_it[05_graph_structure]", FIRST, (2, 9), SENTENCES),
    Exempt("test_pytorch_still_prints_it[13_detach_clone_copy]", FIRST, (2, 11), SENTENCES),
    Exempt("test_pytorch_still_prints_it[15_eval_vs_no_grad]", FIRST, (2, 12), SENTENCES),
    Exempt("test_pytorch_still_prints_it[23_inplace_versions]", FIRST, (2, 13), SENTENCES),
]


def exception(test: str) -> str | None:
    """Return why a test must fail with the installed PyTorch; None if it must pass."""
    version = torch_version()
    return next((each.why for each in EXCEPTIONS if test.endswith(each.test) and each.since <= version < each.until),
                None)


def main(arguments: Sequence[str]) -> int:
    """Run the tests with each of these versions; print a line for each. The exit status is 0 if all passed."""
    parser = argparse.ArgumentParser(prog="python -m tests versions", description="Runs the tests on other PyTorches.")
    parser.add_argument("version", nargs="+", help=f"of PyTorch, as pip knows it, or {NEWEST}")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--tests", nargs="+", default=TESTED, metavar="PATH", help="default: " + " ".join(TESTED))
    options = parser.parse_args(arguments)
    lines, failed = [], False
    for version in options.version:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="torch-") as folder:
            status = run(version, Path(folder), options.workers, options.tests)
        failed = failed or status != 0
        lines.append(f"PyTorch {version:10}{'FAILED' if status else 'passed':>8}"
                     f"{(time.monotonic() - start) / 60:9.2f} minutes")
    print("\n".join(["", *lines]), flush=True)
    return int(failed)


def run(version: str, folder: Path, workers: int, tests: Sequence[str]) -> int:
    """Make an environment with a version of PyTorch, print what it gives the reader, and run the tests in it."""
    print(f"\n===== PyTorch {version} =====", flush=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    torch = "torch" if version == NEWEST else f"torch=={version}"
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir", torch, *TOOLS, "-e", EXTRAS],
        [str(python), "-m", "minigrad_widgets.torch_reader"],
        [str(python), "-m", "pytest", "-q", f"--numprocesses={workers}", *NOT_OURS, *tests],
    ):
        status = subprocess.run(command, cwd=ROOT).returncode
        if status:
            return status
    return 0
