"""Lesson 2: recall questions about it."""

from collections.abc import Callable

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Question


def _w() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def _raises(run: Callable[[], object]) -> bool:
    try:
        run()
    except RuntimeError:
        return True
    return False


def _state(tensor: torch.Tensor) -> list[bool]:
    return [tensor.is_leaf, tensor.requires_grad, tensor.retains_grad]


def _retained() -> torch.Tensor:
    y = _w() * 2
    y.retain_grad()
    return y


def _flag_set(before: bool) -> bool:
    x = torch.ones(2, requires_grad=before)
    y = x * 3
    x.requires_grad_()
    return y.requires_grad


QUESTIONS = (
    Question(
        "q2.1", "Does torch.tensor([1, 2]).requires_grad_() raise an error? True or False",
        lambda: _raises(lambda: torch.tensor([1, 2]).requires_grad_()),
        (Belief("every tensor of numbers may require grad",
                lambda: _raises(lambda: torch.tensor([1.0, 2.0]).requires_grad_())),),
        "run it, and print the dtype of torch.tensor([1, 2])"),
    Question(
        "q2.2", "w requires grad, y = w * 2. Does y.requires_grad_(False) raise an error? True or False",
        lambda: _raises(lambda: (_w() * 2).requires_grad_(False)),
        (Belief("on a result, requires_grad_() does nothing", lambda: _raises(lambda: (_w() * 2).requires_grad_())),),
        "run it; then try it with True"),
    Question(
        "q2.3", "w requires grad. How many of w * 2, w > 0, w.detach() and w.clone() require grad?",
        lambda: sum(t.requires_grad for t in (_w() * 2, _w() > 0, _w().detach(), _w().clone())),
        (Belief("whatever is computed from w requires grad", lambda: len((_w() * 2, _w() > 0, _w().detach(), _w()))),
         Belief("what is copied from w does not require grad",
                lambda: sum(t.requires_grad for t in (_w() * 2, _w() > 0, _w().detach())))),
        "print requires_grad of all four"),
    Question(
        "q2.4", "y = w * 2; y.retain_grad(); y.detach_(). [y.is_leaf, y.requires_grad, y.retains_grad], as a list?",
        lambda: _state(_retained().detach_()),
        (Belief("retains_grad is False for every leaf", lambda: _state((_w() * 2).detach_())),
         Belief("a result stays a result, whatever is done to it", lambda: _state(_retained()))),
        "print the three one by one, before and after detach_()"),
    Question(
        "q2.5", "x = torch.ones(2); y = x * 3; x.requires_grad_(). Does y require grad now? True or False",
        lambda: _flag_set(before=False),
        (Belief("y asks x for its flag when somebody looks", lambda: _flag_set(before=True)),),
        "run the three statements; is there a grad_fn in what y prints?"),
)
