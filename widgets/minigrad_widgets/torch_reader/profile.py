"""The profile function of a recording. Python calls it at each call of a function, and at each return from one: so it
looks a function's role up once, by its code, and returns at once where there is none.

The reader's own doors (see `guard`) are not the program's: while one is open, nobody is told of the calls in it. The
profile function takes itself off when a door is called, and the door puts it back: so none of this is seen either.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

__all__ = ["PAUSED", "door", "pause", "profile_function"]

Handler = Callable[[FrameType, Any], None]  # with what is returned


class Paused(threading.local):
    """The profile function that was taken off for a door, until the door takes it, in order to put it back."""

    profile: Any = None


PAUSED = Paused()
DOORS: set[CodeType] = set()


def door(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that takes `PAUSED.profile`, and puts it back when it is done."""
    DOORS.add(function.__code__)
    return function


def pause(frame: FrameType, arg: Any = None) -> None:
    """A door is called, or will be at once."""
    PAUSED.profile = sys.getprofile()
    sys.setprofile(None)


def profile_function(role_of: Callable[[CodeType], tuple[Handler | None, Handler | None]], names: frozenset[str],
                     called: Callable[[FrameType, Any], None],
                     failed: Callable[[Exception], None]) -> Callable[..., None]:
    """Make a profile function.

    Args:
        role_of: what to do when a function with this code is called, and when it returns.
        names: of functions of C whose calls matter; `called` is told of them.
        failed: is told of errors.
    """
    # by the id of a code, which is kept alive: its hash would be computed from all it has
    calls: dict[int, Handler | None] = {}
    returns: dict[int, Handler | None] = {}
    codes: list[CodeType] = []

    def meet(code: CodeType) -> None:
        on_call, on_return = (pause, None) if code in DOORS else role_of(code)
        codes.append(code)
        calls[id(code)], returns[id(code)] = on_call, on_return

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        try:
            if event == "c_return":
                return
            if event == "call":
                roles = calls
            elif event == "return":
                roles = returns
            else:
                if event == "c_call" and arg.__name__ in names:
                    called(frame, arg)
                return
            try:
                act = roles[id(frame.f_code)]
            except KeyError:
                meet(frame.f_code)
                act = roles[id(frame.f_code)]
            if act is not None:
                act(frame, arg)
        except Exception as error:  # noqa: BLE001 - none may reach the program
            failed(error)

    return profile
