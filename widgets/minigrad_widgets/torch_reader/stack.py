"""Where the program is, read from Python's stack: the user's line, and the running checkpointed calls.

PyTorch does not report that a checkpoint begins, runs its function again or stops. But its own functions are on the
stack then, and their variables show which call it is. No function of the user's is wrapped, none of PyTorch's replaced.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import _bootstrap
from threading import get_ident
from types import CodeType, FrameType
from typing import Any, NamedTuple

from minigrad.recorder import NOWHERE, Builder
from minigrad_widgets.torch_reader.private import PRIVATE

__all__ = ["Asked", "Call", "Look", "Stack", "caller"]

LOADING: CodeType = vars(_bootstrap)["_load_unlocked"].__code__  # runs the code of a module that is imported


class Call(NamedTuple):
    """A run of a checkpointed function: its first one, or another one in a pass (`again`)."""

    frame: Any  # what identifies the call to PyTorch
    again: bool
    name: str
    reentrant: bool
    at: Any


class Look(NamedTuple):
    """What one look at the stack found: the user's line; the special frame whose own work this is (PyTorch's, or that
    of an import of a library), None if it is the user's or a module's; the calls, outermost first."""

    at: Any
    inside: FrameType | None
    calls: list[Call]


class Asked(NamedTuple):
    """Who asked for a pass: the frame of PyTorch's function that waits for it, the outermost one of its thread, and
    that thread's number."""

    frame: FrameType
    outermost: FrameType
    thread: int


class Stack:
    """Reads the stack of one thread, down to the user's frame in which the recording began.

    `base` began it; if that is a frame of this library, as in `inspect`, the user's is the one that called it.
    `asked`: by number of a pass, who asked for it. In the engine's own threads, which run passes on devices, the stack
    ends at what the engine has called: it goes on in the thread that waits.
    """

    def __init__(self, builder: Builder, base: FrameType) -> None:
        while base.f_back is not None and builder.file(base.f_code.co_filename) < 0:
            base = base.f_back
        self.builder, self.base = builder, base
        known = PRIVATE
        special = (known.apply, known.engine, known.first_run, known.first_run_reentrant, known.again,
                   known.again_reentrant, known.pack, LOADING)
        self.special = frozenset(map(id, special))  # the hash of a code would be computed from all it has
        self.running = frozenset({known.first_run, known.first_run_reentrant, known.again_reentrant,
                                  known.recompute})  # they call the function
        self.brief = False  # whether none of these was called, as the profile function knows: a look ends at the line
        self.applied: dict[type, Any] = {}  # by Function: the line that called it last
        self.asked: dict[int, Asked] = {}
        self.threads = {get_ident(): None}  # in which the reader was called, in this order

    def look(self, depth: int) -> Look:
        """Return where the program is; `depth`: how many callers are the reader's."""
        elsewhere: Any = None
        frame = caller(depth + 1)
        if frame is None:
            frame = next(elsewhere := self.waiting(None), None)
        at: Any = NOWHERE
        inside: FrameType | None = None
        calls: list[Call] = []
        theirs = frame is not None and frame.f_code in self.running
        unplaced, function, special, apply, module = 0, None, self.special, PRIVATE.apply, PRIVATE.module_call
        while frame is not None:
            code = frame.f_code
            if id(code) in special:
                if code is apply:
                    function = frame.f_locals["cls"]
                elif at is NOWHERE and inside is None and (code is LOADING or not theirs):
                    inside = frame
                call = call_of(code, frame)
                calls += [] if call is None else [call]
                unplaced += call is not None
            elif code is module:
                theirs = True
            elif at is NOWHERE or unplaced or function:
                index = self.builder.file(code.co_filename)
                if index >= 0:
                    here = (index, frame.f_lineno)
                    at = here if at is NOWHERE else at
                    if function is not None:
                        self.applied[function], function = here, None
                    while unplaced:
                        calls[-unplaced] = calls[-unplaced]._replace(at=here)
                        unplaced -= 1
                    if self.brief:
                        break
            if frame is self.base:
                break
            outermost, frame = frame, frame.f_back
            if frame is None and self.asked:
                frame = next(elsewhere := elsewhere or self.waiting(outermost), None)
        return Look(at, inside, calls[::-1])

    def is_loading(self, depth: int) -> bool:
        """Return whether this is the work of an import of a library; `depth`: as in `look`."""
        inside = self.look(depth + 1).inside
        return inside is not None and inside.f_code is LOADING

    def waiting(self, outermost: FrameType | None) -> Iterator[FrameType]:
        """Yield the frames in other threads that wait for the pass that is running here, the innermost first."""
        running, found = PRIVATE.running_pass(), False
        for identity, asked in reversed(self.asked.items()):
            found = found or identity == running
            if found and asked.outermost is not outermost:
                outermost = asked.outermost
                yield asked.frame

    def ask(self, identity: int) -> Asked | None:
        """A pass has begun: find who asked for it and is not known to wait for another pass; None if nobody did."""
        here = get_ident()
        self.threads.setdefault(here)
        frames = {**sys._current_frames(), here: sys._getframe(1)}  # its own would be a cycle
        known = [asked.frame for asked in self.asked.values()]
        for thread in (here, *[thread for thread in reversed(self.threads) if thread != here and thread in frames]):
            frame: FrameType | None = frames[thread]
            while frame is not None:
                if frame.f_code is PRIVATE.engine and not any(frame is each for each in known):
                    return self.asked.setdefault(identity, Asked(frame, outermost_of(frame), thread))
                frame = frame.f_back
        return None

    def returned(self, frame: FrameType) -> None:
        """A pass is over, as the function says that waited for it."""
        for identity in [identity for identity, asked in self.asked.items() if asked.frame is frame]:
            del self.asked[identity]


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


def caller(depth: int) -> FrameType | None:
    """Return the frame of a caller; None where the engine called, in a thread of its own."""
    try:
        return sys._getframe(depth + 1)
    except ValueError:
        return None


def outermost_of(frame: FrameType) -> FrameType:
    """Return the outermost frame of a stack."""
    while frame.f_back is not None:
        frame = frame.f_back
    return frame
