"""Makes modules without initialising their parameters: mirrors `torch/nn/utils/init.py`."""

import inspect
from typing import Any

from minigrad.nn.modules.module import Module
from minigrad.random import fork_rng

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Return a module with uninitialised parameters: making it draws no random numbers. Raises RuntimeError for a class
    that is not a module, or one that takes no `device`."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with fork_rng(devices=()):
        return module_cls(*args, **kwargs)
