"""Prints a trace in plain words, the same for every run of one program.

What differs from run to run is left out: sequence numbers, memory addresses, bytes. Notebook tests compare this text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.trace.arithmetic import arithmetic
from minigrad.trace.format import Names, few, listed
from minigrad.trace.frame import Frame
from minigrad.trace.schema import Parts
from minigrad.trace.sentences import describe

__all__ = ["events_text", "frame_text", "note_text", "notes_line", "traversal_text"]

LIMIT = 24  # how many nodes of a traversal are listed


def event_text(names: Names, event: Mapping[str, Any]) -> str:
    """One event in words, indented by the passes around it."""
    return "    " * int(event.get("depth", 0)) + describe(names, event)


def place(trace: Parts, event: Mapping[str, Any]) -> str:
    """The line of the user's code, or nothing."""
    return "" if event.get("file") is None else f"{trace.files[event['file']]['name']}:{event['line']}"


def events_text(trace: Parts) -> str:
    """All events, one per line: step, location, what happened."""
    names, places = Names(vars(trace)), [place(trace, event) for event in trace.events]
    step_width, width = len(str(len(places))), max(map(len, places), default=0)
    lines = [f"{step:>{step_width}}  {where:<{width}}  {event_text(names, event)}"
             for step, (where, event) in enumerate(zip(places, trace.events, strict=True))]
    return "\n".join(line.rstrip() for line in lines)


def note_text(note: dict[str, Any]) -> str:
    """What the recorder has to say about its recording, as a line."""
    often = f", {note['count']} times" if note["count"] > 1 else ""
    return f"Note: {note['text']} ({note['where']}{often})"


def notes_line(notes: Sequence[dict[str, Any]]) -> str:
    """The first note, and how many more there are, as one line; nothing if there is none."""
    more = f"; {len(notes) - 1} more in trace.text()" if len(notes) > 1 else ""
    return note_text(notes[0]) + more if notes else ""


def frame_text(trace: Parts, frame: Frame) -> str:
    """One frame: what happened, and the state after it."""
    names, step = Names(vars(trace)), frame["step"]
    event = trace.events[step]
    where = place(trace, event)
    lines = [f"step {step} of {len(trace.events) - 1}" + (f", {where}" if where else "")]
    if frame["file"] is not None and frame["line"] is not None:
        source = trace.files[frame["file"]]["lines"]
        if frame["line"] <= len(source):
            lines.append(f"    {source[frame['line'] - 1].strip()}")
    lines.append(describe(names, event))
    lines += arithmetic(vars(trace), step, lambda value: few(names.value(value)))
    for status in ("running", "ready", "waiting", "done"):  # the ready ones in the order of the queue
        nodes = frame["ready"] if status == "ready" else sorted(n for n, s in frame["status"].items() if s == status)
        counts = frame["needs"] if status == "waiting" else {}
        if nodes:
            lines.append(f"{status}: " + ", ".join(
                names.node(n) + (f" (needs {counts[n]})" if n in counts else "") for n in nodes))
    for node, piled in sorted(frame["pending"].items()):
        lines.append(f"pending at {names.node(node)}: {', '.join(map(names.text, piled))}")
    for tensor, grad in sorted(frame["grads"].items()):
        lines.append(f"{names.tensor(tensor)}.grad: {names.text(grad)}")
    for tensor, version in sorted(frame["versions"].items()):
        rebased = frame["rebased"].get(tensor)
        lines.append(f"{names.tensor(tensor)}: version {version}" + (
            "" if rebased is None else f", its node is {names.node(rebased)}"))
    if frame["recomputed"]:
        lines.append(f"recomputed: {', '.join(map(names.node, frame['recomputed']))}")
    return "\n".join(lines)


def traversal_text(data: Mapping[str, Any], walk: Mapping[str, Any]) -> str:
    """A traversal by hand: the calls, what is pending, what came too early, the leaves' `.grad`."""
    names = Names(data)

    def gradient(index: int | None) -> str:
        return "a partial sum" if index is None else names.text(index)

    pending = [  # a node with several outputs gets separate gradients
        f"{names.node(node)}: {pile['arrived']} of {pile['of']}" + (
            "" if len(data["nodes"][node]["outputs"]) > 1 else f" ({gradient(pile['gradient'])})")
        for node, pile in sorted(walk["pending"].items())]
    grads = [f"{names.tensor(each)} {gradient(value)}" for each, value in sorted(walk["grads"].items())]
    parts = {"called": list(map(names.node, walk["calls"])), "pending": pending,
             "too early": list(map(names.node, walk["early"])), ".grad": grads}
    return "\n".join(f"{title}: {listed(texts, LIMIT, 'none')}" for title, texts in parts.items())
