"""Starts programs in several processes for the tests, and counts what they leave running."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.groups import has_mpi, require

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LIMIT = 600  # seconds until a job that hangs fails its test; the machine may be slow


def need_mpi() -> None:
    """Skip the tests of a file where mpi4py or mpiexec is missing."""
    require("mpi", has_mpi(), "mpi4py and mpiexec are not installed (extra mpi)")


def start(ranks: int, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program of this folder with `minigrad run`; gives its output, also where it fails."""
    command = [sys.executable, "-m", "minigrad", "run", "-n", str(ranks), str(HERE / program), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'widgets'}", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=LIMIT, cwd=ROOT,
                          env=environment, check=False)


def start_with(lib: str, ranks: int, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program under minigrad or PyTorch; it is told which. Under PyTorch it gets a second try.

    On a busy machine one of PyTorch's own ranks may still end in gloo, as `models.end_group` says. That says nothing
    about minigrad; a program that is wrong fails twice.
    """
    done = start(ranks, program, lib, *arguments)
    return start(ranks, program, lib, *arguments) if lib == "torch" and done.returncode else done


def left_running(word: str, seconds: float = 60) -> list[str]:
    """The command lines of processes that hold a word; those that are about to end get some seconds."""
    end = time.monotonic() + seconds
    while (found := [line for line in command_lines() if word in line]) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def command_lines() -> list[str]:
    """Those of all processes of this machine."""
    listed = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()
