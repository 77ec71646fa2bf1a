"""How operands of several devices meet: they do not, but for a number on the CPU, which meets every device."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.registry import OF_TYPE, device_of

__all__ = ["check_devices", "same_device", "together"]


def together(*arrays: Any) -> list[Any]:
    """Arrays of one device; a 0-d one of the CPU beside another device's becomes NumPy's scalar, which meets them.

    Raises:
        RuntimeError: PyTorch's sentence, if they lie on several devices.
    """
    check_devices(*[v for v in arrays if v.ndim or type(v) in OF_TYPE])
    return [v[()] if isinstance(v, np.ndarray) and not v.ndim else v for v in arrays]


def same_device(*arrays: Any) -> None:
    """PyTorch's error where all must lie on one device, 0-d ones too; without a GPU it costs next to nothing."""
    if OF_TYPE and any(type(v) in OF_TYPE for v in arrays):
        check_devices(*arrays)


def check_devices(*arrays: Any) -> None:
    """PyTorch's error for arrays that lie on several devices."""
    devices = list(dict.fromkeys([str(device_of(v)) for v in arrays]))
    if len(devices) > 1:
        devices.sort(key=lambda name: name == "cpu")
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                           f"{devices[0]} and {devices[1]}!\n\nMove one of them: x.to({devices[0]!r}).")
