"""Grades an exercise: the test cells of the nbgrader version call `graded`, which runs the lesson's own check again."""

import contextlib
import io
from collections.abc import Callable

from minigrad_lessons.exercises import report


def graded(name: str, run: Callable[[], object]) -> None:
    """Run a check; raise AssertionError with its words unless it passes. `name` is that of the check: "walk".

    What counts is the verdict of the check, which comes from running the answer, not what stands on the screen.
    """
    report.verdicts.pop(f"check.{name}", None)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        run()
    if not report.verdicts.get(f"check.{name}", False):
        raise AssertionError(said.getvalue().strip() or f"check.{name} was not run")
    print(f"check.{name}: passed.")
