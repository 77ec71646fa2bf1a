"""Chooses how attention is computed on a GPU: mirrors part of `torch/nn/attention`.

A choice is stored, as are those of `minigrad.backends.cuda`, but changes nothing: minigrad has one way.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

from minigrad._base.contexts import contextmanager
from minigrad.backends.cuda import ATTENTION

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """The ways of computing attention that PyTorch has."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


SWITCHES = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION, "math": SDPBackend.MATH,
            "mem_efficient": SDPBackend.EFFICIENT_ATTENTION}


@contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[dict[str, Any]]:
    """A block in which only these ways are enabled. Raises AssertionError for anything but one, or a list of them."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                             f"{type(backends).__name__}")
    chosen, before = [backends] if isinstance(backends, SDPBackend) else backends, dict(ATTENTION)
    ATTENTION.update({name: backend in chosen for name, backend in SWITCHES.items()})
    try:
        yield {}
    finally:
        ATTENTION.update(before)
