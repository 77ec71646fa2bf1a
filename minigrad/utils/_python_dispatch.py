"""Defines modes that see every op. Mirrors `torch/utils/_python_dispatch.py`.

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

Inside `with Count():` each op goes to the method first, which may run it, skip it, or return something else.

While a mode is on anywhere in the process, the forward of every op has a wrapper (`ops/_dispatch/op_wrappers.py`) that
checks whether its own thread has a mode. With no mode on, ops cost nothing extra.

A mode sees what ops do on tensors. It does not see a formula of a backward pass that works on arrays; it sees an
in-place op as the op that it is made of, and a custom Function as the ops inside it. For ops that return indices
(`max(dim)`, `sort`) the search happens before the op, not in it.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any

from minigrad._base.contexts import safe_exit
from minigrad._base.locks import new_lock
from minigrad.core import LOCAL, Node
from minigrad.ops._dispatch.op_wrappers import OPS, is_part
from minigrad.ops._dispatch.overloads import of_class

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode:
    """A block in which this thread's ops go to `__torch_dispatch__`; inside the method the mode is off.

    Of nested modes the innermost is called; the ops that it runs go to the next one.
    """

    def __torch_dispatch__(self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        """Return the result of the op `func` for these arguments. `types` is always empty here."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        LOCAL.dispatch_modes, self._entered = (*LOCAL.dispatch_modes, self), True
        LOCAL.update()
        MODES_ON.update()
        return self

    def _leave(self, *error: Any) -> None:
        LOCAL.dispatch_modes = LOCAL.dispatch_modes[:-1]
        LOCAL.update()
        MODES_ON.update()

    def _leave_again(self, *error: Any) -> None:
        if self in LOCAL.dispatch_modes[-1:]:
            LOCAL.dispatch_modes = LOCAL.dispatch_modes[:-1]
        LOCAL.update()
        MODES_ON.update()

    __exit__ = safe_exit(_leave, again=_leave_again)


def dispatched(forward: Callable[..., Any], cls: type[Node] | None) -> Callable[..., Any]:
    """Wrap the forward of an op for the innermost mode of its thread; without `cls` the class is the first argument."""
    if is_part(forward):
        return forward

    @functools.wraps(forward)
    def dispatch(*args: Any, **options: Any) -> Any:
        outer = LOCAL.dispatch_modes
        if not outer:
            return forward(*args, **options)
        if cls is not None:
            op = of_class(cls, dispatch)
        else:
            op, args = of_class(args[0], functools.partial(dispatch, args[0])), args[1:]
        LOCAL.dispatch_modes = outer[:-1]
        try:
            return outer[-1].__torch_dispatch__(op, (), args, options)
        finally:
            LOCAL.dispatch_modes = outer

    return dispatch


class ModesOn:
    """The threads that have modes on: the first wraps all ops, the last unwraps them."""

    def __init__(self) -> None:
        self.lock, self.threads = new_lock(), set[int]()

    def update(self) -> None:
        """Enter whether this thread has modes on. Call it after changing `LOCAL.dispatch_modes`."""
        with self.lock:
            (self.threads.add if LOCAL.dispatch_modes else self.threads.discard)(threading.get_ident())
            OPS.wrap(dispatched, on=bool(self.threads))


MODES_ON = ModesOn()
