"""Prints a trace in plain words, the same for every run of one program.

What differs from run to run is left out: sequence numbers, memory addresses, bytes. Notebook tests compare this text.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minigrad.trace.arithmetic import arithmetic
from minigrad.trace.frame import Frame
from minigrad.trace.schema import EVENTS, Parts

__all__ = ["events_text", "frame_text", "note_text"]

Event = Mapping[str, Any]
SHOWN = 6  # how many values of a larger array are listed


def number(x: Any) -> str:
    """A number as text; floats with four digits."""
    return f"{x:.4g}" if isinstance(x, float) else str(x)


class Names:
    """What the tensors, nodes and values of one trace are called."""

    def __init__(self, trace: Parts) -> None:
        self.trace = trace

    def tensor(self, index: int | None) -> str:
        """A tensor: its name in the program, or its number; None is an operand that is not a tensor."""
        if index is None:
            return "a number"
        name: str | None = self.trace.tensors[index]["name"]
        return f"tensor {index}" if name is None else name

    def result(self, index: int) -> str:
        """A result; for a view, also its base."""
        base = self.trace.tensors[index].get("base")
        return self.tensor(index) + ("" if base is None else f" (a view of {self.tensor(base)})")

    def node(self, index: int | None) -> str:
        """A node: its name and number; an AccumulateGrad by its leaf."""
        if index is None:
            return "no node"
        record = self.trace.nodes[index]
        if "variable" in record:
            return f"AccumulateGrad({self.tensor(record['variable'])})"
        return f"{record['name']} #{index}"

    def value(self, index: int | None) -> str:
        """A value: its numbers, or shape and statistics of a large one."""
        if index is None:
            return "None"
        value = self.trace.values[index]
        shape = value["shape"]
        if "data" not in value:
            stats = [f"{key} {number(x)}" for key, x in value["stats"].items()
                     if x or x is not None and key not in ("nan", "inf")]
            return f"{shape} ({', '.join(stats) or 'values not kept'})"
        data = value["data"]
        if not shape:
            return number(data[0])
        listed = ", ".join(map(number, data[:SHOWN])) + (", …" if len(data) > SHOWN else "")
        return f"[{listed}]" if len(shape) == 1 and len(data) <= SHOWN else f"{shape} [{listed}]"

    def values(self, indices: Iterable[int | None]) -> str:
        """Several values."""
        return ", ".join(map(self.value, indices)) or "nothing"

    def field(self, kind: str, x: Any) -> str:
        """A field of an event, whose `kind` is a type of the schema."""
        write: dict[str, Callable[[Any], str]] = {
            "tensor": self.tensor, "node": self.node, "value": self.value, "[value?]": self.values}
        return write.get(kind.removesuffix("?"), str)(x)

    def location(self, event: Event) -> str:
        """The line of the user's code, or nothing."""
        if event.get("file") is None:
            return ""
        return f"{self.trace.files[event['file']]['name']}:{event['line']}"


def _forward(n: Names, e: Event) -> str:
    inputs = ", ".join(map(n.tensor, e["inputs"]))
    inplace = e["op"].endswith("_")  # the `version` event that follows says what is there now
    outputs = ", ".join(n.tensor(t) if inplace else f"{n.result(t)} = {n.value(n.trace.tensors[t]['value'])}"
                        for t in e["outputs"])
    rebased = "".join(f"; {n.tensor(t)} had {n.node(before)}, has {n.node(after)} now"
                      for t, before, after in e.get("rebased", ()))
    return f"{e['op']}({inputs}) {'writes to' if inplace else 'makes'} {outputs}" + (
        "" if e["node"] is None else f"; recorded as {n.node(e['node'])}") + rebased


def _save(n: Names, e: Event) -> str:
    rows = [f"{name}" + ("" if value is None else f" = {n.value(value)}")
            for name, _, value in n.trace.nodes[e["node"]]["saved"]]
    return f"{n.node(e['node'])} saves {', '.join(rows)}"


def _version(n: Names, e: Event) -> str:
    value = "" if e.get("value") is None else f", now {n.value(e['value'])}"
    return f"{n.tensor(e['tensor'])} was changed in place: version {e['version']}{value}"


def _grad(n: Names, e: Event) -> str:
    value = "None again" if e["grad"] is None else f"set to {n.value(e['grad'])}"
    return f"{n.tensor(e['tensor'])}.grad is {value}"


def _start(n: Names, e: Event) -> str:
    roots = ", ".join(f"{n.node(node)} with {n.value(value)}" for node, _, value in e["roots"])
    needs = ", ".join(f"{n.node(node)} {count}" for node, count in e["needs"])
    extra = (", recording itself" if e["create_graph"] else "") + (", keeping the graph" if e["retain_graph"] else "")
    return f"backward starts at {roots}{extra}; gradients to come: {needs or 'none'}"


def _hook(n: Names, e: Event) -> str:
    who = f"{e['hook']} hook" + (f" {e['name']}" if e["name"] else "")
    return f"{n.node(e['node'])}: {who} leaves {n.values(e['gradient'])}"


def _flow(n: Names, e: Event) -> str:
    target = n.node(e["to"]) + (f", output {e['output_nr']}" if e["output_nr"] else "")
    total = "" if e["sum"] == e["gradient"] else f"; there is now {n.value(e['sum'])}"
    return f"{n.node(e['node'])} sends {n.value(e['gradient'])} along edge {e['index']} to {target}{total}"


# By kind of event: a sentence with its fields, each written according to its type, or a function that returns one.
SENTENCES: dict[str, str | Callable[[Names, Event], str]] = {
    "forward": _forward,
    "save": _save,
    "version": _version,
    "grad": _grad,
    "mode": lambda n, e: f"{e['mode']} mode is {'on' if e['on'] else 'off'}",
    "backward_start": _start,
    "ready": "{node} is ready",
    "run": "{node} runs with {gradient}",
    "hook": _hook,
    "release": "{node} lets go of what it saved",
    "flow": _flow,
    "accumulate": "{gradient} is added to {tensor}.grad, now {grad}",
    "capture": "{gradient} is kept as the gradient of {tensor}",
    "backward_end": "backward ends",
    "call": "{node} is called by hand with {gradient} and gives {result}",
    "checkpoint_begin": lambda n, e: f"checkpoint {e['call']} begins: {e['name']}, "
                                     f"{'reentrant' if e['reentrant'] else 'non-reentrant'}",
    "checkpoint_end": "checkpoint {call} ends",
    "recompute_begin": "checkpoint {call} runs its function again",
    "collective_start": lambda n, e: f"call {e['call']} of several ranks: {e['op']}" + (
        f" for {e['label']}" if e["label"] else ""),
    "collective_wait": "this rank waits for call {call}",
    "collective_end": lambda n, e: f"call {e['call']} is over",
    "holder_filled": "checkpoint {call} has tensor {index} again: {value}",
    "early_stop": "checkpoint {call} has all that is needed, and stops",
    "recompute_end": "checkpoint {call} has run again",
    "error": lambda n, e: f"{e['type']}: {e['message'].splitlines()[0] if e['message'] else ''}",
}


def event_text(names: Names, event: Event) -> str:
    """One event in words; a kind that this version does not know, by its name."""
    text: str = event["kind"]
    sentence = SENTENCES.get(text)
    if isinstance(sentence, str):
        fields = EVENTS[text].fields
        text = sentence.format_map({name: names.field(field.type, event[name]) for name, field in fields.items()})
    elif sentence is not None:
        text = sentence(names, event)
    return "    " * int(event.get("depth", 0)) + text


def events_text(trace: Parts) -> str:
    """All events, one per line: step, location, what happened."""
    names = Names(trace)
    locations = [names.location(event) for event in trace.events]
    step_width, location_width = len(str(len(locations))), max(map(len, locations), default=0)
    lines = [f"{step:>{step_width}}  {location:<{location_width}}  {event_text(names, event)}"
             for step, (location, event) in enumerate(zip(locations, trace.events, strict=True))]
    return "\n".join(line.rstrip() for line in lines)


def note_text(note: dict[str, Any]) -> str:
    """What the recorder has to say about its recording, as a line."""
    often = f", {note['count']} times" if note["count"] > 1 else ""
    return f"Note: {note['text']} ({note['where']}{often})"


def frame_text(trace: Parts, frame: Frame) -> str:
    """One frame: what happened, and the state after it."""
    names, step = Names(trace), frame["step"]
    event = trace.events[step]
    location = names.location(event)
    lines = [f"step {step} of {len(trace.events) - 1}" + (f", {location}" if location else "")]
    if frame["file"] is not None and frame["line"] is not None:
        source = trace.files[frame["file"]]["lines"]
        if frame["line"] <= len(source):
            lines.append(f"    {source[frame['line'] - 1].strip()}")
    lines.append(event_text(names, event).strip())
    lines += arithmetic(vars(trace), step, names.value)
    for status in ("running", "ready", "waiting", "done"):  # the ready ones in the order of the queue
        nodes = frame["ready"] if status == "ready" else sorted(n for n, s in frame["status"].items() if s == status)
        counts = frame["needs"] if status == "waiting" else {}
        if nodes:
            lines.append(f"{status}: " + ", ".join(
                names.node(n) + (f" (needs {counts[n]})" if n in counts else "") for n in nodes))
    for node, piled in sorted(frame["pending"].items()):
        lines.append(f"pending at {names.node(node)}: {names.values(piled)}")
    for tensor, grad in sorted(frame["grads"].items()):
        lines.append(f"{names.tensor(tensor)}.grad: {names.value(grad)}")
    for tensor, version in sorted(frame["versions"].items()):
        rebased = frame["rebased"].get(tensor)
        lines.append(f"{names.tensor(tensor)}: version {version}" + (
            "" if rebased is None else f", its node is {names.node(rebased)}"))
    if frame["recomputed"]:
        lines.append(f"recomputed: {', '.join(map(names.node, frame['recomputed']))}")
    return "\n".join(lines)
