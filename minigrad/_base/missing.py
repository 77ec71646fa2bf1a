"""Says what to do where a name of PyTorch is missing, after Python's own sentence."""

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["missing", "module_getattr"]

ELSEWHERE = (
    "\n\nIf PyTorch has it, minigrad does not: docs/coverage.md says why. Run this part with PyTorch itself; "
    "minigrad_widgets.inspect shows its graphs as well.")


def missing(owner: str, name: str, reason: str = "") -> NoReturn:
    """Raise the AttributeError of a module or an object, and say what to do, or for what `reason` it is missing."""
    raise AttributeError(f"{owner} has no attribute '{name}'{reason or ELSEWHERE}", name=name)


def module_getattr(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module."""
    return lambda name: missing(f"module '{module}'", name)
