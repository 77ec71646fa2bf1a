"""The lens "values": which programs it reads, what it says at each step, and what an inspector leaves out at first."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import minigrad as torch
from minigrad import Tensor
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector


def recorded(program: Callable[[Tensor, Tensor], Tensor], a: Any = 2.0, b: Any = -3.0) -> Trace:
    with record() as trace:
        a = torch.tensor(a, requires_grad=True)
        b = torch.tensor(b, requires_grad=True)
        d = program(a, b)
        d.backward()
    return trace


def at_end(program: Callable[[Tensor, Tensor], Tensor], a: Any = 2.0, b: Any = -3.0) -> Inspector:
    view = Inspector(recorded(program, a, b), lens="values")
    view.step = calculation(view)["steps"][-1][0]
    return view


def calculation(view: Inspector) -> dict[str, Any]:
    return dict(json.loads(view.trace)["calculation"])


def signs(view: Inspector) -> list[str]:
    return [sign["sign"] for sign in calculation(view)["signs"]]


def test_the_numbers_stand_before_any_gradient_does() -> None:
    view = Inspector(recorded(lambda a, b: a * b + a), lens="values")
    assert view.text.splitlines() == [
        "Inspector, step 1 of 5: the numbers go in at the left, and d comes out at the right",
        "a = 2", "b = −3", "a × b = −6", "d = −4"]


def test_each_gradient_that_comes_back_is_added() -> None:
    view = at_end(lambda a, b: a * b + a)
    assert view.text.splitlines()[1:] == ["a = 2, gradient 1 − 3 = −2", "b = −3, gradient 2", "a × b = −6, gradient 1",
                                          "d = −4, gradient 1"]


def test_each_sign_has_its_sentence() -> None:
    told = [sentence for _, sentence in calculation(at_end(lambda a, b: (a * b - a).tanh()))["steps"]]
    assert told[1:-1] == [
        "now backwards: the gradient of d is 1, since d moves exactly as far as d",
        "back through tanh: (a × b) − a gets gradient × (1 − d × d)",
        "back through −: the first gets the gradient as it is, the second gets its negative",
        "back through ×: each factor gets the gradient times the other factor; a receives more than one, and they are "
        "added"]


def test_a_given_gradient_is_not_told_to_be_1() -> None:
    with record() as trace:
        a = torch.tensor(2.0, requires_grad=True)
        d = a * 3
        d.backward(torch.tensor(5.0))
    steps = calculation(Inspector(trace, lens="values"))["steps"]
    assert steps[1][1] == "now backwards, with the gradient that was given for d"


@pytest.mark.parametrize(("program", "found"), [
    (lambda a, b: 1 - a * 2, ["× 2", "1 −"]), (lambda a, b: a ** 2 / b, ["²", "÷"]), (lambda a, b: a * a, ["×"]),
    (lambda a, b: -a + b.exp(), ["−", "exp", "+"]),
])
def test_a_constant_belongs_to_its_sign(program: Callable[[Tensor, Tensor], Tensor], found: list[str]) -> None:
    assert signs(at_end(program)) == found


def test_a_small_tensor_has_a_place_for_each_number() -> None:
    view = at_end(lambda w, x: (w @ x).sum(), [[1.0, 2.0], [3.0, 4.0]], [1.0, -1.0])
    assert view.text.splitlines()[1:] == [
        "a = [1, 2; 3, 4], gradient [1, −1; 1, −1]", "b = [1, −1], gradient [4, 6]",
        "a @ b = [−1, −1], gradient [1, 1]", "d = −2, gradient 1"]
    box = calculation(view)["boxes"][0]
    assert box["width"] > 2 * 60
    assert box["height"] > 4 * 20


def test_a_broadcast_factor_gets_the_sum() -> None:
    view = at_end(lambda a, b: (a * b).sum(), 2.0, [1.0, 3.0])
    told = [sentence for _, sentence in calculation(view)["steps"]]
    assert "summed over the copies that broadcasting made" in told[3]
    assert "a = 2, gradient 4" in view.text


def test_a_program_without_a_backward_pass_has_one_step() -> None:
    with record() as trace:
        a = torch.tensor(2.0)
        b = a * 3
    view = Inspector(trace, lens="values")
    assert view.text.splitlines() == [
        "Inspector, step 1 of 1: the numbers go in at the left, and b comes out at the right", "a = 2", "b = 6"]
    assert b.item() == 6


def test_boxes_stand_clear_of_each_other_and_signs_between_their_boxes() -> None:
    view = at_end(lambda a, b: ((a * b + a).tanh() * b - a * a) * (a + b))
    found = calculation(view)
    boxes = found["boxes"]
    assert not [(one["name"], other["name"]) for at, one in enumerate(boxes) for other in boxes[:at]
                if abs(one["x"] - other["x"]) < (one["width"] + other["width"]) / 2
                and abs(one["y"] - other["y"]) < (one["height"] + other["height"]) / 2]
    for sign in found["signs"]:
        assert all(boxes[box]["x"] < sign["x"] for box in sign["inputs"])
        assert all(boxes[box]["x"] > sign["x"] for box in sign["outputs"])
    width, height = found["size"]
    assert all(0 < box["x"] < width and 0 < box["y"] + box["height"] / 2 <= height for box in boxes)


def too_long(a: Tensor, b: Tensor) -> Tensor:
    for _ in range(25):
        a = a + b
    return a


def in_place(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).add_(a)


@pytest.mark.parametrize("program", [too_long, in_place, lambda a, b: (a * torch.ones(5)).sum()])
def test_what_cannot_be_read_is_refused_and_offered_in_no_lens(program: Callable[[Tensor, Tensor], Tensor]) -> None:
    trace = recorded(program)
    with pytest.raises(ValueError, match="the lens 'values' shows a program of at most 24 operations"):
        Inspector(trace, lens="values")
    view = Inspector(trace)
    assert "calculation" not in json.loads(view.trace)
    with pytest.raises(ValueError, match="use lens='backward'"):
        view.lens = "values"
    assert view.lens == "backward"


def test_the_picture_is_that_of_the_lens() -> None:
    view = at_end(lambda a, b: a * b + a)
    assert view.to_png() != Inspector(recorded(lambda a, b: a * b + a)).to_png()
    assert all(f">{text}</text>" in view.to_svg() for text in ("×", "+", "a × b", "−2", "= 1 − 3", "gradient"))


def test_unknown_parts_are_refused() -> None:
    trace = recorded(lambda a, b: a * b)
    assert Inspector(trace).parts is None
    assert Inspector(trace, parts=["source"]).parts == ["source"]
    with pytest.raises(ValueError, match="there is no part 'sauce' of an inspector; the parts are lenses, source"):
        Inspector(trace, parts=["sauce"])


def test_a_still_picture_has_no_word_that_a_lesson_has_not_explained() -> None:
    trace = recorded(lambda a, b: a * b + a)
    [waits] = [at for at, event in enumerate(trace.to_dict()["events"]) if event["kind"] == "backward_start"]
    unexplained = (">AccumulateGrad<", ">waits: 2<", ">0<")
    for parts, shown in ((None, True), (["source"], False), (["source", "leaves", "counts", "outputs"], True)):
        picture = Inspector(trace, step=waits, parts=parts).to_svg()
        assert [word in picture for word in unexplained] == [shown] * 3, parts
        assert ">MulBackward0<" in picture
    pictures = [Inspector(trace, parts=["source"]).to_svg(step) for step in trace.steps("backward")]
    assert len(pictures) > 10 and not [each for each in pictures if "AccumulateGrad" in each]
    assert any("the leaf a" in each for each in pictures)
    assert "step 1 of " in pictures[0] and "counts" not in pictures[0] and "queue" not in "".join(pictures)
