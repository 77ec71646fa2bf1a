"""The checks of lesson 5: a batch in parts, three gradients to one accumulator, and the loop that forgot to clear."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minigrad as torch
from minigrad.optim import SGD
from minigrad.recorder import record
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import grad_of
from minigrad_lessons.values import show, unanswered

Train = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, int, SGD], None]
STEPS = 40


class Counted(SGD):
    """SGD that counts how often it was cleared and how often it stepped."""

    zeroed = 0
    stepped = 0

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear, and count."""
        self.zeroed += 1
        super().zero_grad(set_to_none)

    def step(self, closure: Any = None) -> Any:
        """Step, and count."""
        self.stepped += 1
        return super().step(closure)


def _batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    xs = torch.tensor([1.0, -2.0, 0.5, 1.5, 2.0, -1.0, 0.25, -0.5])
    return torch.tensor(1.0, requires_grad=True), xs, xs * 3 + 1


def _moved_by_whole_batch() -> float:
    w, xs, ys = _batch()
    ((w * xs - ys) ** 2).mean().backward()
    return -0.1 * float(grad_of(w))


def parts(student: Train) -> None:
    """Judge `train_in_parts(w, xs, ys, parts, optimizer)`: does it move w as far as the whole batch would?"""
    name = "check.parts"
    if not report.to_judge(name, "train_in_parts", "Fill in the two blanks of train_in_parts.", student):
        return
    wanted, lines = _moved_by_whole_batch(), []
    for number in (1, 2, 4):
        w, xs, ys = _batch()
        optimizer = Counted([w], lr=0.1)
        try:
            student(w, xs, ys, number, optimizer)
        except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
            report.misconception(name, f"train_in_parts {report.raised(error, student)}")
            return
        moved = w.item() - 1.0
        fault = _why_moved(moved, wanted, number, optimizer)
        if fault:
            report.misconception(name, fault, f"8 examples in {number} {_parts(number)}; the whole batch moves w by "
                                              f"{wanted:.3g}, yours by {moved:.3g}")
            return
        lines.append(f"8 examples in {number} {_parts(number)}: w moves by {moved:.3g}, as with the whole batch")
    report.passed(name, *lines)


def _parts(number: int) -> str:
    return "part" if number == 1 else "parts"


def _why_moved(moved: float, wanted: float, number: int, optimizer: Counted) -> str:
    if optimizer.stepped == 0:
        return "nothing moved w. After all the parts, the optimizer has to step."
    if optimizer.stepped > 1:
        return (f"step() ran {optimizer.stepped} times: that is training on small batches, where each part sees a "
                "different w. Take one step with the sum.")
    ratio = moved / wanted
    if abs(ratio - 1) < 1e-3:
        return ""
    if moved == 0:
        return "step() ran, and w did not move: the gradients had been cleared just before. Step first."
    if optimizer.zeroed > 1:
        return "the gradients were cleared between the parts, so only the last part counts. Clear before the loop."
    if abs(ratio - number) < 1e-3:
        return (f"w moved {number} times as far: the mean of a part divides by {8 // number} examples, not by 8, and "
                f"{number} such means were added up.")
    if abs(ratio * 8 / number - 1) < 1e-3:
        return "each loss was divided by the number of examples, but its mean had already done part of that."
    return f"w moved {ratio:.3g} times as far as with the whole batch."


def arrivals(build: Callable[[torch.Tensor], Any], wanted: int, grad: float) -> None:
    """Judge `build(x)`: do so many gradients come to x's accumulator in one pass, and is x.grad this at x = 2?"""
    name = "check.arrivals"
    if not report.to_judge(name, f"build, {wanted}, {grad:g}", "Write what build(x) returns.", build):
        return
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        finished, result = report.run(name, build, "x", x)
        if not finished:
            return
        if not isinstance(result, torch.Tensor) or not result.requires_grad:
            report.misconception(name, "build must return a tensor that requires grad.")
            return
        if result.dim() > 0:
            report.misconception(name, f"build must return one number, so that backward can start; it returned "
                                       f"{result.numel()}.")
            return
        result.backward()
    if x.grad is None:
        report.misconception(name, "no gradient arrived at x: what build returned was not made from it.")
        return
    ends = [number for number, node in enumerate(trace.nodes) if node["name"] == "AccumulateGrad"]
    came = sum(event["kind"] == "flow" and event["to"] in ends for event in trace.events)
    runs = sum(event["kind"] == "accumulate" for event in trace.events)
    shown = f"Gradients that arrived: {came}. Runs of the accumulator: {runs}. x.grad: {show(grad_of(x))}."
    fault = _why_arrivals(came, wanted, show(grad_of(x)), show(grad))
    if fault:
        report.misconception(name, fault, shown)
    else:
        report.passed(name, shown)


def _why_arrivals(came: int, wanted: int, found: str, grad: str) -> str:
    arrived = f"{came} gradient{'s' * (came != 1)} arrived"
    if came < wanted and found == grad:
        return (f"x.grad is {grad}, but {arrived}. One arrives for each time that x itself is an input: a power has x "
                "once, a product of x and x twice. Gradients that go through y = x * 1 are added up at y, and reach x "
                "as one.")
    if came < wanted:
        return f"{arrived}. One arrives for each time that x itself is an input of an operation."
    if came > wanted:
        return f"{arrived}; {wanted} should arrive. Each use of x sends one."
    return f"{arrived}, but their sum is {found}; it should be {grad}." if found != grad else ""


@dataclass(frozen=True)
class Loop:
    """A training loop, and what its curve tells somebody who takes it for the one that forgot."""

    step: float
    clears: bool
    targets: tuple[float, ...]
    looks: str


LOOPS = {
    "a": Loop(0.004, True, (6.0,), "It creeps down and never turns back: its steps are too short."),
    "b": Loop(0.253, True, (6.0,), "It grows from the first step, more each time: its steps are too long."),
    "c": Loop(0.02, False, (6.0,), ""),
    "d": Loop(0.02, True, (6.0, 4.5, 7.0), "It jumps from batch to batch and settles: its batches differ."),
}


def _train(loop: Loop) -> tuple[list[float], Counted]:
    w = torch.tensor(0.0, requires_grad=True)
    optimizer, losses = Counted([w], lr=loop.step), []
    for number in range(STEPS):
        if loop.clears:
            optimizer.zero_grad()
        loss = (w * 2 - loop.targets[number % len(loop.targets)]) ** 2
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, optimizer


def four_loops() -> dict[str, list[float]]:
    """The losses of four training loops; one of them never clears its gradients."""
    return {letter: _train(loop)[0] for letter, loop in LOOPS.items()}


def forgot(answer: object) -> None:
    """Judge which of the four loops forgot zero_grad, by running it and counting."""
    name = "check.forgot"
    if unanswered(answer):
        report.not_yet(name, "Put the letter of a loop in place of the dots.")
        return
    letter = str(answer).strip().lower()
    if letter not in LOOPS:
        report.not_yet(name, f"Write one of {', '.join(LOOPS)}, in quotes.")
        return
    losses, optimizer = _train(LOOPS[letter])
    counted = f"Loop {letter} was run: {optimizer.stepped} steps, {optimizer.zeroed} calls of zero_grad."
    if optimizer.zeroed:
        report.misconception(name, f"loop {letter} does clear. {LOOPS[letter].looks}", counted)
        return
    low = losses.index(min(losses[:STEPS // 2]))
    report.passed(name, counted, f"Its loss falls to {losses[low]:.2g}, then rises again to {max(losses[low:]):.2g}.")


HINTS = {
    "parts": (
        "The mean of 8 examples divides by 8. By what does the mean of a part divide, and how many parts are added up?",
        "With p parts, each mean divides by 8 / p only, so the sum of p such means is p times too large. And the step "
        "comes after all the parts.",
        "The first blank is the number of parts. The second, after the loop, lets the optimizer step once.",
    ),
    "arrivals": (
        "One gradient arrives for each time that x itself is an input of an operation.",
        "So x has to be written three times. Which product or sum of three x's has the slope 12 at 2?",
        "x * x * x has x three times as an input, and its slope is 3 * x**2.",
    ),
    "forgot": (
        "Without zero_grad each step uses the sum of all gradients so far. What does w do when it has reached its "
        "target?",
        "The old gradients are still in the sum: w overshoots its target, until new ones outweigh them.",
        "Look for a loss that falls to nearly 0 and then rises nearly as high as before, again and again.",
    ),
}
