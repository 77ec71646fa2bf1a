"""Lesson 2: recall questions about it (asked later) and its predictions."""

from typing import Any

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Names, Prediction, Question, Reason, Why, fails


def _w() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


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


def result_flag(when: str) -> bool:
    """Whether x * 3 requires grad if x's flag is set at creation, before the operation, after it, or never."""
    x = torch.ones(2, requires_grad=when == "at creation")
    if when == "before the operation":
        x.requires_grad_()
    y = x * 3
    if when == "after the operation":
        x.requires_grad_()
    return y.requires_grad


def starts(flag: str) -> bool:
    """Whether backward can start at a loss if the flag is set before it, after it, on the loss itself, or nowhere."""
    x = torch.ones(2, requires_grad=flag == "before the loss")
    loss = (x * 3).sum()
    if flag == "after the loss":
        x.requires_grad_()
    if flag == "on the loss itself":
        loss.requires_grad_()
    return not fails(loss.backward)


def refused(line: str) -> bool:
    """Whether a line about w, which requires grad, and data, which does not, raises an error."""
    return fails(lambda: eval(line, {"w": _w(), "data": torch.tensor([5.0, 6.0])}))


def _states() -> list[list[bool]]:
    """Tensors in every state that can be reached, as lesson 2 finds them."""
    plain, kept, cut = _w() * 2, _retained(), _retained().detach_()
    return [_state(t) for t in (torch.ones(2), _w(), plain, kept, cut, _retained().detach_().requires_grad_())]


def exists(is_leaf: bool, requires_grad: bool, retains_grad: bool) -> bool:
    """Whether a tensor can be in this state."""
    return [is_leaf, requires_grad, retains_grad] in _states()


def _names() -> Names:
    return {"w": _w(), "data": torch.tensor([5.0, 6.0]), "result_flag": result_flag, "starts": starts,
            "refused": refused, "exists": exists}


def _five() -> tuple[Any, ...]:
    w, data = _w(), torch.tensor([5.0, 6.0])
    return w + data, data * 5, w.gt(0), w.detach(), w.clone()


QUESTIONS = (
    Question(
        "q2.1", "Does torch.tensor([1, 2]).requires_grad_() raise an error?",
        lambda: fails(lambda: torch.tensor([1, 2]).requires_grad_()),
        (Belief("any tensor of numbers can require grad",
                lambda: fails(lambda: torch.tensor([1.0, 2.0]).requires_grad_())),),
        "run it, and print the dtype of torch.tensor([1, 2])"),
    Question(
        "q2.2", "w requires grad, y = w * 2. Does y.requires_grad_(False) raise an error?",
        lambda: fails(lambda: (_w() * 2).requires_grad_(False)),
        (Belief("on a result, requires_grad_() does nothing", lambda: fails(lambda: (_w() * 2).requires_grad_())),),
        "run it; then try it with True"),
    Question(
        "q2.3", "w requires grad. How many of w * 2, w > 0, w.detach() and w.clone() require grad?",
        lambda: sum(t.requires_grad for t in (_w() * 2, _w().gt(0), _w().detach(), _w().clone())),
        (Belief("whatever is computed from w requires grad", lambda: len((_w() * 2, _w().gt(0), _w().detach(), _w()))),
         Belief("what is copied from w does not require grad",
                lambda: sum(t.requires_grad for t in (_w() * 2, _w().gt(0), _w().detach())))),
        "print requires_grad of all four"),
    Question(
        "q2.4", "y = w * 2; y.retain_grad(); y.detach_(). [y.is_leaf, y.requires_grad, y.retains_grad], as a list?",
        lambda: _state(_retained().detach_()),
        (Belief("retains_grad is False for every leaf", lambda: _state((_w() * 2).detach_())),
         Belief("a result stays a result, whatever you do to it", lambda: _state(_retained()))),
        "print the three one by one, before and after detach_()"),
    Question(
        "q2.5", "x = torch.ones(2); y = x * 3; x.requires_grad_(). Does y require grad now?",
        lambda: _flag_set(before=False),
        (Belief("y looks up the flag of x when you read it", lambda: _flag_set(before=True)),),
        "run the three statements; is there a grad_fn in what y prints?"),
)

PREDICTIONS = (
    Prediction(
        "2.1",
        (Belief("a result looks up the flags of its inputs when you read it",
                lambda: [result_flag("before the operation"), result_flag("before the operation")]),
         Belief("a tensor gets its flag when it is made, and later changes do not count",
                lambda: [result_flag("never"), result_flag("never")])),
        Why("When is the flag of a result decided?", _names,
            ('result_flag("after the operation")', 'result_flag("before the operation")', 'result_flag("at creation")',
             'result_flag("never")'),
            lambda value: value, {
                "a": Reason("when you read it", lambda case: case.arguments() != ["never"]),
                "b": Reason("when the operation runs, once and for all",
                            lambda case: case.arguments()[0] in ("before the operation", "at creation")),
                "c": Reason("when its input is made", lambda case: case.arguments() == ["at creation"])})),
    Prediction(
        "2.2",
        (Belief("whatever is computed from w requires grad", lambda: len(_five()) - 1),
         Belief("what is copied from w does not", lambda: sum(t.requires_grad for t in _five()[:-1]))),
        Why("Why does w > 0 not require grad?", _names, ("w > 0", "w * 1.0", "w.max()", "w.argmax()"),
            lambda value: value.requires_grad, {
                "a": Reason("a comparison only looks at w; everything that computes requires grad",
                            lambda case: ">" not in case.code),
                "b": Reason("only + and * pass the flag on", lambda case: "*" in case.code),
                "c": Reason("its values are not floating-point numbers: there is nothing to differentiate",
                            lambda case: case.value.dtype.is_floating_point)},
            shows="True means that it requires grad.")),
    Prediction(
        "2.3",
        (Belief("the flag only has to be set by the time backward runs", lambda: not starts("before the loss")),),
        Why("From where can backward start?", _names,
            ('starts("after the loss")', 'starts("before the loss")', 'starts("on the loss itself")',
             'starts("nowhere")'),
            lambda value: value, {
                "a": Reason("from a loss that requires grad itself",
                            lambda case: case.arguments()[0] in ("before the loss", "on the loss itself")),
                "b": Reason("from any loss, if a leaf below it requires grad by then",
                            lambda case: case.arguments()[0] in ("before the loss", "after the loss")),
                "c": Reason("from a loss with a grad_fn only", lambda case: case.arguments() == ["before the loss"])})),
    Prediction(
        "2.4",
        (Belief("on a leaf retain_grad() does nothing", lambda: refused("w.retain_grad()")),),
        Why("Where does retain_grad() raise an error?", _names,
            ('refused("data.retain_grad()")', 'refused("w.retain_grad()")', 'refused("(w * 2).retain_grad()")',
             'refused("(data * 2).retain_grad()")'),
            lambda value: value, {
                "a": Reason("on every leaf that I made: no gradient passes through it",
                            lambda case: "2" not in case.code),
                "b": Reason("on everything that does not require grad", lambda case: "data" in case.code),
                "c": Reason("on data that I made; on results it is allowed", lambda case: "(data." in case.code)})),
    Prediction(
        "2.5",
        (Belief("there are only four states: a leaf retains nothing",
                lambda: sum(not (leaf and retains) for leaf, _, retains in _states())),
         Belief("the three attributes are independent, so all eight", lambda: 2 ** len(_state(_w()))),
         Belief("a leaf that does not require grad cannot retain one",
                lambda: sum(requires or not retains for _, requires, retains in _states()))),
        Why("Which combinations are impossible?", _names,
            ("exists(True, False, True)", "exists(True, True, True)", "exists(False, False, False)",
             "exists(False, False, True)", "exists(False, True, True)"),
            lambda value: value, {
                "a": Reason("a leaf never retains a gradient",
                            lambda case: not (case.arguments()[0] and case.arguments()[2])),
                "b": Reason("what does not require grad cannot retain one, and a result requires grad",
                            lambda case: bool(case.arguments()[1])),
                "c": Reason("a tensor that is not a leaf requires grad; everything else is possible",
                            lambda case: bool(case.arguments()[0] or case.arguments()[1]))}),
        look="The next section lists the states."),
)
