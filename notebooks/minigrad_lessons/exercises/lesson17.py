"""The checks of lesson 17: a gradient summed back to a shape, rows that are centered, a loss whose shapes fit."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import grad_of

Shape = tuple[int, ...]
SHAPES: tuple[tuple[Shape, Shape], ...] = (
    ((3,), (2, 3)), ((3,), (3, 3)), ((2, 1), (2, 3)), ((), (2, 3)), ((1, 3), (2, 3)), ((2, 3), (2, 3)),
    ((3, 1), (4, 3, 2)))


def _counting(shape: Shape) -> torch.Tensor:
    """A tensor of this shape whose entries are all different."""
    return torch.reshape(torch.arange(float(torch.ones(shape).numel())) + 1, shape)


def _lists(tensor: torch.Tensor) -> str:
    """The entries, for a sentence, with three digits at most."""
    return str(torch.round(tensor * 100).div(100).tolist())


def _near(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    return bool(found.shape == wanted.shape and torch.allclose(found.double(), wanted.double(), atol=1e-4))


def sum_back(student: Callable[[torch.Tensor, Shape], Any]) -> None:
    """Judge `sum_back(grad, shape)`: does it give what the engine makes of a gradient, for several shapes?"""
    name = "check.sum_back"
    if not report.to_judge(name, "sum_back", "Fill in the two blanks of sum_back(grad, shape).", student):
        return
    for shape, whole in SHAPES:
        leaf, grad = torch.ones(shape, requires_grad=True), _counting(whole)
        leaf.expand(whole).backward(grad)
        finished, found = report.run(name, student, f"a gradient of the shape {whole}, {shape}", grad, shape)
        if not finished:
            return
        if not isinstance(found, torch.Tensor):
            report.misconception(name, f"sum_back must return a tensor; it returned {report.a(found)}.")
            return
        if fault := _why_not_back(found, grad_of(leaf), grad, shape):
            report.misconception(name, fault, f"A gradient of the shape {whole}, for a tensor of the shape {shape}")
            return
    report.passed(name, *(f"{whole} is summed back to {shape}, as the engine does" for shape, whole in SHAPES))


def _why_not_back(found: torch.Tensor, wanted: torch.Tensor, grad: torch.Tensor, shape: Shape) -> str:
    """What is wrong with a gradient that was summed back; empty if nothing is."""
    if _near(found, wanted):
        return ""
    if found.dim() == 0:
        return "everything was added up. Sum over one dimension at a time."
    if len(shape) < grad.dim() and _near(found, grad.sum(-1)):
        return ("the sum is over the last dimension. Broadcasting adds dimensions on the left, so the first one has "
                "to go.")
    if found.dim() < len(shape):
        return (f"the result has the shape {tuple(found.shape)}: a dimension of length 1 has to stay, with length 1. "
                "That is what keepdim=True does.")
    if found.shape != wanted.shape:
        return f"the result has the shape {tuple(found.shape)}; a gradient has the shape of its tensor."
    if _near(found * (grad.numel() // found.numel()), wanted):
        return "these are means. An entry that was used several times gets the sum of what comes back."
    return f"the result is {_lists(found)}; the engine makes {_lists(wanted)} of this gradient."


def center(student: Callable[[torch.Tensor], Any]) -> None:
    """Judge `center(m)`: does each row lose its own mean, in a square matrix too, with the gradient that belongs?"""
    name = "check.center"
    if not report.to_judge(name, "center", "Write what center(m) returns.", student):
        return
    for shape in ((3, 3), (2, 4)):
        m = (_counting(shape) ** 2).requires_grad_()
        finished, found = report.run(name, student, f"a matrix of the shape {shape}", m)
        if not finished:
            return
        fault = "center must return a tensor." if not isinstance(found, torch.Tensor) else _why_not_centered(found, m)
        if fault:
            report.misconception(name, fault, f"A matrix of the shape {shape}")
            return
    report.passed(name, "(3, 3) and (2, 4): the mean of each row is 0, and so is the sum of its gradients")


def _why_not_centered(found: torch.Tensor, m: torch.Tensor) -> str:
    values, matrix = found.detach(), m.detach()
    if _near(values, matrix - matrix.mean()):
        return "one mean of the whole matrix was subtracted; each row has a mean of its own."
    if _near(values, matrix - matrix.mean(0)):
        return "the mean of each column was subtracted. The dimension that you name is the one that is summed away."
    if matrix.shape[0] == matrix.shape[1] and _near(values, matrix - matrix.mean(1)):
        return ("the means are right, but they have the shape (3,), which is matched with the last dimension: each "
                "column loses the mean of some row. Keep the dimension, with length 1.")
    if not _near(values, matrix - matrix.mean(1, keepdim=True)):
        return f"the means of the rows are now {_lists(values.reshape(values.shape[0], -1).mean(1))}; they must be 0."
    if not found.requires_grad:
        return "the values are right, but the result does not require grad: it was cut from m."
    (found * _counting(tuple(m.shape))).sum().backward()
    if not _near(grad_of(m).sum(1), torch.zeros(m.shape[0])):
        return ("the values are right, but no gradient goes through the mean. An entry changes the mean of its row, "
                "and through it every entry of the row.")
    return ""


def paired(student: Callable[[torch.Tensor, torch.Tensor], Any]) -> None:
    """Judge a loss of predictions (n, 1) and targets (n,): does each prediction meet its own target only?"""
    name = "check.paired"
    if not report.to_judge(name, "squared_error", "Write what squared_error(pred, target) returns.", student):
        return
    for count in (4, 1):
        pred, target = _counting((count, 1)).requires_grad_(), _counting((count,)) ** 2 + 1
        finished, found = report.run(name, student, f"shapes ({count}, 1) and ({count},)", pred, target)
        if not finished:
            return
        fault = _why_not_paired(found, pred, target)
        if fault:
            report.misconception(name, fault, f"{count} predictions: a pred of the shape ({count}, 1)")
            return
    report.passed(name, "4 predictions and 1: the loss is the mean of the squared differences",
                  "the gradient of each prediction depends on its own target only")


def _why_not_paired(found: Any, pred: torch.Tensor, target: torch.Tensor) -> str:
    if not isinstance(found, torch.Tensor):
        return f"squared_error must return a tensor; it returned {report.a(found)}."
    if found.dim() > 0:
        return f"a loss is one number; this has the shape {tuple(found.shape)}. Take the mean."
    column, count = pred.detach(), len(target)
    own = (column.squeeze(1) - target) ** 2
    if count > 1 and _near(found.detach(), ((column - target) ** 2).mean()):
        return (f"({count}, 1) and ({count},) give ({count}, {count}): each prediction is compared with every target. "
                "Give both the same shape first.")
    if count > 1 and _near(found.detach(), own.sum()):
        return "this is the sum of the squared differences, not their mean."
    if count > 1 and _near(found.detach(), (column.squeeze(1) - target).mean() ** 2):
        return "the differences were averaged first and squared afterwards. Square them first."
    if not _near(found.detach(), own.mean()):
        return f"the loss is {found.item():.3g}; the mean of the squared differences is {own.mean().item():.3g}."
    if not found.requires_grad:
        return "the loss is right, but it does not require grad: it was cut from pred."
    return ""


HINTS = {
    "sum_back": (
        "Two kinds of dimensions were stretched: those that the tensor does not have, and those of length 1.",
        "Missing dimensions are added on the left, so the first dimension of grad is the one to sum away.",
        "The first blank is the number of the first dimension. The second says whether a summed dimension stays, with "
        "length 1: True.",
    ),
    "center": (
        "One mean for each row: m.mean(1). Print its shape. With what would it be matched in m - m.mean(1)?",
        "The means must stand one below the other, as a column: (rows, 1). Then each meets its own row.",
        "mean has the argument keepdim. m.mean(1, keepdim=True) has the shape (rows, 1).",
    ),
    "paired": (
        "Print the shape of pred - target for three predictions.",
        "Give both the same shape before you subtract: two columns, or two plain lists.",
        "pred.squeeze(1) has the shape (n,), and target.unsqueeze(1) has (n, 1). One of the two is enough.",
    ),
}
