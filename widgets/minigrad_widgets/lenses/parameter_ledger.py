"""The parameter ledger: the value, the `.grad` and the version of each parameter over time. For lessons 5 and 11.

    ParameterLedger(trace)

At the top is a row of marks for each parameter or leaf, with a place for each line of the program that changed one: a
backward pass that added to `.grad`, a step of an optimizer, `zero_grad()`. Below is what each has at the moment shown.
Stepping works in both directions, without a kernel.

A moment is one line of the program that changed some of them: a backward pass added to their `.grad`, an optimizer's
step or another in-place op changed their values and incremented their version, or `zero_grad()` removed their `.grad`.
Before the first moment everything is as the recorder found it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

import traitlets

from minigrad.recorder import Trace
from minigrad.trace.format import Data, Maybe, Names, brief, shape_text
from minigrad_widgets.widget.base import Widget

UNKNOWN = "–"
LISTED = 4  # how many values are written out


class Row(TypedDict):
    """One tensor: its name, its shape, and what it had at the beginning."""

    tensor: int
    name: str
    shape: str
    parameter: bool
    value: str
    grad: str
    version: int


class Change(TypedDict):
    """What a moment did to a row: what the row has afterwards, and what is new (`value`, `grad`, `cleared`)."""

    row: int
    value: str
    grad: str
    version: int
    new: list[str]


class Moment(TypedDict):
    """One line of the program that changed something: its steps, its place and text, the changes."""

    start: int
    end: int
    place: str
    source: str
    changes: list[Change]


class Ledger(TypedDict):
    """Rows and moments, in the order of the trace."""

    rows: list[Row]
    moments: list[Moment]


class ParameterLedger(Widget):
    """Shows what happens to the leaves of a trace; `step` can be set and observed, as an inspector's.

    Args:
        trace: what was recorded.
        step: the event that is shown at first; by default the last one.
        of: the names of the tensors that are shown; by default all leaves.

    Raises ValueError if no leaf of the trace has one of these names.
    """

    STATE = ("ledger", "step")
    PICTURE = "parameter_ledger"

    ledger = traitlets.Dict(help="rows and moments").tag(sync=True)
    step = traitlets.Int(0, help="the event that is shown").tag(sync=True)

    def __init__(self, trace: Trace, step: int | None = None, of: Iterable[str] | None = None) -> None:
        self._found: Ledger = ledger(trace.to_dict(), of)
        self._last = max(0, len(trace.events) - 1)
        super().__init__(ledger=dict(self._found), step=self._last if step is None else step)

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        return max(0, min(int(proposal["value"]), self._last))

    @property
    def moments(self) -> list[Moment]:
        """The moments that are over at this step."""
        return [moment for moment in self._found["moments"] if moment["end"] <= self.step]

    @property
    def now(self) -> list[dict[str, Any]]:
        """What each row has at this step: `name`, `value`, `grad`, `version`, and which of these are `new`."""
        rows: list[dict[str, Any]] = [{**row, "new": []} for row in self._found["rows"]]
        for moment in self.moments:
            for row in rows:
                row["new"] = []
            for change in moment["changes"]:
                rows[change["row"]].update({key: value for key, value in change.items() if key != "row"})
        return rows

    @property
    def text(self) -> str:
        """All moments up to this step, with what each changed."""
        rows = self._found["rows"]
        if not rows:
            return "ParameterLedger: no leaf was recorded"
        lines = [f"ParameterLedger, {len(rows)} tensors, {len(self.moments)} of {len(self._found['moments'])} moments"]
        lines += [f"  {row['name']} {row['shape']} = {row['value']}, version {row['version']}" for row in rows]
        for at, moment in enumerate(self.moments, 1):
            lines.append(f"{at}  {moment['place']}: {moment['source']}".rstrip(": "))
            lines += [f"  {rows[change['row']]['name']}: {describe_change(change)}" for change in moment["changes"]]
        return "\n".join(lines)


def describe_change(change: Change) -> str:
    """Return a change in words."""
    says = {"grad": f".grad is now {change['grad']}", "cleared": ".grad is None",
            "value": f"is now {change['value']}, version {change['version']}"}
    return "; ".join(says[each] for each in change["new"])


def ledger(data: Data, of: Iterable[str] | None = None) -> Ledger:
    """Return the ledger of a trace; `of`: only the tensors with these names. Raises ValueError if no leaf of the trace
    has one of these names."""
    return _Reading(data, None if of is None else list(of)).replay()


def short(value: Data | None) -> str:
    """Return a value in a few characters: a few numbers in their brackets, else shape and norm."""
    if value is None or len(value.get("data", ())) not in range(1, LISTED + 1):
        return brief(value)
    texts = [brief({"shape": [], "dtype": value["dtype"], "data": [each]}) for each in value["data"]]
    for size in reversed(value["shape"]):
        texts = [f"[{', '.join(texts[at: at + size])}]" for at in range(0, len(texts), size)]
    return texts[0]


class _Reading:
    """One trace, read once from its beginning to its end."""

    def __init__(self, data: Data, names: list[str] | None) -> None:
        self.data, self.words = data, Names(data)
        self.rows: list[Row] = []
        self.at: dict[int, int] = {}  # by tensor: its row
        for tensor in self.leaves(names):
            record = data["tensors"][tensor]
            self.at[tensor] = len(self.rows)
            self.rows.append({"tensor": tensor, "name": self.words.tensor(tensor), "shape": shape_text(record["shape"]),
                              "parameter": record["parameter"], "value": self.short(record["value"]),
                              "grad": UNKNOWN, "version": record.get("version", 0)})
        self.now: list[Change] = [{"row": at, "value": row["value"], "grad": row["grad"], "version": row["version"],
                                   "new": []} for at, row in enumerate(self.rows)]
        self.moments: list[Moment] = []
        self.line: tuple[int, int] | None = None
        self.open = False  # whether what comes next belongs to the last moment

    def leaves(self, names: list[str] | None) -> list[int]:
        """Return the leaves that get gradients or are parameters, in the order in which they were seen."""
        events = [event for event in self.data["events"] if event["kind"] in ("accumulate", "grad")]
        wanted = {event["tensor"] for event in events}
        found = [at for at, record in enumerate(self.data["tensors"])
                 if at in wanted or record["parameter"] or record["is_leaf"] and record["requires_grad"]]
        if names is None:
            return found
        known = {self.words.tensor(tensor): tensor for tensor in found}
        missing = [name for name in names if name not in known]
        if missing:
            raise ValueError(f"no leaf of this trace is named {missing[0]!r}; there are {', '.join(known) or 'none'}")
        return [known[name] for name in names]

    def short(self, value: Maybe) -> str:
        return short(self.words.value(value))

    def replay(self) -> Ledger:
        for step, event in enumerate(self.data["events"]):
            line = None if event.get("file") is None else (event["file"], event["line"])
            if line is not None and line != self.line or event["kind"] == "backward_start":
                self.line, self.open = line, False
            row = self.at.get(event.get("tensor", -1))
            if row is not None and event["kind"] in ("accumulate", "grad", "version"):
                self.change(step, event, row)
        return {"rows": self.rows, "moments": self.moments}

    def change(self, step: int, event: Data, row: int) -> None:
        if not self.open:
            self.open = True
            self.moments.append(self.moment(step))
        moment, now = self.moments[-1], self.now[row]
        moment["end"] = step
        if event["kind"] == "version":
            new, now["version"] = "value", event["version"]
            if event.get("value") is not None:
                now["value"] = self.short(event["value"])
        else:
            new, now["grad"] = "cleared" if event["grad"] is None else "grad", self.short(event["grad"])
        before = [each for each in moment["changes"] if each["row"] == row]
        kinds = [*(kind for each in before for kind in each["new"] if kind != new), new]
        moment["changes"] = [each for each in moment["changes"] if each["row"] != row]
        moment["changes"].append({**now, "new": kinds})

    def moment(self, step: int) -> Moment:
        """Make a moment that begins at a step, on the last line that was met."""
        if self.line is None:
            return {"start": step, "end": step, "place": "", "source": "", "changes": []}
        file, line = self.data["files"][self.line[0]], self.line[1]
        source = file["lines"][line - 1].strip() if 0 < line <= len(file["lines"]) else ""
        return {"start": step, "end": step, "place": f"{file['name']}, line {line}", "source": source, "changes": []}
