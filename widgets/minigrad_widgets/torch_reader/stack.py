"""Where the program is, read from Python's stack: the user's line, and the running checkpointed calls.

PyTorch does not report that a checkpoint begins, runs its function again or stops. But its own functions are on the
stack then, and their variables show which call it is. No function of the user's is wrapped, none of PyTorch's replaced.
"""

from __future__ import annotations

import inspect
import sys
from types import CodeType, FrameType
from typing import Any, NamedTuple

from minigrad.recorder import NOWHERE, Builder
from minigrad_widgets.torch_reader.private import PRIVATE

__all__ = ["Call", "Look", "Stack", "frame_of"]


class Call(NamedTuple):
    """A run of a checkpointed function: its first one, or another one in a pass (`again`)."""

    frame: Any  # what identifies the call to PyTorch
    again: bool
    name: str
    reentrant: bool
    at: Any


class Look(NamedTuple):
    """What one look at the stack found: the user's line; the special frame whose own work this is, None if it is the
    user's or a module's; the calls, outermost first."""

    at: Any
    inside: FrameType | None
    calls: list[Call]


class Stack:
    """Reads the stack of one thread, down to the user's frame in which the recording began.

    `base` began it; if that is a frame of this library, as in `inspect`, the user's is the one that called it.
    """

    def __init__(self, builder: Builder, base: FrameType) -> None:
        while base.f_back is not None and builder.file(base.f_code.co_filename) < 0:
            base = base.f_back
        self.builder, self.base = builder, base
        known = PRIVATE
        self.special = frozenset(map(id, {known.apply, known.engine, known.first_run, known.first_run_reentrant, known.again,
                                  known.again_reentrant, known.pack}))  # a code's hash would be computed from all it has
        self.running = frozenset({known.first_run, known.first_run_reentrant, known.again_reentrant,
                                  known.recompute})  # they call the function
        self.applied: dict[type, Any] = {}  # by Function: the line that called it last

    def look(self, depth: int) -> Look:
        """Return where the program is; `depth`: how many callers are the reader's."""
        frame: FrameType | None = sys._getframe(depth + 1)
        at: Any = NOWHERE
        inside: FrameType | None = None
        calls: list[Call] = []
        unplaced, function = 0, None
        theirs = frame is not None and frame.f_code in self.running
        special, apply, module, files = self.special, PRIVATE.apply, PRIVATE.module_call, self.builder.files
        while frame is not None:
            code = frame.f_code
            if id(code) in special:
                if code is apply:
                    function = frame.f_locals["cls"]
                elif at is NOWHERE and inside is None and not theirs:
                    inside = frame
                call = call_of(code, frame)
                if call is not None:
                    calls.append(call)
                    unplaced += 1
            elif code is module:
                theirs = True
            elif at is NOWHERE or unplaced or function:
                index = files.get(code.co_filename)
                if index is None:
                    index = self.builder.file(code.co_filename)
                if index >= 0:
                    here = (index, frame.f_lineno)
                    at = here if at is NOWHERE else at
                    if function is not None:
                        self.applied[function], function = here, None
                    while unplaced:
                        calls[-unplaced] = calls[-unplaced]._replace(at=here)
                        unplaced -= 1
            if frame is self.base:
                break
            frame = frame.f_back
        return Look(at, inside, calls[::-1])


def call_of(code: CodeType, frame: FrameType) -> Call | None:
    """Return the run of a checkpointed function that a PyTorch frame stands for, if any."""
    if code is PRIVATE.first_run:
        names = frame.f_locals
        if names["use_reentrant"] or "gen" not in names or names["gen"].gi_frame is None:
            return None
        call = names["gen"].gi_frame.f_locals.get("new_frame")
        return None if call is None else Call(call, False, title(names["function"]), False, NOWHERE)
    if code is PRIVATE.first_run_reentrant:
        names = frame.f_locals
        return Call(names["ctx"], False, title(names["run_function"]), True, NOWHERE)
    if code is PRIVATE.again:
        return Call(frame.f_locals["frame"], True, "", False, NOWHERE)
    if code is PRIVATE.again_reentrant:
        names = frame.f_locals
        running = "detached_inputs" in names and "outputs" not in names
        return Call(names["ctx"], True, "", True, NOWHERE) if running else None
    return None


def title(function: Any) -> str:
    """Return what a checkpointed function is called."""
    name = "__name__" if inspect.isbuiltin(function) else "__qualname__"
    return str(getattr(function, name, type(function).__name__)).rpartition("<locals>.")[2]


def frame_of(code: CodeType | None) -> FrameType | None:
    """Return the innermost frame that runs this code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame
