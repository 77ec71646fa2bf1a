"""What every view of a trace needs besides its events: links, runs of checkpointed functions, gradients from before,
tangents.

Python finds it, for pictures and texts, and hands it to the browser with the trace: it is the same at every step.
"""

from __future__ import annotations

from typing import TypedDict

from minigrad_widgets.graph.geometry import Data
from minigrad_widgets.graph.links import links


def derived(data: Data) -> Data:
    """Return what is added to a trace for the browser: `links`, `runs`, `tangents`, and `filled` in its tensors."""
    found = {"links": links(data), "runs": spans(data), "tangents": tangents(data), "tensors": filled(data)}
    return {name: each for name, each in found.items() if each}


def tangents(data: Data) -> list[Data]:
    """Return the edges along which tangents go forward: of which node, which one, and the value of the tangent. It is
    that of the tensor to which the edge leads, and known once the node is."""
    tensors, found = data["tensors"], []
    for node, record in enumerate(data["nodes"]):
        for index, (to, output_nr) in enumerate(edge or (None, 0) for edge in record["next"]):
            target = {} if to is None else data["nodes"][to]
            made = [target["variable"]] if "variable" in target else target.get("outputs", [])
            known = output_nr is not None and output_nr < len(made)  # of a folded box it is None
            moves = tensors[made[output_nr]].get("tangent") if known else None
            if moves is not None:
                found.append({"node": node, "index": index, "value": tensors[moves]["value"]})
    return found


def arrivals(data: Data) -> dict[int, int]:
    """Return the tangents of results from which they go no further, as values, by their nodes."""
    tensors, nodes = data["tensors"], data["nodes"]
    used = {tuple(nodes[each["node"]]["next"][each["index"]]) for each in tangents(data)}
    return {node: tensors[moves]["value"] for node, record in enumerate(nodes) if "variable" not in record
            for nr, made in enumerate(record["outputs"])
            if (moves := tensors[made].get("tangent")) is not None and (node, nr) not in used}


def filled(data: Data) -> list[Data]:
    """Return the tensors; `filled` is in those whose `.grad` held something, unknown to the trace, when first seen."""
    written: set[int | None] = set()
    found: set[int] = set()
    for event in data["events"]:
        if event["kind"] in ("accumulate", "grad", "hook"):
            written.add(event["tensor"])
        for _, what, number in event.get("held", ()):
            if what == 3 and number is not None and number not in written:
                found.add(number)
    return [{**tensor, "filled": True} if at in found else tensor for at, tensor in enumerate(data["tensors"])]


class Span(TypedDict):
    """One run of a checkpointed function, the first or a later one (`again`); `stop`: where it stopped early."""

    call: int
    name: str
    reentrant: bool
    again: bool
    start: int
    end: int
    level: int
    stop: int | None
    told: str


def spans(data: Data) -> list[Span]:
    """Return all runs, in the order in which they begin; a run inside another has a higher level."""
    found: list[Span] = []
    open_runs: list[Span] = []
    first: dict[int, Span] = {}
    for step, event in enumerate(data["events"]):
        kind, call = event["kind"], event.get("call")
        if kind in ("checkpoint_begin", "recompute_begin"):
            again = kind == "recompute_begin"
            run = first.get(call, event) if again else event
            span = Span(call=call, name=run.get("name", ""), reentrant=run.get("reentrant", False), again=again,
                        start=step, end=len(data["events"]) - 1, level=len(open_runs), stop=None, told="")
            found.append(span)
            open_runs.append(span)
            if not again:
                first[call] = span
        elif kind in ("checkpoint_end", "recompute_end", "early_stop"):
            again = kind != "checkpoint_end"
            at = next((i for i, span in enumerate(open_runs) if (span["call"], span["again"]) == (call, again)), None)
            if at is None:
                continue
            if kind == "early_stop":
                open_runs[at]["stop"] = step
                continue
            for span in open_runs[at:]:
                span["end"] = step
            del open_runs[at:]
    for span in found:
        span["told"] = describe_span(span)
    return found


def describe_span(span: Span) -> str:
    """Return one run in plain words."""
    way = "reentrant" if span["reentrant"] else "non-reentrant"
    run = "runs again" if span["again"] else "first run"
    stop = "" if span["stop"] is None else f", stops early at {span['stop']}"
    return f"checkpoint {span['call']} ({span['name']}, {way}): {run}, steps {span['start']} to {span['end']}{stop}"
