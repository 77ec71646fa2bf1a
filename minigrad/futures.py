"""A value that will be there later: mirrors `torch/futures`, as far as communication hooks need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Future"]


class Future:
    """What a communication hook returns, and `Work.get_future()` gives.

    In PyTorch the functions given to `then` run in whichever thread completes the value; here in the one that asks
    for it.
    """

    def __init__(self) -> None:
        self._arrive: Callable[[], Any] | None = None
        self._value: Any = None
        self._done = False

    @classmethod
    def of(cls, wait: Callable[[], Any], value: Callable[[], Any]) -> Future:
        """A future of what `value()` returns after `wait()`."""
        future = cls()
        future._arrive = lambda: (wait(), value())[1]
        return future

    def done(self) -> bool:
        """Whether the value is there."""
        return self._done

    def wait(self) -> Any:
        """The value, once it is there.

        Raises:
            RuntimeError: if nothing will ever set it.
        """
        if not self._done:
            if self._arrive is None:
                raise RuntimeError("this Future has no value, and nothing will set it: call set_result() first")
            self.set_result(self._arrive())
        return self._value

    def value(self) -> Any:
        """The value, which must be there already."""
        if not self._done:
            raise RuntimeError("Future must be completed before calling value()")
        return self._value

    def set_result(self, result: Any) -> None:
        """Give the value.

        Raises:
            RuntimeError: if there is one already.
        """
        if self._done:
            raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only "
                               "be marked completed once.")
        self._value, self._done, self._arrive = result, True, None

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what `callback(self)` returns, once this one has its value."""
        return Future.of(self.wait, lambda: callback(self))
