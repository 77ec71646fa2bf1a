"""The checks of lesson 8: a parameter that is a leaf, changes in place that raise, and two ways to spoil a gradient."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.truths import Rule, Truths

MODIFIED = "modified by an inplace operation"


def parameter(at_once: Callable[[], Any], afterwards: Callable[[], Any]) -> None:
    """Judge two functions that each make a leaf of three ones in float64 that requires grad."""
    name = "check.parameter"
    if not report.to_judge(name, "at_once, afterwards", "Fill in the blank of each function.", at_once, afterwards):
        return
    for function in (at_once, afterwards):
        finished, tensor = report.run(name, function, "")
        if not finished:
            return
        fault = _why_no_parameter(tensor)
        if fault:
            report.misconception(name, f"{report.name_of(function)}(): {fault}")
            return
    report.passed(name, "both are leaves, in float64, and require grad: an optimizer would take either")


def _why_no_parameter(tensor: Any) -> str:
    if not isinstance(tensor, torch.Tensor):
        return f"it must return a tensor; it returned a {type(tensor).__name__}."
    if not tensor.is_leaf:
        return (f"not a leaf: {type(tensor.grad_fn).__name__} made it. It required grad before it was converted, "
                "so the conversion was recorded.")
    if tensor.dtype is not torch.float64:
        return f"its dtype is {str(tensor.dtype).removeprefix('torch.')}; it should be float64."
    if not tensor.requires_grad:
        return "a leaf in float64, but it does not require grad: an optimizer would find no gradient."
    return "" if tensor.tolist() == [1.0, 1.0, 1.0] else f"it should hold three ones; it holds {tensor.tolist()}."


TEN = ("y = a.exp(); y.add_(1)", "y = a.exp(); a.add_(1)", "y = a.sin(); y.add_(1)", "y = a.sin(); a.add_(1)",
       "y = a.sigmoid(); y.add_(1)", "y = a.relu(); y.add_(1)", "y = a * 2; a.add_(1)", "y = a * a; a.add_(1)",
       "y = a + 3; a.add_(1)", "y = a ** 2; y.add_(1)")
BELIEFS: tuple[tuple[str, Rule], ...] = (
    ("a change in place always raises", lambda code, raised: True),
    ("a change in place is recorded too, so it never raises", lambda code, raised: False),
    ("a change of the result raises, one of the input does not", lambda code, raised: "y.add_" in code),
    ("a change of the input raises, one of the result does not", lambda code, raised: "a.add_" in code),
    ("a product always saves its input, even where the other factor is a number",
     lambda code, raised: bool(raised) or "a * 2" in code),
    ("relu needs its input, so its result may be changed", lambda code, raised: bool(raised) and "relu" not in code),
)


def _raised(code: str, names: dict[str, Any]) -> bool:
    """Whether backward raises after these statements."""
    here = {**names, "a": torch.tensor([1.0, 2.0], requires_grad=True) * 1}
    exec(code, here)
    try:
        here["y"].sum().backward()
    except RuntimeError as error:
        return MODIFIED in str(error)
    return False


_TEN = Truths(
    name="check.changed", codes=TEN, count="ten", hand_over="nothing", run=_raised, holds=bool, beliefs=BELIEFS,
    look="Write down the derivative. Which value is in it: the input, the result, or neither?",
    told=("raise", "do not"))


def changed(answers: object) -> None:
    """Judge `{statements: does backward raise after them?}` by running each."""
    _TEN.judge(answers, {})


def spoil(loud: Callable[[torch.Tensor], Any], silent: Callable[[torch.Tensor], Any]) -> None:
    """Judge two functions that change w between forward and backward: one is noticed, one gives a wrong gradient."""
    name = "check.spoil"
    if not report.to_judge(name, "loud, silent", "Write what loud and silent do with w.", loud, silent):
        return
    for function, judge in ((loud, _why_not_loud), (silent, _why_not_silent)):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * w).sum()
        try:
            function(w)
        except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
            early = "a leaf Variable that requires grad" in str(error)
            why = "it raises at once: a leaf may be changed only where nothing is recorded." if early else ""
            report.misconception(name, f"{report.name_of(function)}(w): {why or report.raised(error, function)}")
            return
        untouched = w.tolist() == [1.0, 2.0]
        fault = judge(*_outcome(loss, w), untouched)
        if fault:
            report.misconception(name, f"{report.name_of(function)}(w): {fault}")
            return
    report.passed(name, "loud: backward compared the versions and raised", "silent: backward ran, and the gradient is "
                  "wrong. Nothing warned you: do not use .data, or anything else that hides the change from the "
                  "counter.")


def _outcome(loss: torch.Tensor, w: torch.Tensor) -> tuple[str, list[float]]:
    """What backward raises, and the gradient that it leaves."""
    try:
        loss.backward()
    except Exception as error:  # noqa: BLE001 (a student's hook may raise anything)
        return report.first_line(error), []
    return "", w.grad.tolist() if w.grad is not None else []


def _why_not_loud(error: str, grad: list[float], untouched: bool) -> str:
    if MODIFIED in error:
        return ""
    if error:
        return f"backward raised something else: {error}"
    if untouched and grad == [2.0, 4.0]:
        return "backward ran, and the gradient is right: the memory of w is unchanged. You changed a copy, or nothing."
    if untouched:
        return "backward ran. The gradient is wrong, but the memory of w is unchanged."
    return "backward ran, and the gradient is wrong: this is the silent one."


def _why_not_silent(error: str, grad: list[float], untouched: bool) -> str:
    if error:
        return "backward raised: the version counter is shared, so the change was noticed. Which way hides it?"
    if grad == [2.0, 4.0]:
        return "the gradient is right: the memory of w is unchanged."
    if untouched:
        return "the gradient is wrong, but the memory of w is unchanged. Write into that memory, and nothing else."
    return ""


HINTS = {
    "parameter": (
        "A leaf is a tensor that no recorded operation made. When is a conversion recorded?",
        "Only if its input requires grad. So either make it in float64 from the start, or set requires_grad last.",
        "dtype=torch.float64 in the first; requires_grad_(True) in the second.",
    ),
    "changed": (
        "The slope of exp is exp; that of sin is cos. Which of the two can be computed from the result?",
        "exp, sigmoid, relu, tanh, sqrt keep their result. sin, ** and a product of tensors keep inputs. A sum and a "
        "product with a number keep no tensor that could be changed.",
        "True: exp with y, sin with a, sigmoid with y, relu with y, a * a with a. All others False.",
    ),
    "spoil": (
        "Both must write into the memory of w. Predictions 3 and 4 wrote into w in two ways.",
        "w.detach() shares the counter with w. There is one old way that does not.",
        "loud: w.detach().mul_(10). silent: the same with w.data.",
    ),
}
