"""An interrupt at every point: nothing stays on that should be off, and the next step works.

Python delivers a signal where a function begins or goes on after a `yield`, where a call of a function written in C
returns, and at the end of a turn of a loop. Each of these is a *point*. `interrupted` raises KeyboardInterrupt at the
n-th point of some work, or at its n-th line, as Python would.
"""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import minigrad
from minigrad._base.device import Default
from minigrad._base.locks import LOCKS
from minigrad._base.tensor_str import get_printoptions
from minigrad.autograd.anomaly_mode import ANOMALY
from minigrad.autograd.observer import WATCHING
from minigrad.autograd.saved_hooks import MUTATION
from minigrad.core import LOCAL
from minigrad.core.grad_mode import UNUSUAL
from minigrad.utils import _python_dispatch, checkpoint
from tests.reliability.work import Work, run

PACKAGE = str(Path(minigrad.__file__).parent)


class Point:
    """Counts the points (or the lines) of a program, and raises KeyboardInterrupt at one of them."""

    def __init__(self, at: int) -> None:
        self.at, self.seen, self.where = at, 0, ""
        self.error: BaseException | None = None  # what came out in place of the interrupt

    def reached(self, frame: FrameType, what: str) -> None:
        self.seen += 1
        if self.seen == self.at:
            file, name = frame.f_code.co_filename.removeprefix(PACKAGE), frame.f_code.co_name
            self.where = f"{file}:{frame.f_lineno} {name} {what}"
            raise KeyboardInterrupt

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Points, as `sys.setprofile` reports them."""
        if event in ("call", "c_return") and inside(frame):
            self.reached(frame, event)

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Lines, as `sys.settrace` reports them."""
        if event == "line" and inside(frame):
            self.reached(frame, event)
        return self.trace


def inside(frame: FrameType | None) -> bool:
    """Whether a frame belongs to the package or was called from it."""
    while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
        if frame.f_code.co_filename == __file__:
            return False
        frame = frame.f_back
    return frame is not None


def interrupted(work: Work, at: int, lines: bool = False) -> Point | None:
    """Do some work and interrupt it at a point, or a line; None if there are not so many."""
    point = Point(at)
    switch, function = (sys.settrace, point.trace) if lines else (sys.setprofile, point.profile)
    before, sys.unraisablehook = sys.unraisablehook, lambda _: None  # an interrupt while an object is freed is printed
    switch(function)
    try:
        run(work)
    except KeyboardInterrupt:
        pass
    except Exception as error:  # noqa: BLE001 (whichever it is, it hides the interrupt)
        point.error = error
    finally:
        switch(None)
        sys.unraisablehook = before
    return point if point.where else None


def modes() -> dict[str, Any]:
    """Everything that is on or off in this thread and in the process."""
    return {
        "grad mode": LOCAL.grad_enabled, "inference mode": LOCAL.inference, "hooks": LOCAL.saved_tensors_hooks,
        "hooks disabled": LOCAL.saved_tensors_hooks_disabled, "dispatch modes": LOCAL.dispatch_modes,
        "pass": LOCAL.graph_task, "recorder": LOCAL.observer, "recorders": list(WATCHING),
        "anomaly mode": (ANOMALY.enabled, UNUSUAL.on_new_node, list(UNUSUAL.pass_wrappers)),
        "device": Default.device, "garbage collector": (gc.isenabled(), gc.get_threshold()),
        "warnings": list(warnings.filters), "errors of NumPy": np.geterr(), "print options": get_printoptions(),
        "mutation": list(MUTATION), "early stop": list(checkpoint.EARLY_STOP),
        "threads with modes": set(_python_dispatch.MODES_ON.threads), "profile": sys.getprofile(),
    }


def held_locks() -> list[Any]:
    """The locks that another thread could not take."""
    held = []

    def look() -> None:
        for lock in list(LOCKS):
            if lock.acquire(blocking=False):
                lock.release()
            else:
                held.append(lock)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return held


def random_states(work: Work) -> set[bytes]:
    """The states of the default generator before and after each step of some work."""
    states = {minigrad.get_rng_state().numpy().tobytes()}
    for _ in work():
        states.add(minigrad.get_rng_state().numpy().tobytes())
    return states


def left_behind(before: dict[str, Any], states: set[bytes]) -> list[str]:
    """What an interrupt left changed."""
    after = modes()
    found = [f"{name}: {before[name]!r} -> {after[name]!r}" for name in before if before[name] != after[name]]
    if minigrad.get_rng_state().numpy().tobytes() not in states:
        found.append("random state")
    if held_locks():
        found.append("a lock is held")
    return found


def failures(work: Work, lines: bool = False, stride: int = 1) -> Iterator[str | None]:
    """Interrupt some work at each point (or line), or each `stride`-th; for each None, or what was wrong afterwards."""
    seed = minigrad.get_rng_state()
    run(work)  # what is imported or made once is there
    minigrad.set_rng_state(seed)
    before, states, at = modes(), random_states(work), 1
    while True:
        minigrad.set_rng_state(seed)
        point = interrupted(work, at, lines)
        if point is None:
            return
        np.seterr(**(before["errors of NumPy"] if "_ufunc_config" in point.where else {}))  # NumPy's own contexts
        wrong = left_behind(before, states)
        gc.enable()
        if point.error is not None:
            wrong.append(f"the interrupt came out as {point.error!r}")
        try:
            minigrad.set_rng_state(seed)
            run(work)
        except Exception as error:  # noqa: BLE001 (whichever it is, the next step does not work)
            wrong.append(f"the next step: {error!r}")
        yield f"{point.where}: {'; '.join(wrong)}" if wrong else None
        at += stride
