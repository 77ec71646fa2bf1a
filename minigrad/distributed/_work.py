"""A call that several ranks make together, while it is in progress: mirrors `Work` of PyTorch's `Work.hpp`.

NOTE 1 (the announcement). Before a collective moves any data, each rank sends all others in its group a short message:
which operation it calls, on which shape and dtype. The operation starts only when all have announced the same. So ranks
that disagree get one clear error, none of their tensors is touched and the group can go on; and a rank that waits in
vain can say for whom. PyTorch does this if TORCH_DISTRIBUTED_DEBUG is DETAIL. The price is a message to each rank per
call, and that even a broadcast starts only when all have called it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from minigrad.core import LOCAL
from minigrad.futures import Future
from minigrad.recording.tracker import NOWHERE

__all__ = ["ANNOUNCEMENT", "LEFT", "Call", "DistBackendError", "DistError", "DistNetworkError", "Label", "Work",
           "list_of", "note_grad", "note_start"]

class DistError(RuntimeError):
    """An error of this package."""


class DistBackendError(DistError):
    """Raised if the ranks do not work together: they disagree, one is missing, or MPI has refused a call."""


class DistNetworkError(DistError):
    """Kept for programs that catch it: MPI reports its errors as DistBackendError."""


for _error in (DistError, DistBackendError, DistNetworkError):
    _error.__module__ = "minigrad.distributed"


ANNOUNCEMENT = 512  # bytes; longer ones are cut
LEFT = "left"  # what a rank announces when it leaves the group


class Label(str):
    """What a call is for. For a bucket of gradients, a recording also shows its number and contents."""

    __slots__ = ("bucket", "parameters")
    bucket: int
    parameters: list[str]


@dataclass
class Call:
    """What a rank announces. The calls of all ranks must be equal except for `label`, which only explains."""

    what: str  # the operation with its shape and dtype, as shown
    label: str = ""  # what it is for, such as the parameters of a bucket
    sends: Sequence[int] = ()  # for an all-to-all: how many rows go to each rank,
    receives: Sequence[int] = ()  # and how many come from each

    def to_bytes(self) -> bytes:
        """Return it as bytes of a fixed length."""
        rows = [",".join(map(str, counts)) for counts in (self.sends, self.receives)]
        return "\0".join([self.what, *rows, self.label, ""]).encode()[:ANNOUNCEMENT].ljust(ANNOUNCEMENT, b"\0")

    @classmethod
    def from_bytes(cls, data: bytes | bytearray) -> Call:
        what, sends, receives, label = [*data.decode(errors="replace").split("\0"), "", "", ""][:4]
        return cls(what, label, *[[int(n) for n in counts.split(",") if n] for counts in (sends, receives)])

    def __str__(self) -> str:
        splits = f", splits {list(self.sends)} to {list(self.receives)}" if self.sends else ""
        return f"{self.what}{splits}" + (f" for {self.label}" if self.label else "")


class Work:
    """What `async_op=True` returns: the operation goes on, and `wait` waits for its end.

    `begin` starts it and returns MPI's request; `finish` is called when the request is done.
    """

    def __init__(self, group: Any, call: Call, result: list[Any], begin: Callable[[], Any],
                 finish: Callable[[Any], None] | None = None) -> None:
        self.group, self.call, self.result, self.begin, self.finish = group, call, result, begin, finish
        self.requests: list[Any] = []  # those of the others' announcements, then of the operation itself
        self.sent: list[Any] = []  # our own announcements, and the memory that they are sent from
        self.heard: dict[int, bytearray] = {}  # what the others announce, by rank
        self.error: Exception | None = None
        self.recorded: Any = None  # the observer of a recording, and the number of this call in it
        self.started = self.done = False
        self.times = [time.perf_counter(), 0.0, 0.0]  # when it was called, announced by all, and over

    def wait(self, timeout: Any = None) -> bool:
        """Return True when the operation is over.

        `timeout`: a `timedelta`, instead of the group's. Raises DistBackendError if the ranks make different calls, one
        has left, or the time is up.
        """
        limit = self.group.seconds if timeout is None else timeout.total_seconds()
        note_wait(self)
        self.group.wait_for(self, limit)
        if self.error is not None:
            raise self.error
        note_end(self)
        return True

    def is_completed(self) -> bool:
        """Return whether the operation is over, successfully or not."""
        self.group.advance()
        return self.done

    def is_success(self) -> bool:
        return self.is_completed() and self.error is None

    def exception(self) -> Exception | None:
        return self.error

    def get_future(self) -> Future:
        """Return a future whose value is the list of the tensors that the operation writes to."""
        return Future.of(self.wait, lambda: self.result)

    def missing(self) -> list[int]:
        """Return the ranks that have not announced this call."""
        return [rank for rank, data in self.heard.items() if not data[0]]

    def disagreement(self) -> Exception | None:
        """Return the error in the announcements so far, if any. All ranks find the same, from the same messages."""
        rank = self.group.rank()
        calls = {other: Call.from_bytes(data) for other, data in self.heard.items() if data[0]}
        for other, call in calls.items():
            if call.what == LEFT:
                return DistBackendError(
                    f"Rank {other} has left the process group while rank {rank} is running {self.call}.\n\nAll ranks "
                    "of a group must make the same calls: look for what ends the program of that rank earlier.")
            if call.what != self.call.what:
                return mismatch(rank, self.call, other, call)
        if self.call.sends:
            calls[rank] = self.call
            for (one, a), (two, b) in itertools.permutations(calls.items(), 2):
                if a.sends[two] != b.receives[one]:
                    return mismatch(one, a, two, b)
        return None

    def too_late(self, seconds: float) -> Exception:
        missing = self.missing()
        if self.started or not missing:
            why = "all ranks have called it, but it has not ended."
        else:
            why = f"{list_of('rank', missing)} {'has' if len(missing) == 1 else 'have'} not called it."
        return DistBackendError(f"Timed out after {seconds:g} s: rank {self.group.rank()} is running {self.call}; {why}"
                                "\n\nThe limit is the `timeout` of init_process_group.")


def mismatch(one: int, a: Call, two: int, b: Call) -> Exception:
    return DistBackendError(
        f"Detected mismatch between collectives on ranks. Rank {one} is running collective: {a}, but Rank {two} is "
        f"running collective: {b}.\n\nAll ranks of a group must make the same calls, in the same order, with the same "
        "shapes and dtypes.")


def list_of(word: str, numbers: Sequence[int]) -> str:
    """Return "rank 3", "ranks 1 and 2", or "ranks 0, 1 and 2"."""
    *first, last = map(str, numbers)
    return f"{word}s {', '.join(first)} and {last}" if first else f"{word} {last}"


# what a recorder gets to know
def note_start(work: Any) -> None:
    """Note that this rank has called an operation; `work.recorded` keeps the observer and the number of the call."""
    observer = LOCAL.observer
    if observer is not None and hasattr(observer, "log"):
        number, label = observer.log.calls, work.call.label
        observer.log.calls, work.recorded = number + 1, (observer, number)
        facts = {name: getattr(label, name) for name in ("bucket", "parameters") if hasattr(label, name)}
        if work.group.size() < work.group.mpi.COMM_WORLD.Get_size():
            facts["group"] = work.group.ranks
        note(work, "collective_start", op=work.call.what, label=str(label), **facts,
             size=sum(tensor.array.nbytes for tensor in work.result))


def note_wait(work: Any) -> None:
    if work.recorded is not None:
        note(work, "collective_wait")


def note_end(work: Any) -> None:
    """Note that an operation is over; a second wait notes nothing."""
    if work.recorded is not None:
        note(work, "collective_end", times=work.times, **work.recorded[0].arrived(work.result))
        work.recorded = None


def note_grad(parameter: Any) -> None:
    """Note that the `.grad` of a parameter was written to, not by an op."""
    if LOCAL.observer is not None:
        LOCAL.observer.set_grad(parameter)


def note(work: Any, kind: str, times: Any = None, **fields: Any) -> None:
    """Note an event, unless the recording is over; with its time if the observer measures time."""
    observer, number = work.recorded
    if LOCAL.observer is not observer:
        work.recorded = None
        return
    at = observer.builder.where(2) or NOWHERE
    observer.log.event(kind, at, observer.depth + 1, call=number, **fields)
    if hasattr(observer, "timed"):
        observer.timed(times)
