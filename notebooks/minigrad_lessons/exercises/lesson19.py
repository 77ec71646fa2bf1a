"""The checks of lesson 19: an entropy, log-sum-exp, and a training step with a scale."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report

INFINITE = float("inf")


def _judged(name: str, student: Callable[..., Any], values: list[float], wanted: float, slopes: list[float]) -> bool:
    """Whether a student's function gives this value and this gradient; else it is told."""
    x = torch.tensor(values, requires_grad=True)
    ended, found = report.run(name, student, str(values), x)
    if not ended:
        return False
    if not isinstance(found, torch.Tensor) or found.shape != ():
        shape = f" of shape {tuple(found.shape)}" if isinstance(found, torch.Tensor) else ""
        report.misconception(name, f"return one number as a tensor; it returned {report.a(found)}{shape}.")
        return False
    if not math.isclose(found.item(), wanted, rel_tol=1e-4, abs_tol=1e-5):
        report.misconception(name, f"{values} gives {found.item():.4g}; it should give {wanted:.4g}.")
        return False
    if not found.requires_grad:
        report.misconception(name, "the value is right, but the result does not require grad: it was cut from the "
                                   "graph.")
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mode warns that it is slow
            with torch.autograd.detect_anomaly():
                (slope,) = torch.autograd.grad(found, x, retain_graph=True)
    except RuntimeError as error:
        (slope,) = torch.autograd.grad(found, x)
        if not bool(slope.isnan().any()):
            report.misconception(name, f"{values}: the value and the gradient are right, but there is a NaN on the "
                                       f"way, and only the first where keeps it from p. Anomaly mode says: {error}")
            return False
    if not torch.allclose(slope, torch.tensor(slopes), atol=1e-4):
        written = ", ".join(f"{entry:.4g}" for entry in slope.tolist())
        why = " The value is right: a branch that was not chosen has a slope that is infinite." \
            if bool(slope.isnan().any()) else " The value is right."
        report.misconception(name, f"{values} gives the gradient [{written}]; it should give {slopes}.{why}")
        return False
    return True


def entropy(student: Callable[..., Any]) -> None:
    """Judge `entropy(p)`: value and gradient, with and without entries that are 0."""
    name = "check.entropy"
    if not report.to_judge(name, "entropy", "Fill in the two blanks.", student):
        return
    for p in ([0.5, 0.25, 0.25], [0.5, 0.0, 0.5], [0.0, 1.0], [0.99, 0.01]):
        wanted = -sum(entry * math.log(entry) for entry in p if entry)
        slopes = [round(-math.log(entry) - 1, 4) if entry else 0.0 for entry in p]
        if not _judged(name, student, p, wanted, slopes):
            return
    report.passed(name, "four vectors of probabilities: the value, and a gradient that is 0 where an entry is 0")


def log_sum_exp(student: Callable[..., Any]) -> None:
    """Judge `log_sum_exp(x)`: value and gradient, also where exp leaves the range of float32."""
    name = "check.log_sum_exp"
    if not report.to_judge(name, "log_sum_exp", "Write log_sum_exp(x).", student):
        return
    for x in ([0.0, 1.0, 2.0], [1000.0, 0.0], [0.0, 1000.0], [-1000.0, -1001.0]):
        most = max(x)
        shares = [math.exp(entry - most) for entry in x]
        slopes = [round(share / sum(shares), 4) for share in shares]
        if not _judged(name, student, x, most + math.log(sum(shares)), slopes):
            return
    report.passed(name, "the value, for small and large entries", "the gradient: the softmax")


def _stepped(name: str, student: Callable[..., Any], slope: float, limit: float = 1.0,
             ) -> tuple[list[float], float, bool] | None:
    """What a step makes of two weights, both 1, with the gradients 3 and 4 times `slope`: the weights, the scale, and
    whether backward started from a scaled loss; None if it raised.
    """
    weights = [torch.ones((), requires_grad=True) for _ in range(2)]
    for each in weights:
        each.grad = torch.tensor(100.0)  # of an earlier step
    optimizer = torch.optim.SGD(weights, lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    seen: list[float] = []
    loss = (weights[0] * 3.0 + weights[1] * 4.0) * slope
    loss.register_hook(lambda gradient: seen.append(gradient.item()))
    ended, _ = report.run(name, student, f"loss, [v, w], optimizer, scaler, limit={limit}", loss, weights, optimizer,
                          scaler, limit)
    if not ended:
        return None
    return [round(each.item(), 3) for each in weights], scaler.get_scale(), bool(seen) and seen[0] != 1.0


def scaled_step(student: Callable[..., Any]) -> None:
    """Judge `scaled_step(loss, parameters, optimizer, scaler, limit)` by a good step and one that must be left out."""
    name = "check.scaled_step"
    if not report.to_judge(name, "scaled_step", "Write the five calls.", student):
        return
    good = _stepped(name, student, 1.0)
    if good is None:
        return
    weights, _, scaled = good
    wrong = {
        (1.0, 1.0): "the weights did not move: go backward, then let the scaler step.",
        (-2.0, -3.0): "the weights moved by their gradients, 3 and 4, whose norm is 5; the limit was 1.",
        (0.999, 0.999): "the weights moved by 0.001: the limit was applied to the scaled gradients. Unscale first.",
    }
    if weights != [0.4, 0.2]:
        text = f"v = w = 1 with the gradients 3 and 4 becomes {weights}; with the limit 1 it should be [0.4, 0.2]."
        report.misconception(name, wrong.get((weights[0], weights[1]), text))
        return
    if not scaled:
        report.misconception(name, "the step is right, but the loss was not scaled before backward.")
        return
    small = _stepped(name, student, 1.0, limit=10.0)
    if small is None:
        return
    if small[0] != [-2.0, -3.0]:
        report.misconception(name, "with the limit 10 the gradients 3 and 4 should stay as they are: their norm is 5. "
                                   f"v = w = 1 becomes {small[0]}; it should be [-2, -3].")
        return
    bad = _stepped(name, student, INFINITE)
    if bad is None:
        return
    if bad[0] != [1.0, 1.0]:
        report.misconception(name, "an infinite gradient: the step must be left out. Step by scaler.step(optimizer), "
                                   "not by the optimizer itself.")
    elif bad[1] != 512.0:
        report.misconception(name, f"after an infinite gradient the scale is {bad[1]:g}; it should be halved, to 512. "
                                   "Update the scaler last.")
    else:
        report.passed(name, "v = w = 1 becomes [0.4, 0.2]: the norm of the step is 1",
                      "an infinite gradient: no step, and the scale is halved")


HINTS = {
    "entropy": (
        "What may the logarithm get, so that its slope is finite? What does an entry add that is 0?",
        "Any positive number will do for the logarithm: its result is not chosen, and now its slope is finite.",
        "good = torch.where(p > 0, p, 1.0), and 0.0 as the third argument of the other where",
    ),
    "log_sum_exp": (
        "exp is safe for numbers up to 0. How do you get there?",
        "Subtract the largest entry first, and add it to the logarithm.",
        "m = x.max(); return m + (x - m).exp().sum().log()",
    ),
    "scaled_step": (
        "Five calls after zero_grad. Which of them belong to the scaler?",
        "scaler.scale(loss).backward(), then scaler.unscale_(optimizer), then clip.",
        "... then torch.nn.utils.clip_grad_norm_(parameters, limit), scaler.step(optimizer), scaler.update()",
    ),
}
