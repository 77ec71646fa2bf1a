"""Lesson 5: recall questions about it (asked later) and its predictions."""

from collections.abc import Callable

import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why
from minigrad_lessons.exercises.graph import grad_of


def _x() -> torch.Tensor:
    return torch.tensor(2.0, requires_grad=True)


def _grad_after(passes: int) -> float:
    x = _x()
    for _ in range(passes):
        (x * 3).backward()
    return float(grad_of(x))


def _zeroed(set_to_none: bool) -> object:
    x = _x()
    optimizer = torch.optim.SGD([x], lr=0.1)
    (x * 3).backward()
    optimizer.zero_grad(set_to_none=set_to_none)
    return None if x.grad is None else x.grad.item()


def _come_and_run(result: torch.Tensor) -> list[int]:
    """How many gradients come to the accumulator when `result` runs backward, and how often it runs."""
    with record() as trace:
        result.backward()
    ends = [number for number, node in enumerate(trace.nodes) if node["name"] == "AccumulateGrad"]
    return [sum(event["kind"] == kind and event.get("to", event.get("node")) in ends for event in trace.events)
            for kind in ("flow", "run")]


def _count(kind: str) -> int:
    """How many such events go into x's accumulator, for x * x."""
    x = _x()
    return _come_and_run(x * x)[kind == "run"]


def _divisor(parts: int, whole: Callable[[torch.Tensor], torch.Tensor]) -> float:
    """By how much the sum of the gradients of `parts` equal parts is more than the gradient of the whole."""
    w, data = _x(), torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    whole(w * data).backward()
    wanted, w.grad = grad_of(w), None
    for part in data.chunk(parts):
        whole(w * part).backward()
    return round(float(grad_of(w) / wanted), 3)


def _second_pass(look: Callable[[torch.Tensor, torch.Tensor], bool]) -> bool:
    x = _x()
    (x * 3).backward()
    first = grad_of(x)
    (x * 3).backward()
    return look(first, grad_of(x))


QUESTIONS = (
    Question(
        "q5.1", "x requires grad. (x * 3).backward(), and the same line once more. What is x.grad?",
        lambda: _grad_after(2),
        (Belief("backward overwrites", lambda: _grad_after(1)),),
        "run it and print x.grad after each line"),
    Question(
        "q5.2", "After optimizer.zero_grad(), what is the .grad of a parameter?",
        lambda: _zeroed(set_to_none=True),
        (Belief("zero_grad leaves zeros", lambda: _zeroed(set_to_none=False)),),
        "print it; zero_grad has an argument set_to_none, and its default is True", word="None"),
    Question(
        "q5.3", "y = x * x; y.backward(). How often does the AccumulateGrad of x run?",
        lambda: _count("run"),
        (Belief("once for each edge that leads to it", lambda: _count("flow")),),
        "step through it in the inspector: two gradients arrive, then the node runs"),
    Question(
        "q5.4", "The loss is a mean. A batch is split into 4 equal parts. By what number must each part's loss be "
                "divided?",
        lambda: _divisor(4, lambda losses: losses.mean()),
        (Belief("by nothing: the mean of the parts is the mean of the whole",
                lambda: _divisor(4, lambda losses: losses.sum())),
         Belief("each part is a quarter of the batch", lambda: 1 / _divisor(4, torch.mean))),
        "compare the summed .grad of four parts with the .grad of the whole batch"),
    Question(
        "q5.5", "g = x.grad after the first backward. After the second, is x.grad still the object g?",
        lambda: _second_pass(lambda first, now: now is first),
        (Belief("a sum is a new tensor", lambda: _second_pass(lambda first, now: (now + now) is first)),),
        "print g is x.grad, and look at what g shows after the second pass"),
)




def _uses(case: Case) -> int:
    return case.names_used().count("x")


def _steps_of(case: Case) -> list[str]:
    return case.names_used()[1:]


def backward(x: torch.Tensor) -> None:
    """One more pass, with the gradient 3."""
    (x * 3).backward()


def set_none(x: torch.Tensor) -> None:
    """Drop the gradient."""
    x.grad = None


def set_zero(x: torch.Tensor) -> None:
    """Fill the gradient with zeros, in place."""
    grad_of(x).zero_()


def _g_shows(*steps: Callable[[torch.Tensor], None]) -> float:
    """What g shows after these steps, when g was x.grad after a first pass."""
    x = _x()
    backward(x)
    g = grad_of(x)
    for step in steps:
        step(x)
    return float(g)


def _if_one_tensor(case: Case) -> float:
    shown, held = 3.0, True
    for step in _steps_of(case):
        if step == "set_none":
            held = False
        elif held:
            shown = shown + 3.0 if step == "backward" else 0.0
    return shown


def _if_a_name_for_grad(case: Case) -> float | None:
    shown: float | None = 3.0
    for step in _steps_of(case):
        shown = None if step == "set_none" else 0.0 if step == "set_zero" else (shown or 0.0) + 3.0
    return shown


def _moves(clear: str, momentum: float = 0.0) -> bool:
    """Whether w moves in a step after one with a gradient, when .grad was cleared to "None" or to "zeros"."""
    w = _x()
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=momentum)
    (w * 3).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=clear == "None")
    before = w.item()
    optimizer.step()
    return bool(w.item() != before)


def _too_large(parts: int, reduce: Callable[[torch.Tensor], torch.Tensor]) -> int:
    """By which factor the sum over so many parts is too large, for a loss of this kind."""
    return round(_divisor(parts, reduce))


def _moved(steps: int, clear: bool = False) -> float:
    """How far w moves in so many steps of 0.1 along the gradient 1."""
    w = torch.tensor(0.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        (w * 1).backward()
        optimizer.step()
    return round(-float(w.detach()), 3)


def _number(case: Case) -> int:
    return int("".join(letter for letter in case.code if letter.isdigit()))


def _names() -> Names:
    return {"x": _x(), "backward": backward, "set_none": set_none, "set_zero": set_zero, "g_shows": _g_shows,
            "moves": _moves, "too_large": _too_large, "moved": _moved, "mean": torch.mean, "sum": torch.sum}


PREDICTIONS = (
    Prediction(
        "5.1",
        (Belief("each edge adds on its own", lambda: _count("flow")),),
        Why("How many gradients arrive at x's accumulator, and how often does it run?", _names,
            ("x * 3", "x * x", "x + x + x"), _come_and_run, {
                "a": Reason("one for each use of x; they are added up first, and then it runs once",
                            lambda case: [_uses(case), 1]),
                "b": Reason("one for each use of x, and it runs for each", lambda case: [_uses(case)] * 2),
                "c": Reason("two edges to one node become one edge", lambda case: [1, 1])},
            shows="[2, 1] means that two gradients arrive and the accumulator runs once."),
        look="Step through an inspector of y.backward(): how many gradients arrive at the node of x, and how "
             "often does it run?"),
    Prediction(
        "5.2",
        (Belief("g is a copy of what x.grad was", lambda: _g_shows()),),
        Why("What is g?", _names,
            ("g_shows(backward)", "g_shows(set_zero)", "g_shows(set_none)", "g_shows(set_none, backward, backward)"),
            lambda value: value, {
                "a": Reason("a copy of what x.grad was", lambda case: 3.0),
                "b": Reason("another name for x.grad, whatever that is now", _if_a_name_for_grad),
                "c": Reason("the tensor that x.grad was; as long as it is there, backward adds into it",
                            _if_one_tensor)}),
        look="After each pass, print g, x.grad, and g is x.grad."),
    Prediction(
        "5.3",
        (Belief("zero_grad leaves zeros", lambda: _zeroed(set_to_none=False)),),
        Why("A step, then the gradient is cleared to None or to zeros. Does the next step move w? (Momentum: each "
            "step also repeats part of the previous one.)", _names,
            ('moves("None")', 'moves("zeros")', 'moves("None", momentum=0.9)', 'moves("zeros", momentum=0.9)'),
            lambda value: value, {
                "a": Reason("never: without a gradient there is no step", lambda case: False),
                "b": Reason("with momentum it keeps moving, unless .grad is None: then w is skipped",
                            lambda case: "momentum" in case.code and "zeros" in case.code),
                "c": Reason("with momentum it keeps moving: None counts as zero",
                            lambda case: "momentum" in case.code)}),
        word="None",
        look="Print w.grad before zero_grad() and after it. Then do the same with set_to_none=False."),
    Prediction(
        "5.4",
        (Belief("the mean of the parts is the mean of the whole", lambda: _divisor(4, torch.sum)),
         Belief("each part is a quarter of the batch", lambda: 1 / _divisor(4, torch.mean)),
         Belief("each mean divides by the size of its part, and that is how much is missing", lambda: 8 / 4)),
        Why("How many times too large is the sum over the parts?", _names,
            ("too_large(2, mean)", "too_large(4, mean)", "too_large(4, sum)"), lambda value: value, {
                "a": Reason("as many times as there are parts, if the loss is a mean: each divides by its own size",
                            lambda case: _number(case) if "mean" in case.code else 1),
                "b": Reason("as many times as there are parts, whatever the loss is", _number),
                "c": Reason("none: it is right in any case, because gradients add up", lambda case: 1)}),
        look="Print w.grad of the whole batch, then of each part alone, and add those up."),
    Prediction(
        "5.5",
        (Belief("without zero_grad, only the last gradient counts", lambda: _moved(3, clear=True)),
         Belief("the gradient is doubled each time", lambda: 0.1 * (2**3 - 1))),
        Why("How far does w go?", _names, ("moved(1)", "moved(2)", "moved(4)"), lambda value: value, {
            "a": Reason("each step follows the sum of all gradients so far",
                        lambda case: round(0.1 * sum(range(_number(case) + 1)), 3)),
            "b": Reason("each step follows the last gradient", lambda case: round(0.1 * _number(case), 3)),
            "c": Reason("each step goes twice as far as the one before",
                        lambda case: round(0.1 * (2 ** _number(case) - 1), 3))}),
        look="Print w.grad and w after each step."),
)
