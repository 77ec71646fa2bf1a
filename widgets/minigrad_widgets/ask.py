"""Ask mode: which questions an inspector asks of a trace, and where.

A question names a kind and the step that answers it; the inspector stops before that step until it is answered. The
answers are judged in the browser, by the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from minigrad.recorder import Trace

Question = dict[str, Any]
ANSWERS = {"next": "run", "shape": "flow", "grad": "accumulate"}  # which kind of event answers a kind of question
OF_EACH = 3
LARGEST = 6  # a student types at most so many numbers


def choose(trace: Trace, ask: bool | Iterable[str | Mapping[str, Any]]) -> list[Question]:
    """The questions in the order of their steps: all kinds (True), some kinds, or those that are given.

    Raises:
        ValueError: if there is no such kind of question, or its step does not answer it.
    """
    wanted: list[Any] = list(ANSWERS) if ask is True else list(ask or ())
    found = [question for each in wanted
             for question in (made(trace, each) if isinstance(each, str) else [given(trace, each)])]
    return sorted({question["step"]: question for question in found}.values(), key=lambda question: question["step"])


def given(trace: Trace, question: Mapping[str, Any]) -> Question:
    """A question that somebody wrote, if the trace can answer it."""
    kind, step = question.get("kind"), question.get("step")
    if kind not in ANSWERS:
        raise ValueError(f"there is no question {kind!r}; the kinds are {', '.join(map(repr, ANSWERS))}")
    if not isinstance(step, int) or not 0 < step < len(trace.events) or not answers(trace, kind, step):
        raise ValueError(f"step {step!r} does not answer a question {kind!r}: it must be a {ANSWERS[kind]!r} event")
    return {"kind": kind, "step": step}


def answers(trace: Trace, kind: str, step: int) -> bool:
    """Whether a step answers a question of this kind."""
    event = trace.events[step]
    if event["kind"] != ANSWERS[kind]:
        return False
    if kind == "grad":
        value = event["grad"]
        return value is not None and 0 < len(trace.values[value].get("data", ())) <= LARGEST
    return kind == "next" or event["gradient"] is not None


def made(trace: Trace, kind: str) -> list[Question]:
    """A few questions of a kind, where there is something to think about.

    Raises:
        ValueError: if there is no such kind.
    """
    if kind not in ANSWERS:
        raise ValueError(f"there is no question {kind!r}; the kinds are {', '.join(map(repr, ANSWERS))}")
    steps = [step for step in range(1, len(trace.events)) if answers(trace, kind, step)]
    worth = [step for step in steps if hard(trace, kind, step)]
    return [{"kind": kind, "step": step} for step in sorted((worth or steps)[:OF_EACH])]


def hard(trace: Trace, kind: str, step: int) -> bool:
    """Several nodes could run; a gradient changes its shape on the way; of `.grad` every question is worth asking."""
    event = trace.events[step]
    if kind == "next":
        return len(trace.frame(step - 1)["ready"]) > 1
    if kind == "shape":
        runs = [e for e in trace.events[:step] if e["kind"] == "run" and e["node"] == event["node"]]
        came = [trace.values[value]["shape"] for value in runs[-1]["gradient"] if value is not None] if runs else []
        return trace.values[event["gradient"]]["shape"] not in came
    return True
