"""What keeps a recording from ever being the cause of an error: the doors by which PyTorch and Python call the reader.

Whatever goes wrong behind a door is noted in the trace (what, where, how often), and the program goes on as if nobody
were looking: an op runs exactly once, a hook returns nothing. Interrupts, and the program's own errors, pass through.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from minigrad.recorder import Trace
from minigrad_widgets.torch_reader.profile import PAUSED, door, pause

__all__ = ["Notes", "Once", "Watching", "about_to_watch", "guarded", "insistent"]

LONGEST = 200  # of a text in a note
MOST = 30  # notes of a trace, each with its count


class Notes:
    """The notes of a trace: what its recorder wants to say, where that was, and how often. There are at most `MOST`,
    and one that counts all others."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.known: dict[tuple[str, str], dict[str, Any]] = {}
        self.rest = {"text": "and more of the kind", "where": "not listed", "count": 0}
        self.unsaid = 0  # errors about which nothing could be said, as where Python's stack is full

    def add(self, text: str, where: str) -> None:
        """Note something, or count it again."""
        note = self.known.get((text, where), self.rest)
        if note is self.rest and len(self.known) < MOST:
            note = self.known[text, where] = {"text": text, "where": where, "count": 0}
        note["count"] += 1
        if note["count"] == 1:
            self.trace.notes.append(note)

    def tried(self, step: Callable[[], None]) -> None:
        """Do something; if it fails, note it, and try once more."""
        for _ in range(2):
            try:
                return step()
            except Exception as error:  # noqa: BLE001 - none may reach the program
                self.failure(error)

    def failure(self, error: Exception) -> None:
        """Note an error of the recorder's own."""
        try:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            first = str(error).partition("\n")[0]
            text = f"the recorder has missed something: {type(error).__name__}: {first}"
            self.add(text[:LONGEST], f"{os.path.basename(frame.filename)}:{frame.lineno}")
        except Exception:  # noqa: BLE001 - a text that raises, or no room on the stack
            self.unsaid += 1

    def close(self) -> None:
        """Note the errors about which nothing could be said when they came."""
        while self.unsaid:
            self.unsaid -= 1
            self.add("the recorder has missed something, and could not say what", "recorder")


class Once:
    """An op that is to be run once, whatever becomes of the reader. `lock`: what the reader holds, if it does: the op
    may wait for a thread that waits for it. `profiled`: whether the reader's profile function was on."""

    ran = False
    error: BaseException | None = None
    result: Any = None
    lock: Any = None

    def __init__(self, func: Any, args: Any, kwargs: Any, profiled: bool) -> None:
        self.func, self.args, self.kwargs, self.profiled = func, args, kwargs, profiled

    def __call__(self) -> Any:
        self.ran = True
        if self.lock is not None:
            self.lock.release()
        try:
            self.result = self.func(*self.args, **self.kwargs)
        except BaseException as error:
            self.error = error
            raise
        finally:
            if self.lock is not None:
                self.lock.acquire()
        return self.result


def resume(profile: Any) -> None:
    """A door is done; `profile`: what it took, if anything."""
    if profile is not None and not getattr(profile, "over", False):
        sys.setprofile(profile)


class Watching(TorchDispatchMode):
    """Passes each op to the reader."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first op loads PyTorch's compiler

    def __init__(self, run: Callable[[Once], Any], notes: Notes) -> None:
        super().__init__()
        self.run, self.notes = run, notes

    @door
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        paused, PAUSED.profile = PAUSED.profile, None
        once = Once(func, args, kwargs or {}, paused is not None)
        try:
            self.run(once)
        except Exception as error:  # noqa: BLE001 - none of the reader's may reach the program
            if once.error is not None:
                raise once.error from once.error.__cause__  # the op's own, wherever the reader was then
            self.notes.failure(error)
        finally:
            resume(paused)
        return once.result if once.ran else once()


def about_to_watch(frame: FrameType, arg: Any) -> None:
    """PyTorch asks for the rule of a class of modes, and passes an op to such a mode next: to a door, if it is ours."""
    if frame.f_locals.get("torch_dispatch_class") is Watching:
        pause(frame)


def insistent(method: Callable[..., None]) -> Callable[..., None]:
    """Wrap a method that takes the recorder off, of an object that has `notes`: if it fails, it is tried once more."""
    @functools.wraps(method)
    def run(self: Any, *args: Any) -> None:
        self.notes.tried(functools.partial(method, self, *args))

    return run


def guarded(method: Callable[..., None]) -> Callable[..., None]:
    """Wrap a method that PyTorch or Python calls, of an object that has `notes`: its errors go there."""
    @door
    @functools.wraps(method)
    def run(self: Any, *args: Any) -> None:
        paused, PAUSED.profile = PAUSED.profile, None
        try:
            method(self, *args)
        except Exception as error:  # noqa: BLE001 - none may reach the program
            self.notes.failure(error)
        finally:
            resume(paused)

    return run
