"""The parameter ledger: the value, the `.grad` and the version of each parameter over time. For lessons 5 and 11.

    ParameterLedger(trace)

At the top is a row of marks for each parameter or leaf, with a place for each line of the program that changed one: a
backward pass that added to `.grad`, a step of an optimizer, `zero_grad()`. Below is what each has at the moment shown.
Stepping works in both directions, without a kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import shorten
from typing import Any

import traitlets
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from minigrad.recorder import Trace
from minigrad_widgets.moments import Change, Ledger, Moment, ledger
from minigrad_widgets.widget import Widget

INK, SOFT, LINE, HERE = "#1d2127", "#5b626d", "#d9dce1", "#e6f1f8"
MARKS = {"grad": ("●", "#0072b2"), "cleared": ("○", "#7a828e"), "value": ("▲", "#8a5a00")}
WORDS = {"grad": ".grad written", "cleared": ".grad cleared", "value": "changed in place"}
DPI, ROW, LEFT, NAMES, MARK = 100, 26, 14, 150, 22
ROWS, MOMENTS = 16, 30


class ParameterLedger(Widget):
    """Shows what happens to the leaves of a trace; `step` can be set and observed, as an inspector's.

    Args:
        trace: what was recorded.
        step: the event that is shown at first; by default the last one.
        of: the names of the tensors that are shown; by default all leaves.

    Raises:
        ValueError: if no leaf of the trace has one of these names.
    """

    STATE = ("ledger", "step")

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

    def figure(self) -> Figure:
        """Return the marks and the table at this step."""
        return _Picture(self).figure


def describe_change(change: Change) -> str:
    """Return a change in words."""
    says = {"grad": f".grad is now {change['grad']}", "cleared": ".grad is None",
            "value": f"is now {change['value']}, version {change['version']}"}
    return "; ".join(says[each] for each in change["new"])


class _Picture:
    """The still picture of a ledger."""

    def __init__(self, view: ParameterLedger) -> None:
        self.found, self.rows, self.done = view._found, view.now[:ROWS], len(view.moments)
        self.first = max(0, self.done - MOMENTS)
        self.shown = self.found["moments"][self.first: self.first + MOMENTS]
        table = LEFT + NAMES + 480
        width = max(table, LEFT + NAMES + MARK * len(self.shown) + 60)
        height = 44 + ROW * (2 * len(self.rows) + 3)
        self.figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(height, 0)
        moment = self.found["moments"][self.done - 1] if self.done else None
        head = "before the first change" if moment is None else f"{moment['place']}:  {moment['source']}"
        self.write(LEFT, 20, shorten(head, int(width / 7.4), placeholder=" …"), INK, 9)
        self.marks(44)
        self.table(44 + ROW * (len(self.rows) + 1.6), width)

    def write(self, x: float, y: float, text: str, color: str, size: float, weight: str = "normal",
              **more: Any) -> None:
        self.axes.text(x, y, text, fontsize=size, color=color, weight=weight, va="center", parse_math=False, **more)

    def marks(self, top: float) -> None:
        here = self.done - 1 - self.first
        if 0 <= here < len(self.shown):
            self.axes.add_patch(Rectangle((LEFT + NAMES + MARK * here, top - 2), MARK, ROW * len(self.rows) + 4,
                                          facecolor=HERE, edgecolor="#0072b2", linewidth=1))
        for at, row in enumerate(self.rows):
            self.write(LEFT, top + ROW * (at + 0.5), row["name"], INK, 8.5, "bold")
        for at, moment in enumerate(self.shown):
            for change in moment["changes"]:
                if change["row"] < len(self.rows):
                    text = "".join(MARKS[new][0] for new in change["new"])
                    self.write(LEFT + NAMES + MARK * (at + 0.5), top + ROW * (change["row"] + 0.5), text,
                               MARKS[change["new"][-1]][1], 8, ha="center", alpha=1 if at <= here else 0.35)
        x = float(LEFT)
        for kind, (mark, color) in MARKS.items():
            y = top + ROW * (len(self.rows) + 0.6)
            self.write(x, y, mark, color, 8)
            self.write(x + 14, y, WORDS[kind], SOFT, 7.5)
            x += 34 + 6.6 * len(WORDS[kind])

    def table(self, top: float, width: float) -> None:
        edges = (LEFT, LEFT + NAMES, LEFT + NAMES + 190, LEFT + NAMES + 380)
        for x, head in zip(edges, ("tensor", "value", ".grad", "version"), strict=True):
            self.write(x, top, head, SOFT, 8, "bold")
        for at, row in enumerate(self.rows):
            y = top + ROW * (at + 1)
            self.axes.plot([0, width], [y - ROW / 2] * 2, color=LINE, linewidth=0.8)
            fresh = {"value": "value" in row["new"], "version": "value" in row["new"],
                     "grad": bool({"grad", "cleared"} & set(row["new"]))}
            self.write(edges[0], y, row["name"], INK, 8.5, "bold")
            for x, key in zip(edges[1:], ("value", "grad", "version"), strict=True):
                self.write(x, y, str(row[key])[:28], "#005a8e" if fresh[key] else INK, 8.5,
                           "bold" if fresh[key] else "normal")
