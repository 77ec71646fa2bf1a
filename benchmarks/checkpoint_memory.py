"""What checkpointing saves: `python -m benchmarks.checkpoint_memory [--out FILE] [--quick]`.

A step of 24 blocks of Linear(1,024) and tanh on a batch of 4,096, float32: how much memory it needs at its peak beyond
what was there before it (weights, input), as the operating system saw it. Plain, and with both kinds of checkpoint in
2, 5 (about √24) and 12 segments, each in a fresh process, minigrad beside PyTorch; once as is, and once with
MALLOC_MMAP_THRESHOLD_=1048576, so that what the C allocator does not give back flatters nobody. Prints each row, with
the processor's time of the step over that of the plain one; writes a JSON file and a plot beside it; exits with 1 if a
limit is broken.

The least that there must be. A block's activation takes A = 4,096 × 1,024 × 4 bytes = 16 MiB, the gradient of its
weights W = 4 MiB (and 4 KiB for the bias, left out here). Plain, the fullest moment is the first block that the pass
comes to, at the derivative of its Linear: 23 activations of the blocks before it, the gradient that came, the one that
goes on, the gradient of the weights.
    23 A + 2 A + W = 404 MiB
In 5 segments of 5, 5, 5, 5 and 4 blocks, all checkpointed, there are k inputs of segments (that of the first is not
counted, it was there) while the pass is in segment k, the weights' gradients of the segments behind it, and the same
moment within. The fullest is the first segment, with 19 blocks behind it:
    0 A + 19 W + 4 A + 2 A + W = 176 MiB
This takes every other derivative to be written over the gradient that it is given. A formula of minigrad never does,
since it may not be the only holder. Without that the fullest moment is tanh's derivative at the same block: 19 W + 5 A
+ 2 A = 188 MiB; plain, it is 24 A + A = 400 MiB, no more than before.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.timing import cpu

RESULTS = Path(__file__).parent / "results" / "checkpoint_memory.json"
FULL, QUICK = (24, 1024, 4096), (6, 64, 512)  # blocks, width, batch
SEGMENTS = (2, 5, 12)
THRESHOLD = {"MALLOC_MMAP_THRESHOLD_": "1048576"}
KEPT_NOT = {"MINIGRAD_KEEP_MEMORY": "0"}  # what minigrad keeps of freed memory would hide a part of the peak: 30 MiB
MIB = 2**20
LIMITS = {"plain": 1.1, "checkpointed": 1.4, "torch": 1.05}
Row = dict[str, Any]


def sizes(blocks: int, segments: int) -> list[int]:
    """How many blocks each segment has; the first ones have the rest."""
    return [blocks // segments + (i < blocks % segments) for i in range(segments)]


def least(blocks: int, width: int, batch: int, segments: int) -> float:
    """The arithmetic minimum, in MiB; `segments` is 1 for a plain step."""
    activation, weights = batch * width * 4 / MIB, width * width * 4 / MIB
    if segments == 1:
        return (blocks + 1) * activation + weights
    moments, behind = [], 0
    for k, size in reversed(list(enumerate(sizes(blocks, segments)))):
        moments.append((k + size + 1) * activation + (behind + 1) * weights)
        behind += size
    return max(moments)


def peak() -> tuple[int, int]:
    """Bytes of memory of this process, now and at most."""
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    found = [re.search(rf"{name}:\s*(\d+) kB", text) for name in ("VmRSS", "VmHWM")]
    now, most = [int(each[1]) * 1024 if each else 0 for each in found]
    return now, most


def step(torch: Any, model: list[Any], x: Any, segments: int, reentrant: bool) -> None:
    """Forward and backward. The last activation is let go between them, as where a model is called for its loss."""
    if segments == 1:
        for block in model:
            x = block(x)
    else:
        start = 0
        for size in sizes(len(model), segments):
            part = torch.nn.Sequential(*model[start:start + size])
            x = torch.utils.checkpoint.checkpoint(part, x, use_reentrant=reentrant)
            start += size
    x = x.sum()
    x.backward()


def measure(library: str, segments: int, reentrant: bool, blocks: int, width: int, batch: int) -> Row:
    """The peak of one step in this process, in MiB beyond what was there, and the processor's seconds in it."""
    torch = importlib.import_module(library)
    importlib.import_module(f"{library}.utils.checkpoint")
    torch.manual_seed(0)

    def model(width: int) -> list[Any]:
        return [torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh()) for _ in range(blocks)]

    step(torch, model(8), torch.randn(8, 8).requires_grad_(), segments, reentrant)  # load what is loaded on first use
    layers, x = model(width), torch.randn(batch, width).requires_grad_()
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the most so far is what there is now
    before, start = peak()[0], time.process_time()
    step(torch, layers, x, segments, reentrant)
    return {"peak": (peak()[1] - before) / MIB, "seconds": time.process_time() - start,
            "version": str(torch.__version__), "check": float(layers[0][0].weight.grad.abs().sum())}


def fresh(library: str, environment: dict[str, str], *arguments: Any) -> Row:
    """`measure` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.checkpoint_memory", "--one", json.dumps([library, *arguments])]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    found: Row = json.loads(done.stdout)
    return found


def rows(blocks: int, width: int, batch: int, segments: tuple[int, ...]) -> list[Row]:
    """All figures, one row for each way and each setting of the allocator."""
    found = []
    for setting, environment in (("as is", KEPT_NOT), ("threshold", THRESHOLD)):
        for way, count in (("plain", 1), *[(way, n) for way in ("reentrant", "non-reentrant") for n in segments]):
            row: Row = {"allocator": setting, "way": way, "segments": count,
                        "least": least(blocks, width, batch, count)}
            for library in ("minigrad", "torch"):
                row[library] = fresh(library, environment, count, way == "reentrant", blocks, width, batch)
            ours, theirs = row["minigrad"], row["torch"]
            assert abs(ours["check"] / theirs["check"] - 1) < 1e-3, "they do not compute the same"
            row["of least"], row["of torch"] = ours["peak"] / row["least"], ours["peak"] / theirs["peak"]
            first = next((r for r in found if r["way"] == "plain" and r["allocator"] == setting), row)
            row["time"] = {library: row[library]["seconds"] / first[library]["seconds"]
                           for library in ("minigrad", "torch")}
            found.append(row)
            print(line(row), flush=True)
    return found


def line(row: Row) -> str:
    """A row as text."""
    return (f"{row['allocator']:10} {row['way']:14} {row['segments']:3} segments   least {row['least']:6.1f} MiB   "
            f"minigrad {row['minigrad']['peak']:6.1f}   PyTorch {row['torch']['peak']:6.1f}   of the least "
            f"{row['of least']:.2f}, of PyTorch's {row['of torch']:.2f}   processor time over the plain step "
            f"{row['time']['minigrad']:.2f}, PyTorch's {row['time']['torch']:.2f}")


def broken(row: Row) -> list[str]:
    """The limits that a row breaks."""
    limit = LIMITS["plain" if row["segments"] == 1 else "checkpointed"]
    found = [f"more than {limit} × the least"] if row["of least"] > limit else []
    return found + ([f"more than {LIMITS['torch']} × PyTorch's"] if row["of torch"] > LIMITS["torch"] else [])


def plot(found: list[Row], path: Path) -> None:
    """Bars: the least, minigrad and PyTorch, for each way."""
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(9, 6.5), layout="constrained")
    for axes, setting in zip(figure.subplots(2, 1, sharex=True, sharey=True), ("as is", "threshold"), strict=True):
        shown = [row for row in found if row["allocator"] == setting]
        places = range(len(shown))
        for k, (name, color) in enumerate((("minigrad", "#0072b2"), ("torch", "#e69f00"))):
            bars = axes.bar([i + (k - 0.5) * 0.36 for i in places], [row[name]["peak"] for row in shown], 0.36,
                            color=color, label="PyTorch" if k else name)
            axes.bar_label(bars, fmt="%.0f", fontsize=8, padding=2)
        axes.hlines([row["least"] for row in shown], [i - 0.4 for i in places], [i + 0.4 for i in places],
                    colors="black", linestyles="dashed", label="least, by arithmetic")
        axes.set_ylabel("peak beyond the start, MiB")
        axes.set_title("as is" if setting == "as is" else "MALLOC_MMAP_THRESHOLD_=1048576", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xticks(list(places), [row["way"] if row["segments"] == 1 else f"{row['way']}\n{row['segments']} "
                                       "segments" for row in shown], fontsize=8)
    axes.margins(y=0.12)
    figure.axes[0].legend(frameon=False)
    figure.savefig(path, dpi=110)


def main(arguments: list[str]) -> int:
    """Measure, write, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write; the plot goes beside it")
    parser.add_argument("--quick", action="store_true", help="small sizes and no limits: to test this file")
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one is not None:
        print(json.dumps(measure(*options.one)))
        return 0
    found = rows(*(QUICK if options.quick else FULL), (2,) if options.quick else SEGMENTS)
    about = {"date": date.today().isoformat(), "cpu": cpu(), "cores": os.cpu_count(), "system": os.uname().release,
             "threads": os.environ.get("OMP_NUM_THREADS", "as is")}
    options.out.write_text(json.dumps({"machine": about, "rows": found}, indent=1) + "\n", encoding="utf-8")
    plot(found, options.out.with_suffix(".png"))
    failures = [f"{line(row)}: {text}" for row in found for text in broken(row)]
    print("\n".join(failures))
    return int(bool(failures) and not options.quick)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
