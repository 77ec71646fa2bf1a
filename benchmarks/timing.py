"""Timing contenders against each other, and saying on what machine: the parts that every benchmark shares."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

import minigrad

__all__ = ["import_times", "interleaved", "machine"]

CORE_NAMES = ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename")


def interleaved(contenders: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The median time of each contender in seconds. They take turns, so that what disturbs the machine hits them alike;
    each goes once before, untimed. What a contender returns is dropped outside of its time."""
    for run in contenders.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            start = time.perf_counter()
            result = run()
            times[name].append(time.perf_counter() - start)
            del result
    return {name: statistics.median(found) for name, found in times.items()}


def import_times(modules: tuple[str, ...], repeats: int) -> dict[str, float]:
    """The median time in seconds that a fresh interpreter needs to import each module."""
    program = "import sys, time; start = time.perf_counter(); __import__(sys.argv[1]); print(time.perf_counter() - start)"

    def fresh(module: str) -> float:
        done = subprocess.run([sys.executable, "-c", program, module], check=True, capture_output=True, text=True)
        return float(done.stdout)

    times: dict[str, list[float]] = {module: [] for module in modules}
    for turn in range(repeats + 1):
        for module in modules:
            found = fresh(module)
            if turn:  # the first one fills the file cache
                times[module].append(found)
    return {module: statistics.median(found) for module, found in times.items()}


def machine() -> dict[str, str]:
    """What the figures were measured on: processor, versions, and the kernels that the products run on."""
    return {
        "cpu": cpu(), "cores": str(os.cpu_count()), "python": platform.python_version(),
        "minigrad": minigrad.__version__, "numpy": np.__version__, "torch": torch.__version__,
        "numpy kernels": numpy_kernels(), "torch kernels": torch.backends.cpu.get_cpu_capability(),
        "threads": f"torch {torch.get_num_threads()}, OpenBLAS {os.environ.get('OPENBLAS_NUM_THREADS')}",
    }


def cpu() -> str:
    """The name of the processor."""
    try:
        found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:  # not Linux
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def numpy_kernels() -> str:
    """The name of NumPy's BLAS, and which of its kernels it has chosen here, as far as it tells."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index]  # a dict in this mode
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
