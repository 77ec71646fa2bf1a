"""Writes that fail: on a full disk, on one that can only be read, and in processes that are killed while they write."""

from __future__ import annotations

import ctypes
import os
import random
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from minigrad_lessons.folder import LessonError
from tests.reliability.writers import Writer

LIBRARY = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS, NEW_USER, READ_ONLY, REMOUNT = 0x00020000, 0x10000000, 1, 32
SHARES = (0.0, 0.1, 0.5, 0.9, 0.99)  # of what the writer writes: so much fits
DISK = 4 << 20


def in_child(function: Callable[[], str | None]) -> str | None:
    """What a function finds wrong, in a child process; also an error, or a signal that ended it."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        said = "it did not come to its end"
        try:
            said = function() or ""
        except BaseException:  # noqa: BLE001 (whichever it is, it is what is looked for)
            said = traceback.format_exc(limit=-3)
        finally:
            os.write(writer, said.encode()[:4000])
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    return said or (f"status {status}" if status else None)


def leftovers(folder: Path) -> list[str]:
    """Unfinished files."""
    return [path.name for path in folder.rglob("*.tmp")]


def refused(writer: Writer, folder: Path) -> str | None:
    """Write where something is in the way: it works, or is refused in words, and what was there is whole."""
    try:
        writer.write(folder, 1)
    except (OSError, LessonError, RuntimeError) as error:  # safetensors' own error is none of OSError's kind
        if not str(error):
            return f"{type(error).__name__} without a message"
    return writer.damage(folder) or (f"left behind: {found}" if (found := leftovers(folder)) else None)


def size_of(folder: Path) -> int:
    return max((path.stat().st_size for path in folder.rglob("*") if path.is_file()), default=1)


def limited(writer: Writer, share: float) -> str | None:
    """Files may grow to a share of their size: the system refuses the rest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "some where")
        folder.mkdir()
        writer.prepare(folder)
        limit = int(size_of(folder) * share)

        def write() -> str | None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            return refused(writer, folder)

        return in_child(write)


def may_mount() -> bool:
    """Whether a process may have a disk of its own here: as root, or where a user may have namespaces."""
    return os.path.exists("/proc/self/ns/mnt") and in_child(lambda: mount(tempfile.gettempdir(), DISK)) is None


def mount(place: str, size: int, flags: int = 0) -> str | None:
    """Have a small disk at a place, for this process alone."""
    user, group = os.getuid(), os.getgid()
    if not flags:
        if LIBRARY.unshare(NEW_MOUNTS if user == 0 else NEW_MOUNTS | NEW_USER):
            return os.strerror(ctypes.get_errno())
        if user:
            for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
                Path("/proc/self", file).write_text(text)
        LIBRARY.mount(b"none", b"/", None, 0x40000 | 0x4000, None)  # private, so that nobody else sees it
    failed = LIBRARY.mount(b"tmpfs", place.encode(), b"tmpfs", flags, f"size={size}".encode())
    return os.strerror(ctypes.get_errno()) if failed else None


def full_disk(writer: Writer, share: float) -> str | None:
    """The disk has room for a share of what is written."""
    def write(place: str) -> str | None:
        if why := mount(place, DISK):
            return why
        folder = Path(place, "some where")
        folder.mkdir()
        writer.prepare(folder)
        size, free = size_of(folder), os.statvfs(place).f_bavail * os.statvfs(place).f_bsize
        ballast = Path(place, "ballast")
        ballast.write_bytes(bytes(max(0, free - int(size * share))))
        return refused(writer, folder)

    with tempfile.TemporaryDirectory() as name:
        return in_child(lambda: write(name))


def read_only(writer: Writer) -> str | None:
    """The disk cannot be written to."""
    def write(place: str) -> str | None:
        if why := mount(place, DISK):
            return why
        folder = Path(place, "some where")
        folder.mkdir()
        writer.prepare(folder)
        return mount(place, DISK, READ_ONLY | REMOUNT) or refused(writer, folder)

    with tempfile.TemporaryDirectory() as name:
        return in_child(lambda: write(name))


def disturbed(writer: Writer) -> Iterator[str | None]:
    """Every kind of disk on which a write fails; for each None, or what was wrong."""
    for share in SHARES:
        yield limited(writer, share)
    if may_mount():
        yield read_only(writer)
        for share in SHARES:
            yield full_disk(writer, share)


def killed(writer: Writer, count: int, seed: int) -> Iterator[str | None]:
    """Kill a process that writes again and again, at random moments; for each time None, or what was damaged."""
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "some where")
        folder.mkdir()
        writer.prepare(folder)
        start = time.perf_counter()
        writer.write(folder, 1)
        once = time.perf_counter() - start
        for _ in range(count):
            child = os.fork()
            if not child:
                try:
                    for version in range(10**9):
                        writer.write(folder, version % 2)
                finally:
                    os._exit(1)
            time.sleep(drawn.uniform(0, 3 * once))
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            if not os.WIFSIGNALED(status):
                yield "the writer ended by itself"
                continue
            wrong = writer.damage(folder)
            for path in folder.rglob("*.tmp"):  # nobody could take away what a killed process had begun
                path.unlink()
            yield wrong
