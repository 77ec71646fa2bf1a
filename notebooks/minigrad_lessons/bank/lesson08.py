"""Lesson 8: recall questions about it (asked later) and its predictions."""

from collections.abc import Callable

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Names, Prediction, Question, Reason, Why, fails


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
    return fails(y.sum().backward)


# What the formula of each derivative needs: its result, its input, or no value at all.
NEEDED = {"exp": "result", "sigmoid": "result", "sin": "input", "square": "input", "neg": "nothing"}
SHARED = {"detach()": True, ".data": True, "clone()": False, "a view": True}
WAYS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "detach()": lambda w: w.detach(), ".data": lambda w: w.data, "clone()": lambda w: w.clone(),
    "a view": lambda w: w[:]}


def raises(operation: str, changed: str) -> bool:
    """Whether backward raises an error if the result or the input of this operation was changed in place."""
    a = _w() * 1
    y = getattr(torch, operation)(a)
    (y if changed == "result" else a).add_(1.0)
    return _refused(y)


def _refused(result: torch.Tensor) -> bool:
    return fails(result.sum().backward)


def error_in(order: str) -> bool:
    """Whether there is an error if y = x.exp() is saved, changed and then run backward, in this order."""
    x, steps = _w(), order.split(", ")
    y = x * 1
    if steps[0] == "change":
        y.add_(1.0)
    y = y.exp()
    total, failed = y.sum(), False
    for step in steps[steps.index("save") + 1:]:
        if step == "change":
            y.add_(1.0)
        else:
            failed = failed or _refused(total)
    return failed


def noticed(way: str) -> bool:
    """Whether backward of w * w raises after w was written to in this way."""
    return grad_after(way) == "error"


def grad_after(way: str) -> object:
    """The gradient of w * w at [1, 2], if this is multiplied by 10 before backward, or "error"."""
    w = _w()
    loss = (w * w).sum()
    with torch.no_grad():
        if way in WAYS:
            WAYS[way](w).mul_(10.0)
    return "error" if _refused(loss) or w.grad is None else w.grad.tolist()


def _names() -> Names:
    return {"x": _w(), "torch": torch, "raises": raises, "error_in": error_in, "noticed": noticed,
            "grad_after": grad_after}


def _made_of(way: str) -> int:
    """The line that raises, if exp saved what this way makes of it."""
    return 3 if noticed(way) else 0


QUESTIONS = (
    Question(
        "q8.1", "w = [1, 2] requires grad; d = w.detach(); d[0] = 9. What is w[0] now?",
        lambda: _write_into(lambda w: w.detach()),
        (Belief("detach makes a copy", lambda: _write_into(lambda w: w.detach().clone())),),
        "run these statements and print w"),
    Question(
        "q8.2", "w requires grad. Does w.clone().sum().backward() fill w.grad?",
        lambda: _filled(lambda w: w.clone()),
        (Belief("a clone is cut off from the graph", lambda: _filled(lambda w: w.detach())),),
        "print w.clone().grad_fn, then run it"),
    Question(
        "q8.3", "y = x.exp(); y.add_(1). Does y.sum().backward() raise an error?",
        lambda: _raises(lambda x: x.exp()),
        (Belief("an in-place operation is recorded like any other, so it never causes an error",
                lambda: _raises(lambda x: x * 2)),),
        "run it: which value does the formula of exp need?"),
    Question(
        "q8.4", "y = x * 2; y.add_(1). Does y.sum().backward() raise an error?",
        lambda: _raises(lambda x: x * 2),
        (Belief("changing a result in place always raises an error", lambda: _raises(lambda x: x.exp())),),
        "run it: which value does the formula of * 2 need?"),
)

PREDICTIONS = (
    Prediction(
        "8.1",
        (Belief("add_ itself raises, since y is needed", lambda: 1 + _made_of("clone()") + 1),
         Belief("exp already has its value, so later changes to y do not matter", lambda: _made_of("clone()"))),
        Why("When is a change noticed?", _names,
            ('error_in("save, change, backward")', 'error_in("save, backward, change")',
             'error_in("change, save, backward")', 'error_in("save, change")'),
            lambda value: value, {
                "a": Reason("as soon as a saved tensor is changed",
                            lambda case: "change" in str(case.arguments()[0]).partition("save")[2]),
                "b": Reason("when backward needs a saved value whose version has moved on",
                            lambda case: case.arguments() == ["save, change, backward"]),
                "c": Reason("when backward reaches something that was ever changed in place",
                            lambda case: "change" in str(case.arguments()[0]).partition("backward")[0]
                            and "backward" in str(case.arguments()[0]))}), choices=("0", "1", "2", "3"),
        look="Run the three lines in three cells: which of them raises, and what does its error say?"),
    Prediction(
        "8.2",
        (Belief("changing a result in place always raises an error", lambda: raises("exp", "result")),),
        Why("Which changes cause an error?", _names,
            ('raises("exp", "result")', 'raises("exp", "input")', 'raises("sin", "result")', 'raises("sin", "input")',
             'raises("neg", "input")', 'raises("square", "input")'),
            lambda value: value, {
                "a": Reason("those of the result: the input has been used already",
                            lambda case: case.arguments()[1] == "result"),
                "b": Reason("those of the input: the result is mine",
                            lambda case: case.arguments()[1] == "input"),
                "c": Reason("those of the value that the formula of the derivative needs",
                            lambda case: NEEDED[str(case.arguments()[0])] == case.arguments()[1])}),
        look="Run it with w.exp() in place of w * 2. Which value does each derivative need?"),
    Prediction(
        "8.3",
        (Belief("a detached tensor has left the graph, so nothing notices", lambda: noticed(".data")),),
        Why("Which writes into w are noticed?", _names,
            ('noticed("detach()")', 'noticed(".data")', 'noticed("clone()")', 'noticed("a view")'),
            lambda value: value, {
                "a": Reason("those through a tensor that shares the memory and the version counter",
                            lambda case: SHARED[str(case.arguments()[0])] and case.arguments() != [".data"]),
                "b": Reason("those through a tensor that shares the memory",
                            lambda case: SHARED[str(case.arguments()[0])]),
                "c": Reason("those through a tensor that is in the graph",
                            lambda case: case.arguments()[0] in ("clone()", "a view"))}),
        look="Show state_card(w=w) before the change and after it: which number has changed?"),
    Prediction(
        "8.4",
        (Belief("the node kept a copy of w", lambda: grad_after("clone()")),
         Belief("whatever shares the memory is noticed", lambda: grad_after("detach()"))),
        Why("What did the node of w * w keep?", _names,
            ('grad_after(".data")', 'grad_after("clone()")', 'grad_after("nothing")'),
            lambda value: value, {
                "a": Reason("a copy of the numbers of w", lambda case: [2.0, 4.0]),
                "b": Reason("w itself; it reads the numbers when it runs",
                            lambda case: [20.0, 40.0] if case.arguments() == [".data"] else [2.0, 4.0]),
                "c": Reason("w, and later changes to it are recorded too",
                            lambda case: [200.0, 400.0] if case.arguments() == [".data"] else [2.0, 4.0])}),
        word="error",
        look="Print w before y.backward(): which numbers does the node find when it runs?"),
    Prediction(
        "8.5",
        (Belief("to() always makes a new tensor, and a new tensor is a result",
                lambda: _w().to(torch.float64).is_leaf),),
        Why("Which of these are leaves?", _names,
            ("x.to(torch.float64)", "x.to(torch.float32)", "x.detach().to(torch.float64).requires_grad_()",
             "x.clone()"),
            lambda value: value.is_leaf, {
                "a": Reason("all except those that computed new numbers", lambda case: True),
                "b": Reason("those that were not made from x by any call", lambda case: False),
                "c": Reason("those where nothing had to be done, or nothing was recorded",
                            lambda case: case.value.grad_fn is None)}, shows="True means that it is a leaf."),
        look="Print w.grad_fn. Then do the same with .to(torch.float64)."),
)
