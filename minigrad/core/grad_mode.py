"""The modes of a thread: grad mode, inference mode, and whatever else changes how ops are recorded.

The contexts that users enter (`no_grad` and its kind) are in `minigrad/autograd/grad_mode.py`; they call `switch`.

Recording has a plain path, and almost every op takes it. `UNUSUAL.count` says how many things are on in the whole
process that the plain path does not handle: a grad mode, saved-tensor hooks, a recorder, anomaly mode. While it is 0,
an op looks at nothing else. Only when it is not does the op ask what its own thread is doing, in `LOCAL`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["LOCAL", "UNUSUAL", "is_grad_enabled", "is_inference_mode_enabled", "switch"]


class Unusual:
    """What is on in any thread and makes recording or backward passes leave their plain path."""

    __slots__ = ("count", "lock", "on_new_node", "pass_wrappers")

    def __init__(self) -> None:
        self.count = 0  # how many such things are on; each counts itself
        self.lock = threading.Lock()
        self.on_new_node: Callable[[Any], None] | None = None  # called with each new node (anomaly mode)
        self.pass_wrappers: list[Callable[[Any], None]] = []  # called with the GraphTask of each new backward pass

    def add(self, n: int) -> None:
        """Count `n` more of them, or fewer. The lock is needed because `+=` is not atomic."""
        with self.lock:
            self.count += n


UNUSUAL = Unusual()


class Share:
    """What the modes of one thread add to `UNUSUAL.count`; given back when the thread ends with a mode still on."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.count, self.total = 0, UNUSUAL  # the module's name may be gone when the last thread ends

    def add(self, n: int) -> None:
        """Count `n` more unusual modes of this thread, or fewer."""
        self.count += n
        self.total.add(n)

    def __del__(self) -> None:
        self.total.add(-self.count)


class ThreadState(threading.local):
    """The modes of one thread."""

    grad_enabled: bool = True  # what a user asks for and reads
    inference: bool = False  # whether this thread is inside inference_mode
    saved_tensors_hooks: tuple[Any, ...] = ()  # pairs of pack and unpack hooks; the last one counts
    saved_tensors_hooks_disabled: str | None = None  # the error to raise where such hooks are not allowed
    graph_task: Any = None  # the backward pass that is running, the innermost one
    observer: Any = None  # receives every step of recording and of backward passes; None for nobody
    multithreading: bool = True  # a flag that programs for PyTorch set; the engine ignores it

    def __init__(self) -> None:
        self.share = Share()  # runs once in each thread, when it first looks at LOCAL

    @property
    def recording(self) -> bool:
        """Whether ops are recorded: grad mode is on, and inference mode is off."""
        return self.grad_enabled and not self.inference


LOCAL = ThreadState()


def is_grad_enabled() -> bool:
    """Whether grad mode is on in this thread."""
    return LOCAL.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return LOCAL.inference


def switch(grad_enabled: bool, inference: bool | None = None) -> None:
    """Set the modes of this thread and count what is unusual about them; None leaves inference mode as it is."""
    old = LOCAL.grad_enabled, LOCAL.inference
    new = grad_enabled, old[1] if inference is None else inference
    LOCAL.share.add((old[0] - new[0]) + (new[1] - old[1]))
    LOCAL.grad_enabled, LOCAL.inference = new
    if LOCAL.observer is not None:
        for mode, before, after in zip(("grad", "inference"), old, new, strict=True):
            if before != after:
                LOCAL.observer.mode(mode, after)
