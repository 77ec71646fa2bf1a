"""A contender in its own process: `python -m benchmarks.worker torch 1` takes orders on stdin, each a line of JSON.

Each contender has its own process, as in real life: Python's garbage collector walks over all objects of a process, and
PyTorch alone brings hundreds of thousands of them, for which whoever shares its process would pay.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.by_hand import BY_HAND
from benchmarks.peers import PEERS
from benchmarks.training import TRAINING, compiled
from benchmarks.transforms import TRANSFORMS
from benchmarks.workloads import WORKLOADS

__all__ = ["serve", "summary"]

SAMPLES = 16
Table = dict[str, Callable[..., Any]]


def summary(result: Any) -> dict[str, Any]:
    """What is compared of a result: its shape, its mean size and some of its elements."""
    detached = result.detach() if hasattr(result, "detach") else result
    array = np.asarray(detached.data if type(detached).__module__.startswith("mygrad") else detached, np.float64)
    flat = array.reshape(-1)
    return {"shape": list(array.shape), "size": float(np.abs(flat).mean()), "sum": float(flat.sum()),
            "some": flat[::max(1, len(flat) // SAMPLES)].tolist()}


def table_of(name: str, threads: int) -> tuple[Table, dict[str, str]]:
    """The workloads of a contender, and what is to be said of it."""
    if name == "numpy":
        return dict(BY_HAND), {"version": np.__version__}
    if name in PEERS:
        return PEERS[name](), {"version": importlib.metadata.version(name.removesuffix("-jit"))}
    root, _, way = name.partition("-")
    library = importlib.import_module(root)
    about = {"version": str(library.__version__)}
    if way in ("numpy", "numba"):
        library.compile(summary, backend=way)  # an error here where numba is not installed
        return dict(compiled(library, functools.partial(library.compile, backend=way, fullgraph=True))), about
    if way == "compile":
        if not shutil.which("g++"):
            raise OSError("torch.compile needs g++")
        library.set_num_threads(threads)
        return dict(compiled(library, library.compile)), about
    if name == "torch":
        library.set_num_threads(threads)
        blas = ("MKL" if library.backends.mkl.is_available() else "not MKL") + (
            ", oneDNN" if library.backends.mkldnn.is_available() else "")
        about |= {"threads": str(library.get_num_threads()), "kernels": str(library.backends.cpu.get_cpu_capability()),
                  "blas": blas}
    every = {key: functools.partial(make, library) for key, make in {**WORKLOADS, **TRAINING, **TRANSFORMS}.items()}
    return {**every, **compiled(library, lambda step: step)}, about


def nothing() -> Sequence[Any]:
    """What is run before the first order."""
    return ()


def prepare(table: Table, order: dict[str, Any]) -> tuple[Callable[[], Sequence[Any]], list[dict[str, Any]] | None]:
    """What the order asks to run, and the results of running it once; None where the contender cannot do it."""
    try:
        run = table[order["workload"]](**order["arguments"])
    except NotImplementedError:
        return nothing, None
    return run, [summary(result) for result in run()]


def serve(name: str, threads: int) -> None:
    """Answer orders until there are no more: one with a workload by its results, an empty one by seconds, the mean of
    as many runs as the workload's order asked for.

    The first line says what the contender is, or why it is not there.
    """
    try:
        table, about = table_of(name, threads)
    except (ImportError, RuntimeError, OSError) as error:
        print(json.dumps({"missing": f"{type(error).__name__}: {error}".partition("\n")[0]}), flush=True)
        return
    print(json.dumps({**about, "workloads": sorted(table)}), flush=True)

    run, times = nothing, 1
    for line in sys.stdin:
        order = json.loads(line)
        answer: Any
        if order:
            times = order.get("times", 1)
            run, answer = prepare(table, order)
        else:
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(times):
                results = run()
            share = getattr(run, "part", 1) / times  # `part`: of the work, where not all of it is run
            answer = [(time.perf_counter() - wall) * share, (time.process_time() - cpu) * share]
            del results
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
