"""The still picture of rank lanes: one lane per rank, on one time axis in milliseconds."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from minigrad_widgets.lenses.rank_lanes import RankLanes
from minigrad_widgets.pictures.canvas import chart

BACKWARD, WAIT, COLORS = "#9aa3af", "#d55e00", ("#0072b2", "#00714f", "#a34a7f", "#8a5a00")
HEIGHT, WIDTH = 0.3, 9.0  # of a lane's upper bar, and of the figure in inches
PALE = 0.3
MEANINGS = (("backward", BACKWARD, 1), ("waits", WAIT, 1), ("called, not yet by all", COLORS[0], PALE),
            ("runs", COLORS[0], 1))


@chart
def draw(view: RankLanes) -> Figure:
    """Draw the lanes and the operations."""
    data = view.lanes
    lanes, rows = data["lanes"], data["rows"]
    figure = Figure(figsize=(WIDTH, 1.0 + (0.4 + 0.17 * rows) * len(lanes)), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for at, lane in enumerate(lanes):
        axes.broken_barh([(begin, end - begin) for begin, end in lane["passes"]], (at - HEIGHT, HEIGHT),
                         facecolor=BACKWARD)
    thick = 0.55 / rows
    for number, each in enumerate(data["operations"]):
        color = COLORS[(number if each["bucket"] is None else each["bucket"]) % len(COLORS)]
        for seen in each["seen"]:
            at, (begin, end) = seen["lane"], seen["wait"]
            axes.broken_barh([(begin, max(0.0, end - begin))], (at - HEIGHT, HEIGHT), facecolor=WAIT)
            y = at + 0.04 + thick * each["row"], 0.9 * thick
            axes.broken_barh([(seen["called"], max(0.0, seen["begun"] - seen["called"]))], y, facecolor=color,
                             alpha=PALE)
            axes.broken_barh([(seen["begun"], max(0.0, seen["ended"] - seen["begun"]))], y, facecolor=color)
            if each["bucket"] is not None:
                axes.text(seen["called"], y[0] + y[1] / 2, f" {each['bucket']}", color="#1d2127", fontsize=7,
                          va="center_baseline")
    axes.set_yticks(range(len(lanes)), [f"rank {lane['rank']}" for lane in lanes])
    axes.set_ylim(len(lanes) - 0.3, -0.45)
    axes.set_xlabel("ms since the first rank began; a number is that of a bucket")
    handles = [Patch(facecolor=color, alpha=alpha, label=label) for label, color, alpha in MEANINGS]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
