"""Lesson 6: recall questions about it (asked later)."""

from collections.abc import Callable

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Question
from minigrad_lessons.exercises.graph import grad_of


def _x() -> torch.Tensor:
    return torch.tensor(2.0, requires_grad=True)


def _seen_by_a_hook(result: Callable[[torch.Tensor], torch.Tensor]) -> int:
    """How many gradients a hook on y = x * 3 sees, where y keeps none."""
    seen: list[torch.Tensor] = []
    y = _x() * 3
    y.register_hook(seen.append)
    result(y).backward()
    return len(seen)


def _grad_of_y(prepare: Callable[[torch.Tensor], object]) -> float:
    """What is left in y.grad for y = x * 3, after backward()."""
    y = _x() * 3
    y.retain_grad()
    prepare(y)
    y.backward()
    return float(grad_of(y))


def _times_ten(y: torch.Tensor) -> None:
    y.register_hook(lambda gradient: gradient * 10)


def _times_hundred(y: torch.Tensor) -> None:
    y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 100,))


def _accumulator_hooks(run: Callable[[torch.Tensor, torch.Tensor], object]) -> int:
    """How often a post-accumulate hook of x runs."""
    x = _x()
    ran: list[torch.Tensor] = []
    x.register_post_accumulate_grad_hook(ran.append)
    run(x * 3, x)
    return len(ran)


def _retains(tensor: torch.Tensor) -> bool:
    tensor.retain_grad()
    return bool(tensor.retains_grad)


QUESTIONS = (
    Question(
        "q6.1", "y = x * 3 keeps no .grad. How many gradients does a hook on y see when (y * y).backward() runs?",
        lambda: _seen_by_a_hook(lambda y: y * y),
        (Belief("inner gradients are not computed", lambda: _seen_by_a_hook(lambda y: y.detach().requires_grad_() * 2)),
         Belief("one for each use of y", lambda: len((y := _x() * 3, y * y)[1].grad_fn.next_functions))),
        "y.register_hook(print), then run backward"),
    Question(
        "q6.2", "w is a leaf that requires grad. After w.retain_grad(), what is w.retains_grad? True or False",
        lambda: _retains(_x()),
        (Belief("retain_grad() switches it on, whatever the tensor is", lambda: _retains(_x() * 3)),),
        "print it; a leaf keeps its gradient anyway"),
    Question(
        "q6.3", "y = x * 3; y.retain_grad(); then a hook on y that multiplies by 10. After y.backward(), y.grad?",
        lambda: _grad_of_y(_times_ten),
        (Belief("hooks run in the order in which I registered them", lambda: _grad_of_y(lambda y: None)),),
        "try it in both orders: y.grad is kept after all hooks of the tensor"),
    Question(
        "q6.4", "y = x * 3; y.retain_grad(). A pre-hook of y.grad_fn multiplies by 100. After y.backward(), y.grad?",
        lambda: _grad_of_y(_times_hundred),
        (Belief("what any hook changes is what y.grad shows",
                lambda: _grad_of_y(lambda y: y.register_hook(lambda gradient: gradient * 100))),),
        "try it: y.grad is kept before the node's own hooks begin"),
    Question(
        "q6.5", "x has a post-accumulate hook. How often does it run in torch.autograd.grad(x * 3, x)?",
        lambda: _accumulator_hooks(lambda y, x: torch.autograd.grad(y, x)),
        (Belief("grad runs the same hooks as backward", lambda: _accumulator_hooks(lambda y, x: y.backward())),),
        "count its calls: grad() hands the gradient out and accumulates nothing"),
)
