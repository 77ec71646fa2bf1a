"""Modes that see every op: mirrors `torch/utils/_python_dispatch.py`.

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

Inside of `with Count():` each op comes to the method first, which may run it, leave it, or give something else.

An op is a class of nodes with a `forward`, and that function is known by many names: `Tensor.__mul__` is
`Mul.forward` itself, for speed. So while a mode is on, somewhere in the process, it is the function that is led
another way: its code is exchanged, whoever holds it, and put back when the last mode is left. With no mode on, an op
costs what it always costs. A thread without a mode of its own is led back at once.

What is seen is what ops do on tensors. A formula of a backward pass that works on arrays is not seen; an op in place
is seen as the op of which it is made, a custom Function as the ops inside of it. Of ops that find places (`max(dim)`,
`sort`) the search is not in the op but before it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from minigrad.core import LOCAL, Node
from minigrad.ops._dispatch.overloads import entries, of_class

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
        DETOURS.open()
        LOCAL.dispatch_modes = (*LOCAL.dispatch_modes, self)
        LOCAL.update()
        return self

    def __exit__(self, *error: Any) -> None:
        LOCAL.dispatch_modes = LOCAL.dispatch_modes[:-1]
        LOCAL.update()
        DETOURS.close()


def lead(*args: Any, _through: Callable[..., Any], **options: Any) -> Any:
    """Its code takes the place of an op's; `_through` then is a default of the op's function."""
    return _through(*args, **options)


def detour(original: Callable[..., Any], cls: type[Node] | None) -> Callable[..., Any]:
    """The way of an op while a mode is on; without `cls` the class of its nodes is the first argument."""
    def through(*args: Any, **options: Any) -> Any:
        outer = LOCAL.dispatch_modes
        if not outer:
            return original(*args, **options)
        if cls is not None:
            op = of_class(cls, through)
        else:
            op, args = of_class(args[0], functools.partial(through, args[0])), args[1:]
        LOCAL.dispatch_modes = outer[:-1]
        try:
            return outer[-1].__torch_dispatch__(op, (), args, options)
        finally:
            LOCAL.dispatch_modes = outer

    return through


class Detour:
    """One op's function, a copy of what it is, and the other way that it can be led."""

    def __init__(self, function: FunctionType, cls: type[Node] | None) -> None:
        self.function = function
        self.own = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
        self.own.__kwdefaults__ = function.__kwdefaults__
        self.defaults = {**(function.__kwdefaults__ or {}), "_through": detour(self.own, cls)}

    def take(self) -> None:
        """Lead the function the other way: first the default, then the code, since any thread may call meanwhile."""
        self.function.__kwdefaults__ = self.defaults
        self.function.__code__ = lead.__code__
        self.function.__wrapped__ = self.own  # type: ignore[attr-defined]  # what `inspect` shows

    def leave(self) -> None:
        """Make the function what it was."""
        self.function.__code__ = self.own.__code__
        self.function.__kwdefaults__ = self.own.__kwdefaults__
        del self.function.__wrapped__  # type: ignore[attr-defined]  # set in `take`


class Detours:
    """All of them, taken while any thread has a mode on."""

    def __init__(self) -> None:
        self.lock, self.count = threading.Lock(), 0
        self.all: list[Detour] = []  # made when the first mode is entered: by then all ops are loaded

    def open(self) -> None:
        """One more mode."""
        with self.lock:
            self.all = self.all or [Detour(*entry) for entry in entries()]
            self.count += 1
            if self.count == 1:
                for each in self.all:
                    each.take()

    def close(self) -> None:
        """One mode less."""
        with self.lock:
            self.count -= 1
            if self.count == 0:
                for each in self.all:
                    each.leave()


DETOURS = Detours()
