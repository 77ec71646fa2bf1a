"""Reports checkpoints to a recorder, for the inspector's checkpoint lens."""

from typing import Any

from minigrad.core import LOCAL

__all__ = ["Run", "emit"]


def emit(what: str, *facts: Any) -> None:
    """Tell the observer of this thread, if there is one."""
    if LOCAL.observer is not None:
        getattr(LOCAL.observer, what)(*facts)


class Run:
    """A block that is a run of a checkpointed call: the first one ("checkpoint"), or one in a pass ("recompute")."""

    def __init__(self, which: str, call: Any, *facts: Any) -> None:
        self.which, self.call, self.facts = which, call, facts

    def __enter__(self) -> None:
        emit(f"{self.which}_begin", self.call, *self.facts)

    def __exit__(self, *error: object) -> None:
        emit(f"{self.which}_end", self.call)
