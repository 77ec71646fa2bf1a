"""Who listens to the core while a recorder is on.

A file of its own, so that the core can register its observer without loading what a trace is made of: 4 of the 45 ms
that `import minigrad` took.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from minigrad.trace.data import Trace

__all__ = ["OBSERVERS", "ObserverLike", "register_observer"]


class ObserverLike(Protocol):
    """What `record` needs of an observer."""

    def start(self) -> Trace:
        """Begin to listen to the core, in this thread; gives the trace, which grows from now on.

        Raises:
            RuntimeError: if one listens already.
        """

    def stop(self, error: BaseException | None, names: Mapping[str, Any]) -> None:
        """Stop listening; name the tensors that these variables hold; note an error that ended the block."""


OBSERVERS: list[Callable[[type[Trace]], ObserverLike]] = []


def register_observer(factory: Callable[[type[Trace]], ObserverLike]) -> None:
    """Have `record` make its observers by `factory`, of the class of their trace; the last one registered is used."""
    OBSERVERS.append(factory)
