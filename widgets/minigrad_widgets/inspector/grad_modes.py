"""The grad mode in which each step of a trace ran: the ribbon over the inspector's slider shows it.

The events say where the program switched a mode, and where `Function.apply` did. The rest is derived here: a backward
pass runs with grad mode off unless it is recorded, a checkpointed function that runs again with it on.
"""

from __future__ import annotations

from minigrad.trace.format import Data

__all__ = ["WORDS", "mode_at", "modes"]

WORDS = {"on": "grad mode on", "off": "grad mode off", "inference": "inference mode"}


def modes(data: Data) -> list[list[int | str]]:
    """Return the steps at which the mode changes, with the mode from there on: `on`, `off` or `inference`."""
    if not data["library"].startswith("minigrad"):  # PyTorch's modes are not seen
        return []
    grad, inference = began(data, "grad", True), began(data, "inference", False)
    inner: list[tuple[str, bool]] = []  # open passes and runs of checkpointed functions, with their modes
    changes: list[list[int | str]] = []
    for step, event in enumerate(data["events"]):
        kind = event["kind"]
        if kind == "mode":
            if event["mode"] == "inference":
                inference = event["on"]
            elif inner:
                inner[-1] = inner[-1][0], event["on"]
            else:
                grad = event["on"]
        elif kind == "backward_start":
            inner.append(("backward", event["create_graph"]))
        elif kind == "recompute_begin":
            inner.append(("recompute", True))
        elif kind in ("backward_end", "recompute_end"):
            close(inner, kind.partition("_")[0])
        elif kind == "error":  # it has ended the pass that it comes from, and all inside that
            del inner[event.get("depth", 0):]
        now = "inference" if inference else "on" if (inner[-1][1] if inner else grad) else "off"
        if not changes or changes[-1][1] != now:
            changes.append([step, now])
    return changes


def began(data: Data, mode: str, usual: bool) -> bool:
    """Return a mode before the first event that switches it: the opposite of that event."""
    first = next((event for event in data["events"] if event["kind"] == "mode" and event["mode"] == mode), None)
    return usual if first is None else not first["on"]


def close(inner: list[tuple[str, bool]], kind: str) -> None:
    """Close the innermost of this kind, and everything open inside it."""
    at = max((at for at, (each, _) in enumerate(inner) if each == kind), default=len(inner))
    del inner[at:]


def mode_at(changes: list[list[int | str]], step: int) -> str:
    """Return the mode at a step."""
    return str(next((mode for start, mode in reversed(changes) if int(start) <= step), "on"))
