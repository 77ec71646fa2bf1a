"""The checks of lesson 10: activation checkpointing."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import minigrad as torch
from minigrad.memory import Account
from minigrad.recorder import record
from minigrad.utils.checkpoint import CheckpointError, checkpoint
from minigrad_lessons.exercises import report
from minigrad_lessons.values import show

Block = Callable[[torch.Tensor], Any]
ONE = 4000  # bytes of a tensor of 1,000 numbers
LAYERS = (9, 64)


class _Counted:
    """A block that counts its runs: it saves the results of exp, tanh and sigmoid."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, x: torch.Tensor) -> Any:
        self.runs += 1
        return (x.exp() * 0.5).tanh().sigmoid() + 1


def _measure(run: Callable[[Block, torch.Tensor], Any]) -> tuple[Any, int, int, int]:
    """For a block run so: the gradient of x, bytes held when backward begins, and runs before and after that."""
    block, x = _Counted(), torch.linspace(0.0, 1.0, 1000).requires_grad_()
    with record() as trace:
        out = run(block, x)
        before = block.runs
        out.sum().backward()
    held = Account(trace).at_backward()
    return x.grad, held.saved + held.activations, before, block.runs - before


def by_hooks(student: Any) -> None:
    """Judge `my_checkpoint(block, x)`: the same gradient, less kept, one second run."""
    name = "check.by_hooks"
    if not report.to_judge(name, "my_checkpoint", "Fill in the blanks of my_checkpoint(block, x).", student):
        return
    plain, plain_held, _, _ = _measure(lambda block, x: block(x))
    _, least, _, _ = _measure(lambda block, x: checkpoint(block, x, use_reentrant=False))
    try:
        grad, held, before, after = _measure(student)
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        report.misconception(name, _why_raised(error, student), report.first_line(error))
        return
    counts = f"Held when backward begins: {held} bytes; plain: {plain_held}. Runs of the block: {before} + {after}."
    fault = _why_not_checkpoint(grad, plain, held, least, before, after)
    if fault:
        report.misconception(name, fault, counts)
    else:
        report.passed(name, "the gradient is that of the plain run", counts)


def _why_raised(error: Exception, student: Any) -> str:
    text = str(error)
    if isinstance(error, IndexError):
        return "there is no value under this number. Either nothing was collected in the second run (is recording on " \
               "there, does its pack hook keep the values?), or the numbers do not begin at 0."
    if "indices must be integers" in text or "only integer tensors" in text:
        return "pack must return one number, the place of this value: unpack gets it, and looks there."
    if "type list" in text:
        return "unpack returned the whole list. It must return the one value that was kept under this number."
    if "type int" in text:
        return "unpack returned the number. It must return the value that was kept under this number."
    if "NoneType" in text:
        return "unpack returned None: it must return the value that was kept under this number."
    return f"my_checkpoint {report.raised(error, student)}"


def _why_not_checkpoint(grad: Any, plain: Any, held: int, least: int, before: int, after: int) -> str:
    if before != 1:
        return f"in the forward pass the block ran {before} times; once is enough."
    if held > least + ONE and after == 0:
        return "this keeps all values: pack must return the number only, and let the tensor go."
    if after == 0:
        return "the block did not run again, so the gradient can be right only by luck."
    if after > 1:
        return ("the block ran again for each value. Keep what the second run collects, and run it only if nothing has "
                "been collected yet.")
    if grad is None:
        return "x got no gradient."
    if held > least + ONE:
        return "too much is held when backward begins: pack must let the tensors go."
    return "" if torch.allclose(grad, plain) else "the gradient is wrong: each number must get the value that was " \
                                                 "saved under it, in the same order."


def most_held(layers: int, segments: int) -> int:
    """How many tensors are held at most, over forward and backward, for so many layers in so many segments."""
    ends = [round(layers * part / segments) for part in range(segments + 1)]

    def block(length: int) -> Block:
        def run(x: torch.Tensor) -> torch.Tensor:
            for _ in range(length):
                x = torch.tanh(x)
            return x
        return run

    y = torch.ones(1000, requires_grad=True)
    with record() as trace:
        for start, end in pairwise(ends):
            y = checkpoint(block(end - start), y, use_reentrant=False)
        y.sum().backward()
        del y
    return Account(trace).peak.extra // ONE


def segments(student: Any) -> None:
    """Judge `segments(n)`: into how many segments n equal layers should be cut, so that the peak is lowest."""
    name = "check.segments"
    if not report.to_judge(name, "segments", "Write what segments(n) returns.", student):
        return
    found = {}
    for n in LAYERS:
        finished, chosen = report.run(name, student, str(n), n)
        if not finished:
            return
        if isinstance(chosen, bool) or not isinstance(chosen, int | float) or chosen != int(chosen):
            report.misconception(name, f"segments({n}) is {show(chosen)}: it should be a whole number.")
            return
        found[n] = int(chosen)
    _judge_segments(name, found)


def _judge_segments(name: str, found: dict[int, int]) -> None:
    outside = next((n for n, k in found.items() if not 1 <= k <= n), None)
    if outside is not None:
        report.misconception(name, f"{outside} layers cannot be cut into {found[outside]} segments.")
        return
    best = {n: min(most_held(n, k) for k in range(max(1, int(n**0.5) - 1), int(n**0.5) + 2)) for n in LAYERS}
    peaks = {n: most_held(n, k) for n, k in found.items()}
    lines = [f"{n} layers in {k}: at most {peaks[n]} tensors; the least is {best[n]}" for n, k in found.items()]
    if all(peaks[n] <= best[n] for n in LAYERS):
        report.passed(name, *lines)
    elif all(k == 1 for k in found.values()):
        report.misconception(name, "one segment keeps only one input, but its second run holds all layers at once: "
                                   "the peak is that of the plain run.", *lines)
    elif all(k == n for n, k in found.items()):
        report.misconception(name, "a segment for each layer keeps the input of each layer, so you gain nothing.",
                             *lines)
    elif len(set(found.values())) == 1:
        report.misconception(name, "you return the same number for all depths: it fits one depth at most.", *lines)
    else:
        report.misconception(name, "n / k tensors are held while a segment runs again, and k inputs all the time. "
                                   "When is k + n / k smallest?", *lines)


def unstable(student: Any) -> None:
    """Judge `unstable(x, again)`: its second run saves tensors of another shape, so that checkpoint says so."""
    name = "check.unstable"
    if not report.to_judge(name, "unstable", "Write the line that makes the second run differ.", student):
        return
    x, runs = torch.linspace(0.1, 1.0, 4).requires_grad_(), []

    def block(x: torch.Tensor) -> Any:
        runs.append(x.shape)
        return student(x, len(runs) > 1)

    try:
        out = checkpoint(block, x, use_reentrant=False)
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        report.misconception(name, f"the first run {report.raised(error, student)} It must not raise.")
        return
    try:
        out.sum().backward()
    except CheckpointError as error:
        _judge_error(name, str(error))
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        report.misconception(name, f"the second run {report.raised(error, student)} It must get as far as the sine.")
    else:
        _judge_silence(name, student)


def _judge_error(name: str, text: str) -> None:
    shapes = re.findall(r"'shape': torch\.Size\(([^)]*)\)", text)
    if "different metadata" in text and len(set(shapes)) == 1:
        report.misconception(name, "the shape is the same, only the dtype differs. checkpoint notices that too, but "
                                   "save tensors of a different shape.")
    elif "different metadata" in text:
        told = [line for line in text.splitlines() if line.startswith(("tensor at", "saved meta", "recomputed meta"))]
        report.passed(name, "CheckpointError: Recomputed values have different metadata", *told[:3])
    else:
        report.misconception(name, "the second run saved a different number of tensors. Save as many, but of a "
                                   "different shape.",
                             text.splitlines()[0])


def _judge_silence(name: str, student: Any) -> None:
    if _saved(student, again=False) == _saved(student, again=True):
        report.misconception(name, "both runs save the same, so checkpoint has nothing to complain about. Change "
                                   "something, but only if `again`.")
    else:
        report.misconception(name, "the second run has different values of the same shape. checkpoint compares shape, "
                                   "dtype and device, never values: the gradient is wrong, and no error tells you.")


def _saved(student: Any, again: bool) -> list[Any]:
    """What the student's block saves in a run without checkpoint, with the same random numbers every time."""
    saved: list[Any] = []

    def pack(value: torch.Tensor) -> torch.Tensor:
        saved.append(value.tolist())
        return value

    with torch.random.fork_rng(), torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        torch.manual_seed(0)
        student(torch.linspace(0.1, 1.0, 4).requires_grad_(), again)
    return saved


HINTS = {
    "by_hooks": (
        "pack is called when a value is saved, unpack when it is needed. What is the least that pack can return?",
        "In the second run a different pair of hooks is active. Its pack hook collects each value, in the same order.",
        "pack returns the next number; collecting is kept.append(value.detach()); unpack returns kept[number].",
    ),
    "segments": (
        "Two things are held: the inputs of all segments, and the values inside the one that runs again.",
        "With k segments of n / k layers this is about k + n / k. Try k = 1, 2, 4, 8, 16 for n = 16.",
        "k + n / k is smallest where both parts are equal: k * k = n. round(n ** 0.5) will do.",
    ),
    "unstable": (
        "`again` is False in the first run and True in the second: an `if` is all that you need.",
        "In the second run, give x a different shape, and go on as before.",
        "if again: x = x[:2]",
    ),
}
