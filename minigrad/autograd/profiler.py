"""Measures how long each op takes: mirrors `torch/autograd/profiler.py`.

    with profiler.profile() as p:
        loss = model(x).sum()
        loss.backward()
    print(p.key_averages().table(sort_by="self_cpu_time_total"))

Events are the ops that have a derivative, under PyTorch's names for them (`aten::mm`); the evaluations of nodes in a
backward pass; and `record_function` blocks. An op composed of others contains their events. An op without a derivative,
such as a comparison, counts towards the event around it, and so does the time that the profiler itself takes.

While no profiler is on, nothing here runs: ops are wrapped only while one is (`ops/_dispatch/op_wrappers.py`), and
passes as in anomaly mode.
"""

from __future__ import annotations

import functools
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from minigrad._base.optional import module_getattr
from minigrad.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg, Interval
from minigrad.backends import registry
from minigrad.core import UNUSUAL, Node, Tensor
from minigrad.ops._dispatch.op_wrappers import OPS, is_part
from minigrad.ops._dispatch.overloads import of_class

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "profile", "record_function"]

TIME_ALONE = "minigrad's profiler measures time alone: {} changes nothing."


class Collector:
    """Collects the events of all threads while a profiler is on."""

    def __init__(self, record_shapes: bool) -> None:
        self.record_shapes, self.start = record_shapes, time.perf_counter_ns()
        self.events: list[FunctionEvent] = []
        self.open = threading.local()  # the event that each thread is in

    def now(self) -> float:
        """Microseconds since the profiler was turned on."""
        return (time.perf_counter_ns() - self.start) / 1e3

    def begin(self, name: str, args: Any = (), **facts: Any) -> FunctionEvent:
        """Begin an event, inside the one that is open in this thread."""
        shapes = [list(a.array.shape) if isinstance(a, Tensor) else [] for a in args] if self.record_shapes else []
        event = FunctionEvent(len(self.events), name, threading.get_native_id(), self.now(),
                              getattr(self.open, "event", None), shapes, **facts)
        self.events.append(event)
        self.open.event = event
        return event

    def end(self, event: FunctionEvent) -> None:
        """End an event."""
        event.time_range.end = self.now()
        self.open.event = event.cpu_parent


ON: list[Collector] = []  # that of the profiler that is on, if any


def timed(forward: Callable[..., Any], cls: type[Node] | None) -> Callable[..., Any]:
    """Wrap the forward of an op in an event; without `cls` the class is the first argument."""
    if is_part(forward):
        return forward

    @functools.wraps(forward)
    def call(*args: Any, **options: Any) -> Any:
        if not ON:
            return forward(*args, **options)
        name = of_class(args[0] if cls is None else cls, forward).name().partition(".")[0]
        event = ON[-1].begin(name, args[cls is None:])
        try:
            return forward(*args, **options)
        finally:
            ON[-1].end(event)

    return call


def time_nodes(task: Any) -> None:
    """Make an event of each evaluation of a node in a pass."""
    evaluate = task.evaluate

    def evaluate_timed(task: Any, buffer: Any) -> Any:
        if not ON:
            return evaluate(task, buffer)
        node = buffer.node
        event = ON[-1].begin(f"autograd::engine::evaluate_function: {node.name()}", sequence_nr=node._sequence_nr())
        try:
            return evaluate(task, buffer)
        finally:
            ON[-1].end(event)

    task.evaluate = evaluate_timed


class profile:
    """A block whose ops are timed; afterwards this object holds the events.

    Args:
        enabled: False for a block in which nothing is measured.
        record_shapes: note the shapes of each op's tensor arguments.

    Raises RuntimeError if it is entered twice, or while another profiler is on.
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_cpu: bool = True,
                 use_device: str | None = None, record_shapes: bool = False, with_flops: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
                 use_kineto: bool = False) -> None:
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False
        self.function_events: EventList | None = None
        if not enabled:
            return
        if use_cuda:
            warnings.warn("The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` "
                          "instead.", FutureWarning, stacklevel=2)
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        if (use_cuda or use_device == "cuda") and not registry.count("cuda"):
            warnings.warn("CUDA is not available, disabling CUDA profiling", UserWarning, stacklevel=2)
        for name in ("with_flops", "profile_memory", "with_stack", "with_modules"):
            if locals()[name]:
                warnings.warn(TIME_ALONE.format(name), UserWarning, stacklevel=2)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        if ON:
            raise RuntimeError("Profiler is already enabled on this thread.")
        self.entered = True
        ON.append(Collector(self.record_shapes))
        OPS.wrap(timed, on=True)
        UNUSUAL.pass_wrappers.append(time_nodes)
        return self

    def __exit__(self, *error: object) -> None:
        if not self.enabled:
            return
        OPS.wrap(timed, on=False)
        UNUSUAL.pass_wrappers.remove(time_nodes)
        collector = ON.pop()
        for event in collector.events:  # one still open, such as a block that is left later, ends here
            event.time_range.end = max(event.time_range.end, event.time_range.start)
        self.function_events = EventList(collector.events)

    def finished(self) -> EventList:
        """Return the events, in the order in which they began. Raises RuntimeError if the block is not over."""
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """Return all events as a table; see `EventList.table`. It is empty before the block is over."""
        return "" if self.function_events is None else self.function_events.table(sort_by, row_limit, **options)

    def key_averages(self, group_by_input_shape: bool = False, **options: Any) -> EventList:
        """Return the events of each name added up."""
        return self.finished().key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """Return all events added up."""
        return self.finished().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in microseconds."""
        return self.finished().self_cpu_time_total

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as a file for `chrome://tracing`, Perfetto and the like."""
        self.finished().export_chrome_trace(path)

    def __repr__(self) -> str:
        if self.function_events is None:
            return "<unfinished torch.autograd.profile>"
        return repr(self.function_events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)


class record_function:
    """A block, or a decorated function, as an event of this name."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self.event: FunctionEvent | None = None

    def __enter__(self) -> record_function:
        self.event = ON[-1].begin(self.name, is_user_annotation=True) if ON else None
        return self

    def __exit__(self, *error: object) -> None:
        if self.event is not None and ON:
            ON[-1].end(self.event)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **options)

        return call


__getattr__ = module_getattr(__name__)
