"""Finds out who asked for a call: the op of minigrad, and the line of the user's program."""

import sys
from pathlib import Path
from types import FrameType

from minigrad._base.notebook import is_cell
from minigrad.compiler.program import Asked

__all__ = ["asked", "from_optimizer"]

PACKAGE = str(Path(__file__).resolve().parent.parent) + "/"
HERE, OPTIM = PACKAGE + "compiler/", PACKAGE + "optim/"
TYPED = ("<stdin>", "<string>", "<python-input", "<doctest")  # what a user types, or runs with -c


def own(frame: FrameType) -> bool:
    """Whether a frame runs code of minigrad, or of NumPy on its behalf."""
    file = frame.f_code.co_filename
    return file.startswith(PACKAGE) or "/numpy/" in file or (
        file.startswith("<") and not file.startswith(TYPED) and not is_cell(file))


def asked() -> Asked:
    """The innermost op, node or optimiser on the stack, and the line of the first frame that is not minigrad's."""
    frame: FrameType | None = sys._getframe(1)
    op, outermost = "", ""
    while frame is not None and own(frame):
        code = frame.f_code
        if not code.co_filename.startswith(HERE):
            outermost = code.co_name
            owner, _, method = code.co_qualname.rpartition(".")
            if not op and code.co_filename.startswith(OPTIM) and method in ("update", "step_one", "step"):
                op = owner
            elif not op and method == "forward" and "/ops/" in code.co_filename:
                op = owner
            elif not op and method in ("evaluate", "evaluate_fully") and "node" in frame.f_locals:
                op = frame.f_locals["node"].name()
        frame = frame.f_back
    if frame is None:
        return Asked(op or outermost, "", 0)
    return Asked((op or outermost).removeprefix("torch::autograd::"), frame.f_code.co_filename, frame.f_lineno)


def from_optimizer() -> bool:
    """Whether an optimiser of minigrad asks, and no program of the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and own(frame):
        if frame.f_code.co_filename.startswith(OPTIM):
            return True
        frame = frame.f_back
    return False
