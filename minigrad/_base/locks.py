"""Creates locks that are free in a child process after `fork()`, whichever thread held them.

A child has only the thread that forked. A lock held by another one would be held for ever: a DataLoader worker that
draws a random number would wait until it is killed.
"""

import os
import threading
import weakref
from typing import Any, TypeVar

__all__ = ["free_in_children", "locks", "new_lock"]

L = TypeVar("L")
# References to the locks to free in a child process. A WeakSet would call a Python function whenever a lock dies, and
# Python drops an interrupt that arrives in such a function.
REFERENCES: set[weakref.ref[Any]] = set()
FEW = 64  # references, up to which none is checked for being dead


def new_lock() -> threading.RLock:
    """A lock that a thread may take twice."""
    return free_in_children(threading.RLock())


def free_in_children(lock: L) -> L:
    """Make a lock free in every child process from now on; return the lock."""
    REFERENCES.add(weakref.ref(lock))
    if len(REFERENCES) > Swept.limit:
        sweep()
    return lock


class Swept:
    """When dead references are next removed."""

    limit = FEW  # at this many references


def sweep() -> None:
    """Remove the references to dead locks; the next time is at twice the number that are left."""
    for reference in list(REFERENCES):
        if reference() is None:
            REFERENCES.discard(reference)
    Swept.limit = max(FEW, 2 * len(REFERENCES))


def locks() -> list[Any]:
    return [lock for reference in list(REFERENCES) if (lock := reference()) is not None]


def free_all() -> None:
    """Free all locks, in a child process."""
    for lock in locks():
        lock._at_fork_reinit()  # the standard library's own modules call it, too


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=free_all)
