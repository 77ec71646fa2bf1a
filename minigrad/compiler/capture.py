"""From a call of a step to what a program is made of: a trace, and what the step does beside writing memory."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from minigrad._base.dtype import BFLOAT16
from minigrad.backends.stream import DEFAULT
from minigrad.compiler.joint import Backward, backward_of
from minigrad.compiler.program import View
from minigrad.compiler.results import Results
from minigrad.compiler.tracer import HALF, Trace, Traced
from minigrad.compiler.tracing import released, tracing
from minigrad.compiler.world import World, attached_to, leaves_of
from minigrad.core import LOCAL, Tensor
from minigrad.core.tensor import counter_of

__all__ = ["Before", "Captured", "capture"]

KEPT_OUTSIDE = "a tensor that the step makes is kept outside of it, or comes from where no survey looks"


class Before:
    """The tensors of a step, and what they are before it is traced. `undo` makes them so again, with the random state:
    the traced run of a joint graph is undone, and its program runs in its place, since the results have its node.

    `every` has them in the order of their numbers: those from outside, those among the arguments, and the gradients of
    the tensors `with_grad`, which are there already.
    """

    def __init__(self, world: World) -> None:
        named = list(world.tensors.values())
        self.tensors = [t for _, t in named]
        self.outside = self.tensors[:world.outside]
        self.grads = [t._grad for t in self.tensors]
        self.with_grad = [i for i, grad in enumerate(self.grads) if grad is not None]
        self.named = [*named, *[(f"{name}.grad", t._grad) for name, t in named if t._grad is not None]]
        self.every = [t for _, t in self.named]
        self.counters = [counter_of(t) for t in self.every]
        self.versions = [counter.value for counter in self.counters]
        self.attached = [attached_to(t) for t in self.tensors]
        recorded = LOCAL.grad_enabled and any(t._requires_grad for t in self.tensors)
        self.arrays = [(t.array, t.array.copy()) for t in self.every] if recorded else []
        self.random = DEFAULT.state_bytes()

    def check_attached(self, trace: Trace, live: Sequence[int]) -> None:
        """Stop the trace if the history of an input, its hooks or its attributes are no longer what they were."""
        for now, then in zip([attached_to(t) for t in self.tensors], self.attached, strict=True):
            if now[1:] != then[1:] or (live and now != then):
                trace.stop("hooks or attributes of an input change" if now[:2] == then[:2] else
                           "an input that gradients go through is changed in place")

    def undo(self, trace: Trace) -> None:
        written = {id(v.memory.array) for s in trace.statements for v in s.outs}
        for array, copy in self.arrays:
            if id(array) in written:
                array[...] = copy
        for counter, version in zip(self.counters, self.versions, strict=True):
            counter.value = version
        DEFAULT.set_state_bytes(self.random)

    def drop_unused_grads(self, trace: Trace) -> None:
        """Forget the gradients that the step neither reads nor writes: who runs a program need not hold them."""
        used = {v.memory for s in trace.statements for v in s.uses()}
        trace.inputs = {m: k for m, k in trace.inputs.items() if k < len(self.tensors) or m in used}
        kept = list(trace.inputs.values())
        self.with_grad = [self.with_grad[k - len(self.tensors)] for k in kept[len(self.tensors):]]
        self.every, self.counters = [self.every[k] for k in kept], [self.counters[k] for k in kept]
        self.versions = [self.versions[k] for k in kept]
        trace.inputs.update(zip(trace.inputs, range(len(kept))))

    def flagged(self) -> list[tuple[int, bool]]:
        """The tensors that require grad now, or no longer."""
        then = [requires_grad for requires_grad, *_ in self.attached]
        return [(i, t._requires_grad) for i, t in enumerate(self.tensors) if t._requires_grad is not then[i]]

    def raised(self) -> list[tuple[int, int]]:
        """By how much the version of each tensor went up; a counter that several share counts once."""
        numbers = {id(counter): i for i, counter in reversed(list(enumerate(self.counters)))}
        changes = [(i, self.counters[i].value - self.versions[i]) for i in numbers.values()]
        return [(i, change) for i, change in changes if change]


class Captured(NamedTuple):
    """A step that was traced to its end, and what it does beside writing memory, by the numbers of tensors.

    `grads`: tensors that get a new `.grad`, its version, and where it lies; `cleared`: those that end without one;
    `versions`: by how much the version of a tensor goes up; `requires_grad`: tensors that require grad afterwards, or
    no longer. `results.views` are computed for `result`, which makes what is returned of (the tensors, these results).
    """

    world: World
    trace: Trace
    before: Before
    results: Results
    result: Callable[[Sequence[Tensor], Sequence[Any]], Any]
    grads: list[tuple[int, int, View]]
    cleared: list[int]
    versions: list[tuple[int, int]]
    requires_grad: list[tuple[int, bool]]
    backward: Backward | None  # where a result keeps its graph


def capture(function: Callable[..., Any], args: Any, kwargs: Any, fullgraph: bool,
            composite: Callable[..., Any]) -> tuple[Any, Trace, Captured | None]:
    """Run a step once as a trace: its result, the trace, and what was captured, unless no program can repeat it.

    Whatever comes of it, the step has been done. A joint graph is captured even if it is of no use for later calls:
    the program gives the result then, when the trace was undone.
    """
    world, trace = World(function, args, kwargs), Trace(fullgraph, composite)
    before, unchanged = Before(world), world.guards.compiled()
    if any(t.array.dtype is BFLOAT16 for t in before.tensors):
        trace.refuse(HALF)
        return function(*args, **kwargs), trace, None
    results, backward = Results(before.tensors, trace), None
    try:
        with tracing(trace, before.named, world.options):
            result = function(*args, **kwargs)
            make_result = results.maker(result)
            before.check_attached(trace, results.live)
            grads, cleared = gradients_of(before, trace, results.views)
            if results.live and (grads or cleared):
                trace.stop("a result keeps its graph, and a backward pass runs inside")
            if results.live and trace.broken is None:
                backward = backward_of([results.tensors[k] for k in results.live], before.tensors, trace)
        trace.refuse(world.refused)
        if not unchanged():
            trace.refuse(f"the step changes what it reads in Python: {world.guards.failing()} no more")
        trace.refuse(overlapping(trace))
        if trace.broken is None:
            result = None if backward is not None else make_result(before.tensors, results.tensors)
        if backward is not None:
            results.tensors.clear()
            gc.collect()  # who still has a traced tensor afterwards is no cycle of a graph
    finally:
        found = released()
    if trace.broken is not None:
        return result, trace, None
    if unexpected(found, before.tensors, result):
        trace.refuse(KEPT_OUTSIDE)
        if backward is None:
            return result, trace, None
    before.drop_unused_grads(trace)
    if backward is None or world.looks_at_grads or before.with_grad:
        world.guards.conditions |= world.grads
    return result, trace, Captured(world, trace, before, results, make_result, grads, cleared, before.raised(),
                                   before.flagged(), backward)


def overlapping(trace: Trace) -> str | None:
    """Why inputs make a program impossible: one is written, and another shows the same memory."""
    written = {v.memory for s in trace.statements for v in s.outs}
    spans = sorted([(*byte_bounds(m.array), m) for m in trace.inputs if m.array.size], key=lambda span: span[:2])
    for (_, end, m), (start, _, other) in itertools.pairwise(spans):
        if start < end and (m in written or other in written):
            return f"{m.name} and {other.name} share memory, and one of them is changed"
    return None


def gradients_of(before: Before, trace: Trace, views: Sequence[View]) -> tuple[list[tuple[int, int, View]], list[int]]:
    """The tensors whose `.grad` is new after a step, and those who have lost theirs; `views`: results."""
    grads, cleared = [], []
    for i, t in enumerate(before.tensors):
        new = t._grad
        if new is before.grads[i]:
            continue
        if new is None:
            cleared.append(i)
            continue
        if not isinstance(new.array, Traced):
            new.array = trace.outside(np.asarray(new.array))
        grads.append((i, 0 if new._version_counter is None else new._version_counter.value, new.array.view_of()))
        if grads[-1][2].memory.kind == "input":
            trace.stop("a gradient is a tensor that was there before")
    memories = [v.memory for v in (*views, *[v for _, _, v in grads])]
    if any(memories.count(v.memory) > 1 for _, _, v in grads):
        trace.stop("two results or gradients share memory")
    return grads, cleared


def unexpected(found: list[Tensor], tensors: list[Tensor], result: Any) -> list[Tensor]:
    """Of the tensors that had traced arrays after a step those that somebody keeps: no gradient, no result."""
    fine: list[Tensor] = []
    leaves_of(result, fine, [])
    known = {id(t) for t in [*tensors, *fine, *[t._grad for t in tensors if t._grad is not None]]}
    return [t for t in found if id(t) not in known]
