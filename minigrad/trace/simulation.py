"""Estimates how long a recorded step would take on other ranks, by the alpha-beta model of the cost of an all-reduce.

A message costs `alpha` seconds, whatever its size, and `beta` seconds for each of its bytes. An all-reduce in a ring
sends 2(p - 1) messages, one after the other, each of which holds 1/p of the bytes. The model leaves out that ranks wait
for each other, and that sending takes computing time from the sending rank (docs/scale.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Communication", "Simulation", "all_reduce_seconds", "simulate"]


class Communication(NamedTuple):
    """One operation of several ranks: when it could begin, began and was over, in seconds since the step began."""

    label: str
    size: int
    called: float
    begun: float
    ended: float


class Simulation(NamedTuple):
    """A step on `ranks` ranks. `exposed`: the part of `seconds` in which a rank only waits for the others."""

    ranks: int
    seconds: float
    computing: float
    exposed: float
    communications: list[Communication]


def all_reduce_seconds(size: int, ranks: int, alpha: float, beta: float) -> float:
    """Return how long an all-reduce of `size` bytes takes in a ring of ranks."""
    return 2 * (ranks - 1) * (alpha + size / ranks * beta)


def simulate(events: Sequence[Mapping[str, Any]], ranks: int, alpha: float, beta: float) -> Simulation:
    """Simulate the recorded step on `ranks` ranks, with its own computing times and the model's time per operation.

    The recorded rank's waiting is first subtracted from its times. An operation begins when it has been called and the
    one before it is over; where the step waited for one, it waits again. Raises ValueError if the recording has no
    times or no operation of several ranks, or a number makes no sense.
    """
    if ranks < 1 or alpha < 0 or beta < 0:
        raise ValueError(f"ranks={ranks}, alpha={alpha}, beta={beta}: ranks is 1 or more, alpha and beta are seconds")
    starts = {event["call"]: event for event in events if event["kind"] == "collective_start"}
    if not starts or not all("time" in event for event in starts.values()):
        raise ValueError("this recording says nothing of several ranks and of time\n\nRecord a step of "
                         "DistributedDataParallel with record(times=True), in a program of two ranks or more.")
    ended, waits, calls = dict[int, float](), dict[int, float](), list[Communication]()
    waited = exposed = free = 0.0
    for event in timed(events):
        now = event["time"] - waited + exposed
        call = event.get("call", -1)
        if event["kind"] == "collective_start":
            begun = max(now, free)
            free = begun + all_reduce_seconds(event["size"], ranks, alpha, beta)
            ended[call] = free
            calls.append(Communication(event["label"] or event["op"], event["size"], now, begun, free))
        elif event["kind"] == "collective_wait":
            waits[call] = event["time"]
            exposed += max(0.0, ended.get(call, now) - now)
        elif event["kind"] == "collective_end" and call in waits:
            waited += event["time"] - waits[call]
    computing = max(event["time"] for event in timed(events)) - waited
    return Simulation(ranks, computing + exposed, computing, exposed, calls)


def timed(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the events whose time is known."""
    return [event for event in events if "time" in event]
