"""Contexts that are left even if Ctrl-C arrives while they are left, or the stack is exhausted.

Python delivers an interrupt where a function begins. If that function is `__exit__`, none of it has run: a grad mode
would silently stay off, or a recorder on. `safe_exit` decorates an `__exit__` so that it runs all the same, and
`contextmanager` turns a generator into such a context.

NOTE 10 (interrupts in `__exit__`). A `with` statement looks up `__exit__` before it calls `__enter__`, and keeps the
result until the block has been left. `safe_exit` gives it a new callable that nothing else refers to; a weak reference
to that callable reports when it is gone. Usually `__exit__` has run by then. If an interrupt prevented or aborted it,
it is called then, before any handler of the interrupt runs. So a second call must do only what remains to be done.

NOTE 11 (the end of the stack). Leaving a block may take more frames than entering it. If there are none left, the
limit is raised for the second call, in place: a separate function for that would need a frame, too. For the same reason
it may be impossible to restore the limit at once; then the next block that is left with enough room does so. It must be
in the same thread: all threads share the limit, and another one cannot know whether this one is still beyond it.
"""

import contextlib
import contextvars
import functools
import re
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from threading import get_ident
from typing import Any, ParamSpec, TypeVar

import numpy as np

__all__ = ["HANDLING", "SET_UP", "SIGNALS", "SILENCE", "contextmanager", "ensure", "errstate", "numpy_only_warns",
           "quiet", "safe_exit", "silently"]

MORE_FRAMES = 100  # for an `__exit__`, beyond the limit of the stack
RAISED: list[tuple[int, int]] = []  # the former limit of the stack, and the thread that raised it

P = ParamSpec("P")
T = TypeVar("T")


class safe_exit:
    """Decorates an `__exit__`. Its class sets `_entered` to True as soon as there is something to undo (NOTE 10).

    Args:
        function: the `__exit__`.
        again: called instead, with the same arguments, if the `__exit__` was aborted.
        entered: the value of `_entered` before `__enter__` runs: True if `__init__` has already changed something.
    """

    def __init__(self, function: Callable[..., Any], again: Callable[..., Any] | None = None,
                 entered: bool = False) -> None:
        self.function, self.again, self.entered = function, again or function, entered
        self.__doc__ = function.__doc__

    def __get__(self, context: Any, owner: type | None = None) -> Any:
        if context is None:
            return self.function
        call = functools.partial(leave, self.function, self.again, context)
        guard = getattr(context, "_guard", None)
        if guard is None or guard() is None:  # otherwise the block has been entered, and something inspects its context
            context._entered = self.entered
            context._guard = weakref.ref(call, functools.partial(leave_abandoned, self.again, context))
        return call


def leave(function: Callable[..., Any], again: Callable[..., Any], context: Any, *error: Any) -> Any:
    """Call an `__exit__`, and note that it has run."""
    try:
        result = function(context, *error)
    except (KeyboardInterrupt, MemoryError):
        raise  # it was aborted, and is called again
    except RecursionError:  # NOTE 11
        RAISED[:] = RAISED or [(sys.getrecursionlimit(), get_ident())]
        sys.setrecursionlimit(RAISED[0][0] + MORE_FRAMES)
        try:
            result = again(context, *error)
        finally:
            set_limit()
    except BaseException:
        context._entered = False
        raise
    context._entered, context._guard = False, None
    if RAISED:
        set_limit()
    return result


def leave_abandoned(again: Callable[..., Any], context: Any, guard: Any) -> None:
    """Leave a context whose `with` statement has ended."""
    if context._guard is guard:
        context._guard = None
        if context._entered:
            context._entered = False
            RAISED[:] = RAISED or [(sys.getrecursionlimit(), get_ident())]  # NOTE 11: the stack may have aborted it
            sys.setrecursionlimit(RAISED[0][0] + MORE_FRAMES)
            try:
                again(context, None, None, None)
            finally:
                set_limit()


def set_limit() -> None:
    """Restore the limit, unless this very frame, or the thread that raised it, may be beyond it (NOTE 11)."""
    with contextlib.suppress(RecursionError, IndexError):  # another thread may have set it
        limit, thread = RAISED[0]
        if thread == get_ident() or thread not in sys._current_frames():
            sys.setrecursionlimit(limit)
            RAISED.clear()


class ensure:
    """A block after which a function is called, whatever happens; the function must tolerate a second call."""

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self.function, self.args = function, args

    def __enter__(self) -> None:
        self._entered = True

    @safe_exit
    def __exit__(self, *error: Any) -> None:
        self.function(*self.args)


class SafeGenerator(contextlib._GeneratorContextManager[T]):
    """A context from a generator whose `finally` runs even if an interrupt arrives before the generator resumes."""

    # Closing a generator that has not begun does nothing, so it counts as entered from the start, and no interrupt can
    # come between its first line and a note of it.
    __exit__ = safe_exit(contextlib._GeneratorContextManager.__exit__, lambda context, *error: context.gen.close(),
                         entered=True)


def contextmanager(function: Callable[P, Iterator[T]]) -> Callable[P, contextlib.AbstractContextManager[T]]:
    """Like `contextlib.contextmanager`, but the block is left even if an interrupt arrives at that moment."""

    @functools.wraps(function)
    def context(*args: P.args, **kwargs: P.kwargs) -> contextlib.AbstractContextManager[T]:
        return SafeGenerator(function, args, kwargs)  # type: ignore[arg-type]  # typeshed asks for a Generator

    return context


class errstate:
    """Like `np.errstate`, but NumPy's handling of floating-point errors is restored whatever happens."""

    def __init__(self, **kinds: Any) -> None:
        self.kinds = kinds

    def __enter__(self) -> None:
        self.before = np.geterr()
        self._entered = True
        np.seterr(**self.kinds)

    @safe_exit
    def __exit__(self, *error: Any) -> None:
        np.seterr(**self.before)


# PyTorch says nothing when it divides by zero or overflows; NumPy warns. Only warnings raised by code of this package
# are silenced, so that a user's own NumPy code keeps its warnings.
SILENCE = ("ignore", None, RuntimeWarning, re.compile(r"minigrad\."), 0)


def silence_first(mutated: Callable[[], None]) -> Callable[[], None]:
    """What `warnings` calls whenever its filters have changed: it keeps `SILENCE` before those that a user adds. To
    look at the filters in every op instead would make small ones take 1.1 times as long."""

    @functools.wraps(mutated)
    def call() -> None:
        if warnings.filters[:1] != [SILENCE]:
            warnings.filters[:] = [SILENCE, *(each for each in warnings.filters if each != SILENCE)]  # type: ignore[index]  # typeshed calls the list a Sequence
        mutated()

    return call


if hasattr(warnings, "_filters_mutated"):  # not in Python 3.14, where filters of a user's come first
    warnings._filters_mutated = silence_first(warnings._filters_mutated)
warnings.filterwarnings("ignore", category=RuntimeWarning, module=SILENCE[3].pattern)

# What NumPy raises for overflow, division by zero and invalid values where the user has asked for it, by `np.errstate`
# or by a filter of warnings. An op computes as always, and only if it is interrupted by one of these it is computed
# again, silently: so ops pay nothing. Nothing has been written by then: in-place ops compute before they write.
SIGNALS = (FloatingPointError, RuntimeWarning)


SILENT = contextvars.Context()
SILENT.run(np.seterr, all="ignore")
((HANDLING, IGNORED),) = SILENT.items()  # NumPy's variable of a context, and its value there
SET_UP = contextvars.Context().run(HANDLING.get)  # its value where nobody has called `np.errstate`


def numpy_only_warns() -> bool:
    """Whether NumPy at most warns of floating-point errors in this thread, though somebody has called `np.errstate`."""
    return {*np.geterr().values()} <= {"warn", "ignore"}


def silently(error: Exception, function: Callable[..., T], *args: Any, **options: Any) -> T:
    """Call a function again that was interrupted by one of the `SIGNALS`, without them. Raises the error if it comes
    from the user's code, or is no matter of `np.errstate`."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    name = "" if last is None else last.tb_frame.f_globals.get("__name__", "")
    if HANDLING.get() is IGNORED or name.partition(".")[0] not in ("minigrad", "numpy"):
        raise error
    return quiet(function)(*args, **options)


def quiet(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that must not run twice, such as one that draws random numbers, compute without the `SIGNALS`."""

    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        before = HANDLING.get()
        try:
            HANDLING.set(IGNORED)
            return function(*args, **options)
        finally:
            HANDLING.set(before)

    return call
