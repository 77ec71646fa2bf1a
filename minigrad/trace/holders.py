"""Lists every storage that is alive at a step of a trace, with everything that holds it.

The events say who begins and who ceases to hold a storage (`held`, `dropped` in docs/trace.md), so one can walk through
them in both directions. The front end does the same in `frontend/src/trace/holders.ts`; a golden test checks that both
agree.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from minigrad.trace.format import Names
from minigrad.trace.schema import Parts

__all__ = ["Held", "Holders", "held_text"]

KINDS = ("parameters", "activations", "saved", "gradients", "optimizer")  # as in `bytes`
RANK = {0: 0, 5: 4, 2: 2, 3: 3, 4: 3, 1: 1}  # kinds of holders; the first one decides what a storage counts as
SHOWN = 8


class Held(TypedDict):
    """A storage: its size, what it counts as, and who holds it: `[what, id]`, where `what` is 0 for a parameter, 1 for
    a tensor, 2 for what a node has saved, 3 for the `.grad` of a tensor, 4 for a gradient that waits at a node, 5
    for what an optimizer remembers about a tensor."""

    storage: int
    bytes: int
    kind: str
    holders: list[list[int | None]]


class Holders:
    """Who holds what after the event `step`; -1 is before the first."""

    def __init__(self, events: Sequence[Mapping[str, Any]], storages: Sequence[int]) -> None:
        self.events, self.storages = events, storages
        self.step = -1
        self.live: dict[int, list[list[int | None]]] = {}

    def go_to(self, step: int) -> None:
        """Walk to a step, forwards or backwards."""
        while self.step < step:
            self.step += 1
            event = self.events[self.step]
            self.change(event.get("held", ()), event.get("dropped", ()))
        while self.step > step:
            event = self.events[self.step]
            self.change(event.get("dropped", ()), event.get("held", ()))
            self.step -= 1

    def change(self, held: Sequence[Sequence[Any]], dropped: Sequence[Sequence[Any]]) -> None:
        """Add the holders in `held`, and remove those in `dropped`."""
        for storage, *holder in held:
            self.live.setdefault(storage, []).append(holder)
        for storage, *holder in dropped:
            left = self.live.get(storage, [])
            if holder in left:
                left.remove(holder)
            if not left:
                self.live.pop(storage, None)

    def held(self) -> list[Held]:
        """Return all storages that are held, by number."""
        return [Held(storage=storage, bytes=self.storages[storage], holders=sorted(holders, key=order),
                     kind=KINDS[next(kind for what, kind in RANK.items() if any(h[0] == what for h in holders))])
                for storage, holders in sorted(self.live.items())]


def order(holder: Sequence[int | None]) -> tuple[int, int]:
    """Return the sort key of a holder: its kind, then its number; one without a number comes first."""
    what, number = holder
    return what or 0, -1 if number is None else number


class Makers:
    """Which tensor each storage was first seen with, and which op made it."""

    def __init__(self, trace: Parts) -> None:
        self.trace, self.names = trace, Names(vars(trace))
        self.first: dict[int, int] = {}
        for index, record in enumerate(trace.tensors):
            self.first.setdefault(record["storage"], index)
        self.events = {t: e for e in reversed(trace.events) if e["kind"] == "forward" for t in e["outputs"]}

    def text(self, held: Held) -> str:
        """Return what is in a storage, how large it is, where it comes from, and who holds it."""
        tensor = self.first.get(held["storage"])
        who = ", ".join(self.holder(*holder) for holder in held["holders"])
        gradient = all(what in (3, 4) for what, _ in held["holders"])
        what = self.names.tensor(tensor) if tensor is not None else "a gradient" if gradient else "an array"
        return f"{what}, {held['bytes']} bytes{self.origin(tensor)}: {who}"

    def origin(self, tensor: int | None) -> str:
        """Return the op that made a tensor, and the module that it ran in."""
        event = None if tensor is None else self.events.get(tensor)
        if event is None:
            return ""
        scope = event.get("scope") if event["node"] is None else self.trace.nodes[event["node"]].get("scope")
        return f", made by {event['op']}" + (f" in {self.path(scope)}" if scope is not None else "")

    def path(self, scope: int | None) -> str:
        """Return the path of a module."""
        parts: list[str] = []
        while scope is not None:
            record = self.trace.scopes[scope]
            parts.append(record["name"] or record["module"])
            scope = record["parent"]
        return ".".join(reversed(parts))

    def holder(self, what: int | None, number: int | None) -> str:
        """Return one holder, as text."""
        if what == 2:
            return "a checkpoint" if number is None else f"saved by {self.names.node(number)}"
        if what == 5:
            return "optimizer state" + ("" if number is None else f" of {self.names.tensor(number)}")
        if what == 3:
            return "a .grad" if number is None else f"{self.names.tensor(number)}.grad"
        return f"waits at {self.names.node(number)}" if what == 4 else self.names.tensor(number)


def held_text(trace: Parts, step: int, held: Sequence[Held]) -> str:
    """Who holds what at a step, as text: by kind, the largest first."""
    makers, lines = Makers(trace), [f"held after step {step}: {total(held)} bytes"]
    for kind in KINDS:
        storages = sorted([storage for storage in held if storage["kind"] == kind], key=lambda s: -s["bytes"])
        if storages:
            lines.append(f"{kind} {total(storages)} bytes")
            lines += [f"    {makers.text(storage)}" for storage in storages[:SHOWN]]
        if len(storages) > SHOWN:
            lines.append(f"    {len(storages) - SHOWN} more, {total(storages[SHOWN:])} bytes")
    return "\n".join(lines)


def total(held: Sequence[Held]) -> int:
    """Return the bytes of several storages."""
    return sum(storage["bytes"] for storage in held)
