"""The still picture of checkpoints: the bytes held over the steps as a stacked chart, and below it a lane of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from minigrad.trace.format import memory_text
from minigrad_widgets.graph.derived import Span, spans
from minigrad_widgets.lenses.checkpoints import KINDS, Data, series, summary
from minigrad_widgets.pictures.canvas import DPI, chart
from minigrad_widgets.pictures.sketch import INK, SOFT

STACKED = (2, 0, 4, 1, 3)  # from the bottom up, as in frontend/src/trace/types.ts
COLORS = ("#66c4ac", "#b5bac1", "#cc79a7", "#56b4e9", "#eda63a")
LINE, AGAIN, STOP = "#7a828e", "#0072b2", "#d55e00"


@chart
def draw(traces: Mapping[str, Data], step: int, title: str) -> Figure:
    """Draw one chart per trace on one axis of steps and one of bytes, with the playhead."""
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
    _legend(figure, 16 / whole, max((len(held) for data in traces.values() for held in series(data)), default=4))
    return figure


def _head(name: str, data: Data, step: int) -> str:
    held = series(data)
    now = sum(held[min(step, len(held) - 1)]) if held else 0
    return f"{name}: holds {memory_text(now)}, at most {memory_text(summary(data)['peak'] or 0)}".removeprefix(": ")


def _legend(figure: Figure, y: float, kinds: int) -> None:
    x = 0.016
    for name, color in [*zip(KINDS[:kinds], COLORS), ("runs again", AGAIN), ("stops early", STOP)]:
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
            top = [low + sum(each[kind:kind + 1]) / self.most for low, each in zip(floor, held, strict=True)]
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
