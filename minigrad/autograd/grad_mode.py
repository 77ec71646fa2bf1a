"""Grad modes: mirrors `torch/autograd/grad_mode.py` and the decorators of `torch/utils/_contextlib.py`.

`no_grad`, `enable_grad`, `set_grad_enabled` and `inference_mode` say whether ops are recorded. Each is a context and a
decorator, and holds for its own thread. The state that they set is in `minigrad.core.grad_mode`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

from minigrad._base.contexts import safe_exit
from minigrad._base.type_name import type_name
from minigrad.core import LOCAL, is_grad_enabled
from minigrad.core.grad_mode import is_inference_mode_enabled, switch

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
           "set_grad_enabled", "set_multithreading_enabled"]

F = TypeVar("F", bound=Callable[..., Any])


class _DecoratorContextManager:
    """A context that is also a decorator, of functions and of generators.

    Every call of the decorated function enters a context of its own, made by `clone()`: so the function may call
    itself, and may be called in several threads.
    """

    def clone(self) -> _DecoratorContextManager:
        """Return another context of the same kind; a subclass whose `__init__` takes arguments passes them on."""
        return self.__class__()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *error: Any) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        called: Callable[..., Any] = function
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly "
                "decorate the `__init__` method and nothing else.", FutureWarning, stacklevel=2)
            called = functools.partial(function)  # as in PyTorch the result is not a class, and has lost its name
        if inspect.isgeneratorfunction(called):
            return cast(F, self._around_generator(called))

        @functools.wraps(called)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return called(*args, **kwargs)

        return cast(F, inside)

    def _around_generator(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
        """Return a generator function in the mode while it runs, but not while it waits at a `yield`."""

        def resumed(step: Callable[..., Any], *sent: Any) -> Any:
            with self.clone():
                return step(*sent)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            generator = function(*args, **kwargs)
            try:
                value = resumed(next, generator)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        resumed(generator.close)
                        raise
                    except BaseException as error:  # noqa: BLE001 (passed on to the generator, whatever it is)
                        with self.clone():  # not by `resumed`: the error would know its frame, and the frame the error
                            value = generator.throw(error)
                    else:
                        value = resumed(generator.send, sent)
            except StopIteration as stop:
                return stop.value

        return inside


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context that takes no arguments: `@no_grad` means the same as `@no_grad()`."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)


class no_grad(_NoParamDecoratorContextManager):
    """A block in which nothing is recorded: results have `requires_grad=False`, whatever they were computed from."""

    def __enter__(self) -> None:
        self.prev, self._entered = LOCAL.grad_enabled, True
        switch(False)

    @safe_exit
    def __exit__(self, *error: Any) -> None:
        switch(self.prev)


class enable_grad(_NoParamDecoratorContextManager):
    """A block in which ops are recorded again, inside one without grad mode."""

    def __enter__(self) -> None:
        self.prev, self._entered = LOCAL.grad_enabled, True
        switch(True)

    @safe_exit
    def __exit__(self, *error: Any) -> None:
        switch(self.prev)


class set_grad_enabled(_DecoratorContextManager):
    """Switches grad mode on or off: at once if called as a function, for a block as a context.

    As a decorator it switches back at once, and again at every call of what it decorates.
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError("set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                            f"{type_name(mode)}")
        self.mode = mode
        self.prev = LOCAL.grad_enabled
        try:
            switch(mode)
        except BaseException:  # an interrupt: no object exists that could switch back
            switch(self.prev)
            raise

    def __call__(self, function: F) -> F:
        switch(self.prev)
        return super().__call__(function)

    def __enter__(self) -> None:
        switch(self.mode)

    def _leave(self, *error: Any) -> None:
        switch(self.prev)

    __exit__ = safe_exit(_leave, entered=True)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}(mode={self.mode})"

    def clone(self) -> set_grad_enabled:
        return self.__class__(self.mode)


class inference_mode(_DecoratorContextManager):
    """As `no_grad`, but tensors made inside are left out of autograd for good: they have no version, are never saved.

    `inference_mode(False)` is a block of normal mode, with grad mode on, inside inference mode. `@inference_mode` means
    the same as `@inference_mode()`.
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        made = super().__new__(cls)
        return made if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.prev, self._entered = (LOCAL.grad_enabled, LOCAL.inference), True
        switch(not self.mode, self.mode)

    @safe_exit
    def __exit__(self, *error: Any) -> None:
        switch(*self.prev)

    def clone(self) -> inference_mode:
        return self.__class__(self.mode)


class _unsafe_preserve_version_counter(_DecoratorContextManager):
    """A block in which writes to these tensors go unnoticed: their versions are restored.

    It is for writing the same values again. With other values gradients are wrong, and no error says so.
    """

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if hasattr(tensors, "_version_counter") else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.prev_versions = tuple([t._version for t in self.tensors])

    def __enter__(self) -> None:
        self._entered = True

    @safe_exit
    def __exit__(self, *error: Any) -> None:
        for tensor, version in zip(self.tensors, self.prev_versions, strict=True):
            if tensor._version_counter is not None:  # else it was never written to
                tensor._version_counter.value = version


class set_multithreading_enabled(_DecoratorContextManager):
    """Switches a flag of this thread that code for PyTorch sets and reads; minigrad's engine ignores it.

    It is a function and a context. As in PyTorch, decorating with it leaves the flag switched.
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError("set_multithreading_enabled(): argument 'enabled' (position 1) must be bool, not "
                            f"{type_name(mode)}")
        self.prev, LOCAL.multithreading = LOCAL.multithreading, mode
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def _leave(self, *error: Any) -> None:
        LOCAL.multithreading = self.prev

    __exit__ = safe_exit(_leave, entered=True)

    def clone(self) -> set_multithreading_enabled:
        return self.__class__(self.mode)


def is_multithreading_enabled() -> bool:
    """Return what `set_multithreading_enabled` has set in this thread."""
    return LOCAL.multithreading
