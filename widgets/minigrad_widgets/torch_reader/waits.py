"""Sees waits for calls of several ranks: by the one function of PyTorch that a recording replaces with its own.

A profile function sees that some `Work.wait` is called, but not of which `Work`: pybind functions do not reveal it. So
once a recording has seen such calls, `Work.wait` is a function that notifies the recording of its thread, and calls
PyTorch's.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

import torch.distributed as dist

__all__ = ["listen", "listen_no_more"]

LISTENERS: dict[int, Any] = {}  # the recordings to notify, by thread
REPLACED: list[Any] = []  # PyTorch's function


def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
    """The replacement of `Work.wait` while a recording listens."""
    listener = LISTENERS.get(get_ident())
    operation = None if listener is None else listener.operation_of(work)
    if listener is None or operation is None:
        return REPLACED[-1](work, *args, **kwargs)
    listener.wait(operation)
    result = REPLACED[-1](work, *args, **kwargs)
    listener.end(operation)
    return result


def listen(listener: Any) -> None:
    """Notify a recording of the waits in this thread, from now on."""
    LISTENERS[get_ident()] = listener
    put_in_place()


def listen_no_more(listener: Any) -> None:
    """Stop notifying a recording; PyTorch's function is restored when none listens."""
    for thread in [thread for thread, each in LISTENERS.items() if each is listener]:
        del LISTENERS[thread]
    if not LISTENERS and REPLACED and waiting() is wait:
        put(REPLACED[-1])
    if LISTENERS:  # another thread has begun to listen at this moment
        put_in_place()


def put_in_place() -> None:
    """Make `Work.wait` this module's function."""
    if waiting() is not wait:
        REPLACED[:] = [waiting()]
        put(wait)


def waiting() -> Any:
    """Return what `Work.wait` is now."""
    return dist.Work.__dict__["wait"]


def put(function: Any) -> None:
    work: Any = dist.Work
    work.wait = function
