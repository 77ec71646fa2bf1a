"""Memory: who holds how many bytes. Mirrors what `torch/cuda/memory.py` answers, for the CPU; of a GPU it asks there.

    memory.memory_allocated()           bytes of all tensors and graphs that there are now
    memory.reset_peak_memory_stats()    from here on ...
    memory.max_memory_allocated()       ... so much was held at once
    memory.snapshot()                   each storage: its bytes, and what holds it
    with record() as trace: ...
    memory.Account(trace)               the bytes over time, per op, per module, as a picture

A storage is the memory that an array owns; it is counted once, whoever looks at it. What several hold counts as
parameter, else as saved for a backward pass, else as gradient, else as activation. Lesson 10 accounts for a checkpoint.
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
from minigrad.trace.ledger import ACTIVATION, GRADIENT, PARAMETER, SAVED, Ledger

__all__ = ["Account", "Bytes", "OfNodes", "StorageInfo", "held", "max_memory_allocated", "memory_allocated",
           "reset_peak_memory_stats", "snapshot"]

Device = device_of | str | int | None
KINDS = ("parameter", "activation", "saved", "gradient")


class StorageInfo(NamedTuple):
    """One storage: its bytes, as what it counts, and the shapes of the tensors and the names of the nodes that hold
    it."""

    bytes: int
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    nodes: tuple[str, ...]


def holders() -> Iterator[tuple[Any, int, tuple[int, ...] | str]]:
    """Every array that a tensor or a node holds, as what, and the tensor's shape or the node's name."""
    # by its type: `isinstance` asks the object too, and there are some that answer with a warning
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
    """What is in tuples in tuples, and in what pack hooks made of saved tensors."""
    if isinstance(value, Packed):
        yield from flat(value.value)
    elif isinstance(value, tuple):
        for each in value:
            yield from flat(each)
    else:
        yield value


def storage(array: Any) -> tuple[Any, int] | None:
    """What names the memory of an array, and its bytes; None for memory that is no array's."""
    if registry.backend_of(array) is not None:
        return registry.storage(array)
    while getattr(array, "base", None) is not None:
        array = array.base
    return (id(array), array.nbytes) if is_array(array) and not isinstance(array, np.generic) else None


class Most:
    """The most that tracemalloc has counted since the reset; what a look at all objects takes itself is left out."""

    traced = 0

    def __enter__(self) -> None:
        Most.traced = self.until_now()

    def __exit__(self, *error: object) -> None:
        tracemalloc.reset_peak()

    @staticmethod
    def until_now() -> int:
        """Up to this moment."""
        return max(Most.traced, tracemalloc.get_traced_memory()[1])


def walk(where: Device) -> tuple[Ledger, dict[int, tuple[set[tuple[int, ...]], set[str]]]]:
    """A ledger of all that there is on a device, and by storage what holds it."""
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
    """The device; PyTorch's error for one that is not here."""
    return registry.resolve_device(device_of(device) if isinstance(device, int) else device)


def on_gpu(device: Device) -> bool:
    """Whether a device is a GPU."""
    return checked(device).type != "cpu"


def held(device: Device = None) -> Bytes:
    """Bytes of all tensors and graphs that there are, by what for. It looks at every object of the process: not
    cheap."""
    return Bytes(*walk(device)[0].totals)


def memory_allocated(device: Device = None) -> int:
    """Bytes of all tensors and graphs that there are; of a GPU what its pool of memory has handed out."""
    return cuda.memory_allocated(device) if on_gpu(device) else held(device).total


def snapshot(device: Device = None) -> list[StorageInfo]:
    """All storages that there are, the largest first."""
    ledger, seen = walk(device)
    found = [StorageInfo(storage.size, KINDS[storage.kind], tuple(sorted(seen[key][0])), tuple(sorted(seen[key][1])))
             for key, storage in ledger.live.items()]
    return sorted(found, key=lambda each: -each.bytes)


def reset_peak_memory_stats(device: Device = None) -> None:
    """Forget what was the most, and begin to count: from here on Python's `tracemalloc` is on, which takes time."""
    if on_gpu(device):
        return cuda.reset_peak_memory_stats(device)
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    tracemalloc.reset_peak()
    Most.traced = 0


def max_memory_allocated(device: Device = None) -> int:
    """The most bytes that were held at once since `reset_peak_memory_stats`: what is held now, and what there was more
    then by the account of `tracemalloc`. It knows the temporaries inside of ops too, and the few bytes of Python's own
    objects.

    Raises:
        RuntimeError: if nothing counts yet.
    """
    if on_gpu(device):
        return cuda.max_memory_allocated(device)
    if not tracemalloc.is_tracing():
        raise RuntimeError("the peak is not known: nothing has counted\n\nCall reset_peak_memory_stats() before what "
                           "is to be measured.")
    more = Most.until_now() - tracemalloc.get_traced_memory()[0]
    return memory_allocated(device) + more
