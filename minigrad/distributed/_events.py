"""Reports what several ranks do together to a recorder."""

from typing import Any

from minigrad.core import LOCAL
from minigrad.recording.tracker import NOWHERE

__all__ = ["note_end", "note_grad", "note_start", "note_wait"]


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
    """Note that this rank begins to wait for an operation."""
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
