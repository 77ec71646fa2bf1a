"""Runs a pass that was started deep inside other passes in a thread of its own.

NOTE 5 (passes inside passes). A hook or a custom Function may start another pass, and that one a third. Each takes a
dozen frames of Python's stack, which has room for a thousand. So every 32nd pass, counted from the outermost,
starts a new thread, with a fresh stack and with the modes of the thread that waits for it (PyTorch does the same, at
60); where no thread can be started, as under WebAssembly, it goes on with the stack that there is. An error that nobody
catches ends all of them where they are: leaves that were reached keep what they got, nodes that ran have freed what
they saved, all others are as they were, and nothing that was queued for the end is called.
"""

from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from typing import Any

from minigrad.core.grad_mode import LOCAL

__all__ = ["MAX_DEPTH", "in_another_thread", "queue_callback"]

MAX_DEPTH = 32  # how many passes, each started inside the one before, may share a thread


def in_another_thread(function: Callable[..., None], *args: Any) -> None:
    """Call `function(*args)` in a thread of its own, with the modes of this one, which waits for it."""
    modes = {name: value for name, value in vars(LOCAL).items() if name != "key"}  # a key is one thread's
    failures: list[BaseException] = []

    def work() -> None:
        vars(LOCAL).update(modes)
        LOCAL.update()
        try:
            function(*args)
        except BaseException as error:  # noqa: BLE001 (raised again in the thread that waits)
            failures.append(error)

    thread = Thread(target=copy_context().run, args=(work,))
    try:
        thread.start()
    except RuntimeError:
        return in_this_thread(function, *args)
    thread.join()
    if failures:
        raise failures.pop()


def in_this_thread(function: Callable[..., None], *args: Any) -> None:
    """Call `function(*args)` here, for there is no other thread, and say so if the stack has no room for it."""
    try:
        function(*args)
    except RecursionError as error:
        raise RecursionError("these backward passes, each started inside another, fill Python's stack; this platform "
                             "can start no thread to run them in") from error


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback()` at the end of the innermost pass that runs in this thread, if it ends without an error. Raises
    RuntimeError outside a backward pass."""
    if LOCAL.graph_task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    LOCAL.graph_task.callbacks.append(callback)
