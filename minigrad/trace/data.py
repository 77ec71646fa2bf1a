"""Defines the trace: plain data, as docs/trace.md describes it."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from minigrad._base.files import read_json, replace_file
from minigrad.trace.frame import Fold, Frame
from minigrad.trace.holders import Held, Holders, held_text
from minigrad.trace.packing import unpacked, written
from minigrad.trace.query import EVERYTHING, Index, ModuleCall, Op
from minigrad.trace.rows import Row, Rows
from minigrad.trace.schema import FORMAT, FORWARD, VERSION, Parts
from minigrad.trace.simulation import Simulation, simulate
from minigrad.trace.summary import Summary, summary_of
from minigrad.trace.text import events_text, frame_text, note_text
from minigrad.trace.traversal import Traversal, traverse
from minigrad.trace.validation import LATER, check

__all__ = ["Trace"]

LENSES = ("all", "forward", "backward", "checkpoint")
Record = dict[str, Any]  # minigrad/trace/schema.py has its fields
PROCESS: dict[str, int] = {}  # this process's `rank` and the number of `ranks`, while it is one of several


class Source(Protocol):
    """Fills the lists of a trace with what was recorded: an encoder."""

    parts: Parts

    def encode(self) -> None:
        """Add what was recorded since the last call."""


def part(name: str, doc: str) -> Any:
    """Return a property of a trace: one of its lists, after everything recorded so far has been encoded."""
    return property(lambda trace: getattr(trace._encoded(), name), doc=doc)


class Trace:
    """What happened while a block was recorded: source lines, graph and events, as plain data.

    `events[step]` is what happened at a step, `frame(step)` the state of the world after it. The schema is in
    docs/trace.md; every id is an index into its list.
    """

    files: list[Record] = part("files", "The source texts: `name` and `lines`.")
    values: list[Record] = part("values", "The previews of arrays.")
    tensors: list[Record] = part("tensors", "The tensors, as they were when the recorder first saw them.")
    nodes: list[Record] = part("nodes", "The nodes of the graph.")
    scopes: list[Record] = part("scopes", "The calls of modules, each inside its `parent`.")
    storages: list[int] = part("storages", "The bytes of each storage.")
    formulas: dict[str, str] = part("formulas", "The source text of the derivative of each kind of node.")
    expressions: list[Any] = part("expressions", "The expressions of gradients; `derivatives` of a node names them.")
    events: list[Record] = part("events", "What happened; an event's index is its step.")
    bindings: list[Record] = part("bindings", "Which tensors the program's names held, by its lines.")

    def __init__(self, library: str = "", encoder: Source | None = None) -> None:
        self.library = library
        self.layout: dict[str, Any] | None = None
        self.process: dict[str, Any] | None = None if encoder is None or not PROCESS else {**PROCESS, "began": None}
        self.notes: list[Record] = []  # what the recorder wants to say: `text`, `where`, `count`
        self._encoder = encoder  # has yet to encode what was recorded
        self._parts = Parts() if encoder is None else encoder.parts
        self._fold: Fold | None = None
        self._holders: Holders | None = None
        self._index: Index | None = None
        self._rows: Rows | None = None

    def _encoded(self) -> Parts:
        """Return the lists, after everything recorded so far has been encoded."""
        if self._encoder is not None:
            self._encoder.encode()
        return self._parts

    def __repr__(self) -> str:
        return f"Trace({len(self.events)} events, {len(self.nodes)} nodes, {len(self.tensors)} tensors)"

    def __len__(self) -> int:
        return len(self.events)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # two equal traces may both grow while they are recorded

    def _events_up_to(self, step: int) -> list[Record]:
        if not 0 <= step < len(self.events):
            raise IndexError(f"this trace has no step {step}: its steps are 0 to {len(self) - 1}")
        return self.events

    def frame(self, step: int) -> Frame:
        """Return the state of the world after the event `step`. Cheap when called for consecutive steps. Raises
        IndexError if there is no such step."""
        events = self._events_up_to(step)
        if self._fold is None or self._fold.step > step:
            self._fold = Fold(self.nodes, self.tensors)
        while self._fold.step < step:
            self._fold.apply(events[self._fold.step + 1])
        return self._fold.frame(events[step])

    def held(self, step: int) -> list[Held]:
        """Return who holds what after the event `step`: every storage once. The frame's `bytes` are their sums by kind.
        Raises IndexError if there is no such step."""
        events = self._events_up_to(step)
        if self._holders is None:
            self._holders = Holders(events, self.storages)
        self._holders.go_to(step)
        return self._holders.held()

    def held_text(self, step: int) -> str:
        """Return the same as text: by kind, the largest first, with what made each and who holds it."""
        return printable(held_text(self._encoded(), step, self.held(step)))

    def steps(self, lens: str = "all") -> list[int]:
        """Return the steps at which a lens stops.

        "all" and "checkpoint": every step. "forward": what the user's code ran, outside passes and recomputations.
        "backward": from the first pass or call by hand on; in a trace without one, every step. Raises ValueError if
        there is no such lens.
        """
        if lens not in LENSES:
            raise ValueError(f"there is no lens {lens!r} with steps; the lenses are {', '.join(map(repr, LENSES))}")
        if lens == "forward":
            return [i for i, e in enumerate(self.events) if e["kind"] in FORWARD and not e.get("depth")]
        first = 0
        if lens == "backward":
            first = next((i for i, e in enumerate(self.events) if e["kind"] in ("backward_start", "call")), 0)
        return list(range(first, len(self.events)))

    def traverse(self, calls: Sequence[int]) -> Traversal:
        """Return what is known after calling these nodes by hand, in this order, in the first recorded pass. Raises
        ValueError if no backward pass was recorded, or there is no such node."""
        return traverse(self._encoded(), self.library, calls)

    def simulate(self, ranks: int, alpha: float, beta: float) -> Simulation:
        """Estimate how long this step would take on `ranks` ranks, by the alpha-beta model of docs/scale.md.

        `alpha`: seconds for each message, `beta`: seconds for each of its bytes. Raises ValueError if the recording has
        no times, or no operation of several ranks.
        """
        return simulate(self.events, ranks, alpha, beta)

    def text(self, step: int | None = None) -> str:
        """Return all events in plain words, one per line, or one step's frame; the same for every run of a program."""
        parts = self._encoded()
        if step is not None:
            return printable(frame_text(parts, self.frame(step)))
        return printable("\n".join([events_text(parts), *map(note_text, self.notes)]))

    def __getitem__(self, name: str) -> ModuleCall | Op:
        """Return the call of a module by its qualified name, or else an op by that of its module and its own.

        trace["h.3.attn"]           # as in `named_modules()`, with or without the variable that holds the model
        trace["fc:2"].output.grad   # of the second call; a number is needed only where there are several
        trace["h.3.attn.softmax"]   # an op

        The end of a name is enough if no other has it, as in GPT-2, where the first is `transformer.h.3.attn`. A
        pattern is allowed if one call fits it; `modules` explains patterns. Raises KeyError, with names that are near
        to it, if there is none, and with the numbers of the calls if there are several.
        """
        if not isinstance(name, str):
            raise TypeError(f"a trace is asked by the name of a module or an op, not by {type(name).__name__}: its "
                            "events are in trace.events")
        return self._indexed().one(name)

    def modules(self, pattern: str = EVERYTHING) -> list[ModuleCall]:
        """Return the calls of modules whose name fits, in the order in which they began.

        `*` is anything but a dot, `**` anything, `?` one character: `h.*.attn`, `**.fc`; `fc:2` is a second call.
        Recomputations are left out.
        """
        index = self._indexed()
        return index.find(pattern, index.calls)

    def ops(self, pattern: str = EVERYTHING) -> list[Op]:
        """Return the ops whose name fits, as in `modules`: `h.*.attn.softmax`, `**.softmax`."""
        index = self._indexed()
        return index.find(pattern, index.ops)

    def failed(self) -> ModuleCall | None:
        """Return the innermost call of a module that raised the error in which the recording ended, None without one;
        its `error` says what was raised, and which shapes met there."""
        events = self._encoded().events  # an index of a large trace takes long, and every inspector asks
        return self._indexed().failed() if events and events[-1]["kind"] == "error" else None

    def _indexed(self) -> Index:
        parts = self._encoded()
        if self._index is None or self._index.size != len(parts.events):
            self._index = Index(parts)
        return self._index

    def summary(self) -> Summary:
        """Return what each module did, as a table: output, parameters, saved bytes, times and the gradient that came.

        Printed, it is what torchinfo prints of a model, and the backward pass beside it. `rows` are the same as data,
        `total` what all did together.
        """
        return summary_of(self._rowed())

    def _rowed(self) -> Rows:
        index = self._indexed()
        if self._rows is None or self._rows.index is not index:
            self._rows = Rows(index)
        return self._rows

    def rows(self, groups: Iterable[tuple[Collection[int], int | None]]) -> list[Row]:
        """Return what groups of nodes did, in the columns of `summary`: `trace.rows([([3, 4], None)])`.

        The second of each pair is the call of a module that the nodes are, an index into `scopes`: its output is known.
        Of other groups it is that of the last op. A parameter counts in the module that its name says, if that used it.
        """
        rows = self._rowed()
        return [rows.of_nodes(nodes, call) for nodes, call in groups]

    def node_rows(self) -> list[tuple[int, int, float | None]]:
        """Return the saved bytes, the FLOPs and the gradient of each node, which `rows` gives for `([node], None)`."""
        rows = self._rowed()
        return [rows.brief(node) for node in range(len(self.nodes))]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole trace as a dict that JSON can hold. Its lists are copies, their records the trace's own."""
        parts = self._encoded()
        rare: Record = {} if self.process is None else {"process": dict(self.process)}
        if self.notes:
            rare["notes"] = [dict(note) for note in self.notes]
        return {"format": FORMAT, "version": VERSION, "library": self.library, **rare, "files": parts.files[:],
                "values": parts.values[:], "tensors": parts.tensors[:], "nodes": parts.nodes[:],
                "scopes": parts.scopes[:], "storages": parts.storages[:], "formulas": dict(parts.formulas),
                "expressions": parts.expressions[:],
                "events": parts.events[:], "bindings": parts.bindings[:], "layout": self.layout}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trace:
        """Return the trace of a dict from `to_dict`. Raises ValueError if it is not a trace or has another version, or
        a part is missing or of a wrong type."""
        check(data)
        trace = cls(str(data.get("library", "")))
        parts = trace._parts
        parts.files, parts.values, parts.tensors = data["files"], data["values"], data["tensors"]
        parts.nodes, parts.formulas, parts.events = data["nodes"], data["formulas"], data["events"]
        for name in LATER:
            setattr(parts, name, data.get(name, []))
        trace.layout, trace.process, trace.notes = data["layout"], data.get("process"), data.get("notes", [])
        return trace

    def to_json(self) -> str:
        """Return the whole trace as JSON, packed (docs/trace.md, *As a file*)."""
        return written(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Return the trace that `to_json` wrote. Raises ValueError if the text is not whole JSON, or `from_dict`
        refuses what it holds."""
        try:
            data = read_json(text, parse_constant=refuse_constant)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"this is not a whole trace: its JSON cannot be read ({error})") from error
        return cls.from_dict(unpacked(data) if isinstance(data, dict) else data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a file, completely or not at all."""
        replace_file(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a trace from a file. Raises ValueError with the file's name, if it is not a whole trace of this version,
        and OSError if the file cannot be read."""
        with open(path, "rb") as file:
            raw = file.read()
        try:
            return cls.from_json(raw.decode("utf-8"))
        except ValueError as error:  # UnicodeDecodeError is one
            raise ValueError(f"{os.fspath(path)}: {error}") from error


def printable(text: str) -> str:
    """Return text that can be printed: a lone surrogate, which a name or a line can hold, becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def refuse_constant(name: str) -> Any:
    """Raise an error for a number that JSON does not have."""
    raise ValueError(f"this is not a trace: it holds {name}, which JSON does not have")
