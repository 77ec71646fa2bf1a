"""Names of PyTorch's compiler: mirrors `torch/jit`, so that programs which compile a part of themselves run.

`script` and `trace` give back what they are given, and say so once: it runs as it is written.
"""

from typing import Any

from minigrad._base.warnings import warn_once
from minigrad.nn.modules.module import Module

__all__ = ["Final", "ScriptModule", "annotate", "export", "ignore", "is_scripting", "is_tracing", "script", "trace",
           "unused"]

Final = Any  # a note for the compiler, as is `annotate`
ScriptModule = Module
NOTHING = "minigrad compiles nothing: torch.jit.{} gives back what it was given, and that runs as it is written."


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """The function or module itself."""
    warn_once(NOTHING.format("script"))
    return obj


def trace(func: Any, *args: Any, **kwargs: Any) -> Any:
    """The function or module itself; example inputs are not looked at."""
    warn_once(NOTHING.format("trace"))
    return func


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator that leaves a function as it is: with or without arguments."""
    return drop if callable(drop) else lambda function: function


def unused(fn: Any) -> Any:
    """A decorator that leaves a function as it is."""
    return fn


export = unused


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value; its type was a note for the compiler."""
    return the_value


def is_scripting() -> bool:
    """Whether the code is being compiled: never."""
    return False


def is_tracing() -> bool:
    """Whether the code is being traced: never."""
    return False
