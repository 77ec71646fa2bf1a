"""Memory: who holds how many bytes. Mirrors `torch/cuda/memory.py` for the CPU; for a GPU it asks `minigrad.cuda`.

    memory.memory_allocated()           bytes of all tensors and graphs that exist now
    memory.reset_peak_memory_stats()    from here on ...
    memory.max_memory_allocated()       ... this much was held at once
    memory.snapshot()                   each storage: its bytes, and what holds it
    with record() as trace: ...
    memory.Account(trace)               the bytes over time, per op, per module, as a picture

A storage is the memory that an array owns; it is counted once, however many tensors share it. A storage with several
holders counts as parameter, else as saved for a backward pass, else as gradient, else as activation. Lesson 10 does so
for a checkpoint.
"""

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad import cuda
from minigrad._base.device import device as device_of
from minigrad.backends import registry
from minigrad.backends.registry import is_array
from minigrad.core import Node, Tensor
from minigrad.core.saved import Packed
from minigrad.memory.account import Account, Bytes, OfNodes
from minigrad.recording.ledger import ACTIVATION, GRADIENT, PARAMETER, SAVED, Ledger

__all__ = ["Account", "Bytes", "OfNodes", "StorageInfo", "held", "max_memory_allocated", "memory_allocated",
           "reset_peak_memory_stats", "snapshot"]

Device = device_of | str | int | None
KINDS = ("parameter", "activation", "saved", "gradient")


class StorageInfo(NamedTuple):
    """One storage: its bytes, what it counts as, and the shapes of tensors and names of nodes that hold it."""

    bytes: int
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    nodes: tuple[str, ...]


def holders() -> Iterator[tuple[Any, int, tuple[int, ...] | str]]:
    """Yield every array that a tensor or a node holds, what it counts as, and the tensor's shape or the node's name."""
    # by type: `isinstance` also asks the object, and some objects respond with a warning
    everything = [x for x in gc.get_objects() if issubclass(type(x), (Tensor, Node))]
    gradients = {id(x._grad) for x in everything if isinstance(x, Tensor) and x._grad is not None}
    for x in everything:
        if isinstance(x, Tensor):
            kind = (PARAMETER if type(x).__name__ == "Parameter" else GRADIENT if id(x) in gradients else ACTIVATION)
            yield x.array, kind, x.array.shape
        else:
            for kept in flat((x.saved, x.const)):
                array = kept.array if isinstance(kept, Tensor) else kept
                if is_array(array):
                    yield array, SAVED, x.name()


def flat(value: Any) -> Iterator[Any]:
    """Yield what is in nested tuples, and in what pack hooks returned for saved tensors."""
    if isinstance(value, Packed):
        yield from flat(value.value)
    elif isinstance(value, tuple):
        for each in value:
            yield from flat(each)
    else:
        yield value


def storage(array: Any) -> tuple[Any, int] | None:
    """Return what identifies the memory of an array, and its bytes; None for memory that no array owns."""
    if registry.backend_of(array) is not None:
        return registry.storage(array)
    while getattr(array, "base", None) is not None:
        array = array.base
    return (id(array), array.nbytes) if is_array(array) and not isinstance(array, np.generic) else None


class Most:
    """The most that tracemalloc has counted since the reset, without what walking over all objects takes itself."""

    traced = 0

    def __enter__(self) -> None:
        Most.traced = self.until_now()

    def __exit__(self, *error: object) -> None:
        tracemalloc.reset_peak()

    @staticmethod
    def until_now() -> int:
        """Return the most up to now."""
        return max(Most.traced, tracemalloc.get_traced_memory()[1])


def walk(where: Device) -> tuple[Ledger, dict[int, tuple[set[tuple[int, ...]], set[str]]]]:
    """Return a ledger of everything on a device, and what holds each storage."""
    place = checked(where)
    ledger, seen = Ledger(), dict[int, tuple[set[tuple[int, ...]], set[str]]]()
    with Most():
        for array, kind, what in holders():
            own = storage(array) if registry.device_of(array) == place else None
            if own is not None:
                ledger.hold(*own, kind)
                shapes, nodes = seen.setdefault(own[0], (set(), set()))
                if isinstance(what, str):
                    nodes.add(what)
                else:
                    shapes.add(what)
    return ledger, seen


def checked(device: Device) -> device_of:
    """Return the device; raise PyTorch's error for one that is not available."""
    return registry.resolve_device(device_of(device) if isinstance(device, int) else device)


def on_gpu(device: Device) -> bool:
    """Return whether a device is a GPU."""
    return checked(device).type != "cpu"


def held(device: Device = None) -> Bytes:
    """Return the bytes of all tensors and graphs that exist, by kind. Not cheap: it visits every object there is."""
    return Bytes(*walk(device)[0].totals)


def memory_allocated(device: Device = None) -> int:
    """Return the bytes of all tensors and graphs that exist; for a GPU, what its memory pool has handed out."""
    return cuda.memory_allocated(device) if on_gpu(device) else held(device).total


def snapshot(device: Device = None) -> list[StorageInfo]:
    """Return all storages that exist, the largest first."""
    ledger, seen = walk(device)
    found = [StorageInfo(storage.size, KINDS[storage.kind], tuple(sorted(seen[key][0])), tuple(sorted(seen[key][1])))
             for key, storage in ledger.live.items()]
    return sorted(found, key=lambda each: -each.bytes)


def reset_peak_memory_stats(device: Device = None) -> None:
    """Forget the peak and begin to count: from now on Python's `tracemalloc` is on, which takes time."""
    if on_gpu(device):
        return cuda.reset_peak_memory_stats(device)
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    tracemalloc.reset_peak()
    Most.traced = 0


def max_memory_allocated(device: Device = None) -> int:
    """Return the most bytes held at once since `reset_peak_memory_stats`: what is held now, plus what there was more at
    the peak according to `tracemalloc`. This includes temporaries inside ops and the few bytes of Python's own objects.

    Raises:
        RuntimeError: if `reset_peak_memory_stats` was not called before.
    """
    if on_gpu(device):
        return cuda.max_memory_allocated(device)
    if not tracemalloc.is_tracing():
        raise RuntimeError("the peak is not known: nothing has counted\n\nCall reset_peak_memory_stats() before what "
                           "is to be measured.")
    more = Most.until_now() - tracemalloc.get_traced_memory()[0]
    return memory_allocated(device) + more
