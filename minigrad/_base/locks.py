"""Makes locks that are free in a child process after `fork()`, whichever thread held them.

A child has only the thread that forked. A lock that another one held would be held for ever: a DataLoader's worker that
draws a random number would wait until it is killed.
"""

import os
import threading
import weakref
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["free_in_children", "locks", "new_lock"]

L = TypeVar("L")
# References to the locks that are to be free in a child process. A WeakSet would call a function of Python's whenever a
# lock dies, and Python drops an interrupt that comes in such a function.
REFERENCES: list[weakref.ref[Any]] = []
FEW = 64  # references, of which none is looked at to see whether its lock is gone


def new_lock() -> threading.RLock:
    """A lock that a thread may take twice."""
    return free_in_children(threading.RLock())


def free_in_children(lock: L) -> L:
    """Have a lock free in every child process from now on; returns the lock."""
    REFERENCES.append(weakref.ref(lock))
    if len(REFERENCES) > FEW and len(REFERENCES) > 2 * len(locks()):
        for reference in [each for each in REFERENCES if each() is None]:
            with suppress(ValueError):  # another thread has removed it
                REFERENCES.remove(reference)
    return lock


def locks() -> list[Any]:
    """The locks that are to be free in a child process."""
    return [lock for reference in list(REFERENCES) if (lock := reference()) is not None]


def free_all() -> None:
    """Free all locks, in a child process."""
    for lock in locks():
        lock._at_fork_reinit()  # the standard library's own modules call it, too


if hasattr(os, "register_at_fork"):  # not on Windows, where no process forks
    os.register_at_fork(after_in_child=free_all)
