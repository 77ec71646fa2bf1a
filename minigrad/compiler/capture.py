"""From a call of a step to a `Variant`: a program, the conditions under which it holds, and what to do around it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from minigrad._base.optional import optional
from minigrad.compiler.loop_source import WITH_LOOPS
from minigrad.compiler.passes import PASSES, Program
from minigrad.compiler.pooling import whole
from minigrad.compiler.program import Asked, Memory, View
from minigrad.compiler.source import Lines, Source
from minigrad.compiler.tracer import Trace, Traced
from minigrad.compiler.tracing import released, tracing
from minigrad.compiler.world import World
from minigrad.core import Node, Tensor
from minigrad.core.tensor import counter_of, materialized, plain

__all__ = ["Captured", "Effects", "Leaves", "capture", "leaves_of", "spec_of"]


class Backend(NamedTuple):
    """What a backend does with a step: what becomes one statement as a whole, and the passes."""

    composite: Callable[..., Any]
    passes: dict[str, Callable[[Program], Program]]


BACKENDS = {"numpy": Backend(lambda *args: None, PASSES), "numba": Backend(whole, WITH_LOOPS)}
KEPT_OUTSIDE = "a tensor that the step makes is kept outside of it, or comes from where no survey looks"
PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Leaves(NamedTuple):
    """The tensors among arguments, in order, and what the other arguments are."""

    tensors: list[Tensor]
    structure: Any


def leaves_of(value: Any, tensors: list[Tensor], others: list[Any]) -> Any:
    """Collect the tensors of an argument in one list and its other objects in another; gives what has to be equal."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return Tensor
    if isinstance(value, (list, tuple)):
        return type(value), *[leaves_of(part, tensors, others) for part in value]
    if isinstance(value, dict):
        return dict, *[(k, leaves_of(v, tensors, others)) for k, v in value.items()]
    if isinstance(value, PLAIN):
        return type(value), value
    others.append(value)
    return id(value)


def spec_of(tensor: Tensor) -> Any:
    """What a program relies on in an argument, beside its numbers."""
    array = tensor.array
    return (type(tensor), array.shape, array.strides, array.dtype, tensor._requires_grad, tensor._grad is None,
            tensor._grad_fn is None)


class Effects(NamedTuple):
    """What a step does beside writing memory; each tensor from outside has a number, those of arguments come last.

    `grads`: tensors that get a new `.grad`, with its place among what the program keeps, and its version; `cleared`:
    those that end without one; `versions`: by how much the version of a tensor, or of its `.grad`, goes up; `result`:
    makes what is returned of (the tensors, the arrays that are kept).
    """

    grads: tuple[tuple[int, int, int], ...]
    cleared: tuple[int, ...]
    versions: tuple[tuple[int, bool, int], ...]
    result: Callable[[Sequence[Tensor], Sequence[Any]], Any]


class Captured(NamedTuple):
    """What a trace gave: a program with its conditions, or the reason why there is none; and the step's result."""

    result: Any
    broken: tuple[str, Asked] | None
    world: World
    trace: Trace
    source: Source | None = None
    effects: Effects | None = None
    steps: tuple[tuple[str, Program], ...] = ()
    inputs: tuple[tuple[int, bool, Memory], ...] = ()  # number of a tensor, whether its `.grad` is meant, its memory


def capture(function: Callable[..., Any], args: Any, kwargs: Any, fullgraph: bool, backend: str) -> Captured:
    """Run a step once as a trace, and make a program of it. Whatever comes of it, the step has been done."""
    tensors: list[Tensor] = []
    others: list[Any] = []
    leaves_of((args, kwargs), tensors, others)
    world, trace = World(), Trace(fullgraph, BACKENDS[backend].composite)
    world.visit(function, getattr(function, "__name__", "step"))
    for other in others:
        world.visit(other, "argument")
    names = argument_names(function, len(tensors))
    given = list({id(t): (name, t) for name, t in zip(names, tensors) if id(t) not in world.tensors}.values())
    for _, t in given:
        materialized(t)
        counter_of(t)
    check = world.guards.compiled()
    every = [*[t for _, t in world.tensors.values()], *[t for _, t in given]]
    old_grads = [t._grad for t in every]
    counters = [(i, on_grad, counter_of(x)) for i, t in enumerate(every)
                for on_grad, x in ((False, t), (True, t._grad)) if x is not None]
    versions = [c.value for _, _, c in counters]
    try:
        with tracing(trace, world, given):
            result = function(*args, **kwargs)
            inputs = [(i, on_grad, x.array.memory) for i, t in enumerate(every) for on_grad, x in (
                (False, t), (True, old_grads[i])) if x is not None and isinstance(x.array, Traced)]
            views, make_result, result = results_of(result, every, trace)
            grads, cleared = gradients_of(every, old_grads, trace, views)
    finally:
        found = released()
    held = unexpected(found, every, result)
    trace.broken = trace.broken or refusal(world, held, check) or overlapping(trace, inputs)
    if trace.broken is not None:
        return Captured(result, trace.broken, world, trace)
    effects = Effects(tuple(grads), tuple(cleared), deltas(counters, versions), make_result)
    parameters = [m for i, on_grad, m in inputs if i >= len(world.tensors) and not on_grad]
    steps = passed(Program(tuple(trace.statements), tuple(views)), BACKENDS[backend].passes)
    source = Source(steps[-1][1], parameters, scalars_used(trace, steps[-1][1]))
    if source.loops:
        source.constants.update(functions_of(source))
    return Captured(result, None, world, trace, source, effects, tuple(steps), tuple(inputs))


def functions_of(source: Source) -> dict[str, Callable[..., None]]:
    """The loops of a program, compiled."""
    found: dict[str, Callable[..., None]] = optional("minigrad.compiler.machine_code", "fast").functions_of(
        dict(source.loops.values()))
    return found


def refusal(world: World, held: list[Tensor], check: Callable[[], bool]) -> tuple[str, Asked] | None:
    """Why a step that was traced to its end is no program: what it found outside, or what it has changed there."""
    if world.refused is not None:
        return world.refused, Trace.nowhere
    if held:
        return KEPT_OUTSIDE, Trace.nowhere
    if not check():
        return f"the step changes what it reads in Python: {world.guards.failing()} no more", Trace.nowhere
    return None


def passed(program: Program, passes: dict[str, Callable[[Program], Program]]) -> list[tuple[str, Program]]:
    """The program as it was traced, and after each pass."""
    steps = [("traced", program)]
    for name, apply in passes.items():
        program = apply(program)
        steps.append((name, program))
    return steps


def argument_names(function: Any, count: int) -> list[str]:
    """Names for the tensors among the arguments, those of the function's signature if there is one for each."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    names = list(code.co_varnames[:code.co_argcount]) if code is not None else []
    names = [n for n in names if n != "self"]
    return names if len(names) == count else [f"arg{i}" for i in range(count)]


def results_of(result: Any, every: list[Tensor], trace: Trace) -> tuple[list[View], Any, Any]:
    """The views of what a step returns, a function that makes the same of a run, and the result without its graph."""
    views: list[View] = []
    places = {id(t): i for i, t in enumerate(every)}
    grads = {id(t._grad): i for i, t in enumerate(every) if t._grad is not None}
    memories = {id(t.array.memory) for t in every if isinstance(t.array, Traced)}

    def look(value: Any) -> tuple[Any, Any]:
        if isinstance(value, Tensor):
            if id(value) in places:
                number = places[id(value)]
                return (lambda tensors, arrays: tensors[number]), value
            if id(value) in grads:
                owner = grads[id(value)]
                return (lambda tensors, arrays: tensors[owner]._grad), value
            if not isinstance(value.array, Traced):
                value.array = trace.outside(np.asarray(value.array))
            if id(value.array.memory) in memories:
                trace.stop("a result shares memory with an input")
            if value._requires_grad and not used_up(value):
                trace.stop("a result has a graph that no backward pass has used up")
            place = len(views)
            views.append(value.array.view_of())
            real = value if trace.broken is not None else plain(value.array.value.copy())
            return (lambda tensors, arrays: plain(arrays[place].copy())), real
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            parts = [look(part) for part in value]
            kind = type(value)
            return ((lambda tensors, arrays: kind([make(tensors, arrays) for make, _ in parts])),
                    kind([real for _, real in parts]))
        if isinstance(value, dict):
            found = {k: look(v) for k, v in value.items()}
            return ((lambda tensors, arrays: {k: make(tensors, arrays) for k, (make, _) in found.items()}),
                    {k: real for k, (_, real) in found.items()})
        if not isinstance(value, PLAIN) or type(value).__name__ == "TracedFloat":
            trace.stop(f"a result is a {type(value).__name__}")
        return (lambda tensors, arrays: value), value

    make, real = look(result)
    return views, make, real


def used_up(tensor: Tensor) -> bool:
    """Whether a backward pass has been through the graph of a tensor."""
    stack, seen = [tensor._current_grad_fn], set()
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and id(node) not in seen:
            seen.add(id(node))
            if node.saved is None:
                return True
            stack.extend(node.next)
    return False


def gradients_of(every: list[Tensor], old: list[Tensor | None], trace: Trace,
                 views: list[View]) -> tuple[list[tuple[int, int, int]], list[int]]:
    """The tensors whose `.grad` is new after a step, and those who have lost theirs; the views join what is kept."""
    grads, cleared = [], []
    for i, t in enumerate(every):
        new = t._grad
        if new is old[i]:
            continue
        if new is None:
            cleared.append(i)
            continue
        if not isinstance(new.array, Traced):
            new.array = trace.outside(np.asarray(new.array))
        grads.append((i, len(views), 0 if new._version_counter is None else new._version_counter.value))
        views.append(new.array.view_of())
    if len({v.memory for v in views}) < len(views):
        trace.stop("two results or gradients share memory")
    return grads, cleared


def unexpected(found: list[Tensor], every: list[Tensor], result: Any) -> list[Tensor]:
    """Of the tensors that had traced arrays after a step those that somebody keeps: no gradient, no result."""
    fine: list[Tensor] = []
    leaves_of(result, fine, [])
    known = {id(t) for t in [*every, *fine, *[t._grad for t in every if t._grad is not None]]}
    return [t for t in found if id(t) not in known]


def overlapping(trace: Trace, inputs: Any) -> tuple[str, Asked] | None:
    """Why inputs make a program impossible: one is written, and another shows the same memory."""
    written = {v.memory for s in trace.statements for v in s.outs}
    memories = list({id(m): m for _, _, m in inputs if m.array.size}.values())
    spans = sorted([(*byte_bounds(m.array), m) for m in memories], key=lambda span: span[:2])
    for (_, end, m), (start, _, other) in itertools.pairwise(spans):
        if start < end and (m in written or other in written):
            return f"{m.name} and {other.name} share memory, and one of them is changed", Trace.nowhere
    return None


def deltas(counters: Any, versions: list[int]) -> tuple[tuple[int, bool, int], ...]:
    """By how much each version went up; a counter that several share counts once."""
    found = {id(c): (i, on_grad, c.value - before) for (i, on_grad, c), before in zip(counters, versions)}
    return tuple([each for each in found.values() if each[2]])


def scalars_used(trace: Trace, program: Program) -> list[str]:
    """The names of the scalars that statements or conditions use."""
    texts = " ".join([*trace.guards, *Lines(program, [], []).formulas])
    words = set(re.findall(r"[A-Za-z_]\w*", texts))
    return [name for name in trace.scalars if name in words]


