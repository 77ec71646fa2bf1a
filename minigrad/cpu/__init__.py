"""The CPU as a device: mirrors `torch/cpu`. There is one, always available, and its work is always finished."""

from typing import Any

from minigrad.cpu import amp as amp

__all__ = ["amp", "current_device", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether there is a CPU: True."""
    return True


def device_count() -> int:
    """The number of CPUs: 1, however many cores it has."""
    return 1


def current_device() -> str:
    """The current device: "cpu"."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Wait until all work is finished, which it is."""
