"""The checkpoint lens in words and as a picture: bytes held over the steps, and the runs of checkpointed functions.

frontend/src/trace/spans.ts computes the same in the browser: a golden test checks that both agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from minigrad.trace.format import Names
from minigrad.trace.sentences import describe
from minigrad_widgets.canvas import FONT

Data = dict[str, Any]
KINDS = ("parameters", "activations", "saved", "gradients")
STACKED = (2, 0, 1, 3)  # from the bottom up, as in frontend/src/trace/types.ts
COLORS = ("#66c4ac", "#b5bac1", "#cc79a7", "#56b4e9")
INK, SOFT, LINE, AGAIN, STOP = "#1d2127", "#5b626d", "#7a828e", "#0072b2", "#d55e00"
DPI = 100


class Span(TypedDict):
    """One run of a checkpointed function, the first or a later one (`again`); `stop` is where it stopped early."""

    call: int
    name: str
    reentrant: bool
    again: bool
    start: int
    end: int
    level: int
    stop: int | None


def spans(data: Data) -> list[Span]:
    """Return all runs, in the order in which they begin; a run inside another has a higher level."""
    found: list[Span] = []
    open_runs: list[Span] = []
    first: dict[int, Span] = {}
    for step, event in enumerate(data["events"]):
        kind, call = event["kind"], event.get("call")
        if kind in ("checkpoint_begin", "recompute_begin"):
            again = kind == "recompute_begin"
            run = first.get(call, event) if again else event
            span = Span(call=call, name=run.get("name", ""), reentrant=run.get("reentrant", False), again=again,
                        start=step, end=len(data["events"]) - 1, level=len(open_runs), stop=None)
            found.append(span)
            open_runs.append(span)
            if not again:
                first[call] = span
        elif kind in ("checkpoint_end", "recompute_end", "early_stop"):
            again = kind != "checkpoint_end"
            at = next((i for i, span in enumerate(open_runs) if (span["call"], span["again"]) == (call, again)), None)
            if at is None:
                continue
            if kind == "early_stop":
                open_runs[at]["stop"] = step
                continue
            for span in open_runs[at:]:
                span["end"] = step
            del open_runs[at:]
    return found


def series(data: Data) -> list[list[int]]:
    """Return the latest bytes, for every step."""
    last = [0, 0, 0, 0]
    return [last := event.get("bytes", last) for event in data["events"]]


def summary(data: Data) -> dict[str, int | None]:
    """Steps, the peak of bytes and its step, the bytes when the first pass begins, ops, ops that ran again."""
    held = series(data)
    sums = [sum(each) for each in held]
    peak = max(sums, default=0)
    start = next((step for step, event in enumerate(data["events"]) if event["kind"] == "backward_start"), None)
    ops = [step for step, event in enumerate(data["events"]) if event["kind"] == "forward"]
    runs = [span for span in spans(data) if span["again"]]
    return {"steps": len(sums), "peak": peak, "peakStep": sums.index(peak) if sums else 0,
            "atBackward": None if start is None else sums[start] - held[start][0], "ops": len(ops),
            "again": sum(any(run["start"] < step < run["end"] for run in runs) for step in ops)}


def describe_span(span: Span) -> str:
    """Return one run in plain words."""
    way = "reentrant" if span["reentrant"] else "non-reentrant"
    run = "runs again" if span["again"] else "first run"
    stop = "" if span["stop"] is None else f", stops early at {span['stop']}"
    return f"checkpoint {span['call']} ({span['name']}, {way}): {run}, steps {span['start']} to {span['end']}{stop}"


def amount(count: int) -> str:
    """Return bytes in readable units; the front end's `bytes` writes the same."""
    if count < 1024:
        return f"{count} B"
    return f"{count / 1024:.1f} kB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MB"


def lens_text(data: Data, step: int) -> str:
    """Return the checkpoint lens at a step."""
    held = series(data)[step]
    figures = summary(data)
    lines = [f"step {step} of {len(data['events']) - 1}: {describe(Names(data), data['events'][step])}",
             "held: " + ", ".join(f"{name} {amount(count)}" for name, count in zip(KINDS, held, strict=True)),
             f"most: {amount(figures['peak'] or 0)} at step {figures['peakStep']}",
             f"ops: {figures['ops']}, {figures['again']} of these again"]
    runs = [f"{'  ' * span['level']}{describe_span(span)}" for span in spans(data)]
    return "\n".join([*lines, *(runs or ["no function was checkpointed"])])


def comparison_text(traces: Mapping[str, Data], step: int) -> str:
    """Return several traces at one step: what each holds, and what it cost."""
    lines = []
    for name, data in traces.items():
        figures, held = summary(data), series(data)
        now = amount(sum(held[min(step, len(held) - 1)])) if held else "nothing"
        begins = "" if figures["atBackward"] is None else f", {amount(figures['atBackward'])} when backward begins"
        lines.append(f"{name}: holds {now} at step {step}, at most {amount(figures['peak'] or 0)}{begins}; "
                     f"{figures['ops']} ops, {figures['again']} of these again; {figures['steps']} steps")
    return "\n".join(lines)


def draw(traces: Mapping[str, Data], step: int, title: str) -> Figure:
    """Draw one chart per trace on one axis of steps and one of bytes, with the playhead."""
    with rc_context(FONT):
        levels = [1 + max((span["level"] for span in spans(data)), default=-1) for data in traces.values()]
        heights = [112 + 22 * count for count in levels]
        whole = sum(heights) + 64
        figure = Figure(figsize=(9.0, whole / DPI), dpi=DPI, facecolor="white")
        figure.text(0.016, 1 - 16 / whole, title, fontsize=9, color=INK, va="center", parse_math=False)
        steps = max((len(data["events"]) for data in traces.values()), default=1)
        most = max((sum(held) for data in traces.values() for held in series(data)), default=0) or 1
        top = whole - 30
        for (name, data), height, count in zip(traces.items(), heights, levels, strict=True):
            top -= height
            axes = figure.add_axes((0.016, (top + 10) / whole, 0.968, (height - 30) / whole))
            figure.text(0.016, (top + height - 10) / whole, _head(name, data, step), fontsize=8, color=SOFT,
                        va="center", parse_math=False)
            _Chart(axes, data, steps, most, count).draw(step)
        _legend(figure, 16 / whole)
        return figure


def _head(name: str, data: Data, step: int) -> str:
    held = series(data)
    now = sum(held[min(step, len(held) - 1)]) if held else 0
    return f"{name}: holds {amount(now)}, at most {amount(summary(data)['peak'] or 0)}".removeprefix(": ")


def _legend(figure: Figure, y: float) -> None:
    x = 0.016
    for name, color in [*zip(KINDS, COLORS, strict=True), ("runs again", AGAIN), ("stops early", STOP)]:
        figure.text(x, y, "■", color=color, fontsize=8, va="center")
        figure.text(x + 0.016, y, name, color=SOFT, fontsize=7.5, va="center")
        x += 0.035 + 0.0085 * len(name)


class _Chart:
    """Draws one trace: stacked bytes between 0 and 1, the lanes of its runs below 0."""

    LANE = 0.24

    def __init__(self, axes: Axes, data: Data, steps: int, most: int, levels: int) -> None:
        self.axes, self.data, self.most = axes, data, most
        axes.set_axis_off()
        axes.set_xlim(0, steps)
        axes.set_ylim(-self.LANE * levels - 0.02, 1)

    def draw(self, step: int) -> None:
        held = series(self.data)
        self.axes.add_patch(Rectangle((0, 0), self.axes.get_xlim()[1], 1, facecolor="#f3f4f6", zorder=0))
        edges = list(range(len(held) + 1))
        floor = [0.0] * len(held)
        for kind in STACKED:
            top = [low + each[kind] / self.most for low, each in zip(floor, held, strict=True)]
            self.axes.stairs(top, edges, baseline=floor, fill=True, color=COLORS[kind], zorder=1)
            floor = top
        for at, event in enumerate(self.data["events"]):
            if event["kind"] == "backward_start":
                self.axes.plot([at, at], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (3, 3)), zorder=2)
                break
        for span in spans(self.data):
            self.run(span)
        now = min(step, len(held) - 1) + 0.5
        self.axes.plot([now, now], list(self.axes.get_ylim()), color=INK, linewidth=1.6, zorder=4)

    def run(self, span: Span) -> None:
        bottom, width = -self.LANE * (span["level"] + 1), span["end"] + 1 - span["start"]
        again = {"edgecolor": AGAIN, "linestyle": "--", "hatch": "////", "facecolor": "white"}
        first = {"edgecolor": LINE, "facecolor": "#f3f4f6"}
        look: dict[str, Any] = again if span["again"] else first
        place = (span["start"], bottom), width, self.LANE * 0.82
        with rc_context({"hatch.color": "#b5d3e6", "hatch.linewidth": 1.0}):
            self.axes.add_patch(Rectangle(*place, linewidth=0.9, zorder=2, **look))
        letters = (width / self.axes.get_xlim()[1]) * 130
        text = f"↻ {span['call']}" if span["again"] else f"{span['call']} {span['name']}"
        if letters >= 3:
            shown = text if len(text) <= letters else text[: int(letters) - 1] + "…"
            self.axes.text(span["start"] + 0.3, bottom + self.LANE * 0.4, shown, fontsize=7, color=INK, va="center",
                           zorder=3, parse_math=False)
        if span["stop"] is not None:
            end = span["end"] + 1
            self.axes.plot([end, end], [bottom, bottom + self.LANE * 0.82], color=STOP, linewidth=3, zorder=3)
