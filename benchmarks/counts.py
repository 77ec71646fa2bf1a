"""What the hot path does, counted: `python -m benchmarks.counts [--write] [--callgrind]`.

Times differ from run to run; how often minigrad calls its own functions, and how many blocks of memory a graph holds,
do not. test_counts.py holds both to results/counts.json, so that neither grows unseen; `--write` writes it
anew. Calls are those of functions in minigrad's own files, for a forward and a backward pass; blocks are what Python's
allocator holds more of after the forward pass than before it, arrays' data apart. With `--callgrind`, valgrind counts
the processor's instructions too, where it is installed: for each workload its number at two lengths, whose difference
leaves out what starting takes.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import minigrad
from benchmarks import training

__all__ = ["BUILDS", "COUNTS", "counted"]

COUNTS = Path(__file__).parent / "results" / "counts.json"
HERE = str(Path(minigrad.__file__).parent)
Build = Callable[[], Any]  # a forward pass, giving what to call `backward` of


def chain(length: int = 300) -> tuple[Build, int]:
    """Multiplications, additions and tanhs of one element."""
    x0, w, b = (minigrad.tensor(value, requires_grad=True) for value in (0.5, 1.0, 1e-6))

    def build() -> Any:
        x = x0
        for _ in range(length // 3):
            x = x * w
            x = x + b
            x = x.tanh()
        return x

    return build, length


def fan_out(width: int = 100) -> tuple[Build, int]:
    """One tensor that goes into many products, which are added up."""
    x, half = minigrad.full((), 0.5, requires_grad=True), minigrad.full((), 0.5)

    def build() -> Any:
        total = x * half
        for _ in range(width):
            total = total + x * half
        return total

    return build, 2 * width + 1


def mlp(batch: int = 2) -> tuple[Build, int]:
    """The MLP of the benchmark, on a batch that is next to nothing: per step, not per op."""
    x, y, arrays = training.drawn.mlp(batch)
    nn = minigrad.nn
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    training.filled(minigrad, model, arrays)
    images, answers = minigrad.tensor(x), minigrad.tensor(y)
    return lambda: nn.functional.cross_entropy(model(images), answers), 1


BUILDS: dict[str, Callable[..., tuple[Build, int]]] = {"chain": chain, "fan-out": fan_out, "MLP step": mlp}


def calls(run: Callable[[], Any]) -> int:
    """How many functions of minigrad a run calls, and functions that they call, if these are Python's in its files."""
    found = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal found
        code = frame.f_code
        found += event == "call" and code.co_filename.startswith(HERE) and not code.co_name.startswith("<")

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def held(build: Build) -> int:
    """How many blocks a graph holds."""
    gc.collect()
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        made = build()
        after = sys.getallocatedblocks()
    finally:
        gc.enable()
    del made
    return after - before


def versions() -> str:
    """Python and NumPy, each of which has blocks of its own."""
    return f"Python {'.'.join(platform.python_version_tuple()[:2])}, NumPy {'.'.join(np.__version__.split('.')[:2])}"


def counted() -> dict[str, dict[str, float]]:
    """For each workload: calls and blocks, for each op (the MLP: for the step)."""
    found = {}
    for name, make in BUILDS.items():
        build, ops = make()
        for _ in range(3):  # what is made once is there
            build().backward()
        found[name] = {"calls": round(calls(lambda: build().backward()) / ops, 2),  # noqa: B023 (called at once)
                       "blocks": round(min(held(build) for _ in range(5)) / ops, 2)}
    return found


def instructions(name: str, times: int) -> int:
    """The processor's instructions of a process that runs a workload so many times, by callgrind."""
    program = (f"from benchmarks.counts import BUILDS\nbuild, _ = BUILDS[{name!r}]()\n"
               f"for _ in range({times}): build().backward()")
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c",
                           program], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONHASHSEED": "0"})
    match = re.search(r"Collected : (\d+)", done.stderr)
    assert match is not None, done.stderr
    return int(match[1])


def main(arguments: list[str] | None = None) -> int:
    """Count, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.counts", description=str(__doc__).splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the file that the test goes by")
    parser.add_argument("--callgrind", action="store_true", help="count the processor's instructions too")
    given = parser.parse_args(arguments)
    found = counted()
    if given.callgrind:
        if shutil.which("valgrind") is None:
            print("valgrind is not installed", file=sys.stderr)
            return 2
        for name, row in found.items():
            _, ops = BUILDS[name]()
            row["instructions"] = round((instructions(name, 22) - instructions(name, 2)) / 20 / ops)
    for name, row in found.items():
        print(f"{name:<10}", ", ".join(f"{count:,} {what}" for what, count in row.items()),
              "for the step" if name == "MLP step" else "per op")
    if given.write:
        COUNTS.write_text(json.dumps({"versions": versions(), "counts": found}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
