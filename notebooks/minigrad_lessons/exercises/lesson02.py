"""The checks of lesson 2: the rule of requires_grad, ten expressions, and a tensor in every state."""

from collections.abc import Callable
from itertools import product
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.truths import Rule, Truths

State = tuple[bool, bool, bool]  # is_leaf, requires_grad, retains_grad

RULES: tuple[tuple[str, Callable[[bool, tuple[bool, ...]], bool]], ...] = (
    ("every input must require grad", lambda mode, flags: mode and all(flags)),
    ("while recording is on, every result requires grad", lambda mode, flags: mode),
    ("the first input decides", lambda mode, flags: mode and bool(flags) and flags[0]),
    ("the last input decides", lambda mode, flags: mode and bool(flags) and flags[-1]),
    ("exactly one input must require grad", lambda mode, flags: mode and sum(flags) == 1),
    ("recording does not matter", lambda mode, flags: any(flags)),
    ("one of the two is enough: recording, or an input that requires grad", lambda mode, flags: mode or any(flags)),
)
CASES = [(mode, flags) for mode in (True, False) for size in (1, 2, 3) for flags in product((True, False), repeat=size)]


def flag_of(mode: bool, flags: tuple[bool, ...]) -> bool:
    """The flag of a tensor made of inputs with these flags, with recording on or off."""
    inputs = [torch.ones(1, requires_grad=flag) for flag in flags]
    with torch.set_grad_enabled(mode):
        return torch.cat(inputs).requires_grad


def result_flag(student: Callable[..., Any]) -> None:
    """Judge `result_requires_grad(mode, *flags)` against results of up to three inputs, recorded and not."""
    name = "check.result_flag"
    if not report.to_judge(name, "result_requires_grad", "Fill in the blank of result_requires_grad.", student):
        return
    said = {}
    for mode, flags in CASES:
        finished, answer = report.run(name, student, ", ".join(map(str, (mode, *flags))), mode, *flags)
        if not finished:
            return
        said[mode, flags] = answer
    wrong = next((case for case in CASES if bool(said[case]) != flag_of(*case)), None)
    if wrong is None:
        report.passed(name, f"{len(CASES)} results of one to three inputs, recorded and not: all agree")
        return
    fits = [text for text, rule in RULES if all(bool(rule(*case)) == bool(said[case]) for case in CASES)]
    mode, flags = wrong
    report.misconception(
        name, f'this is the rule "{fits[0]}".' if fits else "it does not agree with the run.",
        f"Recording {'on' if mode else 'off'}, flags of the inputs {', '.join(map(str, flags))}: you say "
        f"{bool(said[wrong])}, the run says {flag_of(*wrong)}.")


TEN = ("w + data", "data * data", "w >= data", "w.detach() * w", "w.clone()", "w.argmax()", "w.long() * w",
       "(w * 2).detach() + data", "torch.ones_like(w)", "unrecorded(lambda: w * data)")
FLAG_BELIEFS: tuple[tuple[str, Rule], ...] = (
    ("a result requires grad as soon as w is in it", lambda code, t: "w" in code.replace("requires", "")),
    ("every input must require grad", lambda code, t: t.requires_grad and code == "w.clone()"),
    ("what was detached stays detached, whatever comes after",
     lambda code, t: t.requires_grad and "detach" not in code),
    ("a copy is new data, so it does not require grad", lambda code, t: t.requires_grad and "clone" not in code),
    ("one integer input is enough: the result cannot require grad",
     lambda code, t: t.requires_grad and "long" not in code),
    ("comparisons and argmax are operations like any other",
     lambda code, t: t.requires_grad or ">=" in code or "argmax" in code),
    ("ones_like(w) is like w, flag and all", lambda code, t: t.requires_grad or "ones_like" in code),
    ("under no_grad the flag still follows from the inputs", lambda code, t: t.requires_grad or "unrecorded" in code),
)
_TEN = Truths(
    name="check.flags", codes=TEN, count="ten", hand_over="w, data and unrecorded", run=eval,
    holds=lambda tensor: tensor.requires_grad, beliefs=FLAG_BELIEFS,
    look="Print its dtype and its grad_fn. Was it recorded?", told=("require grad", "do not"))


def flags(answers: object, **names: Any) -> None:
    """Judge `{expression: does it require grad?}` by running each expression with the given names."""
    _TEN.judge(answers, names)


ROWS: dict[str, State] = {"third": (False, True, False), "fourth": (False, True, True), "fifth": (True, False, True),
                          "sixth": (True, True, True)}
# A state that is not the one that was asked for, and what led there.
MISSED: dict[tuple[str, State], str] = {
    ("third", (True, True, False)): "this is still a leaf: nothing was recorded. The exercise asks for a result.",
    ("fourth", (False, True, False)): "it was never asked to keep its gradient.",
    ("fourth", (True, True, False)): "on a leaf retain_grad() silently does nothing. Call it on a result.",
    ("fifth", (True, False, False)): "it does not retain a gradient: on a leaf retain_grad() silently does nothing. It "
                                     "must be called while the tensor is still a result.",
    ("fifth", (False, True, True)): "this is still a result. What turns the tensor itself into a leaf?",
    ("fifth", (True, True, True)): "one call too many: it does not require grad in this state.",
    ("sixth", (True, False, True)): "this is the fifth state. One flag still has to be set.",
    ("sixth", (True, True, False)): "on a leaf retain_grad() silently does nothing. It must be called "
                                    "while the tensor is still a result.",
}
DETACHED = ("t.detach() is a new tensor, on which retain_grad() was never called. The tensor itself must become a "
            "leaf: there is a method for that whose name ends in _.")


def reach(third: Callable[[], Any], fourth: Callable[[], Any], fifth: Callable[[], Any],
          sixth: Callable[[], Any]) -> None:
    """Judge four functions that each make a tensor in one state, by asking the tensor."""
    name = "check.reach"
    given = dict(zip(ROWS, (third, fourth, fifth, sixth)))
    if not report.is_function(name, "third, fourth, fifth, sixth", *given.values()):
        return
    if blank := [row for row, function in given.items() if report.has_dots(function)]:
        report.not_yet(name, f"Still to be written: {', '.join(blank)}.")
        return
    for row, function in given.items():
        fault = _judge_row(row, function)
        if fault:
            report.misconception(name, f"{row}(): {fault}")
            return
    report.passed(name, *(f"{row}: is_leaf {state[0]}, requires_grad {state[1]}, retains_grad {state[2]}"
                          for row, state in ROWS.items()))


def _judge_row(row: str, function: Callable[[], Any]) -> str:
    try:
        tensor = function()
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        if "can't retain_grad" in str(error):
            advice = "Start from a tensor that requires grad." if row == "fourth" else \
                "Ask earlier, while it is a result that requires grad."
            return f"retain_grad() raises an error on a tensor that does not require grad. {advice}"
        if "change requires_grad flags" in str(error):
            return "you cannot turn off the flag of a result. Make it a leaf first."
        return f"it {report.raised(error, function)}"
    if tensor is None:
        return "it returned None. retain_grad() returns nothing: call it on a line of its own, and return t."
    if not isinstance(tensor, torch.Tensor):
        return f"it must return a tensor; it returned {report.a(tensor)}."
    found = tensor.is_leaf, tensor.requires_grad, tensor.retains_grad
    if found == ROWS[row]:
        return ""
    said = "is_leaf {}, requires_grad {}, retains_grad {}"
    return f"{_why_missed(row, found, function)} Yours has {said.format(*found)}."


def _why_missed(row: str, found: State, function: Callable[[], Any]) -> str:
    """What led to the wrong state. A leaf that retains nothing has two reasons, and the calls tell which it is."""
    detaches = "detach" in getattr(getattr(function, "__code__", None), "co_names", ())
    if detaches and row in ("fifth", "sixth") and found[0] and not found[2]:
        return DETACHED
    return MISSED.get((row, found), "it is in another state.")


HINTS = {
    "result_flag": (
        "Look at the eight lines above: with recording on, which of the four says False?",
        "One input that requires grad is enough. Python has a function for: at least one of these is True.",
        "`mode and any(flags)`.",
    ),
    "flags": (
        "Ask three things: is the result made of floating-point numbers, was recording on, and did an input require "
        "grad at that moment?",
        "detach() and long() return a tensor that does not require grad. A result of it and w still has one input "
        "that does.",
        "The answer is True for w + data, w.detach() * w, w.clone(), and one more, in which integers are multiplied "
        "by w.",
    ),
    "reach": (
        "The inspector shows the lines that lead to the state you are in. Walk there first.",
        "States 5 and 6 are reached through state 4: what remembers retain_grad() must have been a result.",
        "For the fifth: t = torch.ones(2, requires_grad=True) * 2, then t.retain_grad(), then t.detach_(). The sixth "
        "has one more call.",
    ),
}
