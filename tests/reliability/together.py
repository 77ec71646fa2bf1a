"""Processes and threads that do the same at once: commands that fill one folder, children of a thread that draws."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import minigrad

PATIENCE = 300  # seconds after which a process that hangs is ended


def child(function: object, *arguments: object) -> int:
    """Start a process that calls a function; its status is 0 if that came to its end."""
    started = os.fork()
    if not started:
        status = 1
        try:
            signal.alarm(PATIENCE)
            assert callable(function)
            function(*arguments)
            status = 0
        finally:
            os._exit(status)
    return started


def together(*calls: Callable[[], object]) -> None:
    """Make these calls at once, each in a thread; the first error comes up here."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        barrier.wait()
        try:
            call()
        except BaseException as error:  # noqa: BLE001 (raised below, in the thread of the caller)
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def fills(rounds: int, commands: int = 3) -> Iterator[str | None]:
    """Three commands fill one new folder at once; for each round None, or what went wrong."""
    from minigrad_lessons.folder import fill  # noqa: PLC0415 - what else is here needs no lessons
    from tests.reliability.writers import sources  # noqa: PLC0415 - the same
    from tests.reliability.writes import leftovers  # noqa: PLC0415 - the same

    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "some where")
            lessons = sources(folder, 0)
            children = [child(fill, folder, lessons) for _ in range(commands)]
            statuses = [os.waitpid(each, 0)[1] for each in children]
            wrong = [f"status {status}" for status in statuses if status]
            wrong += [path.name for at, path in lessons.items() if (folder / at).read_bytes() != path.read_bytes()]
            yield ", ".join(wrong + leftovers(folder)) or None


def forks(count: int) -> Iterator[str | None]:
    """Children that are forked while another thread draws, and that draw themselves; for each None, or how it ended."""
    done = threading.Event()

    def draw() -> None:
        while not done.is_set():
            minigrad.randn(2000)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for _ in range(count):
            status = os.waitpid(child(minigrad.randn, 2000), 0)[1]
            yield f"status {status}" if status else None
    finally:
        done.set()
        thread.join()
