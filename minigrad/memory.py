"""Memory: who holds how many bytes. Mirrors `torch/cuda/memory.py` for the CPU; for a GPU it asks `minigrad.cuda`.

    memory.memory_allocated()           bytes of all tensors and graphs that exist now
    memory.reset_peak_memory_stats()    from here on ...
    memory.max_memory_allocated()       ... this much was held at once
    memory.snapshot()                   each storage: its bytes, and what holds it
    with record() as trace: ...
    memory.Account(trace)               the bytes over time, per op, per module, as a picture

A storage is the memory that an array owns; it is counted once, however many tensors share it. A storage with several
holders counts as parameter, else as the state of an optimizer, else as saved for a backward pass, else as gradient,
else as activation. Lesson 10 does so for a checkpoint. `Account` uses only what a recorder noted (docs/trace.md,
`bytes`), and reads a loaded trace as well as one that still grows.
"""

import gc
import math
import re
import tracemalloc
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad import cuda
from minigrad._base.device import device as device_of
from minigrad._base.optional import optional
from minigrad.backends import registry
from minigrad.backends.registry import is_array
from minigrad.core import Node, Packed, Tensor
from minigrad.optim.optimizer import Optimizer
from minigrad.recorder import Trace
from minigrad.recording.ledger import ACTIVATION, GRADIENT, OPTIMIZER, PARAMETER, SAVED, Ledger
from minigrad.recording.tracker import tensors_of

__all__ = ["Account", "Bytes", "OfNodes", "StorageInfo", "held", "max_memory_allocated", "memory_allocated",
           "reset_peak_memory_stats", "snapshot"]

COLORS = ("#66c4ac", "#eda63a", "#cc79a7", "#b5bac1", "#56b4e9")  # as in the inspectors, for the colour-blind too
NAMES = ("parameters", "optimizer", "saved", "activations", "gradients")


class Bytes(NamedTuple):
    """Bytes held, by kind. Each storage counts in exactly one field."""

    parameters: int
    activations: int
    saved: int
    gradients: int
    optimizer: int = 0

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def extra(self) -> int:
        """All but the parameters."""
        return self.total - self.parameters


class OfNodes(NamedTuple):
    """The totals of the ops of one name or one module: how often they ran, bytes made, bytes saved."""

    runs: int
    made: int
    saved: int


class Account:
    """Bytes held while a program ran, from its trace.

    `steps`: after each event; `peak`: at the maximum; `current`: at the end.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.steps: list[Bytes] = []
        now = Bytes(0, 0, 0, 0)
        for event in trace.events:
            if "bytes" in event:
                now = Bytes(*event["bytes"])
            self.steps.append(now)

    @property
    def current(self) -> Bytes:
        """What is held at the end."""
        return self.steps[-1] if self.steps else Bytes(0, 0, 0, 0)

    @property
    def peak(self) -> Bytes:
        """What was held at the step with the maximum."""
        return max(self.steps, key=lambda held: held.total, default=Bytes(0, 0, 0, 0))

    @property
    def peak_step(self) -> int:
        """The first step with the maximum."""
        return self.steps.index(self.peak)

    def at_backward(self) -> Bytes:
        """Return what was held when the first backward pass began; the only gradient then is that of its root. Raises
        StopIteration if there was none."""
        return next(held for held, event in zip(self.steps, self.trace.events, strict=True)
                    if event["kind"] == "backward_start")

    def per_op(self) -> dict[str, OfNodes]:
        """Return, by name of op, the bytes of the results and of what their nodes saved that no earlier one had."""
        return self.totals_by([event["op"] for event in self.forwards()])

    def per_module(self) -> dict[str, OfNodes]:
        """Return the same for each module, by path; "" is what ran outside all modules. Ops belong to the innermost."""
        nodes, scopes = self.trace.nodes, self.trace.scopes

        def path(scope: int | None) -> str:
            parts: list[str] = []
            while scope is not None:
                parts.append(str(scopes[scope]["name"] or scopes[scope]["module"]))
                scope = scopes[scope]["parent"]
            return ".".join(reversed(parts))

        return self.totals_by([path((event if event["node"] is None else nodes[event["node"]]).get("scope"))
                              for event in self.forwards()])

    def forwards(self) -> Iterator[Any]:
        return (event for event in self.trace.events if event["kind"] == "forward")

    def totals_by(self, keys: list[str]) -> dict[str, OfNodes]:
        """Return the totals of the ops, by the key of each."""
        tensors, met, kept = self.trace.tensors, set[int](), set[int]()
        found: dict[str, OfNodes] = {}
        for key, event in zip(keys, self.forwards(), strict=True):
            made = saved = 0
            met.update(tensors[number]["storage"] for number in event["inputs"] or () if number is not None)
            for number in event["outputs"]:
                made += 0 if tensors[number]["storage"] in met else tensors[number]["bytes"]
                met.add(tensors[number]["storage"])
            for storage, size in self.saved_by(event["node"]):
                saved += 0 if storage in kept else size
                kept |= set() if storage is None else {storage}
            runs, *before = found.get(key, OfNodes(0, 0, 0))
            found[key] = OfNodes(runs + 1, before[0] + made, before[1] + saved)
        return found

    def saved_by(self, node: int | None) -> Iterator[tuple[int | None, int]]:
        """Yield storage and bytes of each value that a node saved; parameters are not counted."""
        for _, number, value in () if node is None else self.trace.nodes[node]["saved"]:
            if number is not None:
                tensor = self.trace.tensors[number]
                if not tensor["parameter"]:
                    yield tensor["storage"], tensor["bytes"]
            elif value is not None and self.trace.values[value]["shape"]:
                shown = self.trace.values[value]
                digits = re.search(r"\d+$", shown["dtype"])
                yield None, math.prod(shown["shape"]) * (int(digits[0]) // 8 if digits else 1)

    def text(self) -> str:
        """Return the account as a table."""
        rows = [f"{'':24}{'runs':>8}{'made':>16}{'saved':>16}"]
        for title, part in (("per op", self.per_op()), ("per module", self.per_module())):
            rows.append(title)
            rows += [f"  {name or '(no module)':22}{of.runs:8,}{of.made:16,}{of.saved:16,}"
                     for name, of in sorted(part.items(), key=lambda each: -each[1].saved)]
        for title, held in (("peak", self.peak), ("at the end", self.current)):
            parts = ", ".join(f"{each:,} {name}" for name, each in zip(Bytes._fields, held, strict=True)
                              if each or name != "optimizer")
            rows.append(f"{title}: {held.total:,} bytes: {parts}")
        return "\n".join(rows)

    def plot(self, axes: Any = None) -> Any:
        """Plot the bytes over the events, stacked, with backward passes shaded; return matplotlib's figure. Raises
        MissingExtra without matplotlib."""
        if axes is None:
            axes = optional("matplotlib.figure", "lessons").Figure(figsize=(8, 4), layout="constrained").subplots()
        shown = [name for name in NAMES if name != "optimizer" or any(held.optimizer for held in self.steps)]
        parts = [[getattr(held, name) / 2**20 for held in self.steps] for name in shown]
        colors = [color for name, color in zip(NAMES, COLORS) if name in shown]
        axes.stackplot(range(len(self.steps)), parts, labels=shown, colors=colors, step="post")
        for start, end in self.passes():
            axes.axvspan(start, end, color="black", alpha=0.07, linewidth=0)
        axes.set_xlabel("event (shaded: backward pass)")
        axes.set_ylabel("MiB held")
        axes.margins(x=0)
        axes.legend(loc="upper left", frameon=False)
        return axes.figure

    def passes(self) -> Iterator[tuple[int, int]]:
        """Yield the first and last step of each outermost backward pass."""
        start, depth = None, 0
        for step, event in enumerate(self.trace.events):
            if event["kind"] == "backward_start":
                start, depth = (step if depth == 0 else start), depth + 1
            elif event["kind"] == "backward_end":
                depth -= 1
                if depth == 0 and start is not None:
                    yield start, step


Device = device_of | str | int | None
KINDS = ("parameter", "activation", "saved", "gradient", "optimizer")


class StorageInfo(NamedTuple):
    """One storage: its bytes, what it counts as, and the shapes of tensors and names of nodes that hold it."""

    bytes: int
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    nodes: tuple[str, ...]


def holders() -> Iterator[tuple[Any, int, tuple[int, ...] | str]]:
    """Yield every array that a tensor or a node holds, what it counts as, and the tensor's shape or the node's name."""
    # by type: `isinstance` also asks the object, and some objects respond with a warning
    everything = [x for x in gc.get_objects() if issubclass(type(x), (Tensor, Node, Optimizer))]
    states = {id(t) for x in everything if isinstance(x, Optimizer) for t in tensors_of(x.state)}
    gradients = {id(x._grad) for x in everything if isinstance(x, Tensor) and x._grad is not None}
    for x in everything:
        if isinstance(x, Tensor):
            kind = (PARAMETER if type(x).__name__ == "Parameter" else OPTIMIZER if id(x) in states
                    else GRADIENT if id(x) in gradients else ACTIVATION)
            yield x.array, kind, x.array.shape
        elif isinstance(x, Node):
            for kept in nested_values((x.saved, x.const)):
                array = kept.array if isinstance(kept, Tensor) else kept
                if is_array(array):
                    yield array, SAVED, x.name()


def nested_values(value: Any) -> Iterator[Any]:
    """Yield what is in nested tuples, and in what pack hooks returned for saved tensors."""
    if isinstance(value, Packed):
        yield from nested_values(value.value)
    elif isinstance(value, tuple):
        for each in value:
            yield from nested_values(each)
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
        return max(Most.traced, tracemalloc.get_traced_memory()[1])


def walk(where: Device) -> tuple[Ledger, dict[int, tuple[set[tuple[int, ...]], set[str]]]]:
    """Return a ledger of everything on a device, and what holds each storage."""
    place = checked_device(where)
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


def checked_device(device: Device) -> device_of:
    """Return the device; raise PyTorch's error for one that is not available."""
    return registry.resolve_device(device_of(device) if isinstance(device, int) else device)


def on_gpu(device: Device) -> bool:
    return checked_device(device).type != "cpu"


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
    Raises RuntimeError if `reset_peak_memory_stats` was not called before.
    """
    if on_gpu(device):
        return cuda.max_memory_allocated(device)
    if not tracemalloc.is_tracing():
        raise RuntimeError("the peak is not known: nothing has counted\n\nCall reset_peak_memory_stats() before what "
                           "is to be measured.")
    more = Most.until_now() - tracemalloc.get_traced_memory()[0]
    return memory_allocated(device) + more
