"""Traces of several ranks on one time axis: a lane for each rank. For recordings with `times=True`.

    figure = rank_lanes([Trace.load("rank0.json"), Trace.load("rank1.json")])

In a lane above: the backward pass, and in it the stretches in which the rank only waits. Below: each operation of
several ranks, pale from its call until all ranks have called it, full while it runs. So one sees what communication
backward hides, and who waits for whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from minigrad.recorder import Trace

__all__ = ["Lane", "Operation", "lane_of", "rank_lanes"]

BACKWARD, WAIT, COLORS = "#9aa3af", "#d55e00", ("#0072b2", "#009e73", "#cc79a7", "#8a5a00")
HEIGHT, WIDTH = 0.36, 9.0  # of a bar, and of the figure in inches
PALE = 0.3
MEANINGS = (("backward", BACKWARD, 1), ("waits", WAIT, 1), ("called, not yet by all", COLORS[0], PALE),
            ("runs", COLORS[0], 1))


class Operation(NamedTuple):
    """One operation of several ranks, as one of them has seen it; times in seconds on the common axis."""

    label: str
    bucket: int | None
    called: float
    begun: float
    ended: float


class Lane(NamedTuple):
    """What is drawn of one rank."""

    rank: int
    passes: list[tuple[float, float]]
    waits: list[tuple[float, float]]
    operations: list[Operation]

    def start(self) -> float:
        """When the first thing that is drawn begins."""
        return min([begin for begin, _ in self.passes] + [each.called for each in self.operations])


def lane_of(trace: Trace) -> Lane:
    """The lane of a trace.

    Raises:
        ValueError: if it has no times or no rank.
    """
    process = trace.process
    if process is None or process["began"] is None:
        raise ValueError("this trace does not say which rank it is of, and when\n\nRecord with record(times=True), in "
                         "a program that has called init_process_group.")
    began, starts, waiting = process["began"], dict[int, Any](), dict[int, float]()
    lane, open_passes = Lane(process["rank"], [], [], []), list[float]()
    for event in trace.events:
        kind, time = event["kind"], began + event.get("time", 0.0)
        if kind == "backward_start":
            open_passes.append(time)
        elif kind == "backward_end":
            lane.passes.append((open_passes.pop(), time))
        elif kind == "collective_start":
            starts[event["call"]] = event
        elif kind == "collective_wait":
            waiting[event["call"]] = time
        elif kind == "collective_end":
            start = starts[event["call"]]
            lane.waits.append((waiting[event["call"]], time))
            lane.operations.append(Operation(start["label"] or start["op"], start.get("bucket"),
                                             *[began + each for each in event["times"]]))
    if not lane.passes and not lane.operations:
        raise ValueError(f"the trace of rank {lane.rank} has no backward pass, and no operation of several ranks")
    return lane


def rank_lanes(traces: Sequence[Trace]) -> Figure:
    """The picture: one lane per rank, on one time axis in milliseconds. The clocks are those of the machines.

    Raises:
        ValueError: if there is no trace, two are of one rank, or one has no times or no rank.
    """
    lanes = sorted(map(lane_of, traces), key=lambda lane: lane.rank)
    if not lanes or len({lane.rank for lane in lanes}) < len(lanes):
        raise ValueError("rank_lanes takes one trace of each rank, and at least one")
    origin = min(lane.start() for lane in lanes)

    def span(begin: float, end: float) -> tuple[float, float]:
        return 1e3 * (begin - origin), 1e3 * max(end - begin, 0.0)

    figure = Figure(figsize=(WIDTH, 1.2 + 0.9 * len(lanes)), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for at, lane in enumerate(lanes):
        axes.broken_barh([span(*each) for each in lane.passes], (at - HEIGHT, HEIGHT), facecolor=BACKWARD)
        axes.broken_barh([span(*each) for each in lane.waits], (at - HEIGHT, HEIGHT), facecolor=WAIT)
        for number, each in enumerate(lane.operations):
            color = COLORS[(number if each.bucket is None else each.bucket) % len(COLORS)]
            axes.broken_barh([span(each.called, each.begun)], (at, HEIGHT), facecolor=color, alpha=PALE)
            axes.broken_barh([span(each.begun, each.ended)], (at, HEIGHT), facecolor=color)
            if each.bucket is not None:
                x, y = span(each.begun, each.ended)[0], at + HEIGHT / 2
                axes.text(x, y, f" {each.bucket}", color="white", fontsize=8, va="center")
    axes.set_yticks(range(len(lanes)), [f"rank {lane.rank}" for lane in lanes])
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.set_xlabel("ms since the first rank began; a number is that of a bucket")
    handles = [Patch(facecolor=color, alpha=alpha, label=label) for label, color, alpha in MEANINGS]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
