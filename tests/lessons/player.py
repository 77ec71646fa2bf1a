"""Runs the cells of a notebook in a fork of a process that has imported everything: a kernel takes seconds to start.

`play` asks a server process (this file, run as a program) that has imported what lessons import. The server forks for
each run, so that no run feels another. The cells run in IPython, as in a kernel; that a real kernel prints the same is
for nbval to tell (`test_nbval.py`).
"""

from __future__ import annotations

import importlib
import json
import os
import select
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import matplotlib.backends.backend_agg  # noqa: F401 (runs need it, so the server has it)
import sklearn.datasets  # noqa: F401 (likewise)
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import minigrad_lessons  # noqa: F401 (likewise)
import minigrad_widgets  # noqa: F401 (likewise)

ROOT = Path(__file__).parents[2]
SECONDS = 300  # a lesson may start dozens of processes, and other tests run beside it


@dataclass(frozen=True)
class Ran:
    """A code cell that was run: what it printed, with the words of its error at the end, and its processor time."""

    id: str
    text: str
    error: str
    seconds: float


@contextmanager
def player() -> Iterator[subprocess.Popen[str]]:
    """The server, for `play`."""
    with subprocess.Popen([sys.executable, "-m", "tests.lessons.player"], cwd=ROOT, text=True, encoding="utf-8",
                          env={**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"},
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        yield server
        server.kill()


def play(server: subprocess.Popen[str], cells: list[tuple[str, str]], folder: Path) -> list[Ran]:
    """Run code cells, given as pairs of id and source, one after the other in `folder`."""
    assert server.stdin is not None and server.stdout is not None
    print(json.dumps({"cells": cells, "folder": str(folder)}), file=server.stdin, flush=True)
    if not select.select([server.stdout], [], [], SECONDS)[0]:
        raise TimeoutError(f"the cells did not end within {SECONDS} seconds")
    answer = json.loads(server.stdout.readline())
    assert isinstance(answer, list), answer
    return [Ran(**ran) for ran in answer]


def serve(jobs: IO[str], answers: IO[str]) -> None:
    """Answer each line of `jobs` with a line, from a fork."""
    torch = importlib.import_module("minigrad_lessons.same_in_torch").pytorch()
    if torch is not None:  # it takes the longest to import, and its first optimiser imports as much again
        torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    for line in jobs:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        try:
            print(json.dumps([asdict(ran) for ran in _run_all(**json.loads(line))]), file=answers, flush=True)
        except BaseException:  # noqa: BLE001 (the test that asked is told, whatever it is)
            print(json.dumps(traceback.format_exc()), file=answers, flush=True)
        finally:
            os._exit(0)


def _run_all(cells: list[tuple[str, str]], folder: str) -> list[Ran]:
    os.chdir(folder)
    shell = InteractiveShell.instance(config=Config(
        {"HistoryManager": {"enabled": False}, "InteractiveShell": {"xmode": "Minimal"}}))
    return [_run(shell, id, source) for id, source in cells]


def _run(shell: InteractiveShell, id: str, source: str) -> Ran:
    start = time.process_time()
    with capture_output() as captured:
        result = shell.run_cell(source, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    shown = [output.data.get("text/plain", "") for output in captured.outputs]
    return Ran(id, "\n".join([captured.stdout + captured.stderr, *shown]), type(error).__name__ if error else "",
               time.process_time() - start)


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
