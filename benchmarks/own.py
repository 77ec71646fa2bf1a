"""What minigrad costs that PyTorch has no row for: recording a trace, its size, the time to import, a loop's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import minigrad
from benchmarks.timing import import_times, interleaved, timed
from benchmarks.transforms import per_example
from benchmarks.workloads import chain
from minigrad.recorder import Trace, record

__all__ = ["figures"]

Figures = dict[str, Any]
IMPORT = 30  # ms over NumPy


def recorded(length: int) -> Callable[[], Trace]:
    """The chain in minigrad with a recorder on; gives the trace."""
    run = chain(minigrad, length)

    def recording_run() -> Trace:
        with record() as trace:
            run()
        return trace

    return recording_run


def recording(length: int, repeats: int) -> Iterator[Figures]:
    """What a recorder costs: while the program runs, and with its trace made into plain data."""
    off, on = chain(minigrad, length), recorded(length)
    medians, ratios = interleaved({"on": lambda: timed(on), "on, looked at": lambda: timed(lambda: on().events),
                                   "off": lambda: timed(off)}, repeats)
    per_op = {key: seconds / length * 1e6 for key, seconds in medians.items()}
    size = len(on().to_json())
    common = {"group": "recording", "threads": 1, "unit": "µs per op"}
    yield {**common, "name": f"recording on, against off, chain of {length:,}", "ratio": ratios["on"], "limit": 10,
           "times": {k: per_op[k] for k in ("on", "off")}}
    yield {**common, "name": f"the same, with the trace of {length:,} looked at", "ratio": ratios["on, looked at"],
           "limit": None, "times": {k: per_op[k] for k in ("on, looked at", "off")}}
    yield {**common, "name": f"size of the trace of {length:,}", "unit": "bytes per op", "ratio": size / length,
           "limit": 1_000, "times": {"bytes": size}}


def without_a_loop(batch: int, repeats: int) -> Figures:
    """What gradients for each example take by `vmap(grad(f))`, of the time of a loop."""
    ways = {"vmap": per_example(minigrad, batch, 8), "loop": per_example(minigrad, batch, 8, loop=True)}
    medians, ratios = interleaved({name: functools.partial(timed, run) for name, run in ways.items()}, repeats)
    return {"group": "vmap against a loop", "name": "vmap(grad(f)), against a loop of grad(f)", "threads": 1,
            "unit": "ms", "ratio": ratios["vmap"], "limit": 0.1,
            "times": {name: seconds * 1e3 for name, seconds in medians.items()}}


def importing(repeats: int) -> Figures:
    """The time to import minigrad on top of NumPy, which it needs, in ms."""
    medians, _ = import_times(("minigrad", "numpy"), repeats)
    times = {key: seconds * 1e3 for key, seconds in medians.items()}
    return {"group": "import", "name": "import, over that of NumPy", "threads": 1, "unit": "ms",
            "ratio": times["minigrad"], "limit": IMPORT, "times": times}


def figures(quick: bool, only: str) -> Iterator[Figures]:
    """All of them; `only` those with this text in their group."""
    if only in "recording":
        for length, repeats in ((30, 2), (60, 2)) if quick else ((1_000, 15), (10_000, 5)):
            yield from recording(length, repeats)
    if only in "vmap against a loop":
        yield without_a_loop(*(2, 1) if quick else (64, 15))
    if only in "import":
        yield importing(1 if quick else 11)
