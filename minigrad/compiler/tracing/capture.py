"""A call of a step that is traced: what a program is made of, and what the step does beside writing memory.

What a step returns are values that its program computes, tensors from outside, and views of both. Of a result that
keeps its graph the backward pass is traced too. As in PyTorch's AOTAutograd both passes are traced as one list of
statements, the joint graph, which is divided after the passes: the forward program gives the results and what is saved
for backward, the backward program the gradients of the inputs. To the caller both are one node,
`CompiledFunctionBackward`.
"""

import gc
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from minigrad._base.dtype import BFLOAT16, Size
from minigrad.backends.random import DEFAULT
from minigrad.compiler.program.source import view
from minigrad.compiler.program.statements import Memory, View
from minigrad.compiler.tracing.guards import PLAIN, Survey, attached_to, leaves_of
from minigrad.compiler.tracing.instrumentation import random_state_kept, release_traced, tracing
from minigrad.compiler.tracing.trace import HALF, GraphBreak, Slot, Trace, TracedArray
from minigrad.core import LOCAL, Node, Tensor, counter_of, edge_target, engine, extras_of, plain
from minigrad.history.views import MANY


class ReturnValue:
    """What a step returns: the views of `tensors`, which the program computes; those with the indices `live` keep
    their graph. `maker` gives a function that makes the same of (the tensors from outside, `tensors`)."""

    def __init__(self, inputs: Mapping[Slot, Tensor], trace: Trace) -> None:
        self.trace, self.views = trace, list[View]()
        self.tensors, self.live = list[Tensor](), list[int]()
        self.inputs = inputs
        self.known: dict[int, Any] = {}
        self.shown: dict[Memory, tuple[Tensor, Any]] = {}  # by memory: the first tensor that shows it, and its maker
        self.shared: list[Memory] = []  # what each result shows

    def maker(self, result: Any) -> Any:
        """What makes the same result of another run."""
        for slot, t in self.inputs.items():
            self.known[id(t._grad)] = lambda tensors, results, i=slot.place: tensors[i]._grad
        for slot, t in self.inputs.items():
            self.known[id(t)] = found = lambda tensors, results, i=slot.place: tensors[i]
            if isinstance(t.array, TracedArray):
                self.shown.setdefault(t.array.memory, (t, found))
        leaves_of(result, leaves := list[Tensor](), [])
        self.shared = [t.array.memory for t in {id(t): t for t in leaves}.values() if isinstance(t.array, TracedArray)]
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
        memory, base = self.trace.adopt(value).memory, value._base
        if base is not None and extras_of(value).view.creation == MANY and memory.kind != "input":
            return self.computed(value)  # as in PyTorch the parts that `chunk` gives are no views then
        if memory not in self.shown and base is not None and self.shared.count(memory) > 1:
            self.known[id(base)] = self.tensor(base)  # several results are its views: it becomes a result, too
        return self.view(value, *self.shown[memory]) if memory in self.shown else self.computed(value)

    def computed(self, value: Tensor) -> Any:
        array, index, live = value.array, len(self.views), value._requires_grad and not graph_used_up(value)
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
        if where.dtype != start.dtype or (value._requires_grad and not tracked and not graph_used_up(value)) or (
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


def graph_used_up(tensor: Tensor) -> bool:
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


class Backward(NamedTuple):
    """A traced backward pass: the slots of the tensors that get gradients, and views of the gradients that it starts
    from, and of those that it computes."""

    inputs: tuple[Slot, ...]
    tangents: tuple[View, ...]
    grads: tuple[View, ...]


def trace_backward(outputs: Sequence[Tensor], slots: Sequence[Slot], tensors: Sequence[Tensor],
                   trace: Trace) -> Backward | None:
    """Trace the backward pass of results that keep their graph, up to the tensors from outside; None if it breaks."""
    if any(s.kind == "draw" and s.args[0] is not DEFAULT for s in trace.statements):
        trace.stop("numbers are drawn from a generator of its own, and the result keeps its graph")
    if trace.broken is not None:
        return None
    edges = {(edge_target(t), t._output_nr): slot for slot, t in zip(slots, tensors) if edge_target(t) is not None}
    inputs = [tensors[slot.place] for slot in edges.values()]
    tangents = [TracedArray(array, Memory(array, "input", f"grad_output{k}" if len(outputs) > 1 else "grad_output"))
                for k, array in enumerate([np.ones(t.array.shape, t.array.dtype) for t in outputs])]
    trace.boundary = len(trace.statements)
    try:
        with random_state_kept(trace), graph_cut_at(inputs):
            found = engine.execute(outputs, [plain(t) for t in tangents], True, False, inputs, False)
    except GraphBreak:
        raise
    except Exception as error:  # noqa: BLE001 (whatever it is, eager calls do not run backward here)
        trace.stop(f"its backward pass cannot be traced: {error}")
        return None
    # each in memory of its own, row by row; passes leave out what is no more than a copy
    grads = {slot: trace.adopt(t).copy() for slot, t in zip(edges.values(), found, strict=True) if t is not None}
    if not grads:
        trace.stop("no gradient of a result that requires grad reaches an input")
        return None
    return Backward(tuple(grads), tuple([t.view_of() for t in tangents]), tuple([g.view_of() for g in grads.values()]))


@contextmanager
def graph_cut_at(inputs: Sequence[Tensor]) -> Iterator[None]:
    """A block in which backward passes end at these tensors, and call none of their hooks: they are the caller's."""
    nodes = list({t.grad_fn: None for t in inputs if t.grad_fn is not None})
    extras = [each._extras for each in (*nodes, *[t for t in inputs if t.grad_fn is None]) if each._extras is not None]
    edges, hooks = [node.next for node in nodes], [each.hooks for each in extras]
    try:
        for node in nodes:
            node.next = ()
        for each in extras:
            each.hooks = None
        yield
    finally:
        for node, edge in zip(nodes, edges, strict=True):
            node.next = edge
        for each, hook in zip(extras, hooks, strict=True):
            each.hooks = hook


class NewGrad(NamedTuple):
    """A `.grad` that a step makes for the tensor in a slot: its version, and where it lies."""

    slot: Slot
    version: int
    view: View


class Effects(NamedTuple):
    """What a step does beside writing memory: the gradients that are new, the tensors that end without one, by how much
    versions go up, and the tensors that require grad afterwards, or no longer."""

    grads: list[NewGrad]
    cleared: list[Slot]
    versions: list[tuple[Slot, int]]
    requires_grad: list[tuple[Slot, bool]]


KEPT_OUTSIDE = "a tensor that the step makes is kept outside of it, or comes from where no survey looks"


class CapturedCall:
    """A call of a step that is traced: its tensors, what they were before, and what the step does to them.

    `every` tensor has a slot. First come those from `outside`, then those among the arguments; behind these `tensors`
    come the gradients that are there already. `result` makes what is returned of (every tensor, the results that a
    program computes).
    """

    def __init__(self, survey: Survey, trace: Trace) -> None:
        self.survey, self.trace, self.effects = survey, trace, Effects([], [], [], [])
        self.tensors = [t for _, t in survey.tensors.values()]
        self.outside = self.tensors[:survey.outside]
        self.slots = [Slot("outside" if i < survey.outside else "argument", i, name)
                      for i, (name, _) in enumerate(survey.tensors.values())]
        with_grad = [(slot, t._grad) for slot, t in zip(self.slots, self.tensors) if t._grad is not None]
        self.slots += [Slot("grad", i, f"{owner.name}.grad", owner)
                       for i, (owner, _) in enumerate(with_grad, len(self.tensors))]
        self.every = [*self.tensors, *[grad for _, grad in with_grad]]
        self.old_grads = [t._grad for t in self.tensors]
        self.counters = [(slot, counter_of(t), counter_of(t).value) for slot, t in zip(self.slots, self.every)]
        self.attached = [attached_to(t) for t in self.tensors]
        recorded = LOCAL.grad_enabled and any(t._requires_grad for t in self.tensors)
        self.arrays = [(t.array, t.array.copy()) for t in self.every] if recorded else []
        self.random = DEFAULT.state_bytes()
        self.results = ReturnValue(dict(zip(self.slots, self.tensors)), trace)
        self.backward: Backward | None = None  # where a result keeps its graph
        self.whole = False  # whether a program can do what the step did

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run the step, and return its result. Whatever comes of it, the step has been done.

        A joint graph is whole even if it is of no use for later calls: the program gives the result then, when the
        trace was undone.
        """
        trace, unchanged = self.trace, self.survey.guards.compiled()
        if any(t.array.dtype is BFLOAT16 for t in self.tensors):
            trace.refuse(HALF)
            return function(*args, **kwargs)
        try:
            with tracing(trace, self.slots, self.every, self.survey.options):
                result = function(*args, **kwargs)
                self.look_at(result)
            trace.refuse(self.survey.refused)
            if not unchanged():
                trace.refuse(f"the step changes what it reads in Python: {self.survey.guards.failing()} no more")
            trace.refuse(overlap_of_inputs(trace))
            if trace.broken is None:
                result = None if self.backward is not None else self.result(self.tensors, self.results.tensors)
            if self.backward is not None:
                self.results.tensors.clear()
                gc.collect()  # who still has a traced tensor afterwards is no cycle of a graph
        finally:
            found = release_traced()
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
        if results.live and (self.effects.grads or self.effects.cleared):
            trace.stop("a result keeps its graph, and a backward pass runs inside")
        if results.live and trace.broken is None:
            self.backward = trace_backward([results.tensors[k] for k in results.live], self.slots, self.tensors, trace)
        for slot, t, (requires_grad, *_) in zip(self.slots, self.tensors, self.attached):
            if t._requires_grad is not requires_grad:
                self.effects.requires_grad.append((slot, t._requires_grad))
        first = {counter: (slot, counter.value - before) for slot, counter, before in reversed(self.counters)}
        self.effects.versions.extend([each for each in first.values() if each[1]])  # one that several share counts once

    def check_attached(self) -> None:
        """Stop the trace if the history of an input, its hooks or its attributes are no longer what they were."""
        for now, then in zip([attached_to(t) for t in self.tensors], self.attached, strict=True):
            if now[1:] != then[1:] or (self.results.live and now != then):
                self.trace.stop("hooks or attributes of an input change" if now[:2] == then[:2] else
                                "an input that gradients go through is changed in place")

    def look_at_grads(self) -> None:
        """Find the tensors whose `.grad` is new after the step, and those who have lost theirs."""
        effects = self.effects
        for slot, t, old in zip(self.slots, self.tensors, self.old_grads):
            new = t._grad
            if new is None and old is not None:
                effects.cleared.append(slot)
            if new is None or new is old:
                continue
            version = 0 if new._version_counter is None else new._version_counter.value
            effects.grads.append(NewGrad(slot, version, self.trace.adopt(new).view_of()))
            if new.array.memory.kind == "input":
                self.trace.stop("a gradient is a tensor that was there before")
        memories = [v.memory for v in (*self.results.views, *[grad.view for grad in effects.grads])]
        if any(memories.count(grad.view.memory) > 1 for grad in effects.grads):
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


def overlap_of_inputs(trace: Trace) -> str | None:
    """Why inputs make a program impossible: one is written, and another shows the same memory."""
    written = {v.memory for s in trace.statements for v in s.outs}
    spans = sorted([(*byte_bounds(m.array), m) for m in trace.inputs if m.array.size], key=lambda span: span[:2])
    for (_, end, m), (start, _, other) in itertools.pairwise(spans):
        if start < end and (m in written or other in written):
            return f"{m.name} and {other.name} share memory, and one of them is changed"
    return None
