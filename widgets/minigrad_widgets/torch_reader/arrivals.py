"""Values on their way from a device to the host: their copies are queued, and one wait is for all of them.

A device computes while the program goes on. To wait for each value would stop both at every op, so a copy is only
begun, and `Late` stands for what is kept of it, until somebody reads the trace, the recording ends, or much waits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Any

import torch

from minigrad.recorder import Builder, Large
from minigrad_widgets.torch_reader.private import PRIVATE

__all__ = ["Arrivals", "Late", "LateBuilder", "Unreadable"]

MOST = 64 << 20  # bytes that may wait: the host keeps them in memory that it cannot swap


class Unreadable(Large):
    """What is kept of a tensor whose values cannot be read, or should not be."""

    def __init__(self, dtype: Any, shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape
        self.stats = {"min": None, "max": None, "mean": None, "norm": None, "nan": 0, "inf": 0}


class Late:
    """What stands for the kept values of a tensor until they have arrived. `find` returns them, or has them set."""

    __slots__ = ("dtype", "find", "kept", "shape")

    def __init__(self, t: Any, find: Callable[[], Any]) -> None:
        self.dtype, self.shape, self.find = t.dtype, tuple(t.shape), find
        self.kept: Any = None

    def arrived(self) -> Any:
        """Return what is kept."""
        if self.kept is None:
            found = self.find()
            if found is not None:
                self.kept = found
        return self.kept


class LateBuilder(Builder):
    """Builds the parts of a trace; a value that is late is waited for."""

    def value(self, array: Any) -> int:
        """Return the index of the preview of a value."""
        return super().value(array.arrived() if isinstance(array, Late) else array)


class Arrivals:
    """The copies that are on their way."""

    def __init__(self) -> None:
        self.lock = RLock()  # a trace may be read in another thread than the program's
        self.waiting: list[tuple[Late, Any, Any, Callable[[Any], Any]]] = []
        self.bytes = 0

    def of(self, t: Any, keep: Callable[[Any], Any]) -> Late:
        """Begin to copy a tensor to the host; `keep` makes of the copy what is kept.

        Raises:
            NotImplementedError or RuntimeError: if it has no values to be read, or its device only notes, for a graph
                of CUDA's, what it will do.
        """
        t, device = t.detach(), module_of(t.device.type)
        if t.numel() and not t.data_ptr() or busy(device):
            raise NotImplementedError("there are no values")
        host = torch.empty(t.shape, dtype=t.dtype, device="cpu", pin_memory=t.is_cuda)
        host.copy_(t, non_blocking=hasattr(device, "synchronize"))
        late = Late(t, self.wait)
        with self.lock:
            self.waiting.append((late, t.device, host, keep))
            self.bytes += host.nbytes
        if self.bytes > MOST and not busy(device):
            self.wait()
        return late

    def wait(self) -> None:
        """Wait for all copies, and keep of them what is to be kept.

        Raises:
            RuntimeError: by a device that fails; what was on its way is lost.
        """
        with self.lock, PRIVATE.without_dispatch():
            waiting, self.waiting, self.bytes = self.waiting, [], 0
            try:
                for device in {device for _, device, _, _ in waiting}:
                    synchronize(device)
            except RuntimeError:
                waiting, lost = [], waiting
                for late, *_ in lost:
                    late.kept = Unreadable(late.dtype, late.shape)
                raise
            for late, _, host, keep in waiting:
                late.kept = keep(host)


def synchronize(device: Any) -> None:
    """Wait until a device has done all that it was asked to."""
    wait = getattr(module_of(device.type), "synchronize", None)
    if wait is not None:
        wait() if device.type == "mps" else wait(device)


@cache
def module_of(device: str) -> Any:
    """Return PyTorch's module for a kind of device, as `torch.cuda`; None if there is none."""
    return getattr(torch, device, None)


def busy(device: Any) -> bool:
    """Return whether nothing may be waited for: a graph of CUDA's is being captured."""
    return bool(getattr(device, "is_current_stream_capturing", bool)())
