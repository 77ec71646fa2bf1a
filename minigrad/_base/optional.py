"""What may be missing: packages that an extra installs, and names of PyTorch's that minigrad does not have.

The one file that imports inside a function.
"""

import contextlib
import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn


class MissingExtra(ModuleNotFoundError):
    """A package that an extra of the distribution installs is missing."""


def optional(name: str, extra: str) -> ModuleType:
    """Import a module that needs the packages of an extra."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        # A missing module of minigrad is a bug in minigrad, which no extra mends.
        if missing.name is None or missing.name.partition(".")[0].startswith("minigrad"):
            raise
        text = f'{missing.name} is not installed. It comes with: python -m pip install "minigrad-kit[{extra}]"'
        raise MissingExtra(text, name=missing.name) from missing


IN_PYTORCH = "Run this part with PyTorch itself; minigrad_widgets.inspect shows its graphs as well."
ELSEWHERE = f"\n\nIf PyTorch has it, minigrad does not: docs/coverage.md says why. {IN_PYTORCH}"


def missing(owner: str, name: str, reason: str = "") -> NoReturn:
    """Raise the AttributeError of a module or an object, with advice, or with the `reason` why the name is missing."""
    raise AttributeError(f"{owner} has no attribute '{name}'{reason or ELSEWHERE}", name=name)


class LeftOut:
    """A function or a class that minigrad leaves to PyTorch: calling it says what to do instead."""

    _why = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(cls._why)


def left_out(module: str, why: str, names: str) -> dict[str, type[LeftOut]]:
    """The names of a module that minigrad leaves out; `why`, and what to do instead, is what each call raises."""
    path = module.replace("minigrad", "torch", 1)
    return {name: type(name, (LeftOut,), {"__module__": module, "_why": f"{path}.{name}: {why}. {IN_PYTORCH}"})
            for name in names.split()}


def module_getattr(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module: a submodule is loaded when it is first used, as PyTorch's are with `torch`."""
    def attribute(name: str) -> Any:
        with contextlib.suppress(ModuleNotFoundError):  # of the module itself, which is no package
            if not name.startswith("_") and importlib.util.find_spec(f"{module}.{name}") is not None:
                return importlib.import_module(f"{module}.{name}")
        missing(f"module '{module}'", name)

    return attribute
