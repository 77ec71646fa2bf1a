"""Refuses what is not a trace: checks every field of every record against the schema before it is used."""

import functools
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import isfinite, prod
from typing import Any

from minigrad.trace.schema import BINDING, COMMON, EVENTS, FORMAT, INDEXED, NODE, SCOPE, TENSOR, VERSION, Record

__all__ = ["LATER", "check"]

LATER = ("scopes", "storages", "expressions", "bindings")  # lists that older traces do not have
DEEPEST, LONGEST = 100, 1_000  # nested calls in one expression, and all its parts
MANY = 1_000_000  # no node has this many outputs, nothing is this deep
FILE = Record("A source text.", name="str: its name", lines="[str]: its lines")
PREVIEW = Record("The preview of an array.", shape="[int]: its shape", dtype="str: its dtype")
NOTE = Record("What the recorder says about its recording.", text="str: what", where="str: where that was",
              count="int: how often")
PROCESS = Record("Which of several processes was recorded.", rank="int: its number", ranks="int: their number",
                 began="number?: when the recording began, in seconds since 1970")
UNKNOWN = Record("An event of a kind unknown to this version.")
Sizes = Mapping[str, int]
Test = Callable[[Any, Sizes], bool]

PLAIN: dict[str, Test] = {
    "int": lambda x, sizes: type(x) is int and x >= 0,
    "nr": lambda x, sizes: type(x) is int and 0 <= x < MANY,
    "whole": lambda x, sizes: type(x) is int,
    "number": lambda x, sizes: type(x) is int or type(x) is float and isfinite(x),
    "str": lambda x, sizes: type(x) is str,
    "bool": lambda x, sizes: type(x) is bool,
}


@functools.cache
def test_of(kind: str) -> Test:
    """Return the test that a type of the schema requires of a value."""
    if kind.endswith("?"):
        inner = test_of(kind[:-1])
        return lambda x, sizes: x is None or inner(x, sizes)
    if kind.startswith("["):
        inner = test_of(kind[1:-1])
        return lambda x, sizes: type(x) is list and all(inner(entry, sizes) for entry in x)
    if kind.startswith("("):
        parts, needed = [test_of(part.rpartition(":")[2]) for part in kind[1:-1].split(",")], len(kind.split(","))
        needed -= kind.count("?:")  # the last parts, if they are named like this, may be absent
        return lambda x, sizes: (type(x) is list and needed <= len(x) <= len(parts)
                                 and all(part(entry, sizes) for part, entry in zip(parts, x, strict=False)))
    if kind in PLAIN:
        return PLAIN[kind]
    key = INDEXED[kind]
    return lambda x, sizes: type(x) is int and 0 <= x < sizes[key]


def check(data: Any) -> None:
    """Raise a ValueError that says why this is not a trace of this version."""
    check_whole(data)
    sizes = {key: len(data.get(key, ())) for key in INDEXED.values()}
    for key, record in (("files", FILE), ("scopes", SCOPE), ("tensors", TENSOR), ("nodes", NODE),
                        ("bindings", BINDING)):
        for at, entry in enumerate(data.get(key, ())):
            check_fields(entry, record, sizes, f"entry {at} of its {key!r}")
    for at, value in enumerate(data["values"]):
        check_value(value, f"entry {at} of its 'values'")
    parents = [() if scope["parent"] is None else (scope["parent"],) for scope in data.get("scopes", ())]
    check_acyclic(parents, "scope")
    check_acyclic([[edge[0] for edge in node["next"] if edge is not None] for node in data["nodes"]], "node")
    check_layout(data["layout"], sizes)
    for at, note in enumerate(data.get("notes", ())):
        check_fields(note, NOTE, sizes, f"entry {at} of its 'notes'")
    if "process" in data:
        check_fields(data["process"], PROCESS, sizes, "its 'process'")
    for step, event in enumerate(data["events"]):
        kind = event.get("kind")
        if not isinstance(kind, str):
            raise ValueError(f"this is not a trace: event {step} has no kind")
        check_fields(event, COMMON, sizes, f"event {step}")
        if ("file" in event) != ("line" in event):
            raise ValueError(f"this is not a whole trace: event {step} has a file and no line, or the reverse")
        check_fields(event, EVENTS.get(kind, UNKNOWN), sizes, f"event {step}, {kind[:40]},")
        if kind == "flow" and event["index"] >= len(data["nodes"][event["node"]]["next"]):
            raise ValueError(f"this is not a whole trace: event {step} goes along edge {event['index']} of a node that "
                             "has fewer")
        for holder in chain(event.get("held", ()), event.get("dropped", ())):
            check_holder(holder[1], holder[2], sizes, f"event {step}")


def check_holder(what: int, number: int | None, sizes: Sizes, where: str) -> None:
    """Check that a storage's holder is a tensor or node of the trace; that of a checkpoint, a `.grad` or an optimizer
    may lack one."""
    unknown = what > 5 or (number is None and what not in (2, 3, 5))
    if unknown or (number is not None and not 0 <= number < sizes["nodes" if what in (2, 4) else "tensors"]):
        raise ValueError(f"this is not a whole trace: {where} names {short([what, number])} as the holder of a storage")


def check_whole(data: Any) -> None:
    """Check format, version, and the lists themselves."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, Mapping) else type(data).__name__
        raise ValueError(f"this is not a trace: its format is {short(found)}, not {FORMAT!r}")
    if data.get("version") != VERSION:
        raise ValueError(f"this trace has version {short(data.get('version'))}; this library reads version {VERSION}")
    kinds = {**dict.fromkeys(("files", "values", "tensors", "nodes", "events", *LATER), list),
             "formulas": dict, "layout": dict, "library": str, "process": dict, "notes": list}
    for key, kind in kinds.items():
        if key not in data and key not in (*LATER, "library", "process", "notes"):
            raise ValueError(f"this is not a whole trace: it has no {key!r}")
        if not isinstance(data.get(key, kind()), kind) and not (key == "layout" and data[key] is None):
            raise ValueError(f"this is not a trace: its {key!r} is not a {kind.__name__}")
        records = data.get(key, ()) if kind is list and key not in ("storages", "expressions") else ()
        for at, entry in enumerate(records):
            if not isinstance(entry, dict):
                raise ValueError(f"this is not a trace: entry {at} of its {key!r} is not a dict")
    if not all(type(size) is int and size >= 0 for size in data.get("storages", ())):
        raise ValueError("this is not a trace: its 'storages' are not numbers of bytes")
    if not all(is_expression(each) and parts_of(each) <= LONGEST for each in data.get("expressions", ())):
        raise ValueError("this is not a trace: one of its 'expressions' is not one")
    if not all(type(text) is str for text in data["formulas"].values()):
        raise ValueError("this is not a trace: its 'formulas' are not texts")


def is_expression(x: Any, depth: int = 0) -> bool:
    """Return whether a value is an operand's name, a number, null, or a list of a function's name and its arguments."""
    if type(x) is list:
        return depth < DEEPEST and x[:1] != [] and type(x[0]) is str and all(is_expression(e, depth + 1) for e in x[1:])
    return x is None or type(x) in (str, bool) or PLAIN["number"](x, {})


def parts_of(expression: Any) -> int:
    """Return how many names and numbers an expression has."""
    return sum(map(parts_of, expression)) if type(expression) is list else 1


def check_fields(entry: Mapping[str, Any], record: Record, sizes: Sizes, what: str) -> None:
    """Check that a record has its fields, and that each has its type."""
    for name, field in record.fields.items():
        if name not in entry:
            if not field.optional:
                raise ValueError(f"this is not a whole trace: {what} has no {name!r}")
        elif not test_of(field.type)(entry[name], sizes):
            raise ValueError(f"this is not a whole trace: {what} has as its {name!r} {short(entry[name])}, which is "
                             f"not a {field.type} of this trace")


def check_value(value: Mapping[str, Any], what: str) -> None:
    """Check that a preview has as many numbers as its shape says, or statistics."""
    check_fields(value, PREVIEW, {}, what)
    found, stats, whole = value.get("data"), value.get("stats"), value.get("entries")
    if type(found) is list and stats is None:
        good = whole is None and are_entries(found, value["shape"])
    else:
        good = found is None and type(stats) is dict and all(
            key in stats and is_entry(stats[key], None) for key in ("min", "max", "mean", "norm", "nan", "inf"))
        good = good and (whole is None or type(whole) is list and are_entries(whole, value["shape"]))
    if not good:
        raise ValueError(f"this is not a whole trace: {what} does not match its shape {short(value['shape'])}")


def are_entries(numbers: Sequence[Any], shape: Sequence[int]) -> bool:
    """Return whether there are as many numbers as a shape says."""
    return len(numbers) == prod(shape) and all(is_entry(x) for x in numbers)


def is_entry(x: Any, *also: Any) -> bool:
    """Return whether a value is a number, or text that stands for one."""
    return (type(x) is bool or type(x) is int and abs(x) < 2 ** 64 or type(x) is str and x.isprintable()
            or type(x) is float and isfinite(x) or x in also)


def check_acyclic(targets: Sequence[Sequence[int]], what: str) -> None:
    """Check that nothing leads to itself."""
    counts = [0] * len(targets)
    for to in chain.from_iterable(targets):
        counts[to] += 1
    waiting, seen = [at for at, count in enumerate(counts) if not count], 0
    while waiting:
        seen += 1
        for to in targets[waiting.pop()]:
            counts[to] -= 1
            if not counts[to]:
                waiting.append(to)
    if seen < len(targets):
        raise ValueError(f"this is not a trace: a {what} of it leads to itself")


def check_layout(layout: Mapping[str, Any] | None, sizes: Sizes) -> None:
    """Check that positions are finite numbers, of nodes that exist."""
    if layout is None:
        return
    point, points = test_of("(number,number)"), test_of("[(number,number)]")
    nodes, edges = layout.get("nodes"), layout.get("edges", {})
    good = (type(nodes) is dict and type(edges) is dict and point(layout.get("size"), sizes)
            and all(key.isdecimal() and len(key) < 9 and int(key) < sizes["nodes"] and point(spot, sizes)
                     for key, spot in nodes.items())
            and all(points(bends, sizes) for bends in edges.values()))
    if not good:
        raise ValueError("this is not a trace: its 'layout' is not one")


def short(value: Any) -> str:
    """Return a value as an error shows it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
