"""The tables of ops, merged: `cases.py` with every `cases_<subject>.py`, `drawn.py` with every `drawn_<subject>.py`.

A subject brings its lines in a file of its own: `CASES` (and where it has them `PLAIN`, `MISSING`,
`NOT_COMPARABLE`) in `cases_<subject>.py`, `DRAWN` (and `LOOSE`, `DISTINCT`, `MISMATCHED`) in
`drawn_<subject>.py`. Two lines of one name are refused.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def modules(stem: str) -> list[ModuleType]:
    """The module of this name, and those of its subjects."""
    files = sorted(Path(__file__).parent.glob(f"{stem}*.py"))
    return [importlib.import_module(f"{__name__}.{path.stem}") for path in files
            if path.stem == stem or path.stem.startswith(f"{stem}_")]


def merged(stem: str, table: str) -> dict[str, Any]:
    """All lines of a table; a module that has no such table adds none."""
    lines: dict[str, Any] = {}
    for module in modules(stem):
        for name, line in getattr(module, table, {}).items():
            if name in lines:
                raise ValueError(f"{module.__name__}: there is a line {name!r} in {table} already")
            lines[name] = line
    return lines


def text(stem: str) -> str:
    """The source of all modules of a table."""
    return "\n".join(inspect.getsource(module) for module in modules(stem))


def all_cases() -> dict[str, Any]:
    """Calls with their leaves: see `cases.py`."""
    return merged("cases", "CASES")


def all_plain() -> dict[str, Any]:
    """Calls whose results carry no graph."""
    return merged("cases", "PLAIN")


def all_missing() -> dict[str, set[str]]:
    """By node: the names of saved values that PyTorch shows and minigrad does not. See `test_saved_names.py`."""
    return merged("cases", "MISSING")


def all_not_comparable() -> dict[str, str]:
    """Cases of which differences of values say nothing, and why: `gradcheck` leaves them out."""
    return merged("cases", "NOT_COMPARABLE")


def all_drawn() -> dict[str, Any]:
    """Calls with what is drawn for them: see `drawn.py`."""
    return merged("drawn", "DRAWN")


def all_loose() -> dict[str, str]:
    """Drawn lines whose algorithm differs from PyTorch's, and how: their values agree to 1e-9 instead of 1e-12."""
    return merged("drawn", "LOOSE")


def all_mismatched() -> dict[str, tuple[Callable[..., bool], str]]:
    """Inputs that do not fit a drawn line and of which PyTorch's answer says nothing: which they are, and why."""
    return merged("drawn", "MISMATCHED")


def all_distinct() -> dict[str, str]:
    """Drawn lines that are given no equal values, and why: their inputs are not expanded."""
    return merged("drawn", "DISTINCT")
