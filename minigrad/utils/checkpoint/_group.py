"""Lets several passes count as one: `GraphExecGroup` of `torch/utils/checkpoint.py`."""

from __future__ import annotations

import threading

from minigrad._base.contexts import safe_exit

__all__ = ["GraphExecGroup"]

GROUP = threading.local()


class GraphExecGroup:
    """A block in which several passes count as one: what they need of a checkpointed call is computed once.

    No two of them may need the same saved tensor, even if the graph is retained.

    Raises:
        RuntimeError: on entering a block inside another one.
    """

    def __enter__(self) -> GraphExecGroup:
        if self.current() is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {self.current()}")
        GROUP.current, self._entered = self, True
        return self

    @safe_exit
    def __exit__(self, *error: object) -> None:
        GROUP.current = None

    @classmethod
    def current(cls) -> GraphExecGroup | None:
        """Return the block that this thread is in."""
        return getattr(GROUP, "current", None)
