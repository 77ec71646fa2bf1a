"""The still picture of a state card: the table, a flag as a pill."""

from __future__ import annotations

from collections.abc import Sequence

from minigrad_widgets.lenses.state_card import COLUMNS, FLAGS, UNTRACKED, State
from minigrad_widgets.pictures.sketch import INK, SOFT, Look, Sketch

LEFT, TOP, ROW = 16, 30, 34


def draw(states: Sequence[State]) -> Sketch:
    """Draw a row for each tensor."""
    longest = {name: max([len(name), *(len(state.cells()[name]) for state in states)]) for name in COLUMNS}
    first = 24 + max([60, *(9 * (len(state.name) + len(state.kind) + 2) for state in states)])
    wide = [first, *(max(96, 22 + 8 * longest[name]) for name in COLUMNS)]
    width, height = sum(wide) + LEFT, TOP + ROW * len(states) + 8
    sketch = Sketch(0, 0, width, height)
    edges = [LEFT + sum(wide[:at]) for at in range(len(wide))]
    for x, name in zip(edges, ("tensor", *COLUMNS), strict=True):
        sketch.text(x, TOP / 2, name, SOFT, 8, bold=True)
    for at, state in enumerate(states):
        sketch.rule(0, width, TOP + ROW * at)
        _draw_row(sketch, state, edges, TOP + ROW * (at + 0.5))
    return sketch


def _draw_row(sketch: Sketch, state: State, edges: Sequence[int], y: float) -> None:
    name = sketch.text(edges[0], y, state.name, INK, 9, bold=True)
    sketch.text(name.x + name.width + 8, y + 1, state.kind, SOFT, 8)
    for x, (column, text) in zip(edges[1:], state.cells().items(), strict=True):
        if column in FLAGS:
            on = text == "True"
            look = Look(FLAGS[column], FLAGS[column]) if on else Look("#7a828e", dash=(3, 2))
            sketch.box(x + 26, y, 52, 18, 9, look)
            sketch.text(x + 26, y, text, "#ffffff" if on else SOFT, 8, bold=True, align="center")
        else:
            quiet = text in ("None", "0", UNTRACKED)
            sketch.text(x, y, text, SOFT if quiet else INK, 8.5, bold=not quiet)
