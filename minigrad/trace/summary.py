"""Sums a trace up by modules: a table like torchinfo's, with what the backward pass adds to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from minigrad.trace.format import listed, memory_text, shape_text
from minigrad.trace.query import around
from minigrad.trace.rows import Rows
from minigrad.trace.schema import Parts

__all__ = ["ModuleRow", "Summary", "summary_of"]

OUTSIDE, TOTAL = "(outside modules)", "total"
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
    """The shape of the first tensor that its last call returned; None if it returned none, or raised. Of the row for
    the ops outside modules, and in older traces, that of the last op that left a node, or, if none did, of the last."""
    outputs: tuple[tuple[int, ...], ...]
    """The shapes of all tensors that it returned, such as the three of an LSTM."""
    parameters: int
    """This and what follows: as in `minigrad.trace.rows.Row`."""
    saved: int
    flops: int
    forward_seconds: float | None
    backward_seconds: float | None
    gradient: float | None


class Summary:
    """The modules of a trace as rows, the outermost first; printed, they are a table.

    `pandas.DataFrame(summary.rows)` and `polars.DataFrame(summary.rows)` give the same as a data frame.

    Attributes:
        rows: a row for each module, and one for the ops outside all modules.
        total: what all of them did together; a parameter or a storage that several use counts once.
    """

    def __init__(self, rows: list[ModuleRow], total: ModuleRow) -> None:
        self.rows, self.total = rows, total

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
        return "\n".join(_table([*self.rows, self.total] if len(self.rows) > 1 else self.rows))


class _Calls:
    """The calls of one module, while they are summed up."""

    def __init__(self, module: str, depth: int, parent: str | None) -> None:
        self.module, self.depth, self.parent = module, depth, parent
        self.called: set[int] = set()
        self.steps: list[int] = []  # of its ops
        self.nodes: set[int] = set()
        self.outputs: list[int] = []

    def row(self, name: str, rows: Rows) -> ModuleRow:
        last = self.steps[-1] if self.steps else -1
        row = rows.row(self.nodes, self.steps, self.outputs, last)
        return ModuleRow(name, self.module, self.depth, len(self.called), *row)


def summary_of(rows: Rows) -> Summary:
    """Return what each module of a trace did."""
    parts, paths = rows.parts, rows.index.paths
    found: dict[str, _Calls] = {}
    for scope, path in enumerate(paths):
        parent = parts.scopes[scope]["parent"]
        inside = None if parent is None else paths[parent]
        found.setdefault(path, _Calls(parts.scopes[scope]["module"], _depth(parts, scope), inside))
    outside, total = _Calls("", 0, None), _Calls("", 0, None)
    for step, event in enumerate(parts.events):
        if event["kind"] != "forward" or event.get("depth"):
            continue
        node, inside_of = event["node"], rows.scopes_of(step)
        for calls in [*([found[paths[each]] for each in inside_of] or [outside]), total]:
            if event["outputs"] and (node is not None or not calls.nodes):  # not a statistic's update after the result
                calls.outputs = event["outputs"][:1]
            calls.steps.append(step)
            if node is not None:
                calls.nodes.add(node)
        for each in inside_of:
            found[paths[each]].called.add(each)
    for call in rows.index.calls:
        record = parts.scopes[call.scope]
        if "inputs" in record:  # an older trace does not know what its modules returned
            found[call.name].outputs = record.get("outputs", [])
    found = dict(_nested(found))
    if outside.outputs:
        found[OUTSIDE] = outside
    return Summary([calls.row(name, rows) for name, calls in found.items()],
                   total.row(TOTAL, rows)._replace(output=None, outputs=(), gradient=None))


def _depth(parts: Parts, scope: int) -> int:
    return sum(1 for _ in around(parts, scope)) - 1


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


def _table(rows: list[ModuleRow]) -> Iterator[str]:
    """The lines of a table: names as a tree, and of the other columns those of which something is known."""
    columns = [["module", *_tree(rows)],
               ["class", *(row.module + (f" ×{row.calls}" if row.calls > 1 else "") for row in rows)],
               ["output", *(listed([*map(shape_text, row.outputs)], 3, "") for row in rows)],
               ["parameters", *(f"{row.parameters:,}" if row.parameters else "" for row in rows)],
               ["saved", *(memory_text(row.saved) if row.saved else "" for row in rows)],
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
