"""The still picture of a state card: the table, a flag as a pill."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from minigrad_widgets.lenses.state_card import COLUMNS, FLAGS, UNTRACKED, State
from minigrad_widgets.pictures.canvas import INK, SOFT, Sheet

LEFT, TOP, ROW = 16, 30, 34


def draw(states: Sequence[State]) -> Figure:
    """Draw a row for each tensor."""
    longest = {name: max([len(name), *(len(state.cells()[name]) for state in states)]) for name in COLUMNS}
    first = 24 + max([60, *(9 * (len(state.name) + len(state.kind) + 2) for state in states)])
    wide = [first, *(max(96, 22 + 8 * longest[name]) for name in COLUMNS)]
    width, height = sum(wide) + LEFT, TOP + ROW * len(states) + 8
    sheet = Sheet(width, height)
    edges = [LEFT + sum(wide[:at]) for at in range(len(wide))]
    for x, name in zip(edges, ("tensor", *COLUMNS), strict=True):
        sheet.write(x, TOP / 2, name, SOFT, 8, "bold")
    for at, state in enumerate(states):
        sheet.rule(0, width, TOP + ROW * at)
        _draw_row(sheet, state, edges, TOP + ROW * (at + 0.5))
    return sheet.figure


def _draw_row(sheet: Sheet, state: State, edges: Sequence[int], y: float) -> None:
    name = sheet.write(edges[0], y, state.name, INK, 9, "bold")
    sheet.axes.annotate(f"  {state.kind}", (1, 0), xycoords=name, fontsize=8, color=SOFT, va="bottom", parse_math=False)
    for x, (column, text) in zip(edges[1:], state.cells().items(), strict=True):
        if column in FLAGS:
            on = text == "True"
            face = FLAGS[column] if on else "white"
            sheet.axes.add_patch(FancyBboxPatch((x, y - 9), 52, 18, boxstyle="round,pad=0,rounding_size=9",
                                                facecolor=face, edgecolor=face if on else "#7a828e",
                                                linestyle="-" if on else (0, (3, 2))))
            sheet.write(x + 26, y, text, "white" if on else SOFT, 8, "bold", ha="center")
        else:
            quiet = text in ("None", "0", UNTRACKED)
            sheet.write(x, y, text, SOFT if quiet else INK, 8.5, "normal" if quiet else "bold")
