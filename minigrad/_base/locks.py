"""Makes locks that are free in a child process after `fork()`, whichever thread held them.

A child has only the thread that forked. A lock that another one held would be held for ever: a DataLoader's worker that
draws a random number would wait until it is killed.
"""

import os
import threading
import weakref
from typing import Any, TypeVar

__all__ = ["free_in_children", "new_lock"]

L = TypeVar("L")
LOCKS: weakref.WeakSet[Any] = weakref.WeakSet()  # those that are to be free in a child process


def new_lock() -> threading.RLock:
    """A lock that a thread may take twice."""
    return free_in_children(threading.RLock())


def free_in_children(lock: L) -> L:
    """Have a lock free in every child process from now on; returns the lock."""
    LOCKS.add(lock)
    return lock


def free_all() -> None:
    """Free all locks, in a child process."""
    for lock in LOCKS:
        lock._at_fork_reinit()  # the standard library's own modules call it, too


if hasattr(os, "register_at_fork"):  # not on Windows, where no process forks
    os.register_at_fork(after_in_child=free_all)
