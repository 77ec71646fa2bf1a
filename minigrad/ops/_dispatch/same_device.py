"""How operands of several devices meet: they do not, but for a number on the CPU, which meets every device."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.registry import OF_TYPE, beside, check_devices
from minigrad.core.tensor import Tensor


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


def where_is(v: Any) -> Any:
    """Where an array or a Tensor lies, for NumPy's `like`."""
    return beside(v.array if isinstance(v, Tensor) else v)
