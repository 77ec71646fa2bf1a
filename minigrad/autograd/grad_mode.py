"""Grad modes: mirrors `torch/autograd/grad_mode.py`.

What a thread is doing that the straight path of recording does not know: `no_grad`, `enable_grad`,
`set_grad_enabled`, `inference_mode`, saved-tensor hooks, an observer. Lesson 7 walks through the modes.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, TypeVar, cast

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
           "set_grad_enabled"]

F = TypeVar("F", bound=Callable[..., Any])


class Unusual:
    """How many unusual things are on in any thread. One truth test of `count` per op covers them all:
    only where it is not zero does an op look at its thread's `ThreadState`."""

    __slots__ = ("count", "lock")

    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.Lock()

    def add(self, n: int) -> None:
        """One more (or one less) unusual thing; locked, since `+=` is not atomic."""
        if n:
            with self.lock:
                self.count += n


UNUSUAL = Unusual()


class Share:
    """What one thread's grad modes add to `UNUSUAL`; given back when the thread ends with a mode still off."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.count, self.total = 0, UNUSUAL  # the module's name may be gone when the last thread ends

    def add(self, n: int) -> None:
        """One more (or one less) unusual mode of this thread."""
        self.count += n
        self.total.add(n)

    def __del__(self) -> None:
        self.total.add(-self.count)


class ThreadState(threading.local):
    """What is switched on in this thread."""

    grad_enabled: bool = True
    inference: bool = False
    saved_tensors_hooks: tuple[Any, ...] = ()
    observer: Any = None

    def __init__(self) -> None:
        self.share = Share()  # each thread comes through here when it first looks


LOCAL = ThreadState()


def is_grad_enabled() -> bool:
    """Whether ops of this thread are recorded."""
    return LOCAL.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return LOCAL.inference


def switch(grad_enabled: bool, inference: bool | None = None) -> None:
    """Set this thread's modes, and count those that are not the usual ones."""
    inference = LOCAL.inference if inference is None else inference
    LOCAL.share.add((LOCAL.grad_enabled - grad_enabled) + (inference - LOCAL.inference))
    changed = LOCAL.grad_enabled != grad_enabled
    LOCAL.grad_enabled, LOCAL.inference = grad_enabled, inference
    if changed and LOCAL.observer is not None:
        LOCAL.observer.mode("grad", grad_enabled)


class _DecoratorContextManager:
    """A context manager that is also a decorator, on functions and on generators.

    Each call makes a fresh context by `clone()`, so that one decorator serves many calls at once.
    """

    def clone(self) -> _DecoratorContextManager:
        return self.__class__()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly "
                "decorate the `__init__` method and nothing else.", FutureWarning, stacklevel=2)
            make = function

            def constructed(*args: Any, **kwargs: Any) -> Any:
                with self.clone():
                    return make(*args, **kwargs)

            return cast(F, constructed)
        if inspect.isgeneratorfunction(function):
            return cast(F, self._wrap_generator(function))

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return cast(F, inside)

    def _wrap_generator(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
        """The mode holds while the generator runs, and not while it is suspended in a `yield`."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            generator = function(*args, **kwargs)
            step, sent = generator.send, None
            while True:
                try:
                    with self.clone():
                        value = step(sent)
                except StopIteration as stop:
                    return stop.value
                try:
                    step, sent = generator.send, (yield value)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:  # noqa: BLE001 (handed on to the generator, whatever it is)
                    step, sent = cast(Any, generator.throw), cast(Any, error)

        return inside


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """Allows `@no_grad` beside `@no_grad()`."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if function is None else made(function)


class _GradMode(_NoParamDecoratorContextManager):
    """A mode that is on or off for the length of a block."""

    on: bool

    def __enter__(self) -> None:
        self.before = LOCAL.grad_enabled
        switch(self.on)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        switch(self.before)


class no_grad(_GradMode):
    """No op inside is recorded: results have `requires_grad=False`. A context and a decorator."""

    on = False


class enable_grad(_GradMode):
    """Ops inside are recorded again, inside of a `no_grad` block. A context and a decorator."""

    on = True


class set_grad_enabled(_DecoratorContextManager):
    """Switch recording on or off: at once as a function, for a block as a context, per call as a decorator."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError("set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                            f"{type(mode).__name__}")
        self.before = LOCAL.grad_enabled
        self.mode = mode
        switch(mode)

    def __call__(self, function: F) -> F:
        switch(self.before)
        return super().__call__(function)

    def __enter__(self) -> None:
        switch(self.mode)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        switch(self.before)

    def clone(self) -> set_grad_enabled:
        return self.__class__(self.mode)


class inference_mode(_DecoratorContextManager):
    """Like `no_grad`, and tensors made inside can never take part in autograd (`is_inference()` is True)."""

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.mode = True
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.before = LOCAL.grad_enabled, LOCAL.inference
        switch(not self.mode, self.mode)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        switch(*self.before)

    def clone(self) -> inference_mode:
        return self.__class__(self.mode)
