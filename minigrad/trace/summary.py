"""Sums a trace up by modules: a table like torchinfo's, with what the backward pass adds to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import hypot, prod
from typing import NamedTuple

from minigrad.trace.format import broken, shape_text
from minigrad.trace.schema import Parts

__all__ = ["ModuleRow", "Summary", "summary_of"]

OUTSIDE = "(outside modules)"
UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


class ModuleRow(NamedTuple):
    """What one module did in a trace, the modules inside it included."""

    name: str
    """Its path, such as `net.h.0.fc`; the ops outside all modules have a row of their own."""
    module: str
    """Its class."""
    depth: int
    """In how many modules it is."""
    calls: int
    """How often it was called, recomputations aside."""
    output: tuple[int, ...] | None
    """The shape of the first result of the last op in it that left a node, or, if none did, of the last; None if none
    ran."""
    parameters: int
    """The number of elements of the parameters that were used; a shared one counts where it belongs."""
    saved: int
    """The bytes that were kept for the backward pass. A storage counts once; parameters do not."""
    forward_seconds: float | None
    """The time of its ops; None without `record(times=True)`."""
    backward_seconds: float | None
    """The time of their derivatives, in all passes."""
    gradient: float | None
    """The norm of the first gradient that reached its output; None if none came or its values were not kept."""


class Summary:
    """The modules of a trace as rows, the outermost first; printed, they are a table.

    `pandas.DataFrame(summary.rows)` and `polars.DataFrame(summary.rows)` give the same as a data frame.
    """

    def __init__(self, rows: list[ModuleRow]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[ModuleRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> ModuleRow:
        """Return the row of a module by its path.

        Raises:
            KeyError: if no module of this path was called.
        """
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no module {name!r} was called; called were {', '.join(row.name for row in self.rows)}")

    def __repr__(self) -> str:
        return "\n".join(_table(self.rows))


class _Calls:
    """The calls of one module, while they are summed up."""

    def __init__(self, module: str, depth: int, parent: str | None) -> None:
        self.module, self.depth, self.parent = module, depth, parent
        self.called: set[int] = set()
        self.nodes: set[int] = set()
        self.parameters: set[int] = set()
        self.output: int | None = None


def summary_of(parts: Parts) -> Summary:
    """Return what each module of a trace did, by its lists."""
    paths = _paths(parts)
    found: dict[str, _Calls] = {}
    for scope, path in enumerate(paths):
        parent = parts.scopes[scope]["parent"]
        inside = None if parent is None else paths[parent]
        found.setdefault(path, _Calls(parts.scopes[scope]["module"], _depth(parts, scope), inside))
    outside = _Calls("", 0, None)
    owned: set[int] = set()
    for event in parts.events:
        if event["kind"] != "forward" or event.get("depth"):
            continue
        node = event.get("node")
        scope = event.get("scope") if node is None else parts.nodes[node].get("scope", event.get("scope"))
        around = list(_around(parts, scope))
        for calls in [found[paths[each]] for each in around] or [outside]:
            if event["outputs"] and (node is not None or not calls.nodes):  # not a statistic's update after the result
                calls.output = event["outputs"][0]
            if node is not None:
                calls.nodes.add(node)
        for each in around:
            found[paths[each]].called.add(each)
        innermost = paths[around[0]] if around else None
        for tensor in event["inputs"]:
            if tensor is not None and parts.tensors[tensor]["parameter"] and tensor not in owned:
                owned.add(tensor)
                _give(found, _owner(found, parts.tensors[tensor]["name"], innermost), tensor)
    first, saved = _gradients(parts), _saved(parts)
    found = dict(_nested(found))
    if outside.output is not None:
        found[OUTSIDE] = outside
    return Summary([_row(parts, name, calls, first, saved) for name, calls in found.items()])


def _paths(parts: Parts) -> list[str]:
    paths: list[str] = []
    for scope in parts.scopes:
        own = scope["name"] or scope["module"]
        paths.append(own if scope["parent"] is None else f"{paths[scope['parent']]}.{own}")
    return paths


def _around(parts: Parts, scope: int | None) -> Iterator[int]:
    """The calls that were running, the innermost first."""
    while scope is not None:
        yield scope
        scope = parts.scopes[scope]["parent"]


def _depth(parts: Parts, scope: int) -> int:
    return sum(1 for _ in _around(parts, scope)) - 1


def _nested(found: dict[str, _Calls]) -> Iterator[tuple[str, _Calls]]:
    """The modules with those inside them after each, the first called first."""
    inside: dict[str | None, list[str]] = defaultdict(list)
    for path, calls in found.items():
        inside[calls.parent].append(path)
    waiting = inside[None][::-1]
    while waiting:
        path = waiting.pop()
        yield path, found[path]
        waiting += inside[path][::-1]


def _owner(found: Iterable[str], parameter: str | None, user: str | None) -> str | None:
    """The module that has a parameter, by its name; where no call has that name, the one that used it first."""
    path = (parameter or "").rpartition(".")[0]
    return path if path in found else user


def _give(found: dict[str, _Calls], path: str | None, tensor: int) -> None:
    """Count a parameter for a module and for those around it."""
    while path is not None:
        found[path].parameters.add(tensor)
        path = found[path].parent


def _gradients(parts: Parts) -> dict[int, list[int | None]]:
    """By node, what it received when it ran first."""
    first: dict[int, list[int | None]] = {}
    for event in parts.events:
        if event["kind"] == "run":
            first.setdefault(event["node"], event["gradient"])
    return first


def _saved(parts: Parts) -> dict[int, set[int]]:
    """By node, the storages that it held for its derivative."""
    parameters = {tensor["storage"] for tensor in parts.tensors if tensor["parameter"]}
    saved: dict[int, set[int]] = defaultdict(set)
    for event in parts.events:
        for storage, what, holder in event.get("held", ()):
            if what == 2 and holder is not None and storage not in parameters:
                saved[holder].add(storage)
    return saved


def _row(parts: Parts, name: str, calls: _Calls, gradients: dict[int, list[int | None]],
         saved: dict[int, set[int]]) -> ModuleRow:
    times = [parts.nodes[node].get("seconds") for node in calls.nodes]
    known = [each for each in times if each is not None]
    forward, backward = ([each[at] for each in known if each[at] is not None] for at in (0, 1))
    storages = set().union(*(saved.get(node, set()) for node in calls.nodes))
    output = None if calls.output is None else parts.tensors[calls.output]
    return ModuleRow(
        name, calls.module, calls.depth, len(calls.called), None if output is None else tuple(output["shape"]),
        sum(prod(parts.tensors[tensor]["shape"]) for tensor in calls.parameters),
        sum(parts.storages[storage] for storage in storages),
        sum(forward) if forward else None, sum(backward) if backward else None,
        None if output is None else _norm(parts, gradients.get(output["node"], ()), output["output_nr"]))


def _norm(parts: Parts, received: Iterable[int | None], output_nr: int) -> float | None:
    value = dict(enumerate(received)).get(output_nr)
    if value is None:
        return None
    preview = parts.values[value]
    if found := broken(preview):
        return float(found)
    norm: float | None = hypot(*preview["data"]) if "data" in preview else preview["stats"]["norm"]
    return norm


def _table(rows: list[ModuleRow]) -> Iterator[str]:
    """The lines of a table: names as a tree, and of the other columns those of which something is known."""
    columns = [["module", *_tree(rows)],
               ["class", *(row.module + (f" ×{row.calls}" if row.calls > 1 else "") for row in rows)],
               ["output", *("" if row.output is None else shape_text(row.output) for row in rows)],
               ["parameters", *(f"{row.parameters:,}" if row.parameters else "" for row in rows)],
               ["saved", *(f"{row.saved:,} B" if row.saved else "" for row in rows)],
               ["forward", *(_time(row.forward_seconds) for row in rows)],
               ["backward", *(_time(row.backward_seconds) for row in rows)],
               ["gradient", *(_size(row.gradient) for row in rows)]]
    shown = [column for at, column in enumerate(columns) if at < 3 or any(column[1:])]
    left = sum(column[0] in ("module", "class", "output") for column in shown)
    widths = [max(map(len, column)) for column in shown]
    for cells in zip(*shown, strict=True):
        padded = [cell.ljust(width) if at < left else cell.rjust(width)
                  for at, (cell, width) in enumerate(zip(cells, widths, strict=True))]
        yield "  ".join(padded).rstrip()


def _tree(rows: list[ModuleRow]) -> Iterator[str]:
    """The paths as a tree: each within that of the module around it."""
    around: list[str] = []
    for row in rows:
        del around[row.depth:]
        yield "  " * row.depth + (row.name.removeprefix(f"{around[-1]}.") if around else row.name)
        around.append(row.name)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    unit, size = next((each for each in UNITS if seconds >= each[1]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def _size(norm: float | None) -> str:
    return "" if norm is None else f"{norm:.3g}"
