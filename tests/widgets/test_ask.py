"""Ask mode's questions: chosen from a trace, or refused; the traits that a check reads."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from minigrad_widgets.ask import ANSWERS, choose


def test_all_kinds_in_the_order_of_their_steps(trace: Trace) -> None:
    questions = choose(trace, True)
    steps = [question["step"] for question in questions]
    assert steps == sorted(set(steps))
    assert {question["kind"] for question in questions} == set(ANSWERS)
    assert all(trace.events[question["step"]]["kind"] == ANSWERS[question["kind"]] for question in questions)


def test_some_kinds_and_given_ones(trace: Trace) -> None:
    assert {question["kind"] for question in choose(trace, ["grad"])} == {"grad"}
    step = next(step for step, event in enumerate(trace.events) if event["kind"] == "run")
    assert choose(trace, [{"kind": "next", "step": step}]) == [{"kind": "next", "step": step}]
    assert choose(trace, False) == choose(trace, []) == []


@pytest.mark.parametrize("question", [
    "why", {"kind": "why", "step": 1}, {"kind": "next", "step": 0}, {"kind": "next", "step": 10_000},
    {"kind": "grad", "step": 1}, {"kind": "next"}, {}])
def test_what_cannot_be_answered_is_refused(trace: Trace, question: Any) -> None:
    with pytest.raises(ValueError, match="there is no question|does not answer"):
        Inspector(trace, ask=[question])


def test_questions_are_worth_asking() -> None:
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with record() as trace:
        (x * w).sum().backward()
    (grown,) = choose(trace, ["shape"])
    assert trace.values[trace.events[grown["step"]]["gradient"]]["shape"] == [2]
    assert choose(trace, ["next"])
    for question in choose(trace, ["next"]):
        assert len(trace.frame(question["step"] - 1)["ready"]) > 1


def test_the_traits(trace: Trace) -> None:
    inspector = Inspector(trace, ask=True)
    assert inspector.score == {"right": 0, "answered": 0, "of": len(inspector.ask)}
    assert inspector.answers == []
    assert '"ask"' in inspector.to_html()
    assert Inspector(trace).score["of"] == 0
