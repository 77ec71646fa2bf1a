"""What an interrupt or a lack of memory may leave changed: modes, locks, random state. Looked at before and after."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import minigrad
from minigrad._base.device import Default
from minigrad._base.locks import locks
from minigrad._base.tensor_data import get_printoptions
from minigrad.autograd.anomaly_mode import ANOMALY
from minigrad.autograd.graph import MUTATION
from minigrad.core import LOCAL
from minigrad.core.grad_mode import UNUSUAL
from minigrad.recording.observer import WATCHING
from minigrad.utils import _python_dispatch, checkpoint
from tests.reliability.work import Work

WAITING = -40  # from here on a state of a generator tells of the normal number that waits for the next call
PACKAGE = str(Path(minigrad.__file__).parent)


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
        for lock in locks():
            if lock.acquire(blocking=False):
                lock.release()
            else:
                held.append(lock)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return held


def random_states(work: Work) -> set[bytes]:
    """The states of the default generator that may be found: those before and after each step of some work.

    Also that of a draw of normal numbers which was interrupted (`normal_pairs` says why): the words are drawn, and the
    number that waited still waits.
    """
    states = [minigrad.get_rng_state().numpy().tobytes()]
    for _ in work():
        states.append(minigrad.get_rng_state().numpy().tobytes())
    between = [after[:WAITING] + before[WAITING:] for before, after in pairwise(states)]
    return {*states, *between}


def left_behind(before: dict[str, Any], states: set[bytes], where: str) -> list[str]:
    """What is changed after an attack that came at `where`."""
    if "_ufunc_config" in where:  # one of NumPy's own contexts was left: that is NumPy's to put back
        np.seterr(**before["errors of NumPy"])
    after = modes()
    found = [f"{name}: {before[name]!r} -> {after[name]!r}" for name in before if before[name] != after[name]]
    if minigrad.get_rng_state().numpy().tobytes() not in states:
        found.append("random state")
    if held_locks():
        found.append("a lock is held")
    gc.enable()
    return found


def described(frame: FrameType, line: int, what: str) -> str:
    """A place in a program, for a reader."""
    return f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{line} {frame.f_code.co_name} {what}"


def inside(frame: FrameType | None, harness: str) -> bool:
    """Whether a frame belongs to the package or was called from it; `harness`: the file that is never attacked."""
    while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
        if frame.f_code.co_filename == harness:
            return False
        frame = frame.f_back
    return frame is not None
