"""Defines `wrap`, the only name of `torch/fx` that programs use without tracing."""

from typing import Any

__all__ = ["wrap"]


def wrap(fn_or_name: Any) -> Any:
    """Return the function, or the name of one, unchanged: there is no tracer.

    Raises RuntimeError for any other object.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name
