"""Defines modes that see every op. Mirrors `torch/utils/_python_dispatch.py`.

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

Inside of `with Count():` each op comes to the method first, which may run it, leave it, or give something else.

While a mode is on, somewhere in the process, there is a wrapper around the forward of every op
(`ops/_dispatch/op_wrappers.py`), which asks whether its own thread has a mode. With no mode on, an op costs what it
always costs.

What is seen is what ops do on tensors. A formula of a backward pass that works on arrays is not seen; an op in place
is seen as the op of which it is made, a custom Function as the ops inside of it. Of ops that find places (`max(dim)`,
`sort`) the search is not in the op but before it.
"""

import functools
from collections.abc import Callable
from typing import Any

from minigrad._base.locks import new_lock
from minigrad.core import LOCAL, Node
from minigrad.ops._dispatch.op_wrappers import is_part, wrap_ops
from minigrad.ops._dispatch.overloads import of_class

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode:
    """A block in which this thread's ops go to `__torch_dispatch__`; inside of the method the mode is off.

    Of nested modes the innermost is asked; what it runs comes to the next one.
    """

    def __torch_dispatch__(self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        """What the op `func` gives for these arguments. `types` is always empty here."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        MODES_ON.add(1)
        LOCAL.dispatch_modes = (*LOCAL.dispatch_modes, self)
        LOCAL.update()
        return self

    def __exit__(self, *error: Any) -> None:
        LOCAL.dispatch_modes = LOCAL.dispatch_modes[:-1]
        LOCAL.update()
        MODES_ON.add(-1)


def dispatched(forward: Callable[..., Any], cls: type[Node] | None) -> Callable[..., Any]:
    """The forward of an op, for the innermost mode of its thread; without `cls` the class is the first argument."""
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
    """How many modes are on in all threads: with the first all ops get the wrapper, with the last it goes."""

    def __init__(self) -> None:
        self.lock, self.count = new_lock(), 0

    def add(self, n: int) -> None:
        """One more mode, or one less."""
        with self.lock:
            self.count += n
            if self.count == max(n, 0):
                wrap_ops(dispatched, on=n > 0)


MODES_ON = ModesOn()
