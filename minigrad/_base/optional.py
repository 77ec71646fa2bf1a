"""Imports an optional package by name; if it is missing, the error names the extra that installs it.

The one file that imports inside a function.
"""

import importlib
from types import ModuleType


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
