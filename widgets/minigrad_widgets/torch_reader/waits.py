"""Who waits for a call of several ranks: the one function of PyTorch's in whose place a recording puts its own.

A profile function sees that some `Work.wait` is called, but not of which `Work`: functions of pybind do not say it. So
while a recording has seen such calls, `Work.wait` is a function that tells the recording of its thread, and calls
PyTorch's.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

import torch.distributed as dist

__all__ = ["listen", "listen_no_more"]

LISTENERS: dict[int, Any] = {}  # the recordings that want to know, by thread
REPLACED: list[Any] = []  # PyTorch's function


def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
    """`Work.wait` while somebody listens."""
    listener = LISTENERS.get(get_ident())
    operation = None if listener is None else listener.operation_of(work)
    if listener is None or operation is None:
        return REPLACED[-1](work, *args, **kwargs)
    listener.wait(operation)
    result = REPLACED[-1](work, *args, **kwargs)
    listener.end(operation)
    return result


def listen(listener: Any) -> None:
    """Tell a recording of this thread who waits, from now on."""
    LISTENERS[get_ident()] = listener
    put_in_place()


def listen_no_more(listener: Any) -> None:
    """Tell it no more, if it was told; PyTorch's function is put back when nobody listens."""
    for thread in [thread for thread, each in LISTENERS.items() if each is listener]:
        del LISTENERS[thread]
    if not LISTENERS and REPLACED and waiting() is wait:
        put(REPLACED[-1])
    if LISTENERS:  # another thread has begun to listen at this moment
        put_in_place()


def put_in_place() -> None:
    """Have this module's function there."""
    if waiting() is not wait:
        REPLACED[:] = [waiting()]
        put(wait)


def waiting() -> Any:
    """What `Work.wait` is now."""
    return dist.Work.__dict__["wait"]


def put(function: Any) -> None:
    work: Any = dist.Work
    work.wait = function
