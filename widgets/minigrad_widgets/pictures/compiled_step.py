"""The still picture of a compiled step: how many statements there are after each pass, and the program after one."""

from __future__ import annotations

from matplotlib.figure import Figure

from minigrad_widgets.lenses.compiled_step import CompiledStep, statements_of
from minigrad_widgets.pictures.canvas import chart

INK, SOFT, BAR, HERE = "#1d2127", "#5b626c", "#9aa3af", "#0072b2"
MOST_LINES, MOST_SIGNS = 20, 104
LINE, WIDTH = 0.2, 11.0  # inches


@chart
def draw(view: CompiledStep) -> Figure:
    """Draw bars on the left, statements on the right; of a long program, the first ones."""
    step, steps, shown = view.step, view.compiled["steps"], statements_of(view.compiled, view.step)
    lines = [line if len(line) <= MOST_SIGNS else f"{line[:MOST_SIGNS - 1]}…" for line in shown[:MOST_LINES]]
    if len(shown) > MOST_LINES:
        lines.append(f"… and {len(shown) - MOST_LINES:,} more")
    height = LINE * max(len(steps) * 1.15, len(lines)) + 0.75
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    top = 1 - 0.5 / height
    figure.text(0.015, 1 - 0.25 / height, steps[step]["sentence"], color=INK, fontsize=9.5, va="center")
    axes = figure.add_axes((0.19, 0.12 / height, 0.15, top - 0.12 / height))
    counts = [len(each["statements"]) for each in steps]
    bars = axes.barh(range(len(steps)), counts, color=[HERE if at == step else BAR for at in range(len(steps))])
    axes.bar_label(bars, padding=3, fontsize=8, color=INK)
    axes.set_yticks(range(len(steps)), [each["name"] for each in steps], fontsize=8, color=INK)
    axes.set_ylim(len(steps) - 0.5, -0.5)
    axes.set_xlim(0, 1.25 * max([*counts, 1]))
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for at, line in enumerate(lines):
        code, _, comment = line.partition("  # ")
        y = top - (at + 0.5) * LINE / height
        figure.text(0.37, y, code, family="DejaVu Sans Mono", fontsize=7.5, color=INK, va="center")
        if comment:
            figure.text(0.37, y, f"{' ' * len(code)}  # {comment}", family="DejaVu Sans Mono", fontsize=7.5,
                        color=SOFT, va="center")
    return figure
