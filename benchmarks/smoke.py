"""Is minigrad still fast? `python -m benchmarks.smoke [--out FILE] [--quick]`.

Prints the time of small ops and chains of them as ratios to PyTorch eager on one thread, what recording costs, and the
time to import minigrad. Results are compared before anything is timed. Writes all figures to a JSON file; exits with 1
if a limit is broken. `--quick` measures next to nothing and knows no limits: it is for testing this file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import minigrad
from benchmarks.timing import import_times, interleaved, machine
from minigrad.recorder import Trace, record

RESULTS = Path(__file__).parent / "results" / "smoke.json"
Row = dict[str, Any]


def one_op(library: Any, name: str, shape: tuple[int, ...], times: int) -> Callable[[], Any]:
    """`times` single ops with their graph, which is dropped at once; gives the last result."""
    a = library.full(shape, 0.5, requires_grad=True)
    b = library.full(shape, 0.25, requires_grad=True)

    def add() -> Any:
        for _ in range(times):
            result = a + b
        return result

    def mul() -> Any:
        for _ in range(times):
            result = a * b
        return result

    return {"add": add, "mul": mul}[name]


def chain(library: Any, length: int) -> Callable[[], Any]:
    """Multiplications, additions and tanhs of one element, `length` in all, and a backward pass through them."""
    x0, w, b = (library.tensor(value, requires_grad=True) for value in (0.5, 1.0, 1e-6))

    def run() -> Any:
        x0.grad = w.grad = b.grad = None
        x = x0
        for _ in range(length // 3):
            x = x * w
            x = x + b
            x = x.tanh()
        x.backward()
        return x.detach(), x0.grad, w.grad, b.grad

    return run


def recorded(length: int) -> Callable[[], Trace]:
    """The same chain in minigrad with a recorder on; gives the trace."""
    run = chain(minigrad, length)

    def recording() -> Trace:
        with record() as trace:
            run()
        return trace

    return recording


def check_equal(name: str, found: dict[str, Any]) -> None:
    """Raise unless both libraries computed the same.

    Raises:
        AssertionError: with what differs.
    """
    ours, theirs = (result if isinstance(result, tuple) else (result.detach(),) for result in found.values())
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, err_msg=f"{name}, result {index}")


def against_torch(name: str, make: Callable[[Any], Callable[[], Any]], ops: int, repeats: int, limit: float) -> Row:
    """One row: minigrad against PyTorch on the same work."""
    contenders = {"minigrad": make(minigrad), "torch": make(torch)}
    check_equal(name, {key: run() for key, run in contenders.items()})
    medians = interleaved(contenders, repeats)
    return {"name": name, "ratio": medians["minigrad"] / medians["torch"], "limit": limit, "unit": "µs per op",
            **{key: seconds / ops * 1e6 for key, seconds in medians.items()}}


def recording(length: int, repeats: int, limit: float) -> list[Row]:
    """What a recorder costs: while the program runs, and with its trace made into plain data."""
    off, on = chain(minigrad, length), recorded(length)
    medians = interleaved({"off": off, "on": on, "on, looked at": lambda: on().events}, repeats)
    per_op = {key: seconds / length * 1e6 for key, seconds in medians.items()}
    size = len(on().to_json())
    return [
        {"name": f"recording on, against off, chain of {length:,}", "ratio": medians["on"] / medians["off"],
         "limit": limit, "unit": "µs per op", **{k: per_op[k] for k in ("on", "off")}},
        {"name": "the same, with the trace looked at", "ratio": medians["on, looked at"] / medians["off"],
         "limit": None, "unit": "µs per op", **{k: per_op[k] for k in ("on, looked at", "off")}},
        {"name": "size of that trace", "ratio": size / length, "limit": None, "unit": "bytes per op", "bytes": size},
    ]


def importing(repeats: int) -> Row:
    """The time to import minigrad beside that of NumPy, which it needs."""
    found = import_times(("minigrad", "numpy"), repeats)
    return {"name": "import, beside numpy", "ratio": found["minigrad"] / found["numpy"], "limit": None, "unit": "ms",
            **{key: seconds * 1e3 for key, seconds in found.items()}}


def measure(quick: bool) -> list[Row]:
    """All rows. `quick`: tiny, and without limits."""
    times, few, many = (50, 2, 2) if quick else (2_000, 7, 41)
    lengths = ((30, few), (90, few)) if quick else ((1_000, many), (100_000, few))
    rows = []
    for name in ("add", "mul"):
        for shape in ((), (1,)):
            rows.append(against_torch(f"{name} of one element, shape {list(shape)}, with its graph",
                                      lambda m, n=name, s=shape: one_op(m, n, s, times), times, many, 0.85))
    for length, repeats in lengths:
        rows.append(against_torch(f"chain of {length:,} small ops, forward and backward",
                                  lambda m, n=length: chain(m, n), length, repeats, 0.6))
    for length, repeats in ((30, few), (60, few)) if quick else ((1_000, 15), (10_000, few)):
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
    return f"{row['name']:<52} {row['ratio']:8.2f}{limit or ' ' * 22}   ({detail}; {row['unit']})"


def broken(row: Row) -> bool:
    """Whether a row is over its limit."""
    return row["limit"] is not None and row["ratio"] > row["limit"]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write; 1 if a limit is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smoke", description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    parser.add_argument("--quick", action="store_true", help="measure next to nothing, without limits")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    where = machine()
    print("\n".join(f"{key}: {value}" for key, value in where.items()), end="\n\n", flush=True)
    rows = measure(given.quick)
    print("\n".join(told(row) for row in rows))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps({"machine": where, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return int(any(broken(row) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
