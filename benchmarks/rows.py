"""What is measured: one row for each piece of work, with what it may take of the others' time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["CONTENDERS", "Row", "rows"]

CONTENDERS = ("minigrad", "minigrad-numpy", "minigrad-numba", "numpy", "mygrad", "autograd", "micrograd", "tinygrad",
              "jax", "jax-jit", "torch-compile", "torch")
# What is allowed of PyTorch's time: for a 0-d tensor (matmul has none: [1, 1]), for one of shape [1], for 64 × 64.
SINGLE_OPS = {"add": (0.7, 0.7, 0.85), "mul": (0.7, 0.7, 0.85), "matmul": (0.7, None, 0.95), "relu": (0.7, 0.7, 0.85),
              "sum": (0.85, 0.85, 1.1)}
CHAINS = ((1_000, 31, 0.48), (10_000, 11, 0.48), (100_000, 5, 0.5), (1_000_000, 1, 0.55))  # length, repeats, limit


@dataclass(frozen=True)
class Row:
    """A piece of work; times are given for each of its `units`.

    A turn runs it `times` over: short work would else find the caches as the others left them.
    `limit`: what is allowed of PyTorch's time; `by_hand`: of hand-written NumPy's. `peers`: whether all contenders that
    can do it take part, or minigrad and PyTorch alone. `ours`: the contender that the limit is for.
    """

    group: str
    name: str
    workload: str
    arguments: dict[str, Any]
    repeats: int
    limit: float | None = None
    by_hand: float | None = None
    units: int = 1
    unit: str = "ms"
    peers: bool = True
    threads: int = 1
    times: int = 1
    ours: str = "minigrad"

    @property
    def tolerance(self) -> float:
        """How far results may be apart: each op rounds."""
        return 1e-3 + 3e-8 * self.units


def single_ops(times: int, repeats: int) -> Iterator[Row]:
    """One op at a time: what an op and its node cost, and from 64 × 64 on, what NumPy's kernels do."""
    for op, limits in SINGLE_OPS.items():
        for shape, limit in zip(([1, 1] if op == "matmul" else [], [1], [64, 64]), limits, strict=True):
            if limit is not None:
                yield Row("one op, forward with its graph", f"{op}, shape {shape}", "one op",
                          {"op": op, "shape": shape, "times": times}, repeats, limit, None, times, "µs per op")


def graphs(quick: bool) -> Iterator[Row]:
    """Graphs of many small ops, forward and backward."""
    group = "many small ops, forward and backward"
    for length, repeats, limit in CHAINS:
        length, repeats = (length // 1_000 + 30, 1) if quick else (length, repeats)
        yield Row(group, f"chain of {length:,}", "chain", {"length": length}, repeats, limit, None, length, "µs per op",
                  length <= 10_000, times=1 if quick else max(1, 10_000 // length))
    width, count, repeats = (10, 5, 1) if quick else (1_000, 500, 21)
    for shape in ([], [64, 64]):
        yield Row(group, f"fan-out of {width:,}, shape {shape}", "fan-out", {"width": width, "shape": shape}, repeats,
                  0.65, None, 2 * width + 2, "µs per op")
        yield Row(group, f"{count:,} diamonds, shape {shape}", "diamonds", {"count": count, "shape": shape}, repeats,
                  0.65, None, 3 * count + 1, "µs per op")


def training(quick: bool) -> Iterator[Row]:
    """Models that learn: the rows with limits, and those that must hold with two threads too."""
    group, many = "a step of training", 1 if quick else 25
    for batch, limit, times in ((32, 0.88, 20), (128, 0.9, 10), (1024, 0.95, 2)):
        yield Row(group, f"MLP 784-256-128-10, batch {batch}", "mlp", {"batch": batch}, many, limit, 1.15,
                  times=1 if quick else times)
    for side, limit, times in ((8, 0.7, 8), (28, 1.0, 1)):
        yield Row(group, f"CNN, {side} × {side}, batch 64", "cnn", {"batch": 2 if quick else 64, "side": side}, many,
                  limit, 1.25, times=1 if quick else times)
    yield Row(group, "two transformer blocks, d = 64, T = 64, batch 16, forward and backward", "transformer",
              {"batch": 1 if quick else 16, "blocks": 2}, many, 1.0, 1.25)


COMPILED = (  # workload, arguments, name, limits with NumPy alone and with numba, times
    ("mlp", {"batch": 32}, "MLP, batch 32", 0.75, 0.6, 20), ("mlp", {"batch": 128}, "MLP, batch 128", 0.85, 0.75, 10),
    ("mlp", {"batch": 1024}, "MLP, batch 1024", 1.0, 0.95, 2),
    ("cnn", {"batch": 64, "side": 8}, "CNN, 8 × 8", 0.7, 0.35, 8),
    ("cnn", {"batch": 64, "side": 28}, "CNN, 28 × 28", 1.3, 0.6, 1),
    ("transformer", {"batch": 16, "blocks": 2}, "two transformer blocks", 1.05, 0.85, 1))


def compiled(quick: bool) -> Iterator[Row]:
    """Steps that `minigrad.compile` has compiled, on other inputs at each call; PyTorch's are eager."""
    for workload, arguments, name, with_numpy, with_numba, times in COMPILED:
        for ours, backend, limit in (("minigrad-numpy", "NumPy", with_numpy), ("minigrad-numba", "numba", with_numba)):
            yield Row("a compiled step of training", f"{name}, by {backend}", f"{workload}, new inputs",
                      {**arguments, "batch": 2} if quick else arguments, 1 if quick else 25, limit,
                      times=1 if quick else times, ours=ours)


def transforms(quick: bool) -> Iterator[Row]:
    """Derivatives as functions."""
    group, many, batch = "functions of functions", 1 if quick else 25, 2 if quick else 64
    yield Row(group, "gradients of the CNN, 8 × 8, for each of 64 pictures", "per-example gradients",
              {"batch": batch, "side": 8}, many, 1.2, times=1 if quick else 8)
    yield Row(group, "Hessian of an MLP's loss, 161 parameters", "hessian", {"batch": batch // 2, "inputs": 8}, many,
              1.5, times=1 if quick else 8)


def others(quick: bool) -> Iterator[Row]:
    """What has a limit of its own, or none."""
    group, many, batch = "other work", 1 if quick else 15, 1 if quick else 16
    yield Row(group, "convolution 32 → 64 channels, 16 × 16, forward and backward", "wide conv", {"batch": 2 * batch},
              many, 2.2)
    yield Row(group, "LSTM of 100 steps, forward and backward", "lstm", {"batch": batch, "steps": 5 if quick else 100},
              many)
    yield Row(group, "embedding and softmax over 10,000 classes, batch 256", "embedding",
              {"batch": 4 if quick else 256, "words": 50 if quick else 10_000}, many)
    yield Row(group, "layer_norm of (16, 64, 64), forward and backward", "layer_norm", {"batch": batch}, many,
              times=1 if quick else 30)
    for rule in ("SGD", "Adam"):
        yield Row(group, f"{rule} over 100 tensors of 64 × 64", "optimizer",
                  {"rule": rule, "count": 3 if quick else 100}, many, times=1 if quick else 10)
    yield Row(group, "DataLoader, 2,048 images of 8 × 8 in batches of 64", "loading",
              {"count": 130 if quick else 2_048}, many, times=1 if quick else 5)


def rows(quick: bool = False) -> list[Row]:
    """All rows; `quick`: tiny, and without limits."""
    trained = list(training(quick))
    small = single_ops(*((50, 2) if quick else (5_000, 21)))
    found = [*small, *graphs(quick), *trained, *compiled(quick), *transforms(quick), *others(quick)]
    for row in trained:
        found.append(replace(row, group="with two threads each", limit=1.1, by_hand=None, threads=2, peers=False,
                             times=1, repeats=4 * row.repeats))  # a short turn may keep both cores
    return [replace(row, limit=None, by_hand=None, repeats=1) for row in found] if quick else found
