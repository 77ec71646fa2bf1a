"""Timing contenders against each other, and saying on what machine: the parts that every benchmark shares."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

__all__ = ["Process", "Worker", "import_times", "interleaved", "machine", "timed"]

CORE_NAMES = ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename")


class Process:
    """A program of this folder that answers orders: a line of JSON each, in and out. It says first what it is."""

    def __init__(self, *arguments: str, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=env)

    def answer(self) -> Any:
        """The next line that the process writes.

        Raises:
            RuntimeError: if it has ended instead.
        """
        assert self.process.stdout is not None  # it is a pipe
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args!r} has ended with {self.process.wait()}")
        return json.loads(line)

    def order(self, **what: Any) -> Any:
        """Send an order and wait for the answer."""
        assert self.process.stdin is not None  # it is a pipe
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate()


class Worker(Process):
    """A contender in a process of its own (`benchmarks.worker`), as a context.

    With one thread all of them run on one core, where the system lets us choose: they take turns, and two cores of one
    machine may differ by half, for minutes, when somebody else uses what they share.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        counts = {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS", "MKL")}
        if threads == 1:
            counts["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        self.name, self.threads = name, threads
        super().__init__("benchmarks.worker", name, str(threads), env={**os.environ, **counts})
        if threads == 1 and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self.process.pid, {max(os.sched_getaffinity(0))})
        self.about: dict[str, str] = self.answer()

    def seconds(self) -> float:
        """Run once more what was ordered: the seconds of its one thread, or of the clock where there are several.

        A thread's own time leaves out the turns that other programs have on its core.
        """
        wall, cpu = self.order()
        return float(cpu if self.threads == 1 else wall)


def timed(run: Callable[[], Any]) -> float:
    """The seconds of the processor that a call takes. What it returns is dropped outside of that time."""
    start = time.process_time()
    result = run()
    seconds = time.process_time() - start
    del result
    return seconds


def interleaved(contenders: Mapping[str, Callable[[], float]], repeats: int, warm: bool = False,
                least: bool = False) -> tuple[dict[str, float], dict[str, float]]:
    """The median of the seconds that each contender says, and of its ratio to the last one in the same turn.

    They take turns, so that what disturbs the machine hits them alike. Where they are not `warm`, having run before,
    the first turn does not count. `least`: the least seconds of each, and the ratios of these, for threads that the
    machine may not run at the same time.
    """
    turns = [[seconds() for seconds in contenders.values()] for _ in range(repeats + (not warm))][not warm:]
    found = [min(each) if least else statistics.median(each) for each in zip(*turns, strict=True)]
    ratios = [s / found[-1] for s in found] if least else [
        statistics.median(each) for each in zip(*[[s / turn[-1] for s in turn] for turn in turns], strict=True)]
    return dict(zip(contenders, found, strict=True)), dict(zip(contenders, ratios, strict=True))


def import_times(modules: tuple[str, ...], repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """The median seconds, and ratios to the last module, that a fresh interpreter needs to import each module.

    They are compiled before, as one is that somebody has installed. NumPy is timed alone, the others on top of it.
    """
    program = ("import sys, time; sys.argv[1] != 'numpy' and __import__('numpy'); start = time.process_time(); "
               "__import__(sys.argv[1]); print(time.process_time() - start)")
    with tempfile.TemporaryDirectory() as folder:  # for what is compiled in the first turn
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}

        def fresh(module: str) -> float:
            done = subprocess.run([sys.executable, "-c", program, module], check=True, capture_output=True, text=True,
                                  env=environment)
            return float(done.stdout)

        return interleaved({module: functools.partial(fresh, module) for module in modules}, repeats)


def machine(workers: Mapping[str, Worker]) -> dict[str, str]:
    """What the figures were measured on: processor, versions, and the kernels that the products run on."""
    found = {"cpu": cpu(), "cores": str(os.cpu_count()), "python": platform.python_version(), "numpy": np.__version__,
             "numpy kernels": numpy_kernels(), "numpy threads": str(os.environ.get("OPENBLAS_NUM_THREADS"))}
    for name, worker in workers.items():
        found[name] = worker.about["version"]
        told = {key: value for key, value in worker.about.items() if key not in ("version", "workloads")}
        found.update({f"{name} {key}": value for key, value in told.items()})
    return found


def cpu() -> str:
    """The name of the processor."""
    try:
        found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:  # not Linux
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def numpy_kernels() -> str:
    """The name of NumPy's BLAS, and which of its kernels it has chosen here, as far as it tells."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    name = f"{blas.get('name')} {blas.get('version')}"
    pinned = os.environ.get("OPENBLAS_CORETYPE")
    return f"{name} {core_name() or 'kernels unknown'}" + (f" (pinned to {pinned})" if pinned else "")


def core_name() -> str | None:
    """The kernels of the OpenBLAS that is loaded, asked of it by its own function."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    except OSError:  # not Linux
        return None
    for path in sorted(set(re.findall(r"/\S*openblas\S*\.so\S*", maps))):
        library = ctypes.CDLL(path)
        for name in CORE_NAMES:
            ask = getattr(library, name, None)
            if ask is not None:
                ask.restype = ctypes.c_char_p
                return str(ask().decode())
    return None
