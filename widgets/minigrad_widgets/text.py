"""A trace in words: numbers, tensors and events as deterministic text, and a traversal by hand.

The sentences are the ones that the browser shows (frontend/src/trace/format.ts and describe.ts): a golden test checks
that both agree. They contain no addresses, so that a lesson's outputs can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import hypot
from typing import Any

Data = dict[str, Any]
Maybe = int | None

SHORT = 6  # how many entries of an operand are listed
HOOKS = {
    "tensor": "a hook of its tensor ran",
    "retain_grad": "retain_grad kept the gradient",
    "pre": "a pre-hook ran",
    "post": "a post-hook ran",
    "post_accumulate": "a hook ran after the gradient was added",
}


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as it is written on a node."""
    return f"[{', '.join(map(str, shape))}]" if shape else "scalar"


def number(entry: Any, dtype: str = "float32") -> str:
    """Return one number, with at most four decimals, and a point after a whole float."""
    if entry is None:
        return "none"
    if isinstance(entry, str):
        return entry if entry == "nan" or entry.endswith("inf") else f"'{entry}'"
    if isinstance(entry, bool) or not any(kind in dtype for kind in ("float", "complex")):
        return str(entry)
    size = abs(entry)
    if float(entry).is_integer() and size < 1e7:
        return f"{int(entry)}."
    if size >= 1e5 or size < 1e-3:
        digits, exponent = f"{entry:.2e}".split("e")
        return f"{digits}e{int(exponent)}"
    return repr(float(f"{entry:.4f}")).removesuffix(".0")


def _nested(texts: Sequence[str], shape: Sequence[int], indent: int) -> str:
    if not shape:
        return texts[0] if texts else ""
    first, *rest = shape
    step = 1
    for size in rest:
        step *= size
    rows = [_nested(texts[at * step : (at + 1) * step], rest, indent + 1) for at in range(first)]
    gap = "," + "\n" * len(rest) + " " * (indent + 1) if rest else ", "
    return f"[{gap.join(rows)}]"


def _statistics(stats: Data) -> str:
    parts = [f"{key} {number(stats[key])}" for key in ("min", "max", "mean", "norm") if stats[key] is not None]
    parts += [f"{stats[key]} {key}" for key in ("nan", "inf") if stats[key]]
    return ", ".join(parts) or "values not kept"


def tensor(value: Data | None) -> str:
    """Return a value roughly as PyTorch prints a tensor; a large one by its statistics."""
    if value is None:
        return "None"
    if "data" not in value:
        return f"tensor of {shape_text(value['shape'])}: {_statistics(value['stats'])}"
    texts = [number(entry, value["dtype"]) for entry in value["data"]]
    if not texts:
        return "tensor([])" if len(value["shape"]) == 1 else f"tensor([], size=({', '.join(map(str, value['shape']))}))"
    width = max(map(len, texts), default=0) if len(value["shape"]) > 1 else 0
    return f"tensor({_nested([text.rjust(width) for text in texts], value['shape'], 7)})"


def inline(value: Data | None, limit: int = 96) -> str:
    """Return the same on one line, cut if it is long."""
    text = " ".join(tensor(value).split()).replace("[ ", "[")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def broken(value: Data | None) -> str:
    """Return what a value holds that is not a finite number: "nan", else "inf", else an empty string."""
    if value is None:
        return ""
    entries = {each for each in value.get("data", ()) if isinstance(each, str)}
    stats = value.get("stats", {"nan": 0, "inf": 0})
    if stats["nan"] or "nan" in entries:
        return "nan"
    return "inf" if stats["inf"] or entries & {"inf", "-inf"} else ""


def brief(value: Data | None) -> str:
    """Return a gradient in a few characters, for an edge: the number, up to three numbers, or shape and norm."""
    if value is None:
        return "None"
    data, shape = value.get("data"), value["shape"]
    if data is not None and len(data) <= 3 and len(shape) <= 1:
        texts = [_rounded(entry, value["dtype"]) for entry in data]
        return f"[{', '.join(texts)}]" if shape else texts[0]
    norm = broken(value) or (hypot(*data) if data is not None else value["stats"]["norm"])
    size = "×".join(map(str, shape))
    return f"{size}, not kept" if norm is None else f"{size} ‖{_rounded(norm, 'float32')}‖"


def few(value: Data | None) -> str:
    """Return a value in a line of arithmetic: the entries of a small one, shape and norm of a larger one."""
    if value is None or "data" not in value or len(value["data"]) > SHORT:
        return brief(value)
    return inline(value).removeprefix("tensor(").removesuffix(")")


def piled(texts: Sequence[str]) -> str:
    """Return what is pending at a node, one text per output; for many outputs, only how many have something."""
    if len(texts) <= 3:
        return " | ".join(texts)
    return f"{sum(text != '–' for text in texts)} of {len(texts)} outputs"


def _rounded(entry: Any, dtype: str) -> str:
    if entry is None or isinstance(entry, (str, bool)) or float(entry).is_integer():
        return number(entry, dtype)
    return number(float(f"{entry:.3g}"), dtype)


class Words:
    """The sentences of one trace."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def value(self, index: Maybe) -> Data | None:
        """Return the preview with this id."""
        return None if index is None else self.data["values"][index]

    def values(self, ids: Iterable[Maybe]) -> str:
        """Return several previews, one after the other."""
        return " and ".join(inline(self.value(each)) for each in ids)

    def tensor(self, index: Maybe) -> str:
        """Return what a tensor is called: its name in the program, else its number in the trace."""
        return "a constant" if index is None else self.data["tensors"][index]["name"] or f"tensor {index}"

    def node(self, index: int) -> str:
        """Return what a node is called: an AccumulateGrad is distinguished by its leaf."""
        record = self.data["nodes"][index]
        if record.get("variable") is None:
            return str(record["name"])
        return f"AccumulateGrad of {self.tensor(record['variable'])}"

    def describe(self, step: int) -> str:
        """Return what happened at a step, in plain words."""
        event = self.data["events"][step]
        tell = TELL.get(event["kind"])
        return "an event of a kind that this inspector does not know" if tell is None else tell(self, event)


def _forward(words: Words, event: Data) -> str:
    outputs = ", ".join(words.tensor(each) for each in event["outputs"]) or "nothing"
    node = event["node"]
    recorded = "nothing was recorded" if node is None else f"{words.node(node)} was recorded"
    moved = [f"; {words.tensor(tensor)} had no node and has {words.node(after)} now" if before is None else
             f"; the node of {words.tensor(tensor)} was {words.node(before)} and is {words.node(after)} now"
             for tensor, before, after in event.get("rebased", []) if (before, after) != (None, node)]
    verb = "wrote to" if event["op"].endswith("_") else "made"
    return f"{event['op']} ran and {verb} {outputs}; {recorded}{''.join(moved)}"


def _start(words: Words, event: Data) -> str:
    roots = " and ".join(words.node(node) for node, _, _ in event["roots"])
    given = words.values(value for _, _, value in event["roots"])
    extra = "; it records a graph of itself" if event["create_graph"] else ""
    return f"backward starts at {roots} with {given}; the engine counts what each node will receive{extra}"


def _hook(words: Words, event: Data) -> str:
    what = HOOKS.get(event["hook"], f"a hook ({event['hook']}) ran")
    name = f" ({event['name']})" if event["name"] and event["hook"] != "retain_grad" else ""
    left = f"; the gradient is {words.values(event['gradient'])}" if event["gradient"] else ""
    return f"{words.node(event['node'])}: {what}{name}{left}"


def _flow(words: Words, event: Data) -> str:
    way = f"from {words.node(event['node'])} to {words.node(event['to'])}"
    says = f"{inline(words.value(event['gradient']))} flows {way}"
    output = f", output {event['output_nr']}" if event["output_nr"] > 0 else ""
    piled = "" if event["sum"] == event["gradient"] else f"; {inline(words.value(event['sum']))} has piled up there"
    return says + output + piled


def _accumulate(words: Words, event: Data) -> str:
    gradient, grad = inline(words.value(event["gradient"])), inline(words.value(event["grad"]))
    return f"{words.tensor(event['tensor'])}.grad receives {gradient} and is now {grad}"


def _call(words: Words, event: Data) -> str:
    gave = f"gave {words.values(event['result'])}" if event["result"] else "gave nothing back"
    return f"{words.node(event['node'])} was called by hand with {words.values(event['gradient'])} and {gave}"


TELL: dict[str, Callable[[Words, Data], str]] = {
    "forward": _forward,
    "save": lambda words, event: f"{words.node(event['node'])} saved what its derivative will need",
    "version": lambda words, event: (
        f"an in-place op raised the version of {words.tensor(event['tensor'])} to {event['version']}"
    ),
    "grad": lambda words, event: (
        f"{words.tensor(event['tensor'])}.grad is "
        f"{'None again' if event['grad'] is None else 'now ' + inline(words.value(event['grad']))}"
    ),
    "mode": lambda words, event: f"{event['mode']} mode is {'on' if event['on'] else 'off'}",
    "backward_start": _start,
    "ready": lambda words, event: (
        f"{words.node(event['node'])} has every gradient it waited for: it joins the ready queue"
    ),
    "run": lambda words, event: f"{words.node(event['node'])} runs; it received {words.values(event['gradient'])}",
    "hook": _hook,
    "release": lambda words, event: f"{words.node(event['node'])} lets go of its saved tensors",
    "flow": _flow,
    "accumulate": _accumulate,
    "capture": lambda words, event: (
        f"autograd.grad keeps {inline(words.value(event['gradient']))} for {words.tensor(event['tensor'])}"
    ),
    "backward_end": lambda words, event: "the pass is over",
    "call": _call,
    "checkpoint_begin": lambda words, event: (
        f"checkpoint {event['call']}, {'reentrant' if event['reentrant'] else 'non-reentrant'}:"
        f" the first run of {event['name']} begins"
    ),
    "checkpoint_end": lambda words, event: f"checkpoint {event['call']}: the first run is over",
    "recompute_begin": lambda words, event: f"checkpoint {event['call']} runs its function again",
    "holder_filled": lambda words, event: (
        f"checkpoint {event['call']} has saved tensor {event['index']} again: {inline(words.value(event['value']))}"
    ),
    "early_stop": lambda words, event: f"checkpoint {event['call']} has all that is needed: it stops early",
    "recompute_end": lambda words, event: f"checkpoint {event['call']}: the second run is over",
    "collective_start": lambda words, event: (
        f"call {event['call']} of several ranks: {event['op']}" + (f" for {event['label']}" if event["label"] else "")
    ),
    "collective_wait": lambda words, event: f"this rank waits for call {event['call']}",
    "collective_end": lambda words, event: f"call {event['call']} is over",
    "error": lambda words, event: f"{event['type']}: {event['message']}",
}
LIMIT = 24


def _list(parts: Sequence[str]) -> str:
    shown = list(parts[:LIMIT])
    if len(parts) > LIMIT:
        shown.append(f"and {len(parts) - LIMIT} more")
    return ", ".join(shown) or "none"


def traversal_text(data: Data, walk: Data) -> str:
    """Return a traversal by hand as text: the calls, what is pending, what came too early, the leaves' `.grad`."""
    words = Words(data)
    pending = [
        f"{words.node(node)} {pile['arrived']} of {pile['of']}" + _lies(words, data["nodes"][node], pile["gradient"])
        for node, pile in sorted(walk["pending"].items())
    ]
    grads = [f"{words.tensor(each)} {_value_text(words, value)}" for each, value in sorted(walk["grads"].items())]
    lines = [
        f"called: {_list([words.node(node) for node in walk['calls']])}",
        f"pending: {_list(pending)}",
        f"too early: {_list([words.node(node) for node in walk['early']])}",
        f".grad: {_list(grads)}",
    ]
    return "\n".join(lines)


def _lies(words: Words, node: Data, gradient: Maybe) -> str:
    """Return what is pending at a node; empty for one with several outputs, which get separate gradients."""
    return "" if len(node["outputs"]) > 1 else f" ({_value_text(words, gradient)})"


def _value_text(words: Words, value: Maybe) -> str:
    return "a partial sum" if value is None else inline(words.value(value))
