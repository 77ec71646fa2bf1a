"""Names of PyTorch's compiler: mirrors `torch/jit`, so that programs that compile part of their code run.

`script` and `trace` return their argument and warn once: it runs uncompiled.
"""

from typing import Any

from minigrad._base.warnings import warn_once
from minigrad.nn.modules.module import Module

__all__ = ["Final", "ScriptModule", "annotate", "export", "ignore", "is_scripting", "is_tracing", "script", "trace",
           "unused"]

Final = Any  # a hint for the compiler, as is `annotate`
NOTHING = "minigrad compiles nothing: torch.jit.{} returns its argument unchanged, which runs uncompiled."


class ScriptModule(Module):
    """A module that a program says is compiled; it runs uncompiled. No other module is one."""


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the function or module unchanged."""
    warn_once(NOTHING.format("script"))
    return obj


def trace(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the function or module unchanged; example inputs are ignored."""
    warn_once(NOTHING.format("trace"))
    return func


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator that returns a function unchanged: with or without arguments."""
    return drop if callable(drop) else lambda function: function


def unused(fn: Any) -> Any:
    """A decorator that returns a function unchanged."""
    return fn


export = unused


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value; its type is a hint for the compiler."""
    return the_value


def is_scripting() -> bool:
    """Whether the code is being compiled: always False."""
    return False


def is_tracing() -> bool:
    """Whether the code is being traced: always False."""
    return False
