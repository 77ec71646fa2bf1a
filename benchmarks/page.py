"""Writes docs/performance.md, and its two plots, from the figures in results/: `python -m benchmarks.page`.

No figure of the page is kept by hand; test_performance_page.py holds it to what comes out here. A row over
its limit needs a reason in REASONS.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.reasons import REASONS
from tests.links import corrected

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"
NAMES = {"minigrad": "minigrad", "torch": "PyTorch", "numpy": "NumPy by hand", "mygrad": "MyGrad",
         "autograd": "HIPS autograd", "micrograd": "micrograd", "tinygrad": "tinygrad", "jax": "JAX",
         "jax-jit": "JAX, compiled", "minigrad-numpy": "minigrad, compiled, NumPy",
         "minigrad-numba": "minigrad, compiled, numba", "torch-compile": "torch.compile"}
COLORS = {"minigrad": "#0072b2", "torch": "#e69f00", "numpy": "#1d2127", "mygrad": "#d55e00", "autograd": "#009e73",
          "micrograd": "#cc79a7", "tinygrad": "#999999", "jax": "#56b4e9", "jax-jit": "#56b4e9",
          "minigrad-numpy": "#0072b2", "minigrad-numba": "#0072b2", "torch-compile": "#e69f00"}
MARKS = {"minigrad": "o", "torch": "s", "numpy": "|", "mygrad": "^", "autograd": "v", "micrograd": "D", "tinygrad": "P",
         "jax": "x", "jax-jit": "*", "minigrad-numpy": "<", "minigrad-numba": ">", "torch-compile": "*"}
HEAD = """# Performance

How long minigrad takes, compared with PyTorch eager, NumPy with derivatives written by hand, and other libraries.

The benchmark writes this page. To run it again, which takes six minutes of CPU time (in an environment of its own: JAX
installs opt_einsum, with which PyTorch's `einsum` makes other graphs):

```
pip install -e ".[test,torch]" autograd jax micrograd mygrad
python -m benchmarks
```

"""
METHOD = """Every contender runs in a process of its own, on the same core and with one thread (OpenBLAS, OpenMP, MKL
and PyTorch alike); in the table with two threads, on two cores. They take turns. A ratio is the median of the ratios of
all turns, a time the median of the times; below 1, minigrad is faster. All start from the same numbers, and their
results are compared before anything is timed. What is measured is the CPU time of the process, not wall-clock time, so
the time that other programs take does not count; but what they do to caches and to the clock rate of the core does, for
all contenders alike. With two threads it is wall-clock time, the least of all turns, since another program may take a
core away. A time is for one op or one step.

The limits were set before minigrad was written, from what a prototype reached on another machine, an AMD one with
OpenBLAS pinned to AVX2 kernels.

"""
TRICKS = """## What makes it fast

Each trick is described in the source, in a NOTE or in the docstring of the code that uses it, with what was measured.

- The engine: a gradient that nobody else holds is added to in place (NOTE 3). Otherwise the engine is written to be
  read: its input buffers cost about a tenth of the time of a chain of scalars, and next to nothing in a training step.
- Recording: [`record2`](../minigrad/core/record.py#L52) checks once whether anything unusual is on, and if not, runs
  the fast path.
- Sums: [`of_channels`](../minigrad/backends/numpy.py#L30) and [`sum_of_all`](../minigrad/backends/numpy.py#L22) turn
  them into products with ones: 0.2 and 0.7 of the time.
- Products: [`Addmm`](../minigrad/ops/linalg/matmul.py#L1) with few rows multiplies the other way round: 0.95 of the
  time of an MLP's step.
- Convolutions: [`Shifted`](../minigrad/ops/nn/fold.py#L1) copies windows in one run; together with the weights'
  gradient computed the faster way round, 0.86 of the time of a CNN's step.
- Rows: [`normalized`](../minigrad/ops/nn/normalization.py#L1) computes `layer_norm` by products with vectors: 0.7 of
  the time. [`in_blocks`](../minigrad/ops/_dispatch/elementwise.py#L1) keeps long formulas in the cache: 0.45 of the
  time; softmax by [`powers`](../minigrad/ops/nn/softmax.py#L1) looks for the greatest element only where it
  must: half the time.
- Memory: [`keep_memory`](../minigrad/backends/numpy.py#L1) makes the C library keep the memory that arrays free (NOTE
  7).
- Importing: [`done`](../minigrad/_base/import_gc.py#L1) ends a period without garbage collection (NOTE 8).
- Optimisers: [`BlockwiseUpdate`](../minigrad/optim/_update.py#L1) runs a rule block by block, in scratch memory.

"""
PROFILES = """## Profiles

Where minigrad's time goes in the rows that are over their limits (`pip install py-spy`, then
`python -m benchmarks.profiles`): OpenBLAS's products, NumPy's inner loops and copies, NumPy's work around them (checks,
types, memory), and Python, which is minigrad's own. The first two are the arithmetic on arrays itself.

"""
MEMORY = """## Memory

The peak memory of a step of 24 blocks of Linear(1,024) and tanh on a batch of 4,096, divided by the least that the
arithmetic allows (`python -m benchmarks.checkpoint_memory`, [plot](../benchmarks/results/checkpoint_memory.png)); the
limits are 1.1 plain and 1.4 checkpointed.

"""
Figures = dict[str, Any]


def read(name: str) -> Any:
    """One of the files of figures."""
    return json.loads((RESULTS.parent / f"{name}.json").read_text(encoding="utf-8"))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; all columns but the first are figures."""
    lines = ["| " + " | ".join(each) + " |" for each in (head, *rows)]
    lines.insert(1, "|---|" + "---:|" * (len(head) - 1))
    return "\n".join(lines) + "\n\n"


def figure(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def disturbed(rows: Sequence[Figures]) -> set[str]:
    """The rows that cannot be judged: where PyTorch took longer with two threads than with one, other programs had the
    second core."""
    alone = {row["name"]: row["times"]["torch"] for row in rows if row["threads"] == 1 and "torch" in row["times"]}
    return {row["name"] for row in rows if row["threads"] == 2 and row["times"]["torch"] > alone[row["name"]]}


def over(row: Figures) -> bool:
    """Whether a row is over a limit."""
    by_hand = row.get("to numpy") is not None and row["to numpy"] > row["numpy limit"]
    return by_hand or (row["limit"] is not None and row["ratio"] > row["limit"])


def limited(ratio: float, limit: float | None) -> str:
    """A ratio and its limit."""
    return f"{ratio:.2f}" if limit is None else f"{ratio:.2f} (≤ {limit:g}{', missed' if ratio > limit else ''})"


def targets(rows: Sequence[Figures]) -> Iterator[str]:
    """A table for each group of rows."""
    lost = disturbed(rows)
    for group in dict.fromkeys(row["group"] for row in rows if "torch" in row["times"]):
        mine = [row for row in rows if row["group"] == group]
        by_hand = any("to numpy" in row for row in mine)
        head = [f"{group}, {mine[0]['unit']}", "minigrad", "PyTorch", "ratio (limit)", *["to NumPy by hand"] * by_hand]
        yield table(head, ([row["name"], figure(row["times"][row.get("ours", "minigrad")]),
                            figure(row["times"]["torch"]), "disturbed" if row["threads"] == 2 and row["name"] in lost
                            else limited(row["ratio"], row["limit"]),
                            *[limited(row["to numpy"], row["numpy limit"]) if "to numpy" in row else ""] * by_hand]
                           for row in mine))


def own(rows: Sequence[Figures]) -> str:
    """What PyTorch has no row for."""
    found = []
    for row in rows:
        if "torch" not in row["times"]:
            parts = ", ".join(f"{name} {figure(value)}" for name, value in row["times"].items())
            limit = "" if row["limit"] is None else f"≤ {row['limit']:,g}{', missed' if over(row) else ''}"
            found.append([row["name"], figure(row["ratio"]), limit, f"{parts} ({row['unit']})"])
    return table(["minigrad alone", "figure", "limit", "from"], found)


def peers(rows: Sequence[Figures]) -> str:
    """All contenders' times over PyTorch's."""
    shown = [row for row in rows if len(row.get("ratios", {})) > 2 and row["threads"] == 1]
    present = [name for name in NAMES if name != "torch" and any(name in row["ratios"] for row in shown)]
    return table(["over PyTorch's time", *[NAMES[name] for name in present]], (
        [row["name"], *[f"{row['ratios'][name]:.3g}" if name in row["ratios"] else "" for name in present]]
        for row in shown))


def missed(rows: Sequence[Figures]) -> str:
    """The rows over their limits, each with its reason."""
    lost = disturbed(rows)
    unsound = [row["name"] for row in rows if row["threads"] == 2 and row["name"] in lost]
    found = [row for row in rows if over(row) and not (row["threads"] == 2 and row["name"] in lost)]
    told = (f"With two threads, {len(unsound)} rows could not be judged: PyTorch took longer than with one, since "
            "other programs\nused the second core.\n\n") if unsound else ""
    if not found:
        return "Every row keeps its limit.\n\n" + told
    reasons: dict[str, list[str]] = {}
    for row in found:
        name = f"{row['name']}{', two threads' * (row['threads'] == 2)}"
        reasons.setdefault(next(reason for word, reason in REASONS if word in name), []).append(name)
    kept = len(rows) - len(found) - len(unsound)
    text = f"{kept} rows keep their limits or have none, {len(found)} do not on this machine:\n\n"
    return text + "".join(f"- {'; '.join(names)}. {reason}\n" for reason, names in reasons.items()) + "\n" + told


def measured_later(rows: Sequence[Figures]) -> str:
    """The groups with rows that were measured after the others, and when and on what."""
    groups = dict.fromkeys((row["measured"], row["group"]) for row in rows if "measured" in row)
    return "".join(f"The rows of the table \"{group}\" were measured later: {when}.\n\n" for when, group in groups)


def profiles(rows: Sequence[Figures]) -> str:
    """Where the time goes in the rows over their limits, by a profiler that sees libraries too."""
    found = read("profiles")
    times = {row["name"]: row for row in rows if row["threads"] == 1}
    kinds = list(found["rows"][0]["shares"])
    lines = []
    for row in found["rows"]:
        measured = times[row["name"]]
        ours = measured["times"]["minigrad"]
        lines.append([f"{row['name']}, {measured['unit']}", figure(measured["times"]["torch"]), figure(ours),
                      *[figure(ours * row["shares"][kind]) for kind in kinds]])
    return PROFILES + table(["", "PyTorch", "minigrad", *kinds], lines)


def memory() -> str:
    """The peaks, from the benchmark of checkpoints."""
    return table(["peak", "MiB", "PyTorch's, MiB", "over the least"], (
        [row["way"] + (f", {row['segments']} segments" if row["segments"] > 1 else ""),
         figure(row["minigrad"]["peak"]), figure(row["torch"]["peak"]),
         limited(row["of least"], 1.1 if row["segments"] == 1 else 1.4)]
        for row in read("checkpoint_memory")["rows"] if row["allocator"] == "as is"))


def counts() -> str:
    """What the gate counts."""
    found = read("counts")
    rows = [[name + ("" if name == "MLP step" else ", per op"), f"{row['calls']:g}", f"{row['blocks']:g}",
             f"{row['instructions']:,}" if "instructions" in row else ""] for name, row in found["counts"].items()]
    text = ("Times fluctuate, counts do not: on " + found["versions"] + ", a test keeps these from "
            "growing\n(`python -m benchmarks.counts --callgrind --write`).\n\n")
    return text + table(["", "calls in minigrad", "blocks held", "instructions, by callgrind"], rows)


def acceleration() -> str:
    """What numba and numexpr would give."""
    found = read("acceleration")
    text = ("The time of two of the longest formulas, compiled, divided by NumPy's as minigrad uses it "
            "(`python -m benchmarks.acceleration`).\nA dependency would have to speed up a whole piece of a lesson's "
            "work by 1.5 ×. numexpr is slower throughout;\nnumba halves the time of a formula at best, and the "
            "derivative of gelu, the longest, takes a tenth of the transformer's\nstep: 1.05 ×. Neither is used in "
            "eager ops.\n\n")
    versions = found["versions"]
    return text + table(["", f"numba {versions['numba']}", f"numexpr {versions['numexpr']}"], (
        [row["name"], f"{row['ratios']['numba']:.2f}", f"{row['ratios']['numexpr']:.2f}"] for row in found["rows"]))


def machine(found: dict[str, Any]) -> str:
    """Where it was measured."""
    about = {key: value for key, value in found["machine"].items() if key != "missing"}
    absent = ", ".join(f"{NAMES[name]} ({reason})" for name, reason in found["machine"].get("missing", {}).items())
    lines = [f"- {key}: {value}" for key, value in about.items()] + ([f"- not here: {absent}"] if absent else [])
    return "## The machine\n\n" + "\n".join(lines) + "\n\n"


def text() -> str:
    """The page."""
    found = read("performance")
    rows = found["rows"]
    pictures = ("![minigrad's time over PyTorch's, with the limits](images/performance_ratios.png)\n\n"
                "![All contenders' times over PyTorch's](images/performance_peers.png)\n\n")
    page = (HEAD + METHOD + measured_later(rows) + missed(rows) + pictures + "## The table\n\n" +
            "".join(targets(rows)) + own(rows) + profiles(rows) + "## The others\n\n" + peers(rows) + MEMORY +
            memory() + "## The gate\n\n" + counts() + "## numba and numexpr\n\n" + acceleration() + TRICKS +
            machine(found)).rstrip() + "\n"
    return corrected(page, PAGE)


def plot_ratios(rows: Sequence[Figures], path: Path) -> None:
    """Bars: minigrad's time over PyTorch's, the limits as marks."""
    shown = [row for row in rows if "torch" in row["times"] and row["threads"] == 1]
    drawing = importlib.import_module("matplotlib.figure").Figure(figsize=(8, 8.5), layout="constrained")
    axes = drawing.subplots()
    places = range(len(shown))
    axes.barh(places, [row["ratio"] for row in shown], 0.6, color=COLORS["minigrad"], label="minigrad")
    marked = [(place, row["limit"]) for place, row in zip(places, shown) if row["limit"] is not None]
    axes.plot([limit for _, limit in marked], [place for place, _ in marked], "|", color="#d55e00", markersize=11,
              markeredgewidth=2, label="limit")
    axes.axvline(1, color="#5b626d", linewidth=1, linestyle="dashed", label="PyTorch")
    axes.set_yticks(list(places), [row["name"].partition(", forward")[0] for row in shown], fontsize=8)
    finish(axes, "time over PyTorch's, one thread")
    drawing.savefig(path, dpi=85)


def plot_peers(rows: Sequence[Figures], path: Path) -> None:
    """Dots on a scale of factors: all contenders."""
    shown = [row for row in rows if len(row.get("ratios", {})) > 3 and row["threads"] == 1]
    drawing = importlib.import_module("matplotlib.figure").Figure(figsize=(8, 6.5), layout="constrained")
    axes = drawing.subplots()
    for name in NAMES:
        dots = [(row["ratios"][name], place) for place, row in enumerate(shown) if name in row["ratios"]]
        if dots and name != "torch":
            axes.plot(*zip(*dots), MARKS[name], color=COLORS[name], label=NAMES[name], markersize=7)
    axes.axvline(1, color="#5b626d", linewidth=1, linestyle="dashed", label="PyTorch")
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [row["name"].partition(", d =")[0] for row in shown], fontsize=8)
    finish(axes, "time over PyTorch's, one thread (log scale)")
    drawing.savefig(path, dpi=85)


def finish(axes: Any, label: str) -> None:
    """What both plots have in common."""
    axes.invert_yaxis()
    axes.set_xlabel(label, fontsize=9)
    axes.grid(axis="x", color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="best")


def write() -> None:
    """The page and its plots."""
    rows = read("performance")["rows"]
    plot_ratios(rows, IMAGES / "performance_ratios.png")
    plot_peers(rows, IMAGES / "performance_peers.png")
    PAGE.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    write()
