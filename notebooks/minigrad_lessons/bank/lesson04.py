"""Lesson 4: recall questions about it (asked later)."""

from collections.abc import Callable

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Question
from minigrad_lessons.exercises.graph import grad_of, paths_to


def _x(*values: float) -> torch.Tensor:
    return torch.tensor(list(values) if len(values) > 1 else values[0], requires_grad=True)


def _raises(run: Callable[[], object]) -> bool:
    try:
        run()
    except RuntimeError:
        return True
    return False


def _second_backward(result: torch.Tensor) -> bool:
    result.backward()
    return _raises(result.backward)


def runs_of(result: torch.Tensor, of: torch.Tensor) -> int:
    """How often backward() from `result` runs the node of `of`."""
    runs: list[object] = []
    of.grad_fn.register_prehook(runs.append)
    result.backward()
    return len(runs)


def _doubled(count: Callable[[torch.Tensor, torch.Tensor], int]) -> int:
    b = _x(1.0) * 2
    return count((b + b) + (b + b), b)


def _gradient_for(vector: list[float]) -> list[float]:
    x = _x(1.0, 1.0)
    (x * 2).backward(torch.tensor(vector))
    return [float(value) for value in grad_of(x).tolist()]


def _still_none(run: Callable[[torch.Tensor, torch.Tensor], object]) -> bool:
    x = _x(2.0)
    run(x**3, x)
    return x.grad is None


def _has_history(**options: bool) -> bool:
    x = _x(2.0)
    return bool(torch.autograd.grad(x**3, x, **options)[0].requires_grad)


QUESTIONS = (
    Question(
        "q4.1", "b = a * 2; d = (b + b) + (b + b). How often does d.backward() run the node of b?",
        lambda: _doubled(runs_of),
        (Belief("once for each way that leads to it",
                lambda: _doubled(lambda d, b: paths_to(d.grad_fn)[id(b.grad_fn)])),),
        "step through it in the inspector, or count the calls of a hook on b"),
    Question(
        "q4.2", "x and y require grad. z = x + y; z.backward(). Does a second z.backward() raise? True or False",
        lambda: _second_backward(_x(1.0) + _x(2.0)),
        (Belief("the first backward destroys the graph", lambda: _second_backward(_x(1.0) * _x(2.0))),),
        "try it, then try x * y: what did each node save?"),
    Question(
        "q4.3", "x = [1, 1]; y = x * 2; y.backward(torch.tensor([1.0, 10.0])). What is x.grad, as a list?",
        lambda: _gradient_for([1.0, 10.0]),
        (Belief("gradient= only says where to begin; the numbers in it do not matter",
                lambda: _gradient_for([1.0, 1.0])),
         Belief("y becomes one number first, by summing", lambda: _gradient_for([11.0, 11.0]))),
        "try it with [1, 0] and with [0, 1]: what arrives is multiplied by what goes in"),
    Question(
        "q4.4", "y = x**3. g, = torch.autograd.grad(y, x). Is x.grad still None? True or False",
        lambda: _still_none(torch.autograd.grad),
        (Belief("grad is backward by another name", lambda: _still_none(lambda y, x: y.backward())),),
        "print x.grad after the call"),
    Question(
        "q4.5", "y = x**3. g, = torch.autograd.grad(y, x, retain_graph=True). Does g require grad? True or False",
        lambda: _has_history(retain_graph=True),
        (Belief("retain_graph and create_graph are the same", lambda: _has_history(create_graph=True)),),
        "print g: does the text name a grad_fn?"),
)
