"""Traces of several ranks on one time axis: a lane for each rank. For recordings with `times=True`.

    RankLanes([Trace.load("rank0.json"), Trace.load("rank1.json")])

The upper part of a lane shows the backward pass, and in it the stretches in which the rank only waits; the lower part
each operation of several ranks, pale from its call until all ranks have called it, full while it runs. So one sees
which communication backward hides, and who waits for whom. Under the lanes is the chosen operation, with its parameters
and what each rank saw of it, and what the step would take on other numbers of ranks. Once shown, it needs no kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import traitlets

from minigrad.recorder import Trace
from minigrad_widgets.widget.base import Widget

__all__ = ["Lane", "Operation", "RankLanes", "lane_of"]

MOST_ROWS = 4  # of operations, one below the other; one that is called while this many are running overlaps another
KINDS = ("collective_start", "collective_wait", "collective_end")


class Operation(NamedTuple):
    """One operation of several ranks, as one of them has seen it; times in seconds on the common axis."""

    op: str
    label: str
    bucket: int | None
    size: int
    parameters: list[str]
    ready: list[float | None]  # when the gradient of each of them had arrived
    wait: tuple[float, float]
    called: float
    begun: float | None  # None for PyTorch, which does not say when all ranks had called it
    ended: float


class Lane(NamedTuple):
    """What is drawn for one rank."""

    rank: int
    ranks: int
    passes: list[tuple[float, float]]
    operations: list[Operation]

    def start(self) -> float:
        """Return when the first thing drawn begins."""
        return min([begin for begin, _ in self.passes] + [each.called for each in self.operations])

    def end(self) -> float:
        """Return when the last thing drawn is over."""
        return max([end for _, end in self.passes] + [max(each.ended, each.wait[1]) for each in self.operations])


def lane_of(trace: Trace) -> Lane:
    """Return the lane of a trace. Raises ValueError if it has no times or no rank."""
    process = trace.process
    if process is None or process["began"] is None:
        raise ValueError("this trace does not say which rank it is of, and when\n\nRecord with record(times=True), in "
                         "a program that has called init_process_group.")
    began, starts, waiting = process["began"], dict[int, Any](), dict[int, float]()
    lane, open_passes, ran = Lane(process["rank"], process["ranks"], [], []), list[float](), began
    ready: dict[str, float] = {}
    for event in trace.events:
        kind, time = event["kind"], began + event.get("time", 0.0)
        if kind == "backward_start":
            open_passes.append(time)
        elif kind == "backward_end":
            lane.passes.append((open_passes.pop(), time))
        elif kind == "run":
            ran = time
        elif kind == "accumulate":
            ready[trace.tensors[event["tensor"]]["name"] or ""] = ran
        elif kind == "collective_start":
            starts[event["call"]] = event, [ready_of(name, ready) for name in event.get("parameters") or ()]
        elif kind == "collective_wait":
            waiting[event["call"]] = time
        elif kind == "collective_end":
            start, since = starts[event["call"]]
            lane.operations.append(Operation(
                start["op"], label_of(start), start.get("bucket"), start["size"],
                list(start.get("parameters") or ()), since, (waiting[event["call"]], time),
                *shifted(event["times"], began)))
    if not lane.passes and not lane.operations:
        raise ValueError(f"the trace of rank {lane.rank} has no backward pass, and no operation of several ranks")
    return lane


def label_of(start: Mapping[str, Any]) -> str:
    """Return the name of an operation, with its ranks unless these are all: others may do the same meanwhile."""
    ranks = [str(rank) for rank in start.get("group", ())]
    group = f" of rank{'s' if len(ranks) > 1 else ''} {', '.join(ranks)}" if ranks else ""
    return f"{start['label'] or start['op']}{group}"


def shifted(times: Sequence[float | None], began: float) -> tuple[float, float | None, float]:
    """Return the times of an operation on the common axis."""
    called, all_called, ended = times
    return began + (called or 0.0), None if all_called is None else began + all_called, began + (ended or 0.0)


def ready_of(parameter: str, ready: dict[str, float]) -> float | None:
    """Return when a parameter's gradient last arrived; a trace names it as the program does, `model.module.0.bias`."""
    found = [time for name, time in ready.items() if name == parameter or name.endswith(f".{parameter}")]
    return max(found, default=None)


class RankLanes(Widget):
    """Shows what several ranks did on one time axis; `step` is the chosen operation, and can be observed.

    Times are those of the machines' own clocks. Raises ValueError if there is no trace, two are of the same rank, or
    one has no times or no rank.
    """

    STATE = ("lanes", "step")
    PICTURE = "rank_lanes"

    lanes = traitlets.Dict(help="what is shown: a lane for each rank, and the operations").tag(sync=True)
    step = traitlets.Int(0, help="the operation that is shown, in the order of the first calls").tag(sync=True)

    def __init__(self, traces: Sequence[Trace], step: int = 0) -> None:
        by_rank = sorted(((lane_of(trace), trace) for trace in traces), key=lambda each: each[0].rank)
        self._lanes = [lane for lane, _ in by_rank]
        if not by_rank or len({lane.rank for lane in self._lanes}) < len(by_rank):
            raise ValueError("the lanes take one trace of each rank, and at least one")
        self._found = found(self._lanes, [schedule(trace) for _, trace in by_rank])
        super().__init__(lanes=self._found, step=step)

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        return max(0, min(int(proposal["value"]), len(self._found["operations"]) - 1))

    @property
    def text(self) -> str:
        """What each rank called, in words. The times are left out: they differ from run to run."""
        lines = [f"rank {lane.rank}: {'; '.join(each.label for each in lane.operations) or 'a backward pass'}"
                 for lane in self._lanes]
        return "\n".join([f"RankLanes, {len(lines)} {'rank' if len(lines) == 1 else 'ranks'}", *lines])


def found(lanes: Sequence[Lane], schedules: Sequence[Any]) -> dict[str, Any]:
    """Return what the front end draws: times in milliseconds since the first rank began."""
    origin = min(lane.start() for lane in lanes)

    def at(time: float | None) -> float | None:
        return None if time is None else round(1e3 * (time - origin), 4)

    operations: dict[Any, dict[str, Any]] = {}
    for place, lane in enumerate(lanes):
        count = Counter[tuple[str, str]]()
        for each in lane.operations:
            key = each.op, each.label
            known = operations.setdefault((*key, count[key]), {
                "op": each.op, "label": each.label, "bucket": each.bucket, "size": each.size,
                "parameters": each.parameters, "seen": []})
            count[key] += 1
            known["seen"].append({"lane": place, "called": at(each.called), "begun": at(each.begun),
                                  "ended": at(each.ended), "wait": [*map(at, each.wait)],
                                  "ready": [*map(at, each.ready)]})
    for known in operations.values():
        last = max(seen["called"] for seen in known["seen"])
        for seen in known["seen"]:  # for a rank that does not know when all had called it: when the last one here had
            seen["begun"] = min(last, seen["ended"]) if seen["begun"] is None else seen["begun"]
    ordered = sorted(operations.values(), key=lambda each: min(seen["called"] for seen in each["seen"]))
    rows = in_rows(ordered)
    return {"span": at(max(lane.end() for lane in lanes)), "rows": rows, "operations": ordered,
            "lanes": [{"rank": lane.rank, "passes": [[at(begin), at(end)] for begin, end in lane.passes],
                       "schedule": events} for lane, events in zip(lanes, schedules, strict=True)],
            "ranks": max(lane.ranks for lane in lanes)}


def in_rows(operations: list[dict[str, Any]]) -> int:
    """Give each operation a row in which no other is running, the same on all ranks; return the number of rows."""
    free: list[float] = []
    for each in operations:
        called = min(seen["called"] for seen in each["seen"])
        row = next((row for row, end in enumerate(free) if end <= called), len(free))
        if row == MOST_ROWS:
            row = free.index(min(free))
        free[row:row + 1] = [max(seen["ended"] for seen in each["seen"])]
        each["row"] = row
    return max(1, len(free))


def schedule(trace: Trace) -> dict[str, Any]:
    """What `simulate` processes: the calls, waits and ends, with their seconds, and the time of the last event."""
    timed = [event for event in trace.events if "time" in event]
    return {"events": [[KINDS.index(event["kind"]), event["time"], event["call"], event.get("size", 0)]
                       for event in timed if event["kind"] in KINDS],
            "last": max((event["time"] for event in timed), default=0.0)}
