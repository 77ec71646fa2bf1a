"""Draws the plot of docs/scale.md: `python -m benchmarks.scale`. It asks the model only, and measures nothing."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from minigrad.trace.simulation import all_reduce_seconds
from minigrad_widgets.pictures.canvas import Chart
from minigrad_widgets.pictures.sketch import to_png

__all__ = ["all_gradients"]

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "scale.png"
ALPHA, BETA, BUCKET = 5e-6, 0.04e-9, 25 * 2 ** 20  # of the network in docs/scale.md
RANKS = [2 ** power for power in range(1, 11)]
MODELS = ((10 ** 6, "1 million", "#0072b2", "o"), (10 ** 8, "100 million", "#d55e00", "s"),
          (10 ** 10, "10,000 million", "#009e73", "^"))


def all_gradients(parameters: int, ranks: int, alpha: float = ALPHA, beta: float = BETA) -> float:
    """Seconds in which the gradients of a model travel, as float32, in buckets."""
    full, rest = divmod(4 * parameters, BUCKET)
    return full * all_reduce_seconds(BUCKET, ranks, alpha, beta) + all_reduce_seconds(rest, ranks, alpha, beta)


def draw() -> Figure:
    """Seconds over ranks, both in powers; dotted: what the bytes alone cost among infinitely many ranks."""
    figure = Figure(figsize=(8.0, 4.0), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for parameters, name, color, mark in MODELS:
        seconds = [1e3 * all_gradients(parameters, ranks) for ranks in RANKS]
        axes.loglog(RANKS, seconds, color=color, marker=mark, markersize=5)
        axes.axhline(1e3 * 2 * 4 * parameters * BETA, color=color, linestyle=":", linewidth=1)
        axes.annotate(f" {name} parameters", (RANKS[-1], seconds[-1]), color=color, va="center", annotation_clip=False)
    axes.set_xticks(RANKS, [f"{ranks:,}" for ranks in RANKS])
    axes.minorticks_off()
    axes.set_xlabel("ranks; dotted: 2 n beta, what the bytes alone cost")
    axes.set_ylabel("ms for all gradients")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    IMAGE.write_bytes(to_png(Chart(draw()).image()))
