"""The accelerator of the machine, whatever its maker: mirrors a part of `torch/accelerator/__init__.py`.

minigrad uses none: `current_accelerator()` is None, and a script that asks stays on the CPU.
"""

from __future__ import annotations

from minigrad._device import device

__all__ = ["current_accelerator", "device_count", "is_available"]


def is_available() -> bool:
    """Whether there is an accelerator to compute on: False."""
    return False


def device_count() -> int:
    """The number of accelerators: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    """The device of the accelerator: None."""
    return None
