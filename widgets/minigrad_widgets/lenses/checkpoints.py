"""Checkpoints: bytes held over the steps of a trace, and the runs of checkpointed functions. For lesson 10.

`summary` and the texts are those of an inspector's checkpoint lens; the browser is handed the figures.

`compare({"plain": one, "reentrant": other})` as the last line of a cell shows several traces of one program on one axis
of steps and one of bytes: what each holds, what runs again, where a run stops early. Once shown, it needs no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from minigrad.recorder import Trace, written
from minigrad.trace.format import Names, memory_text
from minigrad.trace.sentences import describe
from minigrad_widgets.graph.derived import derived, spans
from minigrad_widgets.pictures import load
from minigrad_widgets.widget.base import Widget, refuse_too_many_events

Data = dict[str, Any]
KINDS = ("parameters", "activations", "saved", "gradients", "optimizer")


def series(data: Data) -> list[list[int]]:
    """Return the latest bytes, for every step."""
    last = [0, 0, 0, 0]
    return [last := event.get("bytes", last) for event in data["events"]]


def summary(data: Data) -> dict[str, int | None]:
    """Steps, the peak of bytes and its step, the bytes when the first pass begins, ops, ops that ran again.

    The op at which an early stop comes is stopped before it is recorded; it is counted, too.
    """
    held = series(data)
    sums = [sum(each) for each in held]
    peak = max(sums, default=0)
    start = next((step for step, event in enumerate(data["events"]) if event["kind"] == "backward_start"), None)
    ops = [step for step, event in enumerate(data["events"]) if event["kind"] == "forward"]
    stopped = sum(event["kind"] == "early_stop" for event in data["events"])
    runs = [span for span in spans(data) if span["again"]]
    return {"steps": len(sums), "peak": peak, "peakStep": sums.index(peak) if sums else 0,
            "atBackward": None if start is None else sums[start] - held[start][0], "ops": len(ops) + stopped,
            "again": stopped + sum(any(run["start"] < step < run["end"] for run in runs) for step in ops)}


def lens_text(data: Data, step: int) -> str:
    """Return the checkpoint lens at a step."""
    held = series(data)[step]
    figures = summary(data)
    lines = [f"step {step} of {len(data['events']) - 1}: {describe(Names(data), data['events'][step])}",
             "held: " + ", ".join(f"{name} {memory_text(count)}" for name, count in zip(KINDS, held)),
             f"most: {memory_text(figures['peak'] or 0)} at step {figures['peakStep']}",
             f"ops: {figures['ops']}, {figures['again']} of these again"]
    runs = [f"{'  ' * span['level']}{span['told']}" for span in spans(data)]
    return "\n".join([*lines, *(runs or ["no function was checkpointed"])])


def comparison_text(traces: Mapping[str, Data], step: int) -> str:
    """Return several traces at one step: what each holds, and what it cost."""
    lines = []
    for name, data in traces.items():
        figures, held = summary(data), series(data)
        now = memory_text(sum(held[min(step, len(held) - 1)])) if held else "nothing"
        begins = "" if figures["atBackward"] is None else f", {memory_text(figures['atBackward'])} when backward begins"
        lines.append(f"{name}: holds {now} at step {step}, at most {memory_text(figures['peak'] or 0)}{begins}; "
                     f"{figures['ops']} ops, {figures['again']} of these again; {figures['steps']} steps")
    return "\n".join(lines)


class Comparison(Widget):
    """Shows several traces one above the other; `step` can be set and observed. Raises ValueError if there is no trace
    to show."""

    STATE = ("traces", "step")

    traces = traitlets.Dict(traitlets.Unicode(), help="the traces as JSON, by name").tag(sync=True)
    step = traitlets.Int(0, help="the step that is shown of each").tag(sync=True)

    def __init__(self, traces: Mapping[str, Trace], step: int = 0) -> None:
        if not traces:
            raise ValueError("there is nothing to compare: give at least one trace")
        for trace in traces.values():
            refuse_too_many_events(trace)
        self._data: dict[str, dict[str, Any]] = {str(name): trace.to_dict() for name, trace in traces.items()}
        super().__init__(step=step, traces={
            name: written({**data, **derived(data), "figures": summary(data)}) for name, data in self._data.items()})

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        longest = max(len(data["events"]) for data in self._data.values())
        return max(0, min(int(proposal["value"]), longest - 1))

    @property
    def figures(self) -> dict[str, dict[str, int | None]]:
        """For each trace: `steps`, `peak` bytes at `peakStep`, bytes `atBackward`, `ops`, and those `again`."""
        return {name: summary(data) for name, data in self._data.items()}

    @property
    def text(self) -> str:
        """The comparison in words, the same on every machine."""
        return f"Comparison of traces\n{comparison_text(self._data, self.step)}"

    def picture(self) -> Any:
        """Return the charts at the current step."""
        return load("checkpoints").draw(self._data, self.step, f"step {self.step}")


def compare(traces: Mapping[str, Trace], step: int = 0) -> Comparison:
    """Show several traces on one axis of steps: `compare({"plain": one, "reentrant": other})`."""
    return Comparison(traces, step)
