"""What all puzzles share: a line is called, what it raises is told, and the run is shown where seeing helps."""

from __future__ import annotations

import inspect
import io
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import minigrad as torch
from minigrad._base.optional import MissingExtra, optional
from minigrad.recorder import Trace, record, register_library
from minigrad_lessons.exercises import report

Line = Callable[..., Any]
DOTS = "Replace the dots with one line."

register_library(str(Path(__file__).parent))  # so that a run shows the student's line, and not the check's


class Wrong(Exception):
    """The line does not solve the puzzle; the text says why. With a trace, its run is shown."""

    def __init__(self, text: str, trace: Trace | None = None) -> None:
        super().__init__(text)
        self.text, self.trace = text, trace


@dataclass(frozen=True)
class Solved:
    """The line solves the puzzle; the text says what the run shows."""

    text: str
    trace: Trace | None = None


def puzzle(judge: Callable[[Line], Solved]) -> Callable[[Line], Any]:
    """A check made of a function that judges a line: it raises Wrong, or tells what it saw."""
    name = f"check.{judge.__name__}"

    @wraps(judge)
    def check(line: Line) -> Any:
        if not report.to_judge(name, "line", DOTS, line):
            return None
        if (count := lines_of(line)) > 1:
            report.misconception(name, f"a puzzle is solved by one line; yours has {count}.")
            return None
        try:
            solved = judge(line)
        except Wrong as wrong:
            report.misconception(name, wrong.text)
            return shown(wrong.trace)
        report.passed(name, solved.text)
        return shown(solved.trace)

    return check


def lines_of(function: Line) -> int:
    """How many lines of code the body of a function has; 1 where its source cannot be had."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return 1
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return max(1, sum(token.type == tokenize.NEWLINE for token in tokens) - source.lstrip().startswith("def"))


def shown(trace: Trace | None) -> Any:
    """The inspector of a trace; None where there is nothing to show, or no inspector is installed."""
    if trace is None:
        return None
    try:
        return optional("minigrad_widgets", "lessons").Inspector(trace)
    except MissingExtra:
        return None


def call(line: Line, arguments: str, *given: object) -> Any:
    """What the line gives; an error of it is told with its place."""
    try:
        return line(*given)
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        raise Wrong(f"line({arguments}) {report.raised(error, line)}") from None


def tensor(value: object) -> torch.Tensor:
    """The value, if it is a tensor."""
    if not isinstance(value, torch.Tensor):
        raise Wrong(f"line must return a tensor; it returned {report.a(value)}.")
    return value


def made_by(line: Line, arguments: str, *given: object) -> torch.Tensor:
    """The tensor that the line returns."""
    return tensor(call(line, arguments, *given))


def leaf(*values: float) -> torch.Tensor:
    """A leaf that requires grad: a vector, or a single number."""
    return torch.tensor(list(values) if len(values) > 1 else values[0], requires_grad=True)


def recorded(y: torch.Tensor, of: str = "y") -> None:
    """That a graph leads back from y; with none, there is nothing for backward to do."""
    if y.grad_fn is None:
        raise Wrong(f"{of} has no grad_fn: nothing was recorded, so no gradient can flow back. That gives None, not a "
                    "number.")


def backward(y: torch.Tensor) -> None:
    """Run a pass; what it raises is told, with the first line of the error."""
    try:
        y.backward()
    except RuntimeError as error:
        raise Wrong(f"backward raised {report.first_line(error)}") from None


def passed_back(line: Line, x: torch.Tensor) -> tuple[torch.Tensor, Trace]:
    """y = line(x), and the trace of that and of y.sum().backward(), if y has a graph."""
    with record() as trace:
        y = made_by(line, "x", x)
        if y.grad_fn is not None:
            loss = y.sum()
            backward(loss)
    return y, trace


def close(a: torch.Tensor, b: torch.Tensor | list[float] | float) -> bool:
    """Whether two tensors have the same shape and nearly the same numbers; NaN is no number."""
    other = b if isinstance(b, torch.Tensor) else torch.tensor(b)
    with torch.no_grad():
        return a.shape == other.shape and bool(torch.allclose(a.double(), other.double(), atol=1e-4))


def node(y: torch.Tensor) -> str:
    """The name of the node that made a tensor."""
    return "None" if y.grad_fn is None else type(y.grad_fn).__name__
