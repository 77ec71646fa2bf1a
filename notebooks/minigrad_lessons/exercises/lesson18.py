"""The checks of lesson 18: a mask that writes, a recurrence, and a row of a parameter."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report


def _run(name: str, student: Callable[..., Any], arguments: str, *given: object) -> torch.Tensor | None:
    """What a student's function returns; None if that is no tensor, or if it raised: then it is told."""
    try:
        found = student(*given)
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        why = ""
        if "leaf Variable" in str(error):
            why = " A leaf that requires grad must not be written to while it is recorded: write into a clone of it."
        report.misconception(name, f"{report.name_of(student)}({arguments}): it {report.raised(error, student)}.{why}")
        return None
    if not isinstance(found, torch.Tensor):
        report.misconception(name, f"return a tensor; it returned a {type(found).__name__}.")
        return None
    return found


def _slopes(name: str, found: torch.Tensor, of: torch.Tensor) -> list[float] | None:
    """The gradient of the sum of what was returned; None if there is none, which is told."""
    if not found.requires_grad:
        report.misconception(name, "the values are right, but the result does not require grad: it was cut from the "
                                   "graph, by detach, .data or no_grad.")
        return None
    try:
        (slope,) = torch.autograd.grad(found.sum(), of, allow_unused=True)
    except RuntimeError as error:
        if "inplace" not in str(error):
            raise
        report.misconception(name, "backward says that something was modified by an inplace operation: a product has "
                                   "saved an entry of the tensor that you go on writing to. Keep the last value in a "
                                   "variable of its own, and collect the values in a list.")
        return None
    if slope is None:
        report.misconception(name, "the result does not depend on what was given.")
        return None
    return [round(value, 4) for value in slope.reshape(-1).tolist()]


def no_negatives(student: Callable[..., Any]) -> None:
    """Judge `no_negatives(w)`: its values, its gradient, and that w is as it was."""
    name = "check.no_negatives"
    if not report.to_judge(name, "no_negatives", "Fill in the two blanks.", student):
        return
    for values in ([1.0, -2.0, 3.0], [-1.0, -0.5, 4.0, 2.0]):
        w = torch.tensor(values, requires_grad=True)
        found = _run(name, student, f"w = {values}", w)
        if found is None:
            return
        wanted = [max(value, 0.0) for value in values]
        if w.tolist() != values:
            report.misconception(name, "w itself was changed. Write into a tensor with memory of its own: clone().")
            return
        if found.tolist() != wanted:
            report.misconception(name, f"w = {values} gives {found.tolist()}; it should give {wanted}.")
            return
        slopes = _slopes(name, found, w)
        if slopes is None:
            return
        if slopes != [float(value > 0) for value in values]:
            report.misconception(name, f"the values are right, but the gradient is {slopes}. It must be 1 where w is "
                                       "positive and 0 elsewhere.")
            return
    report.passed(name, "negative entries are 0 and have the slope 0; the others have the slope 1",
                  "w is as it was")


def powers(student: Callable[..., Any]) -> None:
    """Judge `powers(w, n)`: n powers of w, and the derivative of their sum."""
    name = "check.powers"
    if not report.to_judge(name, "powers", "Write powers(w, n).", student):
        return
    for value, n in ((2.0, 4), (-1.5, 3), (3.0, 1)):
        w = torch.tensor(value, requires_grad=True)
        found = _run(name, student, f"w = {value:g}, n = {n}", w, n)
        if found is None:
            return
        wanted = [value**k for k in range(1, n + 1)]
        if found.shape != (n,):
            report.misconception(name, f"w = {value:g}, n = {n}: the shape is {list(found.shape)}; return one tensor "
                                       f"of {n} entries.")
            return
        if not torch.allclose(found.detach(), torch.tensor(wanted)):
            report.misconception(name, f"w = {value:g}, n = {n}: {found.tolist()}; it should be {wanted}.")
            return
        slopes = _slopes(name, found, w)
        if slopes is None:
            return
        slope = sum(k * value ** (k - 1) for k in range(1, n + 1))
        if abs(slopes[0] - slope) > 1e-3:
            report.misconception(name, f"w = {value:g}, n = {n}: the values are right, but the slope of their sum is "
                                       f"{slopes[0]:g}; it should be {slope:g}. Some of the factors were cut off.")
            return
    report.passed(name, "n powers of w, and the slope of their sum")


def set_row(student: Callable[..., Any]) -> None:
    """Judge `set_row(weight, i, row)`: the row is there, the rest is as it was, and the parameter is still a leaf."""
    name = "check.set_row"
    if not report.to_judge(name, "set_row", "Write set_row(weight, i, row).", student):
        return
    weight, row = torch.arange(6.0).reshape(3, 2).requires_grad_(), torch.tensor([7.0, 8.0])
    version, memory = weight._version, weight.data_ptr()
    try:
        student(weight, 1, row)
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        why = " Say that the write is no part of your formula." if "leaf Variable" in str(error) else ""
        report.misconception(name, f"set_row(weight, 1, row): it {report.raised(error, student)}.{why}")
        return
    wanted = [[0.0, 1.0], [7.0, 8.0], [4.0, 5.0]]
    if weight.tolist() != wanted:
        what = "weight is as it was: the write must go into its memory." if weight.tolist()[1] == [2.0, 3.0] else \
            f"weight is {weight.tolist()}; it should be {wanted}."
        report.misconception(name, what)
    elif not (weight.is_leaf and weight.requires_grad and weight.data_ptr() == memory):
        report.misconception(name, "weight is not the same leaf any more, or does not require grad.")
    elif weight._version == version:
        report.misconception(name, "the row is there, but no version was raised: .data goes past the counter, and a "
                                   "backward pass that needs the old row would not notice. Use torch.no_grad().")
    else:
        report.passed(name, "the row is there, the other rows are as they were",
                      "weight is the same leaf and requires grad; its version was raised")


HINTS = {
    "no_negatives": (
        "Which method gives the same values in memory of their own, and is recorded?",
        "clone() is recorded; detach() is not, and shares the memory.",
        "y = w.clone() and y[y < 0] = 0.0",
    ),
    "powers": (
        "What does the product save, and who changes it afterwards?",
        "Keep the last power in a variable, and append each to a list. torch.stack makes one tensor of a list.",
        "p = w; found = [p]; then n - 1 times p = p * w; found.append(p); and return torch.stack(found)",
    ),
    "set_row": (
        "weight[i] = row is right. What forbids it?",
        "The write is no part of the formula, as in a step of an optimizer.",
        "with torch.no_grad(): weight[i] = row",
    ),
}
