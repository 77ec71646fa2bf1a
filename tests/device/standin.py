"""A device that is none: what the core does on it, it does on a GPU; speed and memory are not its business.

Its arrays are in `strict.py`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import cupy
import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from minigrad.backends.registry import copied_in_order
from tests.device.noted import noting
from tests.device.strict import COUNTS, Strict, in_use, signature_of, unwrapped

__all__ = ["StandIn"]


class StandIn:
    """`minigrad.backends.registry.Backend`: two devices of type cuda that are none."""

    type = "cuda"
    array_type = Strict

    class module:
        """Where `like=` finds the functions that make arrays."""

    def __init__(self) -> None:
        self.allocated, self.replays, self.notes = 0, 0, False

    def device_count(self) -> int:
        return 2

    def current_device(self) -> int:
        return COUNTS.current

    def set_device(self, index: int) -> None:
        COUNTS.current = index

    @contextmanager
    def on(self, index: int | None) -> Iterator[None]:
        before, COUNTS.current = COUNTS.current, COUNTS.current if index is None else index
        try:
            yield
        finally:
            COUNTS.current = before

    def index_of(self, array: Strict) -> int:
        return array.index

    def from_host(self, array: Any, index: int | None) -> Strict:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"from the host comes {type(array)}")
        return copied_in_order(array, lambda turned: Strict(turned.copy("F" if turned.flags.fnc else "C"), index))

    def to_host(self, array: Strict) -> Any:
        return copied_in_order(array, lambda turned: turned.get("A"))

    def move(self, array: Strict, index: int | None) -> Strict:
        def sent(turned: Strict) -> Strict:
            dense = turned if turned.flags.c_contiguous else Strict(turned.host.copy(), turned.index)
            return Strict(send(dense, COUNTS.current if index is None else index), index)

        return copied_in_order(array, sent)

    def address(self, array: Strict) -> int:
        return int(array.host.ctypes.data)

    def bounds(self, array: Strict) -> tuple[int, int]:
        return byte_bounds(array.host)

    def storage(self, array: Strict) -> tuple[int, int]:
        low, high = byte_bounds(memory_of(array))
        return low, high - low

    def bytes_of(self, array: Strict, low: int, size: int) -> Strict:
        owner = memory_of(array)
        memory = as_strided(owner, (owner.size,), (owner.itemsize,)).view(np.uint8)
        begin = low - self.storage(array)[0]
        return Strict(memory[begin:begin + size], array.index)

    def as_strided(self, array: Strict, shape: Any, strides: Any) -> Strict:
        return Strict(as_strided(array.host, shape, strides), array.index, True)

    def add_at(self, out: Strict, index: Any, x: Any) -> None:
        in_use(out, index, x)
        np.add.at(out.host, unwrapped(index), unwrapped(x))

    def matmul(self, x: Strict, y: Strict) -> Any:
        return np.matmul(x, y)

    def linalg_errors(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def synchronize(self, index: int | None) -> None:
        COUNTS.to_host += 0

    def memory_stats(self, index: int | None) -> dict[str, int]:
        return {"allocated": self.allocated, "peak": self.allocated, "reserved": self.allocated, "free": 1 << 30,
                "total": 2 << 30}

    def reset_peak(self, index: int | None) -> None:
        self.allocated = 0

    def empty_cache(self) -> None:
        self.allocated = 0

    def properties(self, index: int | None) -> dict[str, Any]:
        return {"name": "stand-in", "major": 9, "minor": 0, "total_memory": 2 << 30, "multi_processor_count": 132,
                "max_threads_per_multi_processor": 2048}

    def fused(self, name: str) -> None:
        return None

    def fused_rows(self, name: str) -> None:
        return None

    def composite(self, function: Callable[..., Any], *args: Any) -> None:
        return None

    def event(self, timing: bool, blocking: bool) -> Moment:
        return Moment()

    def elapsed(self, start: Moment, end: Moment) -> float:
        return (end.at - start.at) * 1e3

    @contextmanager
    def capture(self) -> Iterator[Any]:
        """What is done is noted, and undone; replays do it, and are counted."""
        self.notes = True
        try:
            with noting(self) as notes:
                yield functools.partial(self.replay, notes)
        finally:
            self.notes = False

    def replay(self, notes: Any) -> None:
        self.replays += 1
        notes.replay()

    def capturing(self) -> bool:
        return self.notes


class Moment:
    """An event."""

    at, done = 0.0, True

    def record(self) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        COUNTS.to_host += 0


def memory_of(array: Strict) -> Any:
    """The array of NumPy's that owns the memory."""
    memory = array.host
    while memory.base is not None:  # between them may stand what `as_strided` puts there
        memory = memory.base
    return memory


def send(array: Strict, index: int) -> Any:
    """A copy for another device; CuPy's error for what does not lie row by row."""
    if array.index != index and not array.flags.c_contiguous:
        raise ValueError("Array device must be same as the current device")
    return array.host.copy()


def maker(name: str) -> Any:
    """A function of NumPy's that makes an array, on the current device."""
    def make(*args: Any, **kwargs: Any) -> Strict:
        signature_of(getattr(cupy, name)).bind(*args, **kwargs)
        in_use(args, kwargs)
        return Strict(getattr(np, name)(*unwrapped(args), **unwrapped(kwargs)))
    return staticmethod(make)


for each in ("arange", "array", "asarray", "ascontiguousarray", "empty", "eye", "full", "identity", "ones", "tri",
             "zeros"):
    getattr(cupy, each)
    setattr(StandIn.module, each, maker(each))
