"""The checks of lesson 11: a step with momentum, a Module, and who does not learn."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad import nn
from minigrad.nn.modules.linear import Linear
from minigrad_lessons.exercises import report

STEPS, LR, MOMENTUM = 5, 0.1, 0.8
RULES: dict[str, Callable[[float, float, float], tuple[float, float]]] = {
    "w followed the gradient alone: nothing is kept of the previous steps": lambda v, g, m: (g, g),
    "the gradient was added, but the old velocity was not reduced": lambda v, g, m: (v + g, v + g),
    "the new gradient was reduced too, as in Adam; SGD adds all of it":
        lambda v, g, m: (m * v + (1 - m) * g,) * 2,
    "momentum multiplies the gradient, not the velocity": lambda v, g, m: (v + m * g,) * 2,
    "momentum multiplies the sum; it should multiply only the old velocity": lambda v, g, m: (m * (v + g),) * 2,
    "the gradient was subtracted from the velocity; add it": lambda v, g, m: (m * v - g,) * 2,
}


def _path(step: Callable[[torch.Tensor, Any], Any]) -> list[float]:
    """Where w = 1 goes in some steps on the loss w * w."""
    w, velocity, path = torch.tensor([1.0], requires_grad=True), None, []
    for _ in range(STEPS):
        w.grad = None
        (w * w).sum().backward()
        velocity = step(w, velocity)
        path.append(w.item())
    return path


def _ours() -> list[float]:
    optimizer: list[Any] = []

    def step(w: torch.Tensor, velocity: Any) -> None:
        if not optimizer:
            optimizer.append(torch.optim.SGD([w], lr=LR, momentum=MOMENTUM))
        optimizer[0].step()

    return _path(step)


def _by_rule(rule: Callable[[float, float, float], tuple[float, float]]) -> list[float]:
    def step(w: torch.Tensor, velocity: Any) -> float:
        gradient = float(w.grad.item()) if w.grad is not None else 0.0
        velocity, moved = (gradient, gradient) if velocity is None else rule(velocity, gradient, MOMENTUM)
        with torch.no_grad():
            w.sub_(LR * moved)
        return float(velocity)

    return _path(step)


def _near(path: list[float], other: list[float]) -> bool:
    return all(abs(a - b) < 1e-6 for a, b in zip(path, other, strict=True))


def momentum(student: Callable[..., Any]) -> None:
    """Judge `momentum_step(w, velocity, lr, momentum)` against torch.optim.SGD over some steps, to 1e-6."""
    name = "check.momentum"
    if not report.to_judge(name, "momentum_step", "Fill in the two blanks of momentum_step.", student):
        return
    try:
        path = _path(lambda w, velocity: student(w, velocity, LR, MOMENTUM))
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        report.misconception(name, f"momentum_step {report.raised(error, student)}")
        return
    if _near(path, _ours()):
        report.passed(name, f"{STEPS} steps agree with those of torch.optim.SGD, to 1e-6")
        return
    fits = next((text for text, rule in RULES.items() if _near(path, _by_rule(rule))), "")
    if not fits and _near(path, [1.0] * STEPS):
        fits = "w did not move"
    if not fits and abs(path[0] - (1.0 - 2.0)) < 1e-6:
        fits = "w moved by the whole velocity: lr is missing"
    if not fits and path[0] > 1.0:
        fits = "w went uphill: sub_ already subtracts, so leave out the minus"
    first = next(at for at, (a, b) in enumerate(zip(path, _ours())) if abs(a - b) >= 1e-6)
    report.misconception(name, f"{fits or 'it takes another path'}.",
                         f"After step {first + 1} your w is {path[first]:.3g}, that of SGD is {_ours()[first]:.3g}.")


def module(student: Any) -> None:
    """Judge a class that notes what is assigned, as nn.Module does: its parameters, their order, its call."""
    name = "check.module"
    if not isinstance(student, type):
        report.misconception(name, "pass the class itself: check.module(MyModule)")
        return
    blank = [part for part in ("__setattr__", "parameters", "__call__") if part in vars(student)
             and report.has_dots(vars(student)[part])]
    if blank:
        report.not_yet(name, f"Still to be written: {', '.join(blank)}.")
        return
    try:
        fault = next((fault for judge in (_holds, _finds, _goes_deep, _calls) if (fault := judge(student))), "")
    except RecursionError:
        fault = "in __setattr__ both self.x = … and setattr(self, …) call __setattr__ again, without end. " \
                "Assign with object.__setattr__(self, name, value)."
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        fault = f"it {report.raised(error, vars(student).get('__setattr__', student))}"
    if fault:
        report.misconception(name, fault)
        return
    report.passed(name, "attributes can be read back, and assigned again", "a call runs forward",
                  "parameters are in the order of assignment, from nested modules too, each once")


def _tree(student: Any) -> tuple[Any, list[torch.Tensor]]:
    class Part(student):  # type: ignore[misc]  # the student's class is known at run time alone
        def __init__(self, size: int) -> None:
            super().__init__()
            self.weight, self.name = nn.Parameter(torch.ones(size)), "a word"

    class Whole(student):  # type: ignore[misc]  # as above
        def __init__(self) -> None:
            super().__init__()
            self.first = Part(1)
            self.scale = nn.Parameter(torch.ones(2))
            self.last = Part(3)
            self.plain = torch.ones(4, requires_grad=True)

    whole = Whole()
    return whole, [whole.first.weight, whole.scale, whole.last.weight]


def _holds(student: Any) -> str:
    part = student()
    part.word = "kept"
    if getattr(part, "word", None) != "kept":
        return "an assigned value cannot be read back. Assign it too: object.__setattr__(self, name, value)."
    return ""


def _finds(student: Any) -> str:
    one, other = student(), student()
    weight = nn.Parameter(torch.ones(2))
    one.weight = weight
    if one.parameters() is None:
        return "parameters() returns nothing: return a list, or yield the parameters one by one."
    if list(other.parameters()):
        return "a second module has the parameters of the first: the registry is kept on the class, not on the object."
    if not any(p is weight for p in one.parameters()):
        return "a Parameter that was assigned is not found."
    one.weight = nn.Parameter(torch.zeros(2))
    if any(p is weight for p in one.parameters()):
        return "after a new assignment the old Parameter is still found: register each under its name."
    return ""


def _goes_deep(student: Any) -> str:
    whole, wanted = _tree(student)
    found = list(whole.parameters())
    if any(p is whole.plain for p in found):
        return "a plain tensor that requires grad was found too. Only Parameters count."
    if len(found) < len(wanted):
        return f"{len(found)} of {len(wanted)} parameters were found: those of the modules inside are missing."
    if len(found) > len(wanted):
        return f"{len(found)} parameters were found, there are {len(wanted)}: one of them appears twice."
    if any(a is not b for a, b in zip(found, wanted)):
        return "all parameters were found, but not in the order of assignment, which mixes modules and parameters."
    return ""


def _calls(student: Any) -> str:
    class Sum(student):  # type: ignore[misc]  # the student's class is known at run time alone
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return x + y

    result = Sum()(torch.ones(1), torch.ones(1))
    if result is None:
        return "the call returns nothing: return what forward returns."
    return "" if result.tolist() == [2.0] else "the call does not return what forward returns."


class _Net(nn.Module):
    """Three layers, one of which does not learn, for one of four causes."""

    def __init__(self, cause: str) -> None:
        super().__init__()
        self.cause = cause
        self.first, self.middle, self.last = Linear(3, 4), Linear(4, 4), Linear(4, 1)
        if cause == "its flag":
            self.middle.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> Any:
        h = self.first(x)
        if self.cause == "a detach()":
            h = h.detach()
        if self.cause != "it is never called":
            h = self.middle(h)
        return self.last((h - 100).relu() if self.cause == "a dead ReLU" else h)


CAUSES = ("its flag", "it is never called", "a detach()", "a dead ReLU")


def _still(cause: str) -> tuple[_Net, torch.Tensor, set[str]]:
    """A net, data for it, and the names of the parameters that a step of SGD leaves as they are."""
    torch.manual_seed(0)
    net, x = _Net(cause), torch.randn(8, 3)
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    net(x).sum().backward()
    torch.optim.SGD(net.parameters(), lr=0.1).step()
    still = {name for name, p in net.named_parameters() if torch.equal(p, before[name])}
    torch.manual_seed(0)
    return _Net(cause), x, still


def frozen(student: Callable[..., Any]) -> None:
    """Judge `frozen(net, x)` on four nets: what does a step of SGD leave as it is?"""
    name = "check.frozen"
    if not report.to_judge(name, "frozen", "Write frozen(net, x).", student):
        return
    for cause in CAUSES:
        net, x, still = _still(cause)
        finished, said = report.run(name, student, "net, x", net, x)
        if not finished:
            return
        if isinstance(said, str) or not hasattr(said, "__iter__"):
            report.misconception(name, "return the names, as a list.")
            return
        said = list(said)
        if said and not all(isinstance(each, str) for each in said):
            report.misconception(name, "return names, as in net.named_parameters(), not the tensors.")
            return
        if set(said) != still:
            report.misconception(name, _why_frozen(cause, set(said), still, net))
            return
    report.passed(name, *(f"{cause}: {', '.join(sorted(_still(cause)[2]))}" for cause in CAUSES))


def _why_frozen(cause: str, said: set[str], still: set[str], net: _Net) -> str:
    missing, extra = sorted(still - said), sorted(said - still)
    if extra == sorted(n for n, _ in net.named_parameters() if n not in still):
        return "these are the ones that do learn: return the others." if missing else \
            "all parameters were named. Was backward run before .grad was read?"
    if missing and cause == "a dead ReLU":
        return f"{cause}: {', '.join(missing)}: the .grad is there, and it is all zeros. " \
               "A step of SGD by zero moves nothing."
    if missing and cause in ("it is never called", "a detach()"):
        return f"{cause}: the flag of {missing[0]} is True, and its .grad stays None. The flag alone does not tell you."
    if missing:
        return f"{cause}: not named, but it does not change: {', '.join(missing)}."
    return f"{cause}: named, but it does learn: {', '.join(extra)}."


HINTS = {
    "momentum": (
        "Two sentences, two blanks: what is the velocity, and by what does w move?",
        "The old velocity is multiplied by momentum, and the whole gradient is added. w moves by lr times the "
        "velocity.",
        "momentum * velocity + w.grad, and lr * velocity.",
    ),
    "module": (
        "Register in __setattr__, and read in parameters(). Where can you keep the list if there is no __init__ to "
        "create it?",
        "`self.__dict__` has everything that was assigned, under its name, in order. So object.__setattr__ is all "
        "that __setattr__ needs.",
        "In parameters(): for value in self.__dict__.values(): a Parameter is yielded, a MyModule yields from its own "
        "parameters(). In __call__: return self.forward(*inputs).",
    ),
    "frozen": (
        "First run a backward pass: net(x).sum().backward(). Then look at each parameter.",
        "Two kinds do not change: those whose .grad is None, and those whose .grad is all zeros.",
        "[name for name, p in net.named_parameters() if p.grad is None or not p.grad.any()]",
    ),
}
