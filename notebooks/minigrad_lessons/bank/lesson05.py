"""Lesson 5: recall questions about it (asked later)."""

from collections.abc import Callable

import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons.bank.kinds import Belief, Question
from minigrad_lessons.exercises.graph import grad_of


def _x() -> torch.Tensor:
    return torch.tensor(2.0, requires_grad=True)


def _grad_after(passes: int) -> float:
    x = _x()
    for _ in range(passes):
        (x * 3).backward()
    return float(grad_of(x))


def _zeroed(set_to_none: bool) -> object:
    x = _x()
    optimiser = torch.optim.SGD([x], lr=0.1)
    (x * 3).backward()
    optimiser.zero_grad(set_to_none=set_to_none)
    return None if x.grad is None else x.grad.item()


def _count(kind: str) -> int:
    """How many such events go into x's accumulator, for x * x."""
    x = _x()
    with record() as trace:
        (x * x).backward()
    ends = [number for number, node in enumerate(trace.nodes) if node["name"] == "AccumulateGrad"]
    return sum(event["kind"] == kind and event.get("to", event.get("node")) in ends for event in trace.events)


def _divisor(parts: int, whole: Callable[[torch.Tensor], torch.Tensor]) -> float:
    """By how much the sum of the gradients of `parts` equal parts is more than the gradient of the whole."""
    w, data = _x(), torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    whole(w * data).backward()
    wanted, w.grad = grad_of(w), None
    for part in data.chunk(parts):
        whole(w * part).backward()
    return round(float(grad_of(w) / wanted), 3)


def _second_pass(look: Callable[[torch.Tensor, torch.Tensor], bool]) -> bool:
    x = _x()
    (x * 3).backward()
    first = grad_of(x)
    (x * 3).backward()
    return look(first, grad_of(x))


QUESTIONS = (
    Question(
        "q5.1", "x requires grad. (x * 3).backward(), and the same line once more. What is x.grad?",
        lambda: _grad_after(2),
        (Belief("backward overwrites", lambda: _grad_after(1)),),
        "run it and print x.grad after each line"),
    Question(
        "q5.2", "After optimiser.zero_grad(), what is the .grad of a parameter? A number, or \"None\"",
        lambda: _zeroed(set_to_none=True),
        (Belief("zero_grad leaves zeros", lambda: _zeroed(set_to_none=False)),),
        "print it; zero_grad has an argument set_to_none, and its default is True"),
    Question(
        "q5.3", "y = x * x; y.backward(). How often does the AccumulateGrad of x run?",
        lambda: _count("run"),
        (Belief("once for each edge that leads to it", lambda: _count("flow")),),
        "step through it in the inspector: two gradients arrive, then the node runs"),
    Question(
        "q5.4", "The loss is a mean. A batch is fed in 4 equal parts. By what must each part's loss be divided?",
        lambda: _divisor(4, lambda losses: losses.mean()),
        (Belief("by nothing: a mean of parts is the mean of the whole",
                lambda: _divisor(4, lambda losses: losses.sum())),),
        "compare the summed .grad of four parts with the .grad of the whole batch"),
    Question(
        "q5.5", "g = x.grad after the first backward. After the second, is x.grad still the object g? True or False",
        lambda: _second_pass(lambda first, now: now is first),
        (Belief("a sum is a new tensor", lambda: _second_pass(lambda first, now: (now + now) is first)),),
        "print g is x.grad; and look what g shows after the second pass"),
)
