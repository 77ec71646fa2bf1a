"""A value that becomes available later: mirrors `torch/futures`, as far as communication hooks need it."""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias
from typing import Any

__all__ = ["Future"]


class Future:
    """The result of a communication hook, and of `Work.get_future()`.

    In PyTorch the functions passed to `then` run in whichever thread completes the value; here, in the one that waits
    for it.
    """

    __class_getitem__: Any = classmethod(GenericAlias)

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
        """Whether the value is available."""
        return self._done

    def wait(self) -> Any:
        """Wait for the value and return it. Raises RuntimeError if nothing will ever set it."""
        if not self._done:
            if self._arrive is None:
                raise RuntimeError("this Future has no value, and nothing will set it: call set_result() first")
            self.set_result(self._arrive())
        return self._value

    def value(self) -> Any:
        """The value, which must already be available."""
        if not self._done:
            raise RuntimeError("Future must be completed before calling value()")
        return self._value

    def set_result(self, result: Any) -> None:
        """Set the value. Raises RuntimeError if it is already set."""
        if self._done:
            raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only "
                               "be marked completed once.")
        self._value, self._done, self._arrive = result, True, None

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what `callback(self)` returns, once this one has its value."""
        return Future.of(self.wait, lambda: callback(self))
