"""Finds out who asked for a call: the op of minigrad, and the line of the user's program. Notes all ops of a step."""

import contextlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from minigrad._base.files import is_cell
from minigrad.compiler.program import Asked

__all__ = ["AUTOGRAD", "Calls", "asked"]

PACKAGE = str(Path(__file__).resolve().parent.parent) + "/"
HERE, OPTIM, ENGINE = PACKAGE + "compiler/", PACKAGE + "optim/", PACKAGE + "core/engine.py"
CHECKPOINT, RUNS_AGAIN = PACKAGE + "utils/checkpoint.py", ("recompute", "backward")  # functions that run a call again
AUTOGRAD = "torch::autograd::"  # before the names of nodes that belong to no op
TYPED = ("<stdin>", "<string>", "<python-input", "<doctest")  # what a user types, or runs with -c


def callers(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame, and those that called it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def own(frame: FrameType) -> bool:
    """Whether a frame runs code of minigrad, or of NumPy on its behalf."""
    file = frame.f_code.co_filename
    return file.startswith(PACKAGE) or "/numpy/" in file or file == contextlib.__file__ or (
        file.startswith("<") and not file.startswith(TYPED) and not is_cell(file))


def asked() -> Asked:
    """The innermost op, node or optimiser on the stack, and the line of the first frame that is not minigrad's."""
    op, outermost, phase = "", "", "forward"
    for frame in callers(sys._getframe(1)):
        code = frame.f_code
        if not own(frame):
            if phase == "forward" and recomputed(frame):
                phase = "recompute"
            return Asked((op or outermost).removeprefix(AUTOGRAD), code.co_filename, frame.f_lineno, phase)
        if code.co_filename.startswith(HERE):
            continue
        outermost = code.co_name
        if phase == "forward" and code.co_filename.startswith((OPTIM, ENGINE)):
            phase = "backward" if code.co_filename == ENGINE else "optimizer"
        owner, _, method = code.co_qualname.rpartition(".")
        if not op and code.co_filename.startswith(OPTIM) and method in ("update", "step_one", "step"):
            op = type(frame.f_locals["self"]).__name__ if "self" in frame.f_locals else owner
        elif not op and method == "forward" and "/ops/" in code.co_filename:
            op = owner
        elif not op and method in ("evaluate_function", "evaluate_fully") and "node" in frame.f_locals:
            op = frame.f_locals["node"].name()
    return Asked(op or outermost, "", 0, phase)


def recomputed(frame: FrameType) -> bool:
    """Whether a checkpoint runs the function of this frame once more."""
    above = itertools.takewhile(lambda each: each.f_code.co_filename != ENGINE, callers(frame))
    return any(each.f_code.co_filename.startswith(CHECKPOINT) and each.f_code.co_name in RUNS_AGAIN for each in above)


class Call(NamedTuple):
    """An eager op of a step, or a node of its backward pass."""

    asked: Asked
    node: bool = False
    recorded_by: int = -1  # for a node: the number of the op that recorded it


class Calls:
    """What an eager step calls, in order, as it is noted while the step is traced.

    Not every call writes memory: a view has no statement.
    """

    def __init__(self) -> None:
        self.found: list[Call] = []
        self.running = -1  # the number of the call that runs
        self.owners: list[int] = []  # by statement: the number of its call
        self.recorders: Any = WeakKeyDictionary()  # by node: the number of the call that recorded it

    def enter(self, op: str, node: Any = None) -> int:
        """Note that an op is called, or that a node runs; gives what `running` is to be again when it has ended."""
        before = self.running
        if node is not None or before < 0 or self.found[before].node:  # an op that another one calls is a part of it
            self.running = len(self.found)
            recorded_by = -1 if node is None else self.recorders.get(node, -1)
            self.found.append(Call(asked()._replace(op=op), node is not None, recorded_by))
        return before

    def recorded(self, origin: Asked) -> Asked:
        """Where a statement of a backward pass that nobody has called yet comes from: the line that recorded its node.

        The gradients that leave the pass are copied where they have to be, for `AccumulateGrad`.
        """
        if self.running < 0:
            return origin._replace(op=origin.op or "AccumulateGrad", phase="backward")
        number = self.found[self.running].recorded_by
        return origin if number < 0 else origin._replace(
            file=self.found[number].asked.file, line=self.found[number].asked.line)

    def own(self, origin: Asked) -> None:
        """Note that a statement belongs to the call that runs; where none does, to what asked for it."""
        if self.running < 0 and (not self.found or self.found[-1].asked != origin):
            self.found.append(Call(origin))  # an optimizer, or what sums gradients
        self.owners.append(self.running if self.running >= 0 else len(self.found) - 1)
