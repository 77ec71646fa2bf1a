"""Defines the observer that also measures time, and returns to the recorder the observer that it asks for.

It mirrors nothing in PyTorch. `record(times=True)` uses it, whose trace has seconds for each node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

from minigrad.autograd.observer import Observer
from minigrad.core import Node
from minigrad.trace.track import OBSERVERS

if TYPE_CHECKING:
    from types import FrameType

    from minigrad.recorder import Trace

__all__ = ["TimedObserver", "observer_of"]


class TimedObserver(Observer):
    """An observer that also measures time.

    An op's time runs from the observer's last event, since the core does not say when an op begins. So it includes what
    the program itself did in between, and of a Function only what came after its last op. A derivative's time runs from
    `run` to the event after it.
    """

    def start(self, base: FrameType) -> Trace:
        trace = super().start(base)
        if trace.process is not None:
            trace.process["began"] = time()
        self.origin = perf_counter()
        self.running: int | None = None  # the node whose derivative is being computed
        self.mark = perf_counter()
        return trace

    def forward(self, op: str, node: Node | None, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        seconds = perf_counter() - self.mark
        super().forward(op, node, inputs, outputs)
        if node is not None:
            self.log.append(("took", self.seen.numbers[id(node)], False, seconds))
        self.mark = perf_counter()

    def run(self, target: Any, gradients: Sequence[Any]) -> None:
        super().run(target, gradients)
        self.timed()
        self.running, self.since = self.seen.numbers[id(target)], perf_counter()

    def ran(self) -> None:
        """Note that the derivative that ran last has ended."""
        if self.running is not None:
            self.log.append(("took", self.running, True, perf_counter() - self.since))
            self.running = None

    def release(self, node: Node) -> None:
        self.ran()
        super().release(node)
        self.mark = perf_counter()

    def flow(self, node: Node | None, index: int, target: Any, output_nr: int, gradient: Any, total: Any,
             last: bool) -> None:
        self.ran()
        super().flow(node, index, target, output_nr, gradient, total, last)
        self.mark = perf_counter()

    def accumulate(self, leaf: Any, gradient: Any) -> None:
        self.ran()
        super().accumulate(leaf, gradient)
        self.mark = perf_counter()

    def backward_start(self, *facts: Any) -> None:
        super().backward_start(*facts)
        self.timed()

    def backward_end(self) -> None:
        self.running = None
        super().backward_end()
        self.timed()
        self.mark = perf_counter()

    def timed(self, times: Iterable[float] | None = None) -> None:
        """Note that the last event happened now; `times` are those of an operation of several ranks."""
        since = None if times is None else [each - self.origin for each in times]
        self.log.append(("timed", perf_counter() - self.origin, since))


def observer_of(trace: type[Trace], times: bool = False) -> Observer:
    """Return an observer for `record`; with `times`, one that measures time."""
    return TimedObserver(trace) if times else Observer(trace)


OBSERVERS.append(observer_of)
