"""Ask mode's questions: chosen from a trace, or refused; the traits that a check reads."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from minigrad_widgets.graph.geometry import labels
from minigrad_widgets.inspector.questions import ANSWERS, choose


def test_all_kinds_in_the_order_of_their_steps(trace: Trace) -> None:
    questions = choose(trace, True)
    steps = [question["step"] for question in questions]
    assert steps == sorted(set(steps))
    assert {question["kind"] for question in questions} == set(ANSWERS)
    assert all(trace.events[question["step"]]["kind"] == ANSWERS[question["kind"]] for question in questions)


def test_some_kinds_and_given_ones(trace: Trace) -> None:
    assert {question["kind"] for question in choose(trace, ["grad"])} == {"grad"}
    step = next(step for step, event in enumerate(trace.events) if event["kind"] == "run")
    (question,) = choose(trace, [{"kind": "next", "step": step}])
    assert (question["kind"], question["step"], question["text"]) == ("next", step, "Which node runs next?")
    assert trace.events[step]["node"] in question["choices"]
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


def test_the_questions_as_text() -> None:
    """The questions and the score; neither what is right nor, where it would tell, the ready queue."""
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    with record() as trace:
        ((x * w) * x).sum().backward()
    asked = Inspector(trace, ask=True)
    assert asked.text.splitlines()[-5:] == [
        "it asks: 0 of 0 right, 4 to come",
        "before step 8: What shape has the gradient that SumBackward0 #4 sends to MulBackward0 #3?",
        "before step 21: Which node runs next? AccumulateGrad(x), AccumulateGrad(w)",
        "before step 22: What will x.grad be once this gradient is added?",
        "before step 24: What will w.grad be once this gradient is added?"]
    assert asked.text == repr(asked) == asked._repr_mimebundle_()[0]["text/plain"]
    assert "ready: " in Inspector(trace, step=20).text
    asked.step = 20
    assert "ready: " not in asked.text
    asked.answers = [{"kind": "shape", "step": 8, "given": "[2]", "right": True},
                     {"kind": "next", "step": 21, "given": "1", "right": False}]
    assert "it asks: 1 of 2 right, 2 to come" in asked.text
    assert "SumBackward0 #4 sends to MulBackward0 #3? answered, right" in asked.text
    assert "AccumulateGrad(w) answered, not so" in asked.text
    assert "ready: " in asked.text


def test_a_node_to_choose_is_called_as_on_its_box() -> None:
    """By the name of its tensor, or by the number that sentences give it where others of its class are there."""
    m = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        p, q, r = m * 3, m.exp(), m.sin()
        (p * q + p * r).sum().backward()
    choices = [line for line in Inspector(trace, ask=["next"]).text.splitlines() if "Which node runs next?" in line]
    numbers = {name: trace.nodes[id]["sequence_nr"] for id, name in ((1, "p"), (3, "r"), (4, "#4"))}
    for word in (f"MulBackward0 (p) nr {numbers['p']}", f"SinBackward0 (r) nr {numbers['r']}",
                 f"MulBackward0 #4 nr {numbers['#4']}"):
        assert word in choices[0]
    data = trace.to_dict()
    assert [labels(data, node)[1] for node in (1, 3, 4, 5, 6)] == ["p · [2]", "r · [2]", "#4 · [2]", "#5 · [2]", "[2]"]
