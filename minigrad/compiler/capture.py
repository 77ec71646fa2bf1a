"""From a call of a step to what a program is made of: a trace, and what the step does beside writing memory."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from minigrad._base.dtype import BFLOAT16
from minigrad.backends.random import DEFAULT
from minigrad.compiler.joint import Backward, backward_of
from minigrad.compiler.program import View
from minigrad.compiler.results import Results
from minigrad.compiler.tracer import HALF, Trace, Traced
from minigrad.compiler.tracing import released, tracing
from minigrad.compiler.world import World, attached_to, leaves_of
from minigrad.core import LOCAL, Tensor
from minigrad.core.tensor import counter_of

__all__ = ["Captured"]

KEPT_OUTSIDE = "a tensor that the step makes is kept outside of it, or comes from where no survey looks"


class Captured:
    """A call of a step that is traced: its tensors, what they were before, and what the step does to them.

    Tensors have numbers: first those from `outside`, then those among the arguments, and behind these `tensors`, in
    `every`, the gradients of those `with_grad`, which are there already. What a step does beside writing memory, by
    numbers: `grads` are tensors that get a new `.grad`, its version, and where it lies; `cleared` those that end
    without one; `versions` by how much the version of a tensor goes up; `requires_grad` tensors that require grad
    afterwards, or no longer. `result` makes what is returned of (the tensors, the results that a program computes).
    """

    def __init__(self, world: World, trace: Trace) -> None:
        self.world, self.trace = world, trace
        named = list(world.tensors.values())
        self.tensors = [t for _, t in named]
        self.outside = self.tensors[:world.outside]
        self.old_grads = [t._grad for t in self.tensors]
        self.with_grad = [i for i, grad in enumerate(self.old_grads) if grad is not None]
        self.named = [*named, *[(f"{name}.grad", t._grad) for name, t in named if t._grad is not None]]
        self.every = [t for _, t in self.named]
        self.counters = [(i, counter_of(t), counter_of(t).value) for i, t in enumerate(self.every)]
        self.attached = [attached_to(t) for t in self.tensors]
        recorded = LOCAL.grad_enabled and any(t._requires_grad for t in self.tensors)
        self.arrays = [(t.array, t.array.copy()) for t in self.every] if recorded else []
        self.random = DEFAULT.state_bytes()
        self.results = Results(self.tensors, trace)
        self.grads, self.cleared = list[tuple[int, int, View]](), list[int]()
        self.backward: Backward | None = None  # where a result keeps its graph
        self.whole = False  # whether a program can do what the step did

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run the step, and return its result. Whatever comes of it, the step has been done.

        A joint graph is whole even if it is of no use for later calls: the program gives the result then, when the
        trace was undone.
        """
        trace, unchanged = self.trace, self.world.guards.compiled()
        if any(t.array.dtype is BFLOAT16 for t in self.tensors):
            trace.refuse(HALF)
            return function(*args, **kwargs)
        try:
            with tracing(trace, self.named, self.world.options):
                result = function(*args, **kwargs)
                self.look_at(result)
            trace.refuse(self.world.refused)
            if not unchanged():
                trace.refuse(f"the step changes what it reads in Python: {self.world.guards.failing()} no more")
            trace.refuse(overlapping(trace))
            if trace.broken is None:
                result = None if self.backward is not None else self.result(self.tensors, self.results.tensors)
            if self.backward is not None:
                self.results.tensors.clear()
                gc.collect()  # who still has a traced tensor afterwards is no cycle of a graph
        finally:
            found = released()
        self.whole = trace.broken is None
        if self.whole and self.unexpected(found, result):
            trace.refuse(KEPT_OUTSIDE)
            self.whole = self.backward is not None
        return result

    def look_at(self, result: Any) -> None:
        """See what the step has done, and trace the backward pass of results that keep their graph."""
        trace, results = self.trace, self.results
        self.result = results.maker(result)
        self.check_attached()
        self.look_at_grads()
        if results.live and (self.grads or self.cleared):
            trace.stop("a result keeps its graph, and a backward pass runs inside")
        if results.live and trace.broken is None:
            self.backward = backward_of([results.tensors[k] for k in results.live], self.tensors, trace)
        then = [requires_grad for requires_grad, *_ in self.attached]
        self.requires_grad = [(i, t._requires_grad) for i, t in enumerate(self.tensors)
                              if t._requires_grad is not then[i]]
        first = {counter: (i, counter.value - before) for i, counter, before in reversed(self.counters)}
        self.versions = [each for each in first.values() if each[1]]  # a counter that several share counts once

    def check_attached(self) -> None:
        """Stop the trace if the history of an input, its hooks or its attributes are no longer what they were."""
        for now, then in zip([attached_to(t) for t in self.tensors], self.attached, strict=True):
            if now[1:] != then[1:] or (self.results.live and now != then):
                self.trace.stop("hooks or attributes of an input change" if now[:2] == then[:2] else
                                "an input that gradients go through is changed in place")

    def look_at_grads(self) -> None:
        """Find the tensors whose `.grad` is new after the step, and those who have lost theirs."""
        for i, (t, old) in enumerate(zip(self.tensors, self.old_grads, strict=True)):
            new = t._grad
            if new is None and old is not None:
                self.cleared.append(i)
            if new is None or new is old:
                continue
            if not isinstance(new.array, Traced):
                new.array = self.trace.outside(np.asarray(new.array))
            version = 0 if new._version_counter is None else new._version_counter.value
            self.grads.append((i, version, new.array.view_of()))
            if new.array.memory.kind == "input":
                self.trace.stop("a gradient is a tensor that was there before")
        memories = [v.memory for v in (*self.results.views, *[v for _, _, v in self.grads])]
        if any(memories.count(v.memory) > 1 for _, _, v in self.grads):
            self.trace.stop("two results or gradients share memory")

    def unexpected(self, found: list[Tensor], result: Any) -> list[Tensor]:
        """Of the tensors that had traced arrays after the step those that somebody keeps: no gradient, no result."""
        fine: list[Tensor] = []
        leaves_of(result, fine, [])
        known = {id(t) for t in [*self.tensors, *fine, *[t._grad for t in self.tensors if t._grad is not None]]}
        return [t for t in found if id(t) not in known]

    def undo(self) -> None:
        """Make the tensors what they were before, and the random state: the program of a joint graph runs in the place
        of the trace, since the results have its node."""
        written = {id(v.memory.array) for s in self.trace.statements for v in s.outs}
        for array, copy in self.arrays:
            if id(array) in written:
                array[...] = copy
        for _, counter, version in self.counters:
            counter.value = version
        DEFAULT.set_state_bytes(self.random)


def overlapping(trace: Trace) -> str | None:
    """Why inputs make a program impossible: one is written, and another shows the same memory."""
    written = {v.memory for s in trace.statements for v in s.outs}
    spans = sorted([(*byte_bounds(m.array), m) for m in trace.inputs if m.array.size], key=lambda span: span[:2])
    for (_, end, m), (start, _, other) in itertools.pairwise(spans):
        if start < end and (m in written or other in written):
            return f"{m.name} and {other.name} share memory, and one of them is changed"
    return None
