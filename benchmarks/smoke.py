"""Is minigrad still fast? `python -m benchmarks.smoke [--out FILE] [--quick]`.

Prints the time of single ops and of chains, fans and diamonds of them as ratios to PyTorch eager on one thread, what
recording costs, and the time to import minigrad. Results are compared before anything is timed; the libraries take
turns, each in a process of its own (`benchmarks.worker` says why). Writes all figures to a JSON file; exits with 1 if a
limit is broken.

`--quick` measures next to nothing and knows no limits: it is for testing this file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import minigrad
from benchmarks.timing import Worker, import_times, interleaved, machine, timed
from benchmarks.workloads import chain
from minigrad.recorder import Trace, record

RESULTS = Path(__file__).parent / "results" / "smoke.json"
Row = dict[str, Any]
# What is allowed of PyTorch's time: for a 0-d tensor (matmul has none: [1, 1]), for one of shape [1], for 64 × 64.
SINGLE_OPS = {"add": (0.7, 0.7, 0.85), "mul": (0.7, 0.7, 0.85), "matmul": (0.7, None, 0.95), "relu": (0.7, 0.7, 0.85),
              "sum": (0.85, 0.85, 1.1)}
CHAINS = ((1_000, 41, 0.48), (10_000, 15, 0.48), (100_000, 5, 0.5), (1_000_000, 1, 0.55))  # length, repeats, limit


def against_torch(workers: Mapping[str, Worker], name: str, ops: int, repeats: int, limit: float, workload: str,
                  **arguments: Any) -> Row:
    """One row: minigrad against PyTorch on the same work.

    Raises:
        AssertionError: if they do not compute the same, but for what each op rounds.
    """
    ours, theirs = (worker.order(workload=workload, arguments=arguments) for worker in workers.values())
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(a, b, rtol=2e-4 + 3e-8 * ops, err_msg=f"{name}, result {index}")
    medians, ratios = interleaved({key: worker.order for key, worker in workers.items()}, repeats, warm=True)
    return {"name": name, "ratio": ratios["minigrad"], "limit": limit, "unit": "µs per op",
            **{key: seconds / ops * 1e6 for key, seconds in medians.items()}}


def recorded(length: int) -> Callable[[], Trace]:
    """The chain in minigrad with a recorder on; gives the trace."""
    run = chain(minigrad, length)

    def recording_run() -> Trace:
        with record() as trace:
            run()
        return trace

    return recording_run


def recording(length: int, repeats: int, limit: float) -> list[Row]:
    """What a recorder costs: while the program runs, and with its trace made into plain data."""
    off, on = chain(minigrad, length), recorded(length)
    medians, ratios = interleaved({"on": lambda: timed(on), "on, looked at": lambda: timed(lambda: on().events),
                                   "off": lambda: timed(off)}, repeats)
    per_op = {key: seconds / length * 1e6 for key, seconds in medians.items()}
    size = len(on().to_json())
    return [
        {"name": f"recording on, against off, chain of {length:,}", "ratio": ratios["on"],
         "limit": limit, "unit": "µs per op", **{k: per_op[k] for k in ("on", "off")}},
        {"name": "the same, with the trace looked at", "ratio": ratios["on, looked at"],
         "limit": None, "unit": "µs per op", **{k: per_op[k] for k in ("on, looked at", "off")}},
        {"name": "size of that trace", "ratio": size / length, "limit": None, "unit": "bytes per op", "bytes": size},
    ]


def importing(repeats: int) -> Row:
    """The time to import minigrad on top of NumPy, which it needs: 30 ms are allowed where NumPy takes 90."""
    medians, ratios = import_times(("minigrad", "numpy"), repeats)
    return {"name": "import, on top of numpy", "ratio": ratios["minigrad"], "limit": 0.33, "unit": "ms",
            **{key: seconds * 1e3 for key, seconds in medians.items()}}


def single_ops(workers: Mapping[str, Worker], times: int, repeats: int) -> list[Row]:
    """One op at a time: what an op and its node cost, and from 64 × 64 on, what NumPy's kernels do."""
    rows = []
    for op, limits in SINGLE_OPS.items():
        for shape, limit in zip(([1, 1] if op == "matmul" else [], [1], [64, 64]), limits, strict=True):
            if limit is not None:
                name = f"{op}, shape {shape}, forward with its graph"
                rows.append(against_torch(workers, name, times, repeats, limit, "one op", op=op, shape=shape,
                                          times=times))
    return rows


def graphs(workers: Mapping[str, Worker], quick: bool) -> list[Row]:
    """Graphs of many small ops, forward and backward; growth is minigrad's own, with the length of a chain."""
    rows = []
    for length, repeats, limit in CHAINS:
        length, repeats = (length // 1_000 + 30, 1) if quick else (length, repeats)
        rows.append(against_torch(workers, f"chain of {length:,} small ops, forward and backward", length, repeats,
                                  limit, "chain", length=length))
    short, long = rows[0]["minigrad"], rows[-1]["minigrad"]
    rows.append({"name": "the longest of these chains against the shortest", "ratio": long / short, "limit": 2.5,
                 "unit": "µs per op", "longest": long, "shortest": short})
    width, count, repeats = (10, 5, 1) if quick else (1_000, 500, 15)
    for shape in ([], [64, 64]):
        rows.append(against_torch(workers, f"fan-out of {width:,}, shape {shape}, forward and backward", 2 * width + 2,
                                  repeats, 0.65, "fan-out", width=width, shape=shape))
        rows.append(against_torch(workers, f"{count:,} diamonds, shape {shape}, forward and backward", 3 * count + 1,
                                  repeats, 0.65, "diamonds", count=count, shape=shape))
    return rows


def measure(workers: Mapping[str, Worker], quick: bool) -> list[Row]:
    """All rows. `quick`: tiny, and without limits."""
    rows = single_ops(workers, *((50, 2) if quick else (1_000, 41))) + graphs(workers, quick)
    for length, repeats in ((30, 2), (60, 2)) if quick else ((1_000, 15), (10_000, 5)):
        rows.extend(recording(length, repeats, 10))
    rows.append(importing(1 if quick else 7))
    if quick:
        for row in rows:
            row["limit"] = None
    return rows


def told(row: Row) -> str:
    """A row as a line of text."""
    limit = "" if row["limit"] is None else f"   limit {row['limit']:<4}  {'BROKEN' if broken(row) else 'kept'}"
    figures = {k: v for k, v in row.items() if k not in ("name", "ratio", "limit", "unit")}
    detail = ", ".join(f"{key} {figure:,.3f}" if isinstance(figure, float) else f"{key} {figure:,}"
                       for key, figure in figures.items())
    return f"{row['name']:<55} {row['ratio']:7.2f}{limit:<21}   ({detail}; {row['unit']})"


def broken(row: Row) -> bool:
    """Whether a row is over its limit."""
    return row["limit"] is not None and row["ratio"] > row["limit"]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write; 1 if a limit is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smoke", description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    parser.add_argument("--quick", action="store_true", help="measure next to nothing, without limits")
    given = parser.parse_args(arguments)
    with Worker("minigrad") as ours, Worker("torch") as theirs:
        workers = {"minigrad": ours, "torch": theirs}
        where = machine(workers)
        print("\n".join(f"{key}: {value}" for key, value in where.items()), end="\n\n", flush=True)
        rows = measure(workers, given.quick)
    print("\n".join(told(row) for row in rows))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps({"machine": where, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return int(any(broken(row) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
