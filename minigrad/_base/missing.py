"""Says what to do if a name of PyTorch's is missing, after Python's own message."""

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["missing", "module_getattr"]

ELSEWHERE = (
    "\n\nIf PyTorch has it, minigrad does not: docs/coverage.md says why. Run this part with PyTorch itself; "
    "minigrad_widgets.inspect shows its graphs as well.")


def missing(owner: str, name: str, reason: str = "") -> NoReturn:
    """Raise the AttributeError of a module or an object, with advice, or with the `reason` why the name is missing."""
    raise AttributeError(f"{owner} has no attribute '{name}'{reason or ELSEWHERE}", name=name)


def module_getattr(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module."""
    return lambda name: missing(f"module '{module}'", name)
