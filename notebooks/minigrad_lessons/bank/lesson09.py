"""Lesson 9: recall questions about it (asked later)."""

from typing import Any

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Question


def _x() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def seen_inside(look: Any) -> Any:
    """What `look(x)` gives inside of a forward that `apply` runs, for an x that requires grad."""
    seen = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            seen.append(look(x))
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2

    Look.apply(_x())
    return seen[0]


def _forward_enabled(direct: bool) -> float:
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            with torch.enable_grad():
                return x * 3

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 100

    x = torch.tensor(1.0, requires_grad=True)
    y = Triple.forward(None, x) if direct else Triple.apply(x)
    y.backward()
    assert x.grad is not None
    return float(x.grad.item())


def _complains(save: bool) -> bool:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            if save:
                ctx.save_for_backward(x)
            else:
                ctx.x = x
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            return grad * 2 * (ctx.saved_tensors[0] if save else ctx.x)

    h = _x() * 1
    y = Square.apply(h).sum()
    with torch.no_grad():
        h.mul_(10.0)
    try:
        y.backward()
    except RuntimeError:
        return True
    return False


def _accepted(arguments: tuple[object, ...]) -> int:
    """How many gradients a backward must return for a forward with these arguments: tried out."""
    for count in range(9):
        class Try(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *given: Any) -> Any:
                return given[0] * 2

            @staticmethod
            def backward(ctx: Any, grad: torch.Tensor, count: int = count) -> tuple[object, ...]:
                return (grad, *arguments[1:], grad)[:count]

        try:
            Try.apply(*arguments).sum().backward()
        except (RuntimeError, IndexError, TypeError):
            continue
        return count
    raise AssertionError("no count was accepted")


QUESTIONS = (
    Question(
        "q9.1", "Inside the forward of a Function: x requires grad, y = x * 2. Does y? True or False",
        lambda: seen_inside(lambda x: (x * 2).requires_grad),
        (Belief("forward builds the graph", lambda: (_x() * 2).requires_grad),),
        "print y.requires_grad inside forward"),
    Question(
        "q9.2", "x requires grad. What does x.requires_grad say inside of forward? True or False",
        lambda: seen_inside(lambda x: x.requires_grad),
        (Belief("the inputs are detached on the way in", lambda: seen_inside(lambda x: x.detach().requires_grad)),),
        "print x.requires_grad inside forward"),
    Question(
        "q9.3", "forward(ctx, x, n) gets a tensor x and a plain number n. How many values must backward return?",
        lambda: _accepted((_x(), None)),
        (Belief("one for each tensor", lambda: sum(isinstance(a, torch.Tensor) for a in (_x(), None))),
         Belief("ctx counts too", lambda: len(("ctx", _x(), None)))),
        "return one value, then two: what does the error say?"),
    Question(
        "q9.4", "forward computes x * 3 under enable_grad; backward returns grad * 100. What is x.grad?",
        lambda: _forward_enabled(direct=False),
        (Belief("enable_grad in forward brings the real derivative back", lambda: _forward_enabled(direct=True)),),
        "write it and run it: what is the name of the output's grad_fn?"),
    Question(
        "q9.5", "forward keeps ctx.x = x. Then x is changed in place. Does backward notice and raise? True or False",
        lambda: _complains(save=False),
        (Belief("an attribute of ctx is watched like a saved tensor", lambda: _complains(save=True)),),
        "write it both ways, with ctx.x and with save_for_backward"),
)
