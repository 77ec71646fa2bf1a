"""How fast is minigrad? `python -m benchmarks [--only TEXT] [--contenders A,B] [--out FILE] [--quick]`.

Measures the rows of `benchmarks.rows`, what recording costs and what importing takes; the contenders take turns, each
in a process of its own, and their results are compared before anything is timed. A ratio is the median of the ratios
in each turn. Writes all figures to a JSON file, adds the ratios to history.json beside it and, with no `--out`, makes
docs/performance.md anew. Exits with 1 if a limit is broken. Peers that are not installed are left out:
`pip install autograd jax micrograd mygrad tinygrad` (tinygrad wants clang), best in an environment of its own: JAX
brings opt_einsum, by which PyTorch's einsum makes other graphs, and parity tests fail.

`--only` measures the rows whose name or group contains a text, and writes nothing unless told where: there they take
the places of their old selves. `--quick` measures next to nothing and knows no limits: it is for testing this file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import own, page
from benchmarks.rows import CONTENDERS, Row, rows
from benchmarks.timing import Worker, interleaved, machine

SCALES = {"µs per op": 1e6, "ms": 1e3}
ALWAYS = ("minigrad", "numpy", "torch")
MEASURED = 20  # runs that the history keeps
Figures = dict[str, Any]


def same(row: Row, name: str, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    """That two contenders compute the same, but for what each op rounds.

    Raises:
        AssertionError: if they do not.
    """
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        what = f"{row.name}: {name}'s result {index}"
        assert a["shape"] == b["shape"], f"{what} has the shape {a['shape']}, PyTorch's {b['shape']}"
        np.testing.assert_allclose([*a["some"], a["size"]], [*b["some"], b["size"]], rtol=row.tolerance,
                                   atol=row.tolerance * b["size"], err_msg=what)


def measured(row: Row, workers: Sequence[Worker]) -> Figures:
    """The figures of a row: medians, and ratios to PyTorch and to NumPy by hand, turn by turn."""
    partakers = {}
    results = {}
    for worker in workers:
        with_limit = worker.name in (row.ours, "torch") or (worker.name == "numpy" and row.workload != "chain")
        if row.workload in worker.about["workloads"] and (row.peers or with_limit):
            found = worker.order(workload=row.workload, arguments=row.arguments, times=row.times)
            if found is not None:
                partakers[worker.name], results[worker.name] = worker, found
    for name, found in results.items():
        same(row, name, found, results["torch"])
    medians, ratios = interleaved({name: worker.seconds for name, worker in partakers.items()}, row.repeats, warm=True,
                                  least=row.threads > 1)
    scale = SCALES[row.unit] / row.units
    figures: Figures = {"group": row.group, "name": row.name, "threads": row.threads, "unit": row.unit,
                        "ratio": ratios[row.ours], "ours": row.ours, "limit": row.limit,
                        "times": {name: seconds * scale for name, seconds in medians.items()}, "ratios": ratios}
    if "numpy" in ratios and row.by_hand is not None:
        _, to_numpy = interleaved({name: partakers[name].seconds for name in ("minigrad", "numpy")}, row.repeats)
        figures |= {"to numpy": to_numpy["minigrad"], "numpy limit": row.by_hand}
    return figures


def broken(figures: Figures) -> bool:
    """Whether a row is over a limit."""
    pairs = ((figures["ratio"], figures["limit"]), (figures.get("to numpy"), figures.get("numpy limit")))
    return any(limit is not None and found > limit for found, limit in pairs)


def told(figures: Figures) -> str:
    """A row as a line of text."""
    limit = "" if figures["limit"] is None else f" limit {figures['limit']:<4}"
    by_hand = f" NumPy {figures['to numpy']:.2f} limit {figures['numpy limit']}" if "to numpy" in figures else ""
    detail = ", ".join(f"{name} {figure:,.3g}" for name, figure in figures["times"].items())
    mark = "BROKEN" if broken(figures) else ""
    return f"{figures['name'][:52]:<52} {figures['ratio']:6.2f}{limit:<11}{by_hand:<22} {mark:<7}({detail})"


def all_figures(wanted: Sequence[Row], given: argparse.Namespace, where: dict[str, Any]) -> Iterator[Figures]:
    """The figures, as they are measured; what is to be said of the contenders goes into `where`."""
    for threads in (1, 2):
        todo = [row for row in wanted if row.threads == threads]
        if not todo:
            continue
        with ExitStack() as stack:
            workers = [stack.enter_context(Worker(name, threads)) for name in CONTENDERS
                       if name in given.contenders.split(",") and (threads == 1 or name in ALWAYS)]
            present = [worker for worker in workers if "missing" not in worker.about]
            if "torch" not in where:
                where.update(machine({worker.name: worker for worker in present}))
                where["missing"] = {w.name: w.about["missing"] for w in workers if "missing" in w.about}
            for row in todo:
                if row.ours in {worker.name for worker in present}:
                    yield measured(row, present)
    yield from own.figures(given.quick, given.only)


def growth(found: Sequence[Figures]) -> Iterator[Figures]:
    """What an op of the longest chain takes, of what one of the shortest does."""
    chains = [each for each in found if each["name"].startswith("chain")]
    if len(chains) > 1:
        times = {"longest": chains[-1]["times"]["minigrad"], "shortest": chains[0]["times"]["minigrad"]}
        yield {"group": "growth", "name": "the longest of these chains against the shortest", "threads": 1,
               "unit": "µs per op", "ratio": times["longest"] / times["shortest"], "limit": 2.5, "times": times}


def merged(old: Figures, where: dict[str, Any], found: Sequence[Figures]) -> tuple[dict[str, Any], list[Figures]]:
    """What a file says, with the rows that were measured anew in place of the old ones, and when and on what."""
    later = f"{where['date']}, {where['cpu']}"
    new = {(each["name"], each["threads"]): {**each, "measured": later} for each in found}
    kept = [new.pop((each["name"], each["threads"]), each) for each in old["rows"]]
    return old["machine"], kept + list(new.values())


def remember(path: Path, where: dict[str, Any], found: Sequence[Figures]) -> None:
    """Add the ratios of this run to the history, which keeps the last ones."""
    history = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    ratios = {f"{each['name']}, {each['threads']} thread{'s' * (each['threads'] > 1)}": round(each["ratio"], 3)
              for each in found}
    history.append({"date": where["date"], "cpu": where["cpu"], "ratios": ratios})
    lines = [json.dumps(each, ensure_ascii=False) for each in history[-MEASURED:]]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write; 1 if a limit is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, help="the JSON file to write, in place of the one in the repository")
    parser.add_argument("--only", default="", help="measure rows with this text in their name or group")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), help="who takes part, with commas between")
    parser.add_argument("--quick", action="store_true", help="measure next to nothing, without limits")
    given = parser.parse_args(arguments)
    wanted = [row for row in rows(given.quick) if given.only in f"{row.group}: {row.name}"]
    where: dict[str, Any] = {"date": date.today().isoformat(), "load": f"{os.getloadavg()[0]:.1f}", **machine({})}
    found = []
    for each in all_figures(wanted, given, where):
        found.append(each)
        print(told(each), flush=True)
    for each in list(growth(found)):
        found.append(each)
        print(told(each))
    if given.quick:
        found = [{**each, "limit": None} for each in found]
    out = given.out or (None if given.quick or given.only else page.RESULTS)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        if given.only and out.exists():
            where, found = merged(json.loads(out.read_text(encoding="utf-8")), where, found)
        out.write_text(json.dumps({"machine": where, "rows": found}, indent=1, ensure_ascii=False) + "\n",
                       encoding="utf-8")
        remember(out.with_name("history.json"), where, found)
        if out == page.RESULTS:
            page.write()
    print("\n".join(f"{key}: {value}" for key, value in where.items()))
    return int(any(broken(each) for each in found))


if __name__ == "__main__":
    sys.exit(main())
