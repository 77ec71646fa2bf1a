"""Keeps the modes of a thread: grad mode, inference mode, and whatever else changes how ops are recorded.

The contexts that users enter (`no_grad` and its kind) are in `minigrad/autograd/grad_mode.py`; they call `switch`.

Recording has a fast path, and almost every op takes it. `UNUSUAL.modes` holds what is on, in any thread, that the fast
path does not handle: grad mode switched off, saved-tensor hooks, an observer, anomaly mode. While it is empty, an op
looks at nothing else. Only when it is not does the op ask what its own thread is doing, in `LOCAL`.

Ctrl-C may interrupt Python between any two statements. So whether a thread is in `UNUSUAL.modes` is derived from the
fields of the thread (`ThreadState.update`), and never counted up or down: whatever was interrupted, the next change of
a mode corrects it.
"""

from collections.abc import Callable
from threading import local
from typing import Any

__all__ = ["LOCAL", "UNUSUAL", "is_grad_enabled", "is_inference_mode_enabled", "switch"]


class Unusual:
    """What is on, in any thread, that makes recording or backward passes leave their fast path."""

    __slots__ = ("modes", "on_new_leaf", "on_new_node", "pass_wrappers", "tangents", "transforms")
    on_new_leaf: Callable[[Any], None]  # called with each new leaf where a thread has `unusual_leaves` (new_leaf.py)

    def __init__(self) -> None:
        self.modes: set[Any] = set()  # names of modes of the process, and keys of threads that have modes on
        self.on_new_node: Callable[[Any], None] | None = None  # called with each new node (anomaly mode)
        self.pass_wrappers: list[Callable[[Any], None]] = []  # called with the GraphTask of each new backward pass
        self.tangents: Any = None  # what follows in-place writes and custom Functions in forward mode (forward_ad.py)
        self.transforms: Any = None  # what raises for passes and writes that a transform forbids (func/levels.py)

    def set(self, mode: Any, on: Any) -> None:
        """Add a mode, or remove it."""
        (self.modes.add if on else self.modes.discard)(mode)


UNUSUAL = Unusual()


class ThreadKey:
    """Stands for a thread in `UNUSUAL.modes`; removed from there when the thread ends with a mode still on."""

    def __init__(self) -> None:
        self.modes = UNUSUAL.modes  # the module's name may be gone when the last thread ends

    def __del__(self) -> None:
        self.modes.discard(id(self))


class ThreadState(local):
    """The modes of one thread."""

    grad_enabled: bool = True  # what a user sets and reads
    inference: bool = False  # whether this thread is inside inference_mode
    saved_tensors_hooks: tuple[Any, ...] = ()  # pairs of pack and unpack hooks; the last one counts
    saved_tensors_hooks_disabled: str | None = None  # the error to raise where such hooks are not allowed
    dispatch_modes: tuple[Any, ...] = ()  # the TorchDispatchModes that are on, the innermost last
    graph_task: Any = None  # the backward pass that is running, the innermost one
    births: bool = False  # whether it is noted where each leaf is made: inside of `vmap` (batching.py)
    unusual_leaves: bool = False  # whether a leaf is marked when it is made: by one of the three
    observer: Any = None  # receives every step of recording and of backward passes; None for nobody
    multithreading: bool = True  # a flag that programs for PyTorch set; the engine ignores it

    def __init__(self) -> None:
        self.key = ThreadKey()  # runs once in each thread, when it first looks at LOCAL

    @property
    def recording(self) -> bool:
        """Whether ops are recorded: grad mode is on, and inference mode is off."""
        return self.grad_enabled and not self.inference

    def update(self) -> None:
        """Enter in `UNUSUAL.modes` whether this thread has a mode on. Call it after changing one of the fields."""
        self.unusual_leaves = self.inference or self.observer is not None or self.births
        UNUSUAL.set(id(self.key), self.unusual_leaves or not self.grad_enabled or self.saved_tensors_hooks or
                    self.dispatch_modes)


LOCAL = ThreadState()


def is_grad_enabled() -> bool:
    """Return whether grad mode is on in this thread."""
    return LOCAL.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Return whether this thread is inside `inference_mode`."""
    return LOCAL.inference


def switch(grad_enabled: bool, inference: bool | None = None) -> None:
    """Set the modes of this thread; None leaves inference mode as it is."""
    old = LOCAL.grad_enabled, LOCAL.inference
    LOCAL.grad_enabled, LOCAL.inference = new = grad_enabled, old[1] if inference is None else inference
    LOCAL.update()
    if LOCAL.observer is not None:
        for mode, before, after in zip(("grad", "inference"), old, new, strict=True):
            if before != after:
                LOCAL.observer.mode(mode, after)
