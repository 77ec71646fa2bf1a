"""Several traces of one program side by side: plain, with reentrant, with non-reentrant checkpoints.

`compare({"plain": one, "reentrant": other})` as the last line of a cell shows them on one axis of steps and one of
bytes: what each holds, what runs again, where a run stops early. Once shown, it needs no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets
from matplotlib.figure import Figure

from minigrad.recorder import Trace
from minigrad_widgets import timeline
from minigrad_widgets.widget import Widget, refuse_too_many_events


class Comparison(Widget):
    """Shows several traces one above the other; `step` can be set and observed.

    Raises:
        ValueError: if there is no trace to show.
    """

    STATE = ("traces", "step")

    traces = traitlets.Dict(traitlets.Unicode(), help="the traces as JSON, by name").tag(sync=True)
    step = traitlets.Int(0, help="the step that is shown of each").tag(sync=True)

    def __init__(self, traces: Mapping[str, Trace], step: int = 0) -> None:
        if not traces:
            raise ValueError("there is nothing to compare: give at least one trace")
        for trace in traces.values():
            refuse_too_many_events(trace)
        written = {str(name): trace.to_json() for name, trace in traces.items()}
        self._data: dict[str, dict[str, Any]] = {str(name): trace.to_dict() for name, trace in traces.items()}
        super().__init__(traces=written, step=step)

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        longest = max(len(data["events"]) for data in self._data.values())
        return max(0, min(int(proposal["value"]), longest - 1))

    @property
    def figures(self) -> dict[str, dict[str, int | None]]:
        """For each trace: `steps`, `peak` bytes at `peakStep`, bytes `atBackward`, `ops`, and those `again`."""
        return {name: timeline.summary(data) for name, data in self._data.items()}

    @property
    def text(self) -> str:
        """The comparison in words, the same on every machine."""
        return f"Comparison of traces\n{timeline.comparison_text(self._data, self.step)}"

    def figure(self) -> Figure:
        """Return the charts at the current step as a picture."""
        return timeline.draw(self._data, self.step, f"step {self.step}")


def compare(traces: Mapping[str, Trace], step: int = 0) -> Comparison:
    """Show several traces on one axis of steps: `compare({"plain": one, "reentrant": other})`."""
    return Comparison(traces, step)
