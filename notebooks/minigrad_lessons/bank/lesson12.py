"""Lesson 12: its predictions."""

from collections.abc import Callable

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Names, Prediction, Question, Reason, Why

QUESTIONS: tuple[Question, ...] = ()


def _x(value: float = 2.0) -> torch.Tensor:
    return torch.tensor(value, requires_grad=True)


def recorded(way: str) -> bool:
    """Whether the gradient of x ** 3 can be differentiated again, if it was computed this way."""
    x = _x()
    y = x**3
    if way == "the node called by hand":
        gradient = y.grad_fn(torch.tensor(1.0))
    else:
        options = {name: True for name in ("retain_graph", "create_graph") if name in way}
        (gradient,) = torch.autograd.grad(y, x, **options)
    return bool(gradient.requires_grad)


def _again(way: str) -> bool:
    return not recorded(way)


def has_history(code: str) -> bool:
    """Whether the recorded gradient of an expression of x requires grad."""
    x = _x()
    return bool(torch.autograd.grad(eval(code, {"x": x}), x, create_graph=True)[0].requires_grad)


def curvature(function: str, at: float) -> float:
    """The second derivative of an activation function."""
    x = _x(at)
    functions: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "relu": torch.relu, "softplus": torch.nn.functional.softplus, "tanh": torch.tanh}
    (slope,) = torch.autograd.grad(functions[function](x), x, create_graph=True)
    return float(torch.autograd.grad(slope, x)[0].item())


def leads(code: str) -> bool:
    """Whether the gradient with respect to a of an expression of a and b leads back to a."""
    a, b = _x(2.0), _x(5.0)
    (by_a,) = torch.autograd.grad(eval(code, {"a": a, "b": b}), a, create_graph=True)
    if by_a.requires_grad:
        by_a.backward()
    return a.grad is not None


def _names() -> Names:
    return {"recorded": recorded, "has_history": has_history, "curvature": curvature, "leads": leads}


PREDICTIONS = (
    Prediction(
        "12.1",
        (Belief("a gradient can be differentiated like anything else", lambda: _again("grad, create_graph")),),
        Why("When is a gradient recorded?", _names,
            ('recorded("grad")', 'recorded("grad, retain_graph")', 'recorded("grad, create_graph")',
             'recorded("the node called by hand")'),
            lambda value: value, {
                "a": Reason("always, since x requires grad", lambda case: True),
                "b": Reason("when the graph is kept: retain_graph or create_graph", lambda case: "_graph" in case.code),
                "c": Reason("when recording is on while nodes run: create_graph switches it on, and by hand it is on",
                            lambda case: "create" in case.code or "hand" in case.code)}),
        look="Print g.requires_grad, with create_graph=True and without it."),
    Prediction(
        "12.2",
        (Belief("create_graph makes every gradient require grad", lambda: has_history("x * x")),),
        Why("Which gradients require grad?", _names,
            ('has_history("x * 3")', 'has_history("x * x")', 'has_history("x + 5")', 'has_history("x.sin()")',
             'has_history("x ** 2")'),
            lambda value: value, {
                "a": Reason("those whose formula still contains x",
                            lambda case: "3" not in case.code and "5" not in case.code),
                "b": Reason("those of products and powers", lambda case: "*" in case.code),
                "c": Reason("all, with create_graph=True", lambda case: True)}),
        look="Write down the derivative of 3x, and that of x². Which of them still contains x?"),
    Prediction(
        "12.3",
        (Belief("relu is x there, and so is its derivative of any order 1", lambda: curvature("relu", 2.0) + 1.0),
         Belief("a function that is not a straight line has curvature",
                lambda: round(curvature("softplus", 2.0), 3))),
        Why("Where is there no curvature at all?", _names,
            ('curvature("relu", 2.0)', 'curvature("relu", -1.0)', 'curvature("softplus", 2.0)',
             'curvature("tanh", 0.5)'),
            lambda value: value == 0.0, {
                "a": Reason("for all activation functions: they are made of straight parts", lambda case: True),
                "b": Reason("where the slope does not change with x: that of relu is 1 or 0",
                            lambda case: "relu" in case.code),
                "c": Reason("for relu where it is positive; where it is zero, it is curved",
                            lambda case: case.arguments() == ["relu", 2.0])}),
        look="Print slope for z = 1, 2 and 3: how does it change with z?"),
    Prediction(
        "12.4",
        (Belief("a gradient with respect to a leads back to a", lambda: not leads("a * a")),),
        Why("When does the gradient with respect to a lead back to a?", _names,
            ('leads("a * b")', 'leads("a * a")', 'leads("a * a * b")', 'leads("a + b")'),
            lambda value: value, {
                "a": Reason("always: it is the gradient with respect to a", lambda case: True),
                "b": Reason("when a is part of the formula of this gradient; for a * b, that formula is b",
                            lambda case: str(case.arguments()[0]).count("a") > 1),
                "c": Reason("whenever it requires grad", lambda case: "*" in case.code)}),
        look="Write down the derivative of a * b with respect to a. Then print a.grad and b.grad."),
)
