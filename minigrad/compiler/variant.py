"""A program that is ready to run: when it holds, what memory it works on, and what a run leaves behind.

Results, gradients, and what a backward program needs of its forward program, lie in new memory at each call: they are
the caller's own, and several calls may wait for their backward passes. Only temporaries lie in the buffer of the
memory plan, which all calls share.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.contexts import quiet
from minigrad._base.optional import optional
from minigrad.autograd.function import Function as AutogradFunction
from minigrad.compiler.program.passes import LAST_OF_JOINT, partition
from minigrad.compiler.program.source import Function, Source, rounded, view
from minigrad.compiler.program.statements import Memory, Program, View
from minigrad.compiler.tracing.capture import CapturedCall
from minigrad.compiler.tracing.trace import Slot
from minigrad.core import LOCAL, Tensor, counter_of, materialized, plain


class FreshMemory(NamedTuple):
    """`views`: what is returned, each with the place of its memory in `fresh`; `fresh`: all memory that outlives a
    call, each as a view of all of it; `allocate` makes arrays for these."""

    views: tuple[tuple[int, View], ...]
    fresh: tuple[View, ...]
    allocate: Callable[[], list[Any]]

    def tensors(self, arrays: Sequence[Any]) -> list[Tensor]:
        """The views as tensors; those of the same memory share a version counter."""
        found, first = [], dict[int, Tensor]()
        for k, each in self.views:
            tensor = plain(arrays[k] if each is self.fresh[k] else view(
                arrays[k], each.shape, each.strides, each.offset, each.dtype))
            if first.setdefault(k, tensor) is not tensor:
                tensor._version_counter = counter_of(first[k])
            found.append(tensor)
        return found


def fresh_memory_of(program: Program, count: int, saved: Collection[Memory]) -> FreshMemory:
    """What a program keeps; the first `count` views are returned, and the memories that are `saved` for backward."""
    bases = {v.memory: View(v.memory, (v.memory.nbytes,), (1,), 0, np.dtype(np.uint8)) for v in program.kept}
    uses = [*program.kept, *[v for s in program.statements for v in s.uses()]]
    bases |= {v.memory: v for v in reversed(uses) if v.memory in bases and v.whole}  # else its bytes
    places = {memory: k for k, memory in enumerate(bases)}
    views = [*program.kept[:count], *[v for v in bases.values() if v.memory in saved]]
    return FreshMemory(tuple([(places[v.memory], v) for v in views]), tuple(bases.values()), allocator(bases.values()))


def allocator(views: Iterable[View]) -> Callable[[], list[Any]]:
    """What makes new arrays that lie as these views do, each of which shows all of its memory."""
    found = [(v.shape, v.dtype, None if v.contiguous else v.strides) for v in views]
    return lambda: [np.empty(shape, dtype) if strides is None else np.ndarray(
        shape, dtype, np.empty(math.prod(shape), dtype), 0, strides) for shape, dtype, strides in found]


Passes = dict[str, Callable[[Program], Program]]


class CompiledFunction(AutogradFunction):
    """The node of a compiled call: its backward runs the backward program."""

    @staticmethod
    def forward(ctx: Any, variant: Any, results: Sequence[Tensor], saved: Sequence[Tensor], scalars: Sequence[Any],
                *inputs: Tensor) -> tuple[Tensor, ...]:
        """Save what the backward program reads."""
        ctx.variant, ctx.program, ctx.scalars = variant, variant.functions[1], scalars
        ctx.states = dict(variant.trace.states)
        ctx.save_for_backward(*saved)
        ctx.mark_non_differentiable(*[t for k, t in enumerate(results) if k not in variant.backward.live])
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        variant, saved = ctx.variant, ctx.saved_tensors
        outs = variant.backward.allocate()
        with variant.lock:  # one program at a time may use the memory of temporaries
            variant.trace.states.update(ctx.states)
            ctx.program(*[materialized(saved[k]) for k in variant.backward.passed],
                        *[np.asarray(grads[k].array, order="C") for k in variant.backward.live], *outs, *ctx.scalars)
        found = tuple([plain(array) for array in outs])
        if LOCAL.grad_enabled:  # the pass is recorded: its error comes when somebody differentiates it
            inputs = [edge if isinstance(edge, Tensor) else edge.result(array, output_nr)
                      for edge, output_nr, array in zip(ctx.next, ctx.output_nrs(), outs, strict=True)]
            found = CompiledFunctionBackward.apply(found, *inputs)
        return None, None, None, None, *found


class CompiledFunctionBackward(AutogradFunction):
    """What the gradients come from in a recorded pass: it has no derivative."""

    @staticmethod
    def forward(ctx: Any, found: tuple[Tensor, ...], *inputs: Tensor) -> tuple[Tensor, ...]:
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> None:
        raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")


class BackwardProgram(NamedTuple):
    """The part of a joint graph that runs in a backward pass; `inputs` get gradients, in memory that `allocate` makes.

    Of what is saved for it, the inputs in the slots `saved` come first, then what forward has computed; it is called
    with those of the indices `passed`, and with the gradients of the results of the indices `live`.
    """

    inputs: tuple[Slot, ...]
    saved: tuple[Slot, ...]
    passed: tuple[int, ...]
    live: Sequence[int]
    allocate: Callable[[], list[Any]]


class Variant:
    """One program of a compiled function; two, forward and backward, if a result keeps its graph.

    `given`: the slots of inputs that are others at each call, `staying`: those of the rest, both by memory. `pattern`
    says which tensor each argument is: its slot, if it is one from outside, else where among the arguments it comes
    first. `steps`: the program as it was traced, and after each pass.
    """

    def __init__(self, captured: CapturedCall, key: Any, tensors: Sequence[Tensor], passes: Passes, lock: Any) -> None:
        survey, self.trace, self.effects = captured.survey, captured.trace, captured.effects
        self.guards, self.reached = survey.guards, survey.seen  # the key has the ids of arguments that are no tensors
        self.key, self.lock, self.result = key, lock, captured.result
        self.outside, self.results = captured.outside, len(captured.results.views)
        self.slots = {id(t): slot for slot, t in zip(captured.slots, self.outside)}
        self.pattern = self.pattern_of(tensors)
        self.firsts = [i for i, found in enumerate(self.pattern) if found == i]
        self.replaced = [*self.effects.cleared, *[new.slot for new in self.effects.grads]]
        self.source = self.write(captured, passes)
        self.changed = {v.memory for s in self.source.program.statements for v in s.outs}
        self.look_at_grads(captured)
        self.unchanged = self.guards.compiled()
        self.scalars = [self.trace.scalars[name] for name in self.source.scalars]
        conditions = " and ".join(self.trace.guards) or "True"
        space = {"abs": abs, "rounded": rounded, "__builtins__": {}}
        self.holds: Callable[..., bool] = eval(f"lambda {', '.join(self.source.scalars)}: {conditions}", space)
        self.bind([memory.array for memory in self.staying])

    # the program
    def write(self, captured: CapturedCall, passes: Passes) -> Source:
        joint, grads, inputs = captured.backward, self.effects.grads, self.trace.inputs
        kept = (*captured.results.views, *[new.view for new in grads], *(joint.grads if joint is not None else ()))
        traced = Program(tuple(self.trace.statements), kept, self.trace.boundary)
        self.steps, parts = run_passes(traced, passes, self.results)
        program = self.steps[-1][1]
        used = {v.memory for s in program.statements for v in s.uses()}
        self.given = {m: slot for m, slot in inputs.items() if self.is_given(slot) and (
            m in used or slot.kind == "argument")}
        self.staying = {m: slot for m, slot in inputs.items() if m in used and m not in self.given}
        owners = joint.inputs if joint is not None else [new.slot for new in grads]
        for slot, v in zip(reversed(owners), reversed(parts[-1].kept)):  # gradients are the last of what is kept
            v.memory.name = f"{slot.name}_grad"
        formulas = " ".join([*self.trace.guards, *program.formulas()])
        scalars = [name for name in self.trace.scalars if re.search(rf"\b{name}\b", formulas)]
        source = Source(program, self.functions_of(parts, captured), scalars)
        if source.loops:
            machine_code = optional("minigrad.compiler.loops.machine_code", "fast")
            source.constants.update(machine_code.functions_of(dict(source.loops.values())))
        return source

    def is_given(self, slot: Slot) -> bool:
        """Whether an input is another at each call: an argument, its gradient, or a gradient that the step replaces."""
        return (slot.owner or slot).kind == "argument" or slot.owner in self.replaced

    def look_at_grads(self, captured: CapturedCall) -> None:
        """Find the gradients that the program is given, and those that it reads at all, which a call need not hold
        otherwise; whether there are any is guarded where it matters."""
        self.given_grads = [(slot, m.array) for m, slot in self.given.items() if slot.kind == "grad"]
        read = {slot for m, slot in self.trace.inputs.items() if m in self.given or m in self.staying or (
            m.value is not None and m.value.text in self.source.scalars)}
        self.old_grads = [slot.owner if slot in read else None for slot in captured.slots if slot.kind == "grad"]
        if self.backward is None or captured.survey.looks_at_grads or any(self.old_grads):
            self.guards.conditions |= captured.survey.grads

    def functions_of(self, parts: Sequence[Program], captured: CapturedCall) -> list[Function]:
        given = {m: View(m, m.array.shape, m.array.strides, 0, m.array.dtype) for m in self.given}
        forward, *rest = parts
        read = {v.memory for part in rest for s in part.statements for v in s.reads()}
        self.outputs = fresh_memory_of(forward, self.results + len(self.effects.grads), read)
        self.backward: BackwardProgram | None = None
        parameters = [*given.values(), *self.outputs.fresh]
        if captured.backward is None:
            return [Function("step", forward.statements, parameters)]
        inputs = {m: slot for m, slot in self.trace.inputs.items() if m in read}
        saved = [v for v in self.outputs.fresh if v.memory in read]
        passed = [k for k, m in enumerate([*inputs, *[v.memory for v in saved]]) if m not in self.staying]
        self.backward = BackwardProgram(captured.backward.inputs, tuple(inputs.values()), tuple(passed),
                                        captured.results.live, allocator(rest[0].kept))
        return [Function("forward", forward.statements, parameters),
                Function("backward", rest[0].statements, [*[given[m] for m in inputs if m in given], *saved,
                                                          *captured.backward.tangents, *rest[0].kept])]

    def bind(self, arrays: list[Any]) -> None:
        """Put the functions on these arrays, of the inputs that stay."""
        functions = self.source.bind(dict(zip(self.staying, arrays, strict=True)))
        self.arrays, self.functions = arrays, [*map(quiet, functions)]  # run once: they write to what they read
        self.owners = {id(owner_of(a)) for m, a in zip(self.staying, arrays, strict=True) if m in self.changed}

    # when it holds
    def pattern_of(self, tensors: Sequence[Tensor]) -> list[Slot | int]:
        first: dict[int, int] = {}
        return [self.slots.get(id(t)) or first.setdefault(id(t), i) for i, t in enumerate(tensors)]

    def matches(self, key: Any, tensors: Sequence[Tensor]) -> tuple[list[Any], list[float]] | None:
        """The tensors of this call by their places, and the scalars that it reads of them, if the program holds."""
        if key != self.key or not self.unchanged() or self.pattern_of(tensors) != self.pattern:
            return None
        arguments = [tensors[i] for i in self.firsts]
        every: list[Any] = [*self.outside, *arguments]
        every += [slot and every[slot.place]._grad for slot in self.old_grads]  # guards have seen that they are there
        if self.overlap(arguments) or any(lies_otherwise(every[slot.place].array, then)
                                          for slot, then in self.given_grads):
            return None
        arrays = [every[slot.place].array for slot in self.staying.values()]
        if not all(map(is_, arrays, self.arrays)):
            if any(map(lies_otherwise, arrays, self.arrays)):
                return None
            self.bind(arrays)
        scalars = self.scalars_of(every)
        return (every, scalars) if self.holds(*scalars) else None

    def scalars_of(self, every: Sequence[Tensor]) -> list[float]:
        return [read(every) for read in self.scalars]

    def overlap(self, arguments: Sequence[Tensor]) -> bool:
        """Whether an argument shares memory with another input, and one of them is changed."""
        owners = [id(owner_of(t.array)) for t in arguments]
        if not self.changed.isdisjoint(self.given):
            owners += [id(owner_of(t.array)) for t in self.outside]
            return len(set(owners)) < len(owners)
        return not self.owners.isdisjoint(owners)

    # a run
    def run(self, every: list[Any], scalars: list[float]) -> Any:
        given = [every[slot.place].array for slot in self.given.values()]
        for slot in self.replaced:  # first, so that the memory can be used again
            every[slot.place]._grad = None
        outputs, done = self.outputs.allocate(), None
        try:
            self.functions[0](*given, *outputs, *scalars)
        except BaseException as error:
            done = self.statements_run(error)
            raise
        finally:
            found = self.outputs.tensors(outputs)
            self.leave(found, every, done)
        for slot, flag in self.effects.requires_grad:
            every[slot.place].requires_grad_(flag)
        results = found[:self.results]
        if self.backward is not None:
            saved = [*[every[slot.place] for slot in self.backward.saved], *found[self.results:]]
            inputs = [every[slot.place] for slot in self.backward.inputs]
            results = CompiledFunction.apply(self, results, saved, scalars, *inputs)
        return self.result(every, results)

    def statements_run(self, error: BaseException) -> int:
        """How many statements had run when an error ended a run."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is self.source.codes[0]:
                return max(0, trace.tb_lineno - self.source.first_line)
            trace = trace.tb_next
        return 0

    def leave(self, found: Sequence[Tensor], every: Sequence[Any], done: int | None) -> None:
        """Give tensors their gradients, and count versions up; after an error only for what was `done`: others get the
        gradient that the program was given, which an eager step would not have replaced yet."""
        old = {slot.owner: every[slot.place] for slot, _ in self.given_grads} if done is not None else {}
        for k, new in enumerate(self.effects.grads, self.results):
            if done is not None and not self.complete(self.source.program.kept[k].memory, done):
                every[new.slot.place]._grad = old.get(new.slot)
                continue
            every[new.slot.place]._grad = grad = found[k]
            if new.version:
                counter_of(grad).value = new.version
        memories = {slot: m for m, slot in self.trace.inputs.items()} if done is not None else {}
        for slot, change in self.effects.versions:
            if done is None or self.complete(memories[slot], done):
                counter_of(every[slot.place]).value += change

    def complete(self, memory: Memory, done: int) -> bool:
        """Whether all statements that write a memory are among the first `done`."""
        return all(v.memory is not memory for s in self.source.program.statements[done:] for v in s.outs)

    # to be read
    def about(self) -> str:
        """Of a result that keeps its graph: how the joint graph was divided."""
        if self.backward is None:
            return ""
        forward, backward = [len(function.statements) for function in self.source.functions]
        saved = len(self.backward.saved) + len(self.outputs.views) - self.results
        return (f"the result keeps its graph: {forward} statements run in forward, {backward} in backward, "
                f"{saved} values are saved for it")

    def conditions(self) -> list[str]:
        return [*self.guards.conditions.values(), *self.trace.guards]


def run_passes(program: Program, passes: Passes, results: int) -> tuple[list[tuple[str, Program]], list[Program]]:
    """The program as it was traced, and after each pass; at last its parts, which are two of a joint graph."""
    steps, parts = [("traced", program)], [program]
    for name, apply in passes.items():
        parts = [apply(part) for part in parts]
        if name == LAST_OF_JOINT and program.boundary is not None:
            parts = list(partition(parts[0], results))
        steps.append((name, Program(tuple([s for part in parts for s in part.statements]),
                                    tuple([v for part in parts for v in part.kept]))))
    return steps, parts


def lies_otherwise(array: Any, then: Any) -> bool:
    """Whether an array lies otherwise than the one with which a program was made."""
    return (array.shape, array.strides, array.dtype) != (then.shape, then.strides, then.dtype)


def owner_of(array: Any) -> Any:
    return array if array.base is None else array.base
