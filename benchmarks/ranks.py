"""What several ranks cost: `mpiexec -n 2 python -m benchmarks.ranks [--out FILE] [--quick]`.

An all-reduce of 64 MiB beside mpi4py's own call; a step of DistributedDataParallel over an MLP with 1,024 samples in
all, beside PyTorch's over gloo; and alpha and beta of docs/scale.md: what an all-reduce of next to nothing takes, and
what each byte of a large one adds. With these, what `trace.simulate` says of a recorded step, beside what that took.
The contenders take turns in one job, and a ratio is the median of those of the turns. `--quick` measures next to
nothing, for testing this file.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import minigrad
import minigrad.distributed as dist
from minigrad.recorder import record

__all__ = ["main"]

BATCH, WIDTH = 1_024, 512
SIZES = (8, 2 ** 16, 2 ** 20, 2 ** 24)  # bytes of the all-reduces that alpha and beta are fitted to


def alternating(contenders: dict[str, Callable[[], Any]], turns: int, together: Callable[[], Any]) -> dict[str, Any]:
    """Seconds of each contender, who take turns; `together` lets all ranks begin at once."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(turns + 2):  # two to warm up
        for name, run in contenders.items():
            together()
            begun = time.perf_counter()
            run()
            together()
            if turn >= 2:
                seconds[name].append(time.perf_counter() - begun)
    ours, theirs = seconds.values()
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return {**{name: statistics.median(each) for name, each in seconds.items()}, "ratio": statistics.median(ratios),
            "ratio of the best turns": min(ours) / min(theirs)}


def all_reduces(mpi: Any, size: int, turns: int) -> dict[str, Any]:
    """Ours beside mpi4py's own, over so many bytes."""
    comm, tensor, own = mpi.COMM_WORLD.Dup(), minigrad.zeros(size // 4), np.zeros(size // 4, np.float32)
    return alternating({"minigrad": lambda: dist.all_reduce(tensor),
                        "mpi4py": lambda: comm.Allreduce(mpi.IN_PLACE, own)}, turns, comm.Barrier)


def parts_of(torch: Any) -> tuple[Callable[[], Any], Any]:
    """The loss of this rank's part of the batch, data parallel, and the optimizer."""
    torch.manual_seed(0)
    nn, ranks, rank = torch.nn, dist.get_world_size(), dist.get_rank()
    module = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))
    model = importlib.import_module(f"{torch.__name__}.nn.parallel").DistributedDataParallel(module)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(BATCH, WIDTH)[rank::ranks]
    y = torch.randint(0, 10, (BATCH,))[rank::ranks]

    return lambda: nn.functional.cross_entropy(model(x), y), optimizer


def step_of(torch: Any) -> Callable[[], Any]:
    """A training step of this rank's part of the batch."""
    loss_of, optimizer = parts_of(torch)

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def steps(mpi: Any, turns: int, folder: str) -> dict[str, Any]:
    """Our step beside PyTorch's, after both have come to the same loss."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    importlib.import_module("torch.distributed").init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=dist.get_rank(), world_size=dist.get_world_size())
    contenders = {"minigrad": step_of(minigrad), "torch": step_of(torch)}
    for _ in range(3):
        losses = [step() for step in contenders.values()]
        np.testing.assert_allclose(*losses, rtol=1e-4)
    return alternating(contenders, turns, mpi.COMM_WORLD.Barrier)


def fitted(mpi: Any, turns: int) -> dict[str, float]:
    """Alpha and beta: an all-reduce of n bytes among p ranks takes 2(p - 1)·alpha + 2(p - 1)/p·n·beta in a ring."""
    ranks = dist.get_world_size()
    times = {size: all_reduces(mpi, size, turns)["minigrad"] for size in SIZES}
    alpha = times[SIZES[0]] / (2 * (ranks - 1))
    beta = (times[SIZES[-1]] - times[SIZES[0]]) / SIZES[-1] * ranks / (2 * (ranks - 1))
    return {"alpha": alpha, "beta": beta, **{f"{size} bytes": seconds for size, seconds in times.items()}}


def predicted(mpi: Any, turns: int, alpha: float, beta: float) -> dict[str, float]:
    """What a recorded forward and backward took, and what `trace.simulate` makes of the recording.

    Of the ranks, the one that takes longest counts. `unrecorded`: the same without a recorder, which takes time itself.
    """
    comm, ranks = mpi.COMM_WORLD.Dup(), dist.get_world_size()
    loss_of, _ = parts_of(minigrad)
    names = ("predicted", "computing", "exposed", "recorded", "unrecorded")
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(turns + 3):  # three to warm up: buckets have their final order from the second one on
        comm.Barrier()
        begun = time.perf_counter()
        loss_of().backward()
        comm.Barrier()
        unrecorded = time.perf_counter() - begun
        with record(times=True) as trace:
            loss_of().backward()
        if turn >= 3:
            step = trace.simulate(ranks, alpha, beta)
            took = max(event["time"] for event in trace.events if "time" in event)
            slowest = max(comm.allgather((step.seconds, step.computing, step.exposed, took)))
            for name, each in zip(seconds, (*slowest, unrecorded), strict=True):
                seconds[name].append(each)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    return {**medians, "ratio": medians["predicted"] / medians["recorded"]}


def main() -> None:
    """Measure, and let rank 0 print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description="Measures several ranks.")
    parser.add_argument("--out", type=Path, help="write the figures to a file too")
    parser.add_argument("--quick", action="store_true", help="measure next to nothing")
    options = parser.parse_args()
    dist.init_process_group("mpi")
    mpi: Any = importlib.import_module("mpi4py.MPI")
    turns, size = (2, 2 ** 16) if options.quick else (21, 2 ** 26)
    folder = mpi.COMM_WORLD.bcast(tempfile.mkdtemp() if dist.get_rank() == 0 else None)
    figures = {"ranks": dist.get_world_size(), "cores": os.cpu_count(), "all-reduce": all_reduces(mpi, size, turns),
               "step": steps(mpi, turns, folder), "model": fitted(mpi, turns)}
    figures["prediction"] = predicted(mpi, turns, figures["model"]["alpha"], figures["model"]["beta"])
    if dist.get_rank() == 0:
        text = json.dumps(figures, indent=1)
        print(text)
        if options.out is not None:
            options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
