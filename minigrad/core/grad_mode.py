"""The state of grad mode: which modes are on in a thread, and whether anything unusual is on anywhere.

The contexts that users enter (`no_grad` and its kind) are in `minigrad/autograd/grad_mode.py`. They call `switch`.

Modes are one of the few things that the straight path of recording does not know (others: saved-tensor hooks, an
observer, anomaly mode). `UNUSUAL.count` says how many such things are on in the whole process. It is all that an op
looks at; only where it is not zero does the op ask what its own thread, `LOCAL`, is doing.
"""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["LOCAL", "UNUSUAL", "is_grad_enabled", "is_inference_mode_enabled", "switch"]


class Unusual:
    """How many unusual things are on, in any thread."""

    __slots__ = ("count", "lock")

    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.Lock()

    def add(self, n: int) -> None:
        """`n` more of them (or fewer); locked, since `+=` is not atomic."""
        if n:
            with self.lock:
                self.count += n


UNUSUAL = Unusual()


class Share:
    """What the modes of one thread add to `UNUSUAL`: given back when the thread ends with a mode still on."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.count, self.total = 0, UNUSUAL  # the module's name may be gone when the last thread ends

    def add(self, n: int) -> None:
        """`n` more unusual modes (or fewer) of this thread."""
        self.count += n
        self.total.add(n)

    def __del__(self) -> None:
        self.total.add(-self.count)


class ThreadState(threading.local):
    """What is on in this thread.

    `grad_enabled` is what a user asks for and reads; `recording` is what an op goes by: off in inference mode too,
    where PyTorch records nothing even inside of `enable_grad`. `saved_tensors_hooks`: those that are on, the last one
    counts; `saved_tensors_hooks_disabled`: what to say where none is allowed. `graph_task`: the backward pass that is
    running, the innermost one. `observer`: who is told of every step.
    """

    grad_enabled: bool = True
    inference: bool = False
    recording: bool = True
    saved_tensors_hooks: tuple[Any, ...] = ()
    saved_tensors_hooks_disabled: str | None = None
    graph_task: Any = None
    observer: Any = None
    multithreading: bool = True

    def __init__(self) -> None:
        self.share = Share()  # each thread comes through here when it first looks


LOCAL = ThreadState()


def is_grad_enabled() -> bool:
    """Whether grad mode is on in this thread."""
    return LOCAL.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside of `inference_mode`."""
    return LOCAL.inference


def switch(grad_enabled: bool, inference: bool | None = None) -> None:
    """Set the modes of this thread (None leaves inference mode as it is), and count what is unusual about them."""
    if inference is None:
        inference = LOCAL.inference
    LOCAL.share.add((LOCAL.grad_enabled - grad_enabled) + (inference - LOCAL.inference))
    changed, entered = LOCAL.grad_enabled != grad_enabled, LOCAL.inference != inference
    LOCAL.grad_enabled, LOCAL.inference, LOCAL.recording = grad_enabled, inference, grad_enabled and not inference
    if changed and LOCAL.observer is not None:
        LOCAL.observer.mode("grad", grad_enabled)
    if entered and LOCAL.observer is not None:
        LOCAL.observer.mode("inference", inference)
