"""What an inspector must draw at a step, made of Python's frame alone; `read.drawn` in the page says what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from minigrad.recorder import Trace
from minigrad.trace.format import Names, brief, piled
from minigrad.trace.sentences import describe
from minigrad_widgets.graph.derived import spans
from minigrad_widgets.lenses.checkpoints import KINDS

Drawn = dict[str, Any]
XP = {"recorded": "", "ready": "ready", "running": "runs", "done": "done", "again": "recomputed"}
SHOWN = 12
PLACES = 9


def drawn(trace: Trace, lens: str, step: int) -> Drawn:
    """All that a walking lens shows of a step."""
    data, frame, event = trace.to_dict(), trace.frame(step), trace.events[step]
    lit = [] if frame["lit"] is None else [str(frame["lit"])]
    place = {"file": data["files"][event["file"]]["name"], "line": str(event["line"])} if "line" in event else {}
    queue = [] if lens == "forward" else [Names(data).node(node) for node in frame["ready"][:SHOWN]]
    return {"lens": lens, "step": str(step), "lit": "".join(lit), "ready": " ".join(map(str, frame["ready"])),
            "gradient": "" if frame["gradient"] is None else str(frame["gradient"]), "marked": lit, "current": lit,
            "text": f"{counted(trace, lens, step)}: {describe(Names(data), data['events'][step])}",
            "queue": queue, "bytes": held(trace, frame["bytes"] or [0, 0, 0, 0]),
            **place, **nodes(trace, frame), **edges(trace, frame)}


def counted(trace: Trace, lens: str, step: int) -> str:
    """Which step of a pass it is, and of how many; in the forward pass, which operation, too."""
    steps = trace.steps(lens)
    if lens not in ("forward", "backward"):
        return f"step {step} of {steps[-1]}"
    ran = [each for each in steps if trace.events[each]["kind"] == "forward"]
    now = sum(each <= step for each in ran)
    operation = f", operation {now} of {len(ran)}" if lens == "forward" and now and len(ran) < len(steps) else ""
    return f"step {steps.index(step) + 1} of {len(steps)}{operation}"


def nodes(trace: Trace, frame: Any) -> Drawn:
    """Each node's state, its word, what has piled up at it, whether it holds what it saved."""
    repeated = again(trace)
    known = {node: "again" if status == "recorded" and node in repeated else status
             for node, status in frame["status"].items()}
    every = range(len(trace.nodes))
    words = {node: f"waits: {frame['needs'][node]}" if status == "waiting" else XP[status]
             for node, status in known.items()}
    words |= {node: f"ready: {at}" for at, node in enumerate(frame["ready"][:PLACES], 1)}
    hooked = [node for node in frame["hooked"] if frame["status"].get(node) in ("running", "done")]
    words |= {node: f"{words[node]} · hook" for node in hooked}
    return {"status": {str(node): known.get(node, "unknown") for node in every},
            "words": {str(node): words.get(node, "") for node in every},
            "piled": {str(node): f"Σ {amounts(trace, values)}" for node, values in frame["pending"].items() if values},
            "saved": {str(node): frame["saved"].get(node, "none") for node in every if squares(trace, node)}}


def squares(trace: Trace, node: int) -> bool:
    """Whether a node has a square for what it saved: not for plain numbers, as the 3 of `w * 3`."""
    return any(tensor is not None or value is None or dict(trace.values[value])["shape"]
               for _, tensor, value in trace.nodes[node]["saved"])


def edges(trace: Trace, frame: Any) -> Drawn:
    """Along which edges gradients have flowed, the one that flows now, and what is written at them."""
    event = trace.events[frame["step"]]
    now = f"{event['node']}:{event['index']}" if event["kind"] == "flow" else None
    keys = [f"{node}:{index}" for node, record in enumerate(trace.nodes)
            for index, edge in enumerate(record["next"]) if edge is not None]
    gone = frame["edges"]
    return {"flows": {key: "now" if key == now else "past" if key in gone else "none" for key in keys},
            "gradients": {key: written(trace, gone[key]) if key in gone else "" for key in keys}}


def written(trace: Trace, value: int | None) -> str:
    """A gradient as an edge has it."""
    return "?" if value is None else brief(dict(trace.values[value]))


def amounts(trace: Trace, values: Sequence[int | None]) -> str:
    """What has piled up at a node, output by output."""
    return piled(["–" if value is None else written(trace, value) for value in values])


def again(trace: Trace) -> set[int | None]:
    """The nodes that a second run of a checkpointed function recorded."""
    runs = [span for span in spans(trace.to_dict()) if span["again"]]
    return {event["node"] for step, event in enumerate(trace.events)
            if event["kind"] == "forward" and any(span["start"] < step < span["end"] for span in runs)}


def held(trace: Trace, now: Sequence[int]) -> list[str]:
    """The bytes of each kind that this trace ever holds, those of saved tensors first."""
    counts = [event["bytes"] for event in trace.events if "bytes" in event]
    ever = [any(column) for column in zip_longest(*counts, fillvalue=0)]  # the optimizer's only where there is one
    rows = [(name, count) for name, count, is_held in zip(KINDS, now, ever) if is_held]
    return [f"{name} {count} B" for name, count in sorted(rows, key=lambda row: row[0] != "saved")]


def called(trace: Trace, calls: Sequence[int]) -> Drawn:
    """What the traversal lens draws after these calls."""
    walk = trace.traverse(list(calls))
    pending = walk["pending"]
    start = trace.frame(trace.steps("backward")[0])["status"]

    def status(node: int) -> str:
        if node not in start:
            return "unknown"
        if node in pending:
            return "ready" if pending[node]["arrived"] >= pending[node]["of"] else "waiting"
        if node in walk["early"]:
            return "early"
        return "running" if walk["calls"][-1:] == [node] else "done" if node in walk["calls"] else "recorded"

    return {"lens": "traversal", "status": {str(node): status(node) for node in range(len(trace.nodes))},
            "piled": {str(node) for node in pending}, "python": walk["python"],
            "counts": {str(node): f"{pile['arrived']} of {pile['of']}"
                       for node, pile in pending.items() if pile["of"] > 1}}
