"""Defines the observer that the core calls while a recorder is on: one method for each kind of event.

It mirrors nothing in PyTorch. Read it to see what happens in an op and in a backward pass: each method notes one event
of docs/trace.md. While no recorder is on, nothing here runs. A *target* is a node, or a leaf that stands for its
AccumulateGrad; a *gradient* is an array, a tensor (in a recorded pass) or None.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

from numpy import generic

from minigrad._base.contexts import leave
from minigrad._base.tensor_data import READERS
from minigrad.autograd.grad_mode import no_grad
from minigrad.backends.registry import is_array
from minigrad.core import LOCAL, Node, is_tensor
from minigrad.core.grad_mode import switch
from minigrad.recording.backward_formulas import formula_of
from minigrad.recording.builder import Builder
from minigrad.recording.encoder import Encoder
from minigrad.recording.forward_expressions import Reader, metas_of
from minigrad.recording.seen import CONSTANTS, Seen, memory
from minigrad.recording.tracker import NOWHERE, OBSERVERS, RARER, Log

if TYPE_CHECKING:
    from types import FrameType

    from minigrad.trace.data import Trace

__all__ = ["CONSTANTS", "WATCHING", "Observer", "TimedObserver"]

FUNCTION = "Function.apply"
SLICES = "CopySlices"
# The files that switch modes for users.
GRAD_MODE = {function.__code__.co_filename for function in (switch, no_grad.__enter__, leave)}
WATCHING: list[Observer] = []  # the listening observers of all threads: a module checks this before it is called


class Observer:
    """Notes what the core reports."""

    def __init__(self, trace: type[Trace]) -> None:
        self.log = Log()
        self.builder = Builder()
        self.seen = seen = Seen(self.log)
        # what the core says of a tensor before an op reports it
        self.created, self.constant, self.aliased = seen.created, seen.constant, seen.aliased
        seen.bindings.files = self.builder.files
        self.trace = trace(library(), Encoder(self.builder, self.log))
        self.passes: list[tuple[int | None, int | None]] = []  # the user's line of each pass that is running
        self.depth = -1  # of the innermost pass
        self.reported: BaseException | None = None
        self.moved_by: str | None = None  # in forward mode: the class of the op that runs, if it may leave no node

    def start(self, base: FrameType) -> Trace:
        """Begin to listen to this thread; return the trace, which grows from now on. `base`: the frame of the program
        around the recording, where a search for names ends.

        Raises RuntimeError if an observer already listens to this thread.
        """
        if LOCAL.observer is not None:
            raise RuntimeError("a recorder is on already in this thread: record() cannot be used inside record()")
        self.seen.base = base
        LOCAL.observer = self
        LOCAL.update()
        WATCHING.append(self)
        READERS.append(self.read)
        RARER.start(self)
        return self.trace

    def detach(self) -> None:
        """Stop listening, whether or not `start` was completed; a second call does nothing."""
        self.seen.base = None
        if LOCAL.observer is self:
            LOCAL.observer = None
        LOCAL.update()
        if self in WATCHING:
            WATCHING.remove(self)
        if self.read in READERS:
            READERS.remove(self.read)
        RARER.stop(self)

    def stop(self, error: BaseException | None, names: Mapping[str, Any]) -> None:
        """Stop listening; name the tensors that these variables hold, and note an error that ended the block."""
        self.detach()
        if error is not None and error is not self.reported:
            self.log.event("error", NOWHERE, -1, type=type(error).__name__, message=str(error))
        self.reported = None
        self.seen.name_tensors(names)
        self.log.extend([("formula", name, cls) for cls, name in self.seen.names.items()])
        self.seen.forget()

    def look(self) -> tuple[int | None, int | None]:
        """Return the line of the user's code that called the core."""
        return self.builder.where(2) or NOWHERE

    def copies(self, gradients: Iterable[Any]) -> tuple[Any, ...]:
        """Copies of gradients."""
        return tuple([self.seen.gradient(g) for g in gradients])

    # ops
    def forward(self, op: str, node: Node | None, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """An op ran; `node` is None if it was not recorded."""
        seen = self.seen
        outer = seen.at
        caller = sys._getframe(1)
        frame = self.builder.user_frame(caller)
        at = seen.at = NOWHERE if frame is None else (self.builder.files[frame.f_code.co_filename], frame.f_lineno)
        tensors, tensor = seen.tensors, seen.tensor
        operands = tuple([w.number if (w := tensors.get(id(t))) is not None and w.array_id == id(t.array) else tensor(t)
                       for t in inputs])
        if frame is not None:
            seen.look_at_names(frame)
        reader, metas = Reader(inputs, seen), metas_of(outputs)
        call = reader.call(caller, metas)
        if node is None:
            self.unrecorded(op, at, operands, outputs, call, reader.reads)
        else:
            number = seen.numbers.get
            targets, output_nrs = seen.edges(node) if seen.stood else (tuple([
                n if (n := number(id(target))) is not None or target is None else seen.node(target)
                for target in node.next]), node.output_nrs())
            index = number(id(node))  # already known if a pack hook has read the result
            if index is None:
                index = seen.new_node(node)
            results = tuple([tensor(t) for t in outputs])
            self.log.append(("record", at, self.depth + 1, op, index, seen.names.get(type(node)) or seen.name(node),
                             node.sequence_nr, targets,
                             output_nrs, operands, results,
                             seen.saved(node, outputs) if node.saved else None, formula_of(node, metas), call,
                             reader.reads))
            if seen.moving:
                seen.origins.update({result: (index, nr) for nr, result in enumerate(results)})
            if node.op == SLICES:  # the view's node was renewed with that of its base
                self.log.append(("renewed", operands[0], seen.node(inputs[0]._current_grad_fn)))
        if seen.unnamed:
            seen.name_leaves()
        seen.at = outer

    def unrecorded(self, op: str, at: Any, operands: tuple[int, ...], outputs: Sequence[Any], call: Any,
                   reads: Sequence[int]) -> None:
        """An op left no node; in forward mode it has a box all the same, if a tangent went through it."""
        seen = self.seen
        if seen.moving.intersection(operands):
            self.log.append(("record", at, self.depth + 1, op, *seen.passing(self.moved_by or op, operands, outputs),
                             None, None, call, reads))
        else:
            self.log.event("forward", at, self.depth + 1, op=op, node=None, inputs=operands,
                           outputs=tuple([seen.output(t) for t in outputs]), expressions=call, reads=reads)

    def read(self, tensor: Any) -> None:
        """The program has read a tensor's values, in this thread: they may decide what no op of the trace shows."""
        if LOCAL.observer is self:
            self.log.append(("read", self.seen.tensor(tensor)))

    def to_be_written(self, tensor: Any) -> None:
        """An in-place op is about to change a tensor's values: this is the last chance to see the old ones."""
        if not self.seen.is_unwritten(tensor):
            self.seen.tensor(tensor)

    def written(self, tensor: Any) -> None:
        """An in-place op, which will be reported, has changed a tensor's values: copies of them are out of date."""
        self.seen.wrote(memory(tensor.array)[0])

    def version(self, tensor: Any) -> None:
        """An in-place op raised the version of a tensor; one of inference mode has none."""
        at, number = self.look(), self.seen.changed(tensor)
        if not tensor.is_inference():
            others = self.seen.others(memory(tensor.array)[0], (id(tensor),))
            self.log.event("version", at, self.depth + 1, tensor=number, version=tensor._version,
                           value=self.seen.copy(tensor.array), **({"others": others} if others else {}))
        if id(tensor) in self.seen.grads:
            alive = [ref() for ref in self.seen.tensors.values()]
            for leaf in [t for t in alive if t is not None and t._grad is tensor]:
                self.set_grad(leaf)

    def arrived(self, tensors: Sequence[Any]) -> dict[str, list[tuple[int, Any]]]:
        """Other ranks may have written to these tensors, which no version shows: return what is in their memory now."""
        return self.seen.lying_in({self.seen.storage_of(tensor) for tensor in tensors})

    def set_grad(self, tensor: Any) -> None:
        """The program has set, changed or removed a tensor's `.grad`."""
        at, number, grad = self.look(), self.seen.tensor(tensor), tensor._grad
        if grad is not None:
            self.seen.track_grad(grad, number)
        self.log.event("grad", at, self.depth + 1, tensor=number,
                       grad=None if grad is None else self.seen.copy(grad.array))

    def optimizer_state(self, optimizer: Any) -> None:
        """An optimizer begins a step, has made what it remembers of a parameter, or has ended a step."""
        self.seen.hold_state(optimizer)

    def view(self, tensor: Any) -> None:
        """A tensor was made a view of another one after its op was reported; its base may require grad."""
        number = self.seen.tensor_number(tensor)
        if number is not None:
            facts = {"base": self.seen.tensor(tensor._base), "requires_grad": tensor._requires_grad}
            self.log.append(("shares", number, facts))

    # forward mode
    def tangent(self, tensor: Any, tangent: Any) -> None:
        """A tensor has got a tangent, whose op was reported before it."""
        number = self.seen.tensor_number(tensor)
        if number is not None and id(tensor) not in self.seen.stand_ins:
            self.seen.moving.add(number)
            self.log.append(("shares", number, {"tangent": self.seen.tangent(tangent)}))

    def stands_in(self, stand_in: Any, dual: Any, recorded: bool) -> None:
        """An op is about to run on a tensor in place of a dual; `recorded`: its node stays after its tangent is known,
        so it has an edge only for what requires grad."""
        self.seen.stand_in(stand_in, dual, recorded)

    def dropped(self, result: Any) -> None:
        """The node of a result has given its tangent, and is dropped, since nothing requires grad."""
        number = self.seen.tensor_number(result)
        if number is not None:
            self.log.append(("shares", number, {"requires_grad": False, "is_leaf": True, "node": None}))

    def at_rest(self) -> None:
        """The last level of forward mode is over: no tensor has a tangent any more."""
        self.seen.moving.clear()
        self.seen.origins.clear()

    def mode(self, name: str, on: bool) -> None:
        """A grad mode was switched; the library's own switches are left out, except around a user's `forward`."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename in GRAD_MODE:
            frame = frame.f_back
        file = self.builder.file(frame.f_code.co_filename)
        at = (file, frame.f_lineno) if file >= 0 else self.look()
        if file >= 0 or frame.f_code.co_qualname == FUNCTION:
            self.log.event("mode", at, self.depth + 1, mode=name, on=on)

    # a backward pass
    def backward_start(self, roots: Sequence[tuple[Any, int, Any]], needs: Mapping[Any, int], create_graph: bool,
                       retain_graph: bool, inputs: Sequence[Any] | None) -> None:
        """A pass begins: its roots and their gradients, and how many gradients each target will receive."""
        seen = self.seen
        seen.at = self.look()
        self.passes.append(seen.at)
        self.depth += 1
        starts = []
        for target, output_nr, gradient in roots:
            array = getattr(gradient, "array", gradient)
            node = seen.node(target)
            starts.append((node, output_nr, seen.copy(array)))
            self.log.wait(node, output_nr, memory(array))
        seen.look_at_names(sys._getframe(1))
        counts = [[seen.node(target), count] for target, count in needs.items()]
        seen.name_leaves()
        wanted = None if inputs is None else [seen.tensor(t) for t in inputs if is_tensor(t)]  # others are edges
        self.log.event("backward_start", seen.at, self.depth, roots=starts, needs=counts,
                       create_graph=bool(create_graph), retain_graph=bool(retain_graph), inputs=wanted)

    def run(self, target: Any, gradients: Sequence[Any]) -> None:
        """The engine took a target from its queue, with one gradient per output."""
        seen = self.seen
        number = seen.numbers.get(id(target))
        self.log.append(("run", seen.at, self.depth, seen.node(target) if number is None else number,
                         self.copies(gradients)))

    def hook(self, target: Any, kind: str, fn: Callable[..., Any] | None, gradients: Sequence[Any],
             tensor: Any = None) -> None:
        """A hook ran and left these gradients; for `retain_grad`, also note what is in the tensor's `.grad` now."""
        seen, number = self.seen, None if tensor is None else self.seen.tensor(tensor)
        extra = {}
        if kind == "retain_grad" and tensor._grad is not None:
            seen.track_grad(tensor._grad, number)
            extra["grad"] = seen.copy(tensor._grad.array)
        name = "" if fn is None else getattr(fn, "__name__", type(fn).__name__)
        self.log.event("hook", seen.at, self.depth, node=seen.node(target), hook=kind, name=name,
                       gradient=self.copies(gradients), tensor=number, **extra)

    def release(self, node: Node) -> None:
        """A node freed what it had saved."""
        self.log.event("release", self.seen.at, self.depth, node=self.seen.numbers[id(node)])

    def flow(self, node: Node | None, index: int, target: Any, output_nr: int, gradient: Any, total: Any,
             last: bool) -> None:
        """A gradient goes along an edge; `total` is the sum there for that output so far. The `last` gradient that the
        target waits for makes it ready. A root's first gradients come from no node."""
        seen, numbers = self.seen, self.seen.numbers
        to = numbers.get(id(target))
        if to is None:
            to = seen.node(target)
        if node is not None:
            sent = gradient if isinstance(gradient, generic) else seen.gradient(gradient)
            piled = sent if total is gradient else seen.gradient(total)
            held = None if total is None else memory(total if is_array(total) else total.array)
            self.log.append(("flow", seen.at, self.depth, numbers[id(node)], index, to, output_nr, sent, piled, held,
                             last))
        elif last:
            self.log.event("ready", seen.at, self.depth, node=to)

    def accumulate(self, leaf: Any, gradient: Any) -> None:
        """A gradient was added to a leaf's `.grad`."""
        self.add(leaf, gradient, self.seen.at, self.depth)

    def add(self, leaf: Any, gradient: Any, at: Any, depth: int) -> None:
        seen, grad, tensor = self.seen, leaf._grad, self.seen.tensor(leaf)
        seen.track_grad(grad, tensor)
        self.log.event("accumulate", at, depth, node=seen.node(leaf), tensor=tensor, gradient=seen.gradient(gradient),
                       grad=seen.gradient(grad))

    def capture(self, tensor: Any, gradient: Any) -> None:
        """`autograd.grad` kept the gradient of one of its inputs."""
        self.log.event("capture", self.seen.at, self.depth, tensor=self.seen.tensor(tensor),
                       gradient=self.seen.gradient(gradient))

    def backward_end(self) -> None:
        """The pass is over."""
        self.log.event("backward_end", self.seen.at, self.depth)
        self.leave()

    def leave(self) -> None:
        """Go back to the pass around this one, or to none."""
        if self.passes:  # else an interrupt came while the pass began or ended
            self.passes.pop()
            self.depth -= 1
        self.seen.at = self.passes[-1] if self.passes else NOWHERE

    # a checkpointed call: its first run, and those in backward passes
    def checkpoint_begin(self, call: Any, function: Callable[..., Any], reentrant: bool,
                         kept: Node | None = None) -> None:
        """A function begins whose saved tensors are not kept; `kept` holds its arguments, if the graph does not."""
        number = self.seen.call(call)
        name = getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
        if kept is not None:
            self.seen.keep(kept, self.seen.arguments(kept))
        self.log.event("checkpoint_begin", self.look(), self.depth + 1, call=number, name=name, reentrant=reentrant)

    def checkpoint_end(self, call: Any) -> None:
        """The first run of a checkpointed call is over."""
        self.log.event("checkpoint_end", self.look(), self.depth + 1, call=self.seen.call(call))

    def recompute_begin(self, call: Any) -> None:
        """A checkpointed call begins to run again; its events are one level deeper."""
        self.depth += 1
        self.log.event("recompute_begin", self.seen.at, self.depth, call=self.seen.call(call))

    def holder_filled(self, call: Any, index: int, tensor: Any) -> None:
        """A tensor that was not kept exists again, until a node has used it."""
        self.seen.keep(tensor, [memory(tensor.array)])
        self.log.event("holder_filled", self.seen.at, self.depth + 1, call=self.seen.call(call), index=index,
                       value=self.seen.copy(tensor.array))

    def early_stop(self, call: Any) -> None:
        """Everything needed has been computed: the rest of the function is skipped."""
        self.log.event("early_stop", self.seen.at, self.depth + 1, call=self.seen.call(call))

    def recompute_end(self, call: Any) -> None:
        """The second run is over: it finished, stopped early or failed."""
        self.log.event("recompute_end", self.seen.at, self.depth, call=self.seen.call(call))
        self.depth -= 1

    # calls by hand, and errors
    def call(self, target: Any, gradients: Sequence[Any], results: Sequence[Any]) -> None:
        """The program called a target by hand."""
        at, depth, number = self.look(), self.depth + 1, self.seen.node(target)
        self.log.event("call", at, depth, node=number, gradient=self.copies(gradients), result=self.copies(results))
        if not isinstance(target, Node) and target._grad is not None:
            self.add(target, gradients[0], at, depth)

    def error(self, error: BaseException) -> None:
        """A pass ended in an exception."""
        self.log.event("error", self.seen.at, self.depth, type=type(error).__name__, message=str(error))
        self.reported = error
        self.leave()


def library() -> str:
    """Return the name and version of the recording library."""
    return f"minigrad {getattr(sys.modules['minigrad'], '__version__', '')}".strip()


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
