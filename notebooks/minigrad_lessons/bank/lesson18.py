"""Lesson 18: its predictions."""

from typing import Any

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Names, Prediction, Question, Reason, Why

QUESTIONS: tuple[Question, ...] = ()


def _outcome(code: str) -> list[float] | str:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    try:
        exec(code, {"y": y, "torch": torch})
    except RuntimeError:
        return "error"
    y.sum().backward()
    assert x.grad is not None
    return [float(value) for value in x.grad.tolist()]


def wrote(code: str) -> list[float] | str:
    """What x.grad is after this write to y = x * 2; "error" if the write is refused."""
    return _outcome(code)


def refused(made: str, changed: str) -> bool:
    """Whether a change of v = y[:1] is refused, if both run in these modes: "on" or "no_grad"."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    with torch.set_grad_enabled(made == "on"):
        v = y[:1]
    try:
        with torch.set_grad_enabled(changed == "on"):
            v.mul_(3)
    except RuntimeError:
        return True
    return False


def _names() -> Names:
    return {"wrote": wrote, "refused": refused}


def _tens(*places: int) -> list[float]:
    return [20.0 if at in places else 2.0 for at in range(3)]


def _zeros(*places: int) -> list[float]:
    return [0.0 if at in places else 2.0 for at in range(3)]


def _of(case: Any) -> str:
    return str(case.arguments()[0])


PREDICTIONS = (
    Prediction(
        "18.1",
        (Belief("what is done to a view stays in the view", lambda: wrote("y[:2] * 10")),
         Belief("a change in place stops the gradient of what was there", lambda: wrote("y[:2] = 0.0"))),
        Why("Which writes reach y, and so its gradient?", _names,
            ('wrote("y[:2].mul_(10)")', 'wrote("y[:2] * 10")', 'wrote("y[:2].clone().mul_(10)")',
             'wrote("y[1:].mul_(10)")'),
            lambda value: value, {
                "a": Reason("changes of a view: it is a part of y itself, and a recorded change of y",
                            lambda case: _tens(*((0, 1) if "[:2]" in _of(case) else (1, 2)))
                            if ".mul_" in _of(case) and "clone" not in _of(case) else _tens()),
                "b": Reason("all changes in place of what was taken from y",
                            lambda case: _tens(*((0, 1) if "[:2]" in _of(case) else (1, 2)))
                            if ".mul_" in _of(case) else _tens()),
                "c": Reason("none: y itself was not multiplied", lambda case: _tens())}),
        look="Print y after v.mul_(10)."),
    Prediction(
        "18.2",
        (Belief("every index gives a view", lambda: wrote("y[:2].mul_(10)")),),
        Why("Which index gives a view, so that a change of it is a change of y?", _names,
            ('wrote("y[[0, 1]].mul_(10)")', 'wrote("y[0:2].mul_(10)")', 'wrote("y[y < 5].mul_(10)")',
             'wrote("y[0].mul_(10)")'),
            lambda value: value, {
                "a": Reason("a slice or a number; lists and masks make a copy",
                            lambda case: {"y[0:2].mul_(10)": _tens(0, 1), "y[0].mul_(10)": _tens(0)}
                            .get(_of(case), _tens())),
                "b": Reason("only a slice",
                            lambda case: _tens(0, 1) if _of(case).startswith("y[0:2]") else _tens()),
                "c": Reason("every index", lambda case: _tens(0) if _of(case).startswith("y[0].") else _tens(0, 1))}),
        look="Print y after v.mul_(10). Then print v._base."),
    Prediction(
        "18.3",
        (Belief("a list makes a copy, so nothing is written to y", lambda: wrote("y[[0, 1]].zero_()")),),
        Why("Where is x.grad zero?", _names,
            ('wrote("y[[0, 1]] = 0.0")', 'wrote("y[[0, 1]].zero_()")', 'wrote("y[y > 3] = 0.0")',
             'wrote("y[:2] = 0.0")'),
            lambda value: value, {
                "a": Reason("where an index on the left of = writes, of whatever kind",
                            lambda case: {"y[[0, 1]] = 0.0": _zeros(0, 1), "y[y > 3] = 0.0": _zeros(1, 2),
                                          "y[:2] = 0.0": _zeros(0, 1)}.get(_of(case), _zeros())),
                "b": Reason("where a slice writes; lists and masks write into a copy",
                            lambda case: _zeros(0, 1) if "[:2]" in _of(case) else _zeros()),
                "c": Reason("nowhere: a number has no gradient to give", lambda case: _zeros())}),
        look="Print y and y.grad_fn.name() after the line."),
    Prediction(
        "18.4",
        (Belief("what is overwritten has the slope 0", lambda: wrote("y[0] = 5.0")),),
        Why("What does x.grad follow?", _names,
            ('wrote("y[0] = 5.0")', 'wrote("with torch.no_grad(): y[0] = 5.0")',
             'wrote("with torch.no_grad(): y.mul_(10)")', 'wrote("y.mul_(10)")'),
            lambda value: value, {
                "a": Reason("the numbers that are in y",
                            lambda case: _zeros(0) if "5.0" in _of(case) else _tens(0, 1, 2)),
                "b": Reason("what was recorded, whatever the numbers are now",
                            lambda case: _tens() if "no_grad" in _of(case) else
                            _zeros(0) if "5.0" in _of(case) else _tens(0, 1, 2)),
                "c": Reason("the operation that made y; later writes never count", lambda case: _tens())}),
        look="Print y and y.grad_fn.name() after the block."),
    Prediction(
        "18.5",
        (Belief("a view may always be changed", lambda: refused("on", "on")),),
        Why("When is the change of a view refused?", _names,
            ('refused("on", "on")', 'refused("no_grad", "on")', 'refused("no_grad", "no_grad")',
             'refused("on", "no_grad")'),
            lambda value: value, {
                "a": Reason("when the view was made under no_grad", lambda case: case.arguments()[0] == "no_grad"),
                "b": Reason("when the two modes differ", lambda case: case.arguments()[0] != case.arguments()[1]),
                "c": Reason("when the view was not recorded and the change would be",
                            lambda case: case.arguments() == ["no_grad", "on"])}),
        look="Run the two lines, and read the error: it names both ways out."),
)
