"""Names of PyTorch's compiler: mirrors `torch/jit`, so that programs that compile part of their code run.

`script` and `trace` return their argument and warn once: it runs uncompiled.
"""

from typing import Any

from minigrad._base.optional import left_out
from minigrad._base.warnings import warn_once
from minigrad.nn.modules.module import Module

__all__ = ["Final", "ScriptModule", "annotate", "export", "freeze", "ignore", "interface", "is_scripting", "is_tracing",
           "optimize_for_inference", "script", "script_if_tracing", "script_method", "trace", "trace_module", "unused"]

Final = Any  # a hint for the compiler, as is `annotate`
globals().update(left_out(__name__, "minigrad reads and writes no compiled modules; save the state dict", "load save"))
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


trace_module = trace


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator that returns a function unchanged: with or without arguments."""
    return drop if callable(drop) else lambda function: function


def unused(fn: Any) -> Any:
    """A decorator that returns a function unchanged."""
    return fn


export = interface = script_if_tracing = script_method = unused


def freeze(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the module unchanged."""
    return mod


optimize_for_inference = freeze


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value; its type is a hint for the compiler."""
    return the_value


def is_scripting() -> bool:
    """Whether the code is being compiled: always False."""
    return False


def is_tracing() -> bool:
    """Whether the code is being traced: always False."""
    return False
