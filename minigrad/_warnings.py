"""Warnings that are given once per program: mirrors `torch.set_warn_always`."""

from __future__ import annotations

import warnings

from minigrad._type_name import type_name

__all__ = ["is_warn_always_enabled", "set_warn_always", "warn_once"]

GIVEN: set[str] = set()
ALWAYS = [False]


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that come once per program come every time; for tests."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type_name(b)}")
    ALWAYS[0] = b


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always` is on."""
    return ALWAYS[0]


def warn_once(text: str, stacklevel: int = 3) -> None:
    """A UserWarning, the first time in this program that its text comes up."""
    if text not in GIVEN or ALWAYS[0]:
        GIVEN.add(text)
        warnings.warn(text, UserWarning, stacklevel=stacklevel)
