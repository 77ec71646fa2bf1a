"""Makes locks that are free in a child process after `fork()`, whichever thread held them.

A child has only the thread that forked. A lock that another one held would be held for ever: a DataLoader's worker that
draws a random number would wait until it is killed.
"""

import os
import threading
import weakref
from typing import Any, TypeVar

__all__ = ["free_in_children", "locks", "new_lock"]

L = TypeVar("L")
# References to the locks that are to be free in a child process. A WeakSet would call a function of Python's whenever a
# lock dies, and Python drops an interrupt that comes in such a function.
REFERENCES: set[weakref.ref[Any]] = set()
FEW = 64  # references, of which none is looked at to see whether its lock is gone


def new_lock() -> threading.RLock:
    """A lock that a thread may take twice."""
    return free_in_children(threading.RLock())


def free_in_children(lock: L) -> L:
    """Have a lock free in every child process from now on; returns the lock."""
    REFERENCES.add(weakref.ref(lock))
    if len(REFERENCES) > Swept.limit:
        sweep()
    return lock


class Swept:
    """When references to locks that are gone are dropped next."""

    limit = FEW  # so many references


def sweep() -> None:
    """Drop the references to locks that are gone; the next time is when twice as many are there as are left."""
    for reference in list(REFERENCES):
        if reference() is None:
            REFERENCES.discard(reference)
    Swept.limit = max(FEW, 2 * len(REFERENCES))


def locks() -> list[Any]:
    """The locks that are to be free in a child process."""
    return [lock for reference in list(REFERENCES) if (lock := reference()) is not None]


def free_all() -> None:
    """Free all locks, in a child process."""
    for lock in locks():
        lock._at_fork_reinit()  # the standard library's own modules call it, too


if hasattr(os, "register_at_fork"):  # not on Windows, where no process forks
    os.register_at_fork(after_in_child=free_all)
