"""Makes modules without initialising their parameters: mirrors `torch/nn/utils/init.py`."""

import inspect
from typing import Any

from minigrad.nn.modules.module import Module
from minigrad.random import fork_rng

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """A module whose parameters may hold anything: making it draws no random numbers.

    Raises:
        RuntimeError: for what is no module, and for a module that takes no `device`.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with fork_rng(devices=()):
        return module_cls(*args, **kwargs)
