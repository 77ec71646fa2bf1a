"""Lesson 7: recall questions about it (asked later)."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Question


def _w() -> torch.Tensor:
    return torch.tensor([3.0], requires_grad=True)


def _without_recording(make: Callable[[], torch.Tensor]) -> torch.Tensor:
    with torch.no_grad():
        return make()


def _nested(outer: type, inner: type) -> bool:
    with outer(), inner():
        return bool((_w() * 2).requires_grad)


def _out_of_eval() -> Any:
    return torch.nn.Linear(1, 1).eval()(_w())


def _grad_of_product(doubled: Callable[[torch.Tensor], torch.Tensor]) -> object:
    w = _w()
    product = (doubled(w) * w).sum()
    product.backward()
    return None if w.grad is None else w.grad.item()


def _filled(under: type) -> bool:
    w = _w()
    loss = (w * w).sum()
    with under():
        loss.backward()
    return w.grad is not None


QUESTIONS = (
    Question(
        "q7.1", "layer = torch.nn.Linear(1, 1); layer.eval(). Does layer(x) require grad? True or False",
        lambda: _out_of_eval().requires_grad,
        (Belief("eval() stops gradients", lambda: _without_recording(_out_of_eval).requires_grad),),
        "print layer(x).requires_grad"),
    Question(
        "q7.2", "w requires grad. Made under no_grad: v = w[:1], a view. Does v require grad? True or False",
        lambda: _without_recording(lambda: _w()[:1]).requires_grad,
        (Belief("whatever is made under no_grad has requires_grad False",
                lambda: _without_recording(lambda: _w() * 2).requires_grad),),
        "make such a view and print it: what does it say at its end?"),
    Question(
        "q7.3", "w = [3], y = w * 2 made under no_grad; outside, (y * w).sum().backward(). The number in w.grad?",
        lambda: _grad_of_product(lambda w: _without_recording(lambda: w * 2)),
        (Belief("the gradient goes back through y too", lambda: _grad_of_product(lambda w: w * 2)),
         Belief("what was made under no_grad stops the gradients of all that is computed from it", lambda: None)),
        "run it. y is a plain number to this product"),
    Question(
        "q7.4", "A block enable_grad stands inside a block no_grad. Is w * 2 recorded in there? True or False",
        lambda: _nested(torch.no_grad, torch.enable_grad),
        (Belief("the outer block wins", lambda: _nested(torch.enable_grad, torch.no_grad)),),
        "print (w * 2).requires_grad in there"),
    Question(
        "q7.5", "loss was recorded; then loss.backward() is called under no_grad. Is w.grad filled? True or False",
        lambda: _filled(torch.no_grad),
        (Belief("under no_grad autograd is off altogether", lambda: not _filled(torch.enable_grad)),),
        "call loss.backward() inside a block no_grad, and print w.grad"),
)
