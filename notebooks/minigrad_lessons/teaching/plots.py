"""The pictures of a class's page, as SVG by matplotlib: predictions, exercises, and how long the class took."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any

from minigrad._base.optional import optional
from minigrad_lessons.lines import COLORS, GRID, INK, SOFT
from minigrad_lessons.teaching.tally import Tally

GOOD, BAD, UNSURE = COLORS[2], COLORS[1], "#b9bfc8"
WIDTH, ROW = 7.2, 0.34
Stack = Sequence[tuple[str, str, Sequence[int]]]  # what a part means, its colour, and its length in each row


def predictions(tally: Tally) -> str:
    """How many predicted what happened, something else, or left it open."""
    rows = [each for each in tally.predictions if each.answered]
    return _bars([each.id for each in rows], "students", (
        ("right", GOOD, [each.right for each in rows]),
        ("left open", UNSURE, [each.open for each in rows]),
        ("wrong", BAD, [each.answered - each.right - each.open for each in rows])))


def exercises(tally: Tally) -> str:
    """How many solved each exercise at once, later, or not so far."""
    rows = [each for each in tally.exercises if each.tried]
    return _bars([each.name for each in rows], "students", (
        ("solved at once", GOOD, [each.at_once for each in rows]),
        ("solved later", COLORS[5], [each.solved - each.at_once for each in rows]),
        ("tried, not solved", BAD, [each.tried - each.solved for each in rows])))


def minutes(tally: Tally) -> str:
    """How long the students took, beside what the lesson states."""
    if not tally.minutes:
        return ""
    figure, axes = _frame(2.0)
    axes.hist(tally.minutes, bins="sturges", color=COLORS[0], edgecolor="white")
    axes.axvline(tally.lesson.minutes, color=BAD, linewidth=1.6, label=f"stated: {tally.lesson.minutes} minutes")
    axes.set_xlim(left=0)
    axes.set_xlabel("minutes at work", fontsize=9, color=SOFT)
    axes.set_ylabel("students", fontsize=9, color=SOFT)
    axes.yaxis.get_major_locator().set_params(integer=True)
    return _svg(figure)


def _bars(names: Sequence[str], across: str, stack: Stack) -> str:
    """Stacked bars, the first name on top; empty where there is none."""
    if not names:
        return ""
    figure, axes = _frame(0.9 + ROW * len(names))
    left = [0] * len(names)
    for label, color, lengths in stack:
        axes.barh(range(len(names)), lengths, left=left, color=color, label=label, height=0.7)
        left = [a + b for a, b in zip(left, lengths, strict=True)]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(across, fontsize=9, color=SOFT)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return _svg(figure)


def _frame(height: float) -> tuple[Any, Any]:
    figure = optional("matplotlib.figure", "lessons").Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.tick_params(labelsize=9, colors=INK, length=0)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GRID)
    return figure, axes


def _svg(figure: Any) -> str:
    """The picture as SVG to stand in a page; it says the same in every run."""
    figure.legend(loc="outside upper right", ncols=3, fontsize=8.5, frameon=False, labelcolor=INK)
    out = StringIO()
    with optional("matplotlib", "lessons").rc_context({"svg.hashsalt": "minigrad", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue().partition("<svg")[1] + out.getvalue().partition("<svg")[2]
