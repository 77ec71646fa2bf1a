"""Lesson 8: recall questions about it (asked later)."""

from collections.abc import Callable

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Question


def _w() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def _write_into(made: Callable[[torch.Tensor], torch.Tensor]) -> float:
    w = _w()
    made(w)[0] = 9.0
    return float(w[0].item())


def _filled(of: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    w = _w()
    total = of(w).sum()
    if total.requires_grad:
        total.backward()
    return w.grad is not None


def _raises(make: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    y = make(_w())
    y.add_(1.0)
    try:
        y.sum().backward()
    except RuntimeError:
        return True
    return False


QUESTIONS = (
    Question(
        "q8.1", "w = [1, 2] requires grad; d = w.detach(); d[0] = 9. What is w[0] now?",
        lambda: _write_into(lambda w: w.detach()),
        (Belief("detach makes a copy", lambda: _write_into(lambda w: w.detach().clone())),),
        "run these statements and print w"),
    Question(
        "q8.2", "w requires grad. Does w.clone().sum().backward() fill w.grad? True or False",
        lambda: _filled(lambda w: w.clone()),
        (Belief("a clone is cut off from the graph", lambda: _filled(lambda w: w.detach())),),
        "print w.clone().grad_fn, then run it"),
    Question(
        "q8.3", "y = x.exp(); y.add_(1). Does y.sum().backward() raise an error? True or False",
        lambda: _raises(lambda x: x.exp()),
        (Belief("an operation in place is recorded like any other, so it never does harm",
                lambda: _raises(lambda x: x * 2)),),
        "run it: which value does the formula of exp need?"),
    Question(
        "q8.4", "y = x * 2; y.add_(1). Does y.sum().backward() raise an error? True or False",
        lambda: _raises(lambda x: x * 2),
        (Belief("a change in place of a result always raises", lambda: _raises(lambda x: x.exp())),),
        "run it: which value does the formula of * 2 need?"),
    Question(
        "q8.5", "w = torch.ones(2, requires_grad=True).double(). Is w a leaf? True or False",
        lambda: torch.ones(2, requires_grad=True).double().is_leaf,
        (Belief("a tensor that I only move or convert stays a leaf",
                lambda: torch.ones(2, requires_grad=True).float().is_leaf),),
        "print w: does the text name a grad_fn?"),
)
