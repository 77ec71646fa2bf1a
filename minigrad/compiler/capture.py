"""From a call of a step to a `Variant`: a program, the conditions under which it holds, and what to do around it."""

from __future__ import annotations

import gc
import itertools
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from minigrad._base.dtype import BFLOAT16, Size
from minigrad._base.optional import optional
from minigrad.autograd.views import MANY
from minigrad.backends.stream import DEFAULT
from minigrad.compiler.convolution import as_product, whole
from minigrad.compiler.joint import Backward, Joint, backward_of, joint_of, partitioned
from minigrad.compiler.loop_source import WITH_LOOPS
from minigrad.compiler.outputs import Outputs, outputs_of
from minigrad.compiler.passes import LAST_OF_JOINT, PASSES
from minigrad.compiler.program import Asked, Memory, Program, View
from minigrad.compiler.source import Function, Lines, Source, view
from minigrad.compiler.tracer import HALF, Trace, Traced
from minigrad.compiler.tracing import released, tracing
from minigrad.compiler.world import PLAIN, World, attached_to, leaves_of, surveyed
from minigrad.core import LOCAL, Node, Tensor
from minigrad.core.tensor import counter_of, extras_of, plain

__all__ = ["Captured", "Effects", "capture", "spec_of"]


class Backend(NamedTuple):
    """What a backend does with a step: what becomes one statement as a whole, and the passes."""

    composite: Callable[..., Any]
    passes: dict[str, Callable[[Program], Program]]


BACKENDS = {"numpy": Backend(as_product, PASSES), "numba": Backend(whole, WITH_LOOPS)}
KEPT_OUTSIDE = "a tensor that the step makes is kept outside of it, or comes from where no survey looks"


def spec_of(tensor: Tensor) -> Any:
    """What a program relies on in an argument, beside its numbers."""
    array = tensor.array
    return (type(tensor), array.shape, array.strides, array.dtype, tensor._requires_grad, tensor._grad is None,
            tensor._grad_fn is None)


class Effects(NamedTuple):
    """What a step does beside writing memory; each tensor from outside has a number, those of arguments come last.

    `grads`: tensors that get a new `.grad`, with its place among what the program keeps, and its version; `cleared`:
    those that end without one; `versions`: by how much the version of a tensor, or of its `.grad`, goes up;
    `requires_grad`: tensors that require grad afterwards, or no longer; `results`: how many a program keeps; `result`:
    makes what is returned of (the tensors, these results as tensors).
    """

    grads: tuple[tuple[int, int, int], ...]
    cleared: tuple[int, ...]
    versions: tuple[tuple[int, bool, int], ...]
    requires_grad: tuple[tuple[int, bool], ...]
    results: int
    result: Callable[[Sequence[Tensor], Sequence[Any]], Any]


class Before:
    """What the tensors of a step are before it is traced; `undo` makes them so again, with the random state. The traced
    run of a joint graph is undone, and its program runs in its place: the results have its node."""

    def __init__(self, every: Sequence[Tensor]) -> None:
        self.every = list(every)
        self.grads = [t._grad for t in every]
        self.counters = [(i, on_grad, counter_of(x)) for i, t in enumerate(every)
                         for on_grad, x in ((False, t), (True, t._grad)) if x is not None]
        self.versions = [c.value for _, _, c in self.counters]
        self.attached = [attached_to(t) for t in every]
        recorded = LOCAL.grad_enabled and any(t._requires_grad for t in every)
        self.arrays = [(t.array, t.array.copy()) for t in (*every, *self.grads) if t is not None] if recorded else []
        self.random = DEFAULT.state_bytes()

    def check_attached(self, trace: Trace, live: Sequence[int]) -> None:
        """Stop the trace if the history of an input, its hooks or its attributes are no longer what they were."""
        for now, then in zip([attached_to(t) for t in self.every], self.attached, strict=True):
            if now[1:] != then[1:] or (live and now != then):
                trace.stop("hooks or attributes of an input change" if now[:2] == then[:2] else
                           "an input that gradients go through is changed in place")

    def undo(self, trace: Trace) -> None:
        written = {id(v.memory.array) for s in trace.statements for v in s.outs}
        for array, copy in self.arrays:
            if id(array) in written:
                array[...] = copy
        for (_, _, counter), version in zip(self.counters, self.versions, strict=True):
            counter.value = version
        DEFAULT.set_state_bytes(self.random)


class Captured(NamedTuple):
    """What a trace gave: a program with its conditions, or the reason why there is none; and the step's result.

    Of a joint graph the result is what its program gives when the trace was undone (`Before`), also where the program
    is of no use for later calls.
    """

    result: Any
    broken: tuple[str, Asked] | None
    world: World
    trace: Trace
    source: Source | None = None
    effects: Effects | None = None
    steps: tuple[tuple[str, Program], ...] = ()
    inputs: tuple[tuple[int, bool, Memory], ...] = ()  # number of a tensor, whether its `.grad` is meant, its memory
    given: tuple[tuple[int, bool, Memory], ...] = ()  # those of `inputs` that are others at each call
    outputs: Outputs | None = None
    joint: Joint | None = None  # where a result keeps its graph


def capture(function: Callable[..., Any], args: Any, kwargs: Any, fullgraph: bool,
            backend: str) -> tuple[Captured, Before]:
    """Run a step once as a trace, and make a program of it. Whatever comes of it, the step has been done."""
    world, given = surveyed(function, args, kwargs)
    trace, check = Trace(fullgraph, BACKENDS[backend].composite), world.guards.compiled()
    every = [*[t for _, t in world.tensors.values()], *[t for _, t in given]]
    before, results, backward = Before(every), Results(every, trace), None
    if any(t.array.dtype is BFLOAT16 for t in every):
        return Captured(function(*args, **kwargs), (HALF, Trace.nowhere), world, trace), before
    try:
        with tracing(trace, world, given):
            result = function(*args, **kwargs)
            inputs = [(i, on_grad, x.array.memory) for i, t in enumerate(every) for on_grad, x in (
                (False, t), (True, before.grads[i])) if x is not None and isinstance(x.array, Traced)]
            make_result, views = results.maker(result), [*results.views]
            before.check_attached(trace, results.live)
            grads, cleared = gradients_of(every, before.grads, trace, views)
            if results.live and (grads or cleared):
                trace.stop("a result keeps its graph, and a backward pass runs inside")
            if results.live and trace.broken is None:
                backward = backward_of([results.tensors[k] for k in results.live], every, trace)
        trace.broken = trace.broken or refusal(world, check) or overlapping(trace, inputs)
        if trace.broken is None:
            result = None if backward is not None else make_result(every, results.tensors)
        if backward is not None:
            results.tensors.clear()
            gc.collect()  # who still has a traced tensor afterwards is no cycle of a graph
    finally:
        found = released()
    if trace.broken is not None:
        return Captured(result, trace.broken, world, trace), before
    kept = (KEPT_OUTSIDE, Trace.nowhere) if unexpected(found, every, result) else None
    flags = [(i, t._requires_grad) for i, t in enumerate(every) if t._requires_grad is not before.attached[i][0]]
    effects = Effects(tuple(grads), tuple(cleared), deltas(before.counters, before.versions), tuple(flags),
                      len(results.views), make_result)
    captured = Captured(result, kept, world, trace, None, effects, (), tuple(inputs))
    if kept and backward is None:
        return captured, before
    program = Program(tuple(trace.statements), tuple(views))
    return programmed(captured, program, BACKENDS[backend].passes, backward, results.live), before


def programmed(captured: Captured, program: Program, passes: dict[str, Callable[[Program], Program]],
               backward: Backward | None, live: Sequence[int]) -> Captured:
    """What was captured, with the source of its program, or of its forward and backward programs."""
    world, trace, inputs, joint = captured.world, captured.trace, captured.inputs, None
    assert captured.effects is not None
    count = len(program.kept)
    if backward is not None:
        program = Program(program.statements, (*program.kept, *backward.grads), backward.boundary)
        old = {m for _, on_grad, m in inputs if on_grad}
        if not world.looks_at_grads and not any(v.memory in old for s in trace.statements for v in s.uses()):
            world.grads.conditions.clear()
    steps, parts = passed(program, passes, count)
    outputs = outputs_of(parts[0], count)
    new = {*captured.effects.cleared, *[i for i, _, _ in captured.effects.grads]}
    used = {v.memory for part in parts for s in part.statements for v in s.uses()}
    changing = [(i, on_grad, m) for i, on_grad, m in inputs if (
        m in used and (i in new or i >= len(world.tensors)) if on_grad else i >= len(world.tensors))]
    given = [View(m, m.array.shape, m.array.strides, 0, m.array.dtype) for _, _, m in changing]
    functions = [Function("step", parts[0].statements, [*given, *outputs.fresh])]
    if backward is not None:
        joint, outputs, functions = joint_of(parts, outputs, backward, live, inputs, given, trace.states)
    names = {i: m.name for i, on_grad, m in inputs if not on_grad}
    grads = [(i, parts[0].kept[place]) for i, place, _ in captured.effects.grads]
    for i, v in grads if backward is None else zip(backward.inputs, parts[1].kept, strict=True):
        v.memory.name = f"{names[i]}_grad"
    source = Source(steps[-1][1], functions, scalars_used(trace, steps[-1][1]))
    if source.loops:
        source.constants.update(functions_of(source))
    return captured._replace(source=source, steps=tuple(steps), given=tuple(changing), outputs=outputs, joint=joint)


def functions_of(source: Source) -> dict[str, Callable[..., None]]:
    """The loops of a program, compiled."""
    found: dict[str, Callable[..., None]] = optional("minigrad.compiler.machine_code", "fast").functions_of(
        dict(source.loops.values()))
    return found


def refusal(world: World, check: Callable[[], bool]) -> tuple[str, Asked] | None:
    """Why a step that was traced to its end is no program: what it found outside, or what it has changed there."""
    if world.refused is not None:
        return world.refused, Trace.nowhere
    if not check():
        return f"the step changes what it reads in Python: {world.guards.failing()} no more", Trace.nowhere
    return None


def passed(program: Program, passes: dict[str, Callable[[Program], Program]],
           count: int) -> tuple[list[tuple[str, Program]], list[Program]]:
    """The program as it was traced, and after each pass; at last its parts, which are two of a joint graph."""
    steps, parts = [("traced", program)], [program]
    for name, apply in passes.items():
        parts = [apply(part) for part in parts]
        if name == LAST_OF_JOINT and program.boundary is not None:
            parts = list(partitioned(parts[0], count))
        steps.append((name, Program(tuple([s for part in parts for s in part.statements]),
                                    tuple([v for part in parts for v in part.kept]))))
    return steps, parts


class Results:
    """What a step returns: the views of `tensors`, which the program computes; those with the indices `live` keep
    their graph. `maker` gives a function that makes the same of (the tensors from outside, `tensors`)."""

    def __init__(self, every: Sequence[Tensor], trace: Trace) -> None:
        self.trace, self.views = trace, list[View]()
        self.tensors, self.live = list[Tensor](), list[int]()
        self.every = every
        self.known: dict[int, Any] = {}
        self.shown: dict[Memory, tuple[Tensor, Any]] = {}  # by memory: the first tensor that shows it, and its maker
        self.shared: list[Memory] = []  # what each result shows

    def maker(self, result: Any) -> Any:
        """What makes the same result of another run."""
        for i, t in enumerate(self.every):
            self.known[id(t._grad)] = lambda tensors, results, i=i: tensors[i]._grad
        for i, t in enumerate(self.every):
            self.known[id(t)] = found = lambda tensors, results, i=i: tensors[i]
            if isinstance(t.array, Traced):
                self.shown.setdefault(t.array.memory, (t, found))
        leaves_of(result, leaves := list[Tensor](), [])
        self.shared = [t.array.memory for t in {id(t): t for t in leaves}.values() if isinstance(t.array, Traced)]
        make = self.look(result)
        self.shown.clear()  # no result is held
        return make

    def look(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            if id(value) not in self.known:
                self.known[id(value)] = self.tensor(value)
            return self.known[id(value)]
        kind = type(value)
        if kind in (list, tuple, Size):
            parts = [self.look(part) for part in value]
            return lambda tensors, results: kind([make(tensors, results) for make in parts])
        if kind in (dict, OrderedDict):
            found = [(k, self.look(v)) for k, v in value.items()]
            return lambda tensors, results: kind([(k, make(tensors, results)) for k, make in found])
        if not isinstance(value, PLAIN) or kind.__name__ == "TracedFloat":
            self.trace.stop(f"a result is a {kind.__name__}")
        return lambda tensors, results: value

    def tensor(self, value: Tensor) -> Any:
        """A result that is computed, or a view of an input or of another result."""
        if vars(value) or value.retains_grad:
            self.trace.stop("a result has attributes, or keeps its gradient")
        if value.array.dtype is BFLOAT16:  # the trace was stopped where it was made
            return lambda tensors, results: value
        if not isinstance(value.array, Traced):
            value.array = self.trace.outside(np.asarray(value.array))
        memory, base = value.array.memory, value._base
        if base is not None and extras_of(value).view.creation == MANY and memory.kind != "input":
            return self.computed(value)  # as in PyTorch the parts that `chunk` gives are no views then
        if memory not in self.shown and base is not None and self.shared.count(memory) > 1:
            self.known[id(base)] = self.tensor(base)  # several results are its views: it becomes a result, too
        return self.view(value, *self.shown[memory]) if memory in self.shown else self.computed(value)

    def computed(self, value: Tensor) -> Any:
        """A result that the program computes."""
        array, index, live = value.array, len(self.views), value._requires_grad and not used_up(value)
        if live and value._current_grad_fn is None:
            self.trace.stop("a result is a leaf that the function makes")
        self.live += [index] if live else []
        self.tensors.append(value if live else plain(array.value.copy()))
        self.views.append(array.view_of())
        def found(tensors: Sequence[Tensor], results: Sequence[Tensor]) -> Tensor:
            return results[index]

        if self.views[index].whole:
            self.shown[array.memory] = value, found
        return found

    def view(self, value: Tensor, other: Tensor, make: Any) -> Any:
        """A result that shows the memory of another tensor, outside of the graph: a view, or as `detach` gives it."""
        where, start, tracked = value.array.view_of(), other.array.view_of(), value._is_view()
        if where.dtype != start.dtype or (value._requires_grad and not tracked and not used_up(value)) or (
                tracked and value._base is not other and value._base is not other._base):
            self.trace.stop("a result shares memory with an input, or another result, and is no view of it")
        offset, itemsize = where.offset - start.offset, where.dtype.itemsize
        steps = [s // itemsize for s in where.strides]

        def viewed(tensors: Sequence[Tensor], results: Sequence[Tensor]) -> Any:
            shown = make(tensors, results) if tracked else make(tensors, results).detach()
            if tracked:
                shown = shown.as_strided(where.shape, steps, shown.storage_offset() + offset // itemsize)
            else:
                shown.array = view(shown.array, where.shape, where.strides, offset, where.dtype)
            return shown
        return viewed


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
        if views[-1].memory.kind == "input":
            trace.stop("a gradient is a tensor that was there before")
    memories = [v.memory for v in views]
    if any(memories.count(memories[k]) > 1 for _, k, _ in grads):
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
