"""A group of processes that work together through MPI: mirrors `ProcessGroup.hpp` and `ProcessGroupMPI.cpp`.

Each operation is a non-blocking one of MPI, on the memory of the tensor itself. `advance` tests how far they are;
whoever waits calls it, and a thread does so for those that nobody waits for yet, so that they go on during a backward
pass. The worker thread of PyTorch's ProcessGroupMPI makes blocking calls instead, which cannot be abandoned.

NOTE 2 (waiting). MPI makes progress only inside its calls, and a blocking call keeps a core busy. With more ranks than
cores, the usual case on a laptop, that is the core that the awaited rank needs. So a wait polls, for a short while
without pauses, then with pauses.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.distributed._work import ANNOUNCEMENT, LEFT, Call, DistBackendError, Work, list_of, note_start

__all__ = ["NON_MEMBER", "ProcessGroup"]

CONTROL = 0  # the tag of announcements; tags of `send` and `recv` are one higher than given
EAGER, PAUSE = 50e-6, 100e-6  # how many seconds a wait polls without pauses, and the length of a pause
NON_MEMBER = object()  # what `new_group` returns to a rank that is not in the group


class ProcessGroup:
    """The ranks of an MPI communicator, and the operations of this rank that are not over yet."""

    def __init__(self, mpi: Any, comm: Any, ranks: Sequence[int], seconds: float) -> None:
        self.mpi, self.comm, self.ranks, self.seconds = mpi, comm, list(ranks), seconds
        self.broken = ""  # why nothing can be called any more
        self.pending: list[Work] = []
        self.lock = threading.RLock()
        self.called = threading.Condition(self.lock)
        self.thread: threading.Thread | None = None

    def rank(self) -> int:
        return int(self.comm.rank)

    def size(self) -> int:
        return int(self.comm.size)

    def name(self) -> str:
        return "mpi"

    def run(self, call: Call, result: list[Any], begin: Callable[[], Any],
            finish: Callable[[Any], None] | None = None) -> Work:
        """Announce a collective (NOTE 1 in _work.py); it starts when all ranks have announced it. Raises
        DistBackendError if an earlier call has timed out."""
        work, mine = self.new_work(call, result, begin, finish), call.to_bytes()
        note_start(work)
        with self.lock:
            for other in [rank for rank in range(self.size()) if rank != self.rank()]:
                work.heard[other] = data = bytearray(ANNOUNCEMENT)
                work.requests.append(self.comm.Irecv(data, other, CONTROL))
                work.sent.append((self.comm.Isend(mine, other, CONTROL), mine))
            self.pending.append(work)
            self.advance()
        return work

    def run_pair(self, call: Call, result: list[Any], begin: Callable[[], Any],
                 finish: Callable[[Any], None] | None = None) -> Work:
        """Start a `send` or a `recv`, which is not announced."""
        work = self.new_work(call, result, begin, finish)
        note_start(work)
        with self.lock:
            self.start(work)
            self.pending.append(work)
        return work

    def new_work(self, call: Call, result: list[Any], begin: Callable[[], Any],
                 finish: Callable[[Any], None] | None) -> Work:
        """Return a work that has not begun; raise an error if this group is broken."""
        if self.broken:
            raise DistBackendError(f"The process group cannot be used any more, since an earlier call failed: "
                                   f"{self.broken}")
        return Work(self, call, result, begin, finish)

    def advance(self) -> None:
        """Start and end operations that are ready, in the order of the calls, by which MPI tells collectives apart."""
        with self.lock:
            blocked = False
            for work in self.pending[:]:
                if not work.started and not blocked and all(request.Test() for request in work.requests):
                    work.error = work.disagreement()
                    work.done = work.error is not None
                    if not work.done:
                        self.start(work)
                blocked = blocked or not (work.started or work.done)
                if work.started and not work.done:
                    self.test(work)
                if work.done:
                    self.pending.remove(work)

    def start(self, work: Work) -> None:
        """Begin the operation itself."""
        work.times[1], work.started = time.perf_counter(), True
        try:
            work.requests = [work.begin()]
        except self.mpi.Exception as error:
            self.end(work, error)

    def test(self, work: Work) -> None:
        """Test whether the operation is over."""
        try:
            status = self.mpi.Status()
            if all(request.Test() for request, _ in work.sent) and work.requests[0].Test(status):
                if work.finish is not None:
                    work.finish(status)
                self.end(work, None)
        except (self.mpi.Exception, DistBackendError) as error:
            self.end(work, error)

    def end(self, work: Work, error: Exception | None) -> None:
        """Note the end of an operation, with MPI's error if there is one."""
        if error is not None:
            work.error = error if isinstance(error, DistBackendError) else DistBackendError(
                f"MPI has refused {work.call} on rank {self.rank()}: {error}")
        work.times[2], work.done = time.perf_counter(), True

    def wait_for(self, work: Work, seconds: float) -> None:
        """Return when an operation is over; break the group when the time is up."""
        begun = time.perf_counter()
        while True:
            self.advance()
            if work.done:
                return
            now = time.perf_counter()
            if now - begun > seconds:
                work.error = work.disagreement() or work.too_late(seconds)
                self.broken = str(work.error).partition("\n")[0]
                work.done = True
                return
            if work.started and work.heard:  # all ranks have called, and MPI moves data only inside its calls
                time.sleep(0)
            elif now - begun > EAGER:
                time.sleep(PAUSE)

    def go_on_in_background(self) -> None:
        """Wake the thread that calls `advance` while something is pending; the first time, start it."""
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(target=self._background, name="minigrad.distributed", daemon=True)
                self.thread.start()
            self.called.notify()

    def _background(self) -> None:
        while not self.broken:
            with self.lock:
                while not self.pending and not self.broken:
                    self.called.wait()
                self.advance()
            time.sleep(2 * PAUSE)

    def leave(self) -> None:
        """Tell the others that this rank makes no more calls, unless they have all left too."""
        with self.lock:
            if not self.broken:
                mine = Call(LEFT).to_bytes()
                self.farewell = [(self.comm.Isend(mine, other, CONTROL), mine)
                                 for other in range(self.size()) if other != self.rank()]
            self.broken = self.broken or "this rank has left it"
            self.called.notify()
        if self.thread is not None:
            self.thread.join()  # it must not call MPI after MPI is finalized

    def __repr__(self) -> str:
        return f"<minigrad.distributed.ProcessGroup of {list_of('rank', self.ranks)} over {self.name()}>"
