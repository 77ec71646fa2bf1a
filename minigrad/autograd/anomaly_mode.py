"""Anomaly mode: mirrors `torch/autograd/anomaly_mode.py` and PyTorch's `python_anomaly_mode.cpp`.

An error in a backward pass is raised in the line that calls `backward()`, far from the op that is to blame. While
anomaly mode is on, every node notes the line that recorded it, and a pass that fails at a node says which line that
was. It also fails at the first node that computes a nan. All this takes time: turn it on to find a bug, then off.

Two things are noted in `node.metadata`: `traceback_`, the lines of the call that recorded the node; and `parent_`, for
a node that a recorded pass made, the node whose derivative it belongs to. So the trail leads back through all passes.
"""

import sys
import traceback
import warnings
from types import FrameType
from typing import Any

from minigrad._base.contexts import safe_exit
from minigrad._base.type_name import type_name
from minigrad.core import LOCAL, UNUSUAL

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_anomaly_enabled",
           "set_detect_anomaly"]


class Anomaly:
    """What is on, in all threads."""

    __slots__ = ("check_nan", "enabled")

    def __init__(self) -> None:
        self.enabled, self.check_nan = False, True


ANOMALY = Anomaly()


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on."""
    return ANOMALY.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode, when on, checks for nan."""
    return ANOMALY.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off, for all threads."""
    for position, (name, value) in enumerate((("enabled", enabled), ("check_nan", check_nan)), 1):
        if not isinstance(value, bool):
            raise TypeError(f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool, not "
                            f"{type_name(value)}")
    ANOMALY.enabled, ANOMALY.check_nan = enabled, check_nan
    UNUSUAL.set("anomaly mode", enabled)
    UNUSUAL.on_new_node = note if enabled else None
    others = [wrap for wrap in UNUSUAL.pass_wrappers if wrap is not watch_pass]
    UNUSUAL.pass_wrappers = [watch_pass] * enabled + others  # the innermost: others return gradients one at a time


class detect_anomaly:
    """A block in which errors of a backward pass are traced to the forward pass; with `check_nan`, a nan is an error.

    Nodes that were recorded outside the block have no line to show.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = ANOMALY.enabled, ANOMALY.check_nan
        self.check_nan = check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
                      "enabled for debugging.", stacklevel=2)

    def __enter__(self) -> None:
        self._entered = True
        set_anomaly_enabled(True, self.check_nan)

    @safe_exit
    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """Turns anomaly mode on or off: at once if called as a function, for a block as a context."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = ANOMALY.enabled, ANOMALY.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def _leave(self, *error: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)

    __exit__ = safe_exit(_leave, entered=True)


# called while recording
def note(node: Any) -> None:
    """Note in a new node where it was recorded, and in the derivative of which node."""
    node.metadata["traceback_"] = call_lines(sys._getframe(1))
    if LOCAL.graph_task is not None and LOCAL.graph_task.node is not None:
        node.metadata["parent_"] = LOCAL.graph_task.node


def call_lines(frame: FrameType) -> list[str]:
    """Return the user's part of a call stack, as Python prints one: this package's own lines are left out."""
    package = __name__.partition(".")[0]
    stack = [(f, line) for f, line in traceback.walk_stack(frame)
             if f.f_globals.get("__name__", "").partition(".")[0] != package]
    return traceback.StackSummary.extract(iter(stack[::-1])).format()


# called in a pass
def watch_pass(task: Any) -> None:
    """Make a pass warn which lines recorded a node that fails or computes a nan."""
    evaluate = task.evaluate

    def evaluate_and_check(task: Any, buffer: Any) -> Any:
        node = LOCAL.graph_task.node = buffer.node  # until the next one: sums of what it sends belong to it
        try:
            grads = evaluate(task, buffer)
            if ANOMALY.check_nan:
                refuse_nan(node, grads)
        except BaseException as error:
            warn_of_forward(node, error)
            raise
        return grads

    task.evaluate = evaluate_and_check


def refuse_nan(node: Any, grads: tuple[Any, ...]) -> None:
    """Raise PyTorch's error for a nan among the gradients that a node computed."""
    for index, grad in enumerate(grads):
        values = getattr(grad, "array", grad)
        if grad is not None and (values != values).any():
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")


def warn_of_forward(node: Any, error: BaseException) -> None:
    """Warn which lines recorded a node that failed, then the node whose derivative it belongs to, and so on."""
    first = True
    while node is not None:
        lines = node.metadata.get("traceback_")
        if lines is None:
            text = (f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly "
                    "during forward pass for more information.")
        elif first:
            text = f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
        else:
            text = (f"\n\nPrevious calculation was induced by {node.name()}. Traceback of forward call that induced "
                    "the previous calculation:\n")
        try:
            warnings.warn(text + "".join(lines or ()), stacklevel=1)
        except Warning as warning:  # the user made warnings errors; this one must not hide the error it is about
            error.add_note(str(warning))
        node, first = node.metadata.get("parent_"), False
