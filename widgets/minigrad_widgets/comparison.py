"""Several traces of one program side by side: plain, with reentrant, with non-reentrant checkpoints.

`compare({"plain": one, "reentrant": other})` as the last line of a cell shows them on one axis of steps and one of
bytes: what each holds, what runs again, where a run stops early. It needs no kernel once it is shown.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from minigrad.recorder import Trace
from minigrad_widgets import timeline
from minigrad_widgets.canvas import to_png, to_svg
from minigrad_widgets.page import STATIC, write_page


class Comparison(anywidget.AnyWidget):
    """Shows several traces over one another; `step` can be set and observed.

    Raises:
        ValueError: if there is no trace to show.
    """

    _esm = STATIC / "inspector.js"
    _css = STATIC / "inspector.css"

    traces = traitlets.Dict(traitlets.Unicode(), help="the traces as JSON, by name").tag(sync=True)
    step = traitlets.Int(0, help="the step that is shown of each").tag(sync=True)

    def __init__(self, traces: Mapping[str, Trace], step: int = 0) -> None:
        if not traces:
            raise ValueError("there is nothing to compare: give at least one trace")
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

    def to_png(self) -> bytes:
        """The charts at the current step as a PNG picture."""
        return to_png(timeline.draw(self._data, self.step, f"step {self.step}"))

    def to_svg(self) -> str:
        """The charts at the current step as SVG text."""
        return to_svg(timeline.draw(self._data, self.step, f"step {self.step}"))

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page that shows this comparison on its own; with `path`, it is also written to that file."""
        return write_page({"traces": self.traces, "step": self.step}, path)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The widget, and what stands for it where none can run."""
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": self.text, "image/png": b64encode(self.to_png()).decode()}, metadata


def compare(traces: Mapping[str, Trace], step: int = 0) -> Comparison:
    """Several traces on one axis of steps: `compare({"plain": one, "reentrant": other})`."""
    return Comparison(traces, step)
