"""One library in a process of its own: `python -m benchmarks.worker torch` takes orders on stdin, a line of JSON each.

Each library has its own process, as in real life: Python's garbage collector walks over all objects of a process, and
PyTorch alone brings hundreds of thousands of them, for which whoever shares its process would pay.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.workloads import WORKLOADS

__all__ = ["serve"]


def prepare(library: Any, order: dict[str, Any]) -> tuple[Callable[[], Any], list[Any]]:
    """What the order asks to run, and the results of running it once."""
    run = WORKLOADS[order["workload"]](library, **order["arguments"])
    return run, [result.detach().tolist() for result in run()]


def about(library: Any) -> dict[str, str]:
    """Version, threads and kernels of the library."""
    found = {"version": str(library.__version__)}
    if library.__name__ == "torch":
        library.set_num_threads(1)
        found["threads"] = str(library.get_num_threads())
        found["kernels"] = str(library.backends.cpu.get_cpu_capability())
    return found


def serve(name: str) -> None:
    """Answer orders until there are no more: one with a workload by its results, an empty one by seconds."""
    library = importlib.import_module(name)
    print(json.dumps(about(library)), flush=True)

    def run() -> Any:
        return None

    for line in sys.stdin:
        order = json.loads(line)
        answer: Any
        if order:
            run, answer = prepare(library, order)
        else:
            start = time.perf_counter()
            results = run()
            answer = time.perf_counter() - start
            del results
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
