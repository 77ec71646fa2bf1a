"""A program that is ready to run: when it holds, what memory it works on, and what a run leaves behind.

Results, gradients, and what a backward program needs of its forward program, lie in new memory at each call: they are
the caller's own, and several calls may wait for their backward passes. Only temporaries lie in the buffer of the
memory plan, which all calls share.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.optional import optional
from minigrad.autograd.function import Function as AutogradFunction
from minigrad.compiler.program.passes import LAST_OF_JOINT, partition
from minigrad.compiler.program.source import Function, Source, rounded, view
from minigrad.compiler.program.statements import Memory, Program, View
from minigrad.compiler.tracing.capture import CapturedCall
from minigrad.compiler.tracing.guards import Survey
from minigrad.core import LOCAL, Tensor
from minigrad.core.tensor import counter_of, materialized, plain

__all__ = ["Variant"]

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
        ctx.mark_non_differentiable(*[t for k, t in enumerate(results) if k not in variant.live])
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        """Run the backward program."""
        variant, saved = ctx.variant, ctx.saved_tensors
        outs = variant.new_grads()
        with variant.lock:  # one program at a time may use the memory of temporaries
            variant.trace.states.update(ctx.states)
            ctx.program(*[materialized(saved[k]) for k in variant.passed],
                        *[np.asarray(grads[k].array, order="C") for k in variant.live], *outs, *ctx.scalars)
        found = tuple([plain(array) for array in outs])
        if LOCAL.grad_enabled:  # the pass is recorded: what is there to say of it comes when somebody differentiates it
            inputs = [edge if isinstance(edge, Tensor) else edge.result(array, output_nr)
                      for edge, output_nr, array in zip(ctx.next, ctx.output_nrs(), outs, strict=True)]
            found = CompiledFunctionBackward.apply(found, *inputs)
        return None, None, None, None, *found


class CompiledFunctionBackward(AutogradFunction):
    """What the gradients come from in a recorded pass: it has no derivative."""

    @staticmethod
    def forward(ctx: Any, found: tuple[Tensor, ...], *inputs: Tensor) -> tuple[Tensor, ...]:
        """The gradients that were computed."""
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> None:
        """Raises PyTorch's error."""
        raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")


class Variant:
    """One program of a compiled function; two, forward and backward, if a result keeps its graph.

    Numbers are those of the tensors of a call: from outside, from the arguments, and the gradients of `with_grad`.
    `given`: the inputs that are others at each call, `staying`: the rest, both by memory. `steps`: the program as it
    was traced, and after each pass.
    """

    def __init__(self, captured: CapturedCall, key: Any, tensors: Sequence[Tensor], passes: Passes, lock: Any) -> None:
        world, self.trace, self.guards = captured.world, captured.trace, captured.world.guards
        self.held = world.seen  # the key has the ids of arguments that are no tensors
        self.key, self.lock, self.backward = key, lock, captured.backward
        self.outside, self.with_grad, self.count = captured.outside, captured.with_grad, len(captured.tensors)
        self.grads, self.cleared, self.versions = captured.grads, captured.cleared, captured.versions
        self.requires_grad, self.result = captured.requires_grad, captured.result
        self.results, self.live = len(captured.results.views), captured.results.live
        self.numbers = {id(t): i for i, t in enumerate(self.outside)}
        self.pattern = self.pattern_of(tensors)
        self.firsts = [i for i, number in enumerate(self.pattern) if number == -1 - i]
        self.source = self.write(captured.results.views, passes)
        self.changed = {v.memory for s in self.source.program.statements for v in s.outs}
        self.changes_given = not self.changed.isdisjoint(self.given)
        self.look_at_grads(world)
        self.unchanged = self.guards.compiled()
        self.scalars = [self.trace.scalars[name] for name in self.source.scalars]
        conditions = " and ".join(self.trace.guards) or "True"
        space = {"abs": abs, "rounded": rounded, "__builtins__": {}}
        self.holds: Callable[..., bool] = eval(f"lambda {', '.join(self.source.scalars)}: {conditions}", space)
        self.bind([memory.array for memory in self.staying])

    # the program
    def write(self, views: Sequence[View], passes: Passes) -> Source:
        """The source of the program; `views`: results."""
        backward = self.backward.grads if self.backward is not None else ()
        kept = (*views, *[v for _, _, v in self.grads], *backward)
        traced = Program(tuple(self.trace.statements), kept, self.trace.boundary)
        self.steps, parts = run_passes(traced, passes, self.results)
        program, inputs = self.steps[-1][1], self.trace.inputs
        used = {v.memory for s in program.statements for v in s.uses()}
        self.given = {m: k for m, k in inputs.items() if self.is_given(k) and (m in used or k < self.count)}
        self.staying = {m: k for m, k in inputs.items() if m in used and m not in self.given}
        names = [memory.name for memory in inputs]
        new_grads = self.backward.inputs if self.backward is not None else [i for i, _, _ in self.grads]
        for i, v in zip(reversed(new_grads), reversed(parts[-1].kept)):  # gradients are the last of what is kept
            v.memory.name = f"{names[i]}_grad"
        formulas = " ".join([*self.trace.guards, *program.formulas()])
        scalars = [name for name in self.trace.scalars if re.search(rf"\b{name}\b", formulas)]
        source = Source(program, self.functions_of(parts), scalars)
        if source.loops:
            machine_code = optional("minigrad.compiler.loops.machine_code", "fast")
            source.constants.update(machine_code.functions_of(dict(source.loops.values())))
        return source

    def is_given(self, number: int) -> bool:
        """Whether an input is another at each call: an argument, its gradient, or a gradient that the step replaces."""
        owner = number if number < self.count else self.with_grad[number - self.count]
        replaced = owner in self.cleared or any(i == owner for i, _, _ in self.grads)
        return owner >= len(self.outside) or (number >= self.count and replaced)

    def look_at_grads(self, world: Survey) -> None:
        """Find the gradients that the program is given, and those that it reads at all, which a call need not hold
        otherwise; whether there are any is guarded where it matters."""
        self.given_grads = [(k, m.array) for m, k in self.given.items() if k >= self.count]
        read = {k for m, k in self.trace.inputs.items() if m in self.given or m in self.staying or (
            m.value is not None and m.value.text in self.source.scalars)}
        self.old_grads = [i if k in read else None for k, i in enumerate(self.with_grad, self.count)]
        if self.backward is None or world.looks_at_grads or any(i is not None for i in self.old_grads):
            self.guards.conditions |= world.grads

    def functions_of(self, parts: Sequence[Program]) -> list[Function]:
        """The program as functions, and what they are called with."""
        given = {m: View(m, m.array.shape, m.array.strides, 0, m.array.dtype) for m in self.given}
        forward, *rest = parts
        read = {v.memory for part in rest for s in part.statements for v in s.reads()}
        self.outputs = fresh_memory_of(forward, self.results + len(self.grads), read)
        if self.backward is None:
            return [Function("step", forward.statements, [*given.values(), *self.outputs.fresh])]
        inputs = [m for m in self.trace.inputs if m in read]
        saved = [v for v in self.outputs.fresh if v.memory in read]
        self.saved = [self.trace.inputs[m] for m in inputs]  # as they are; then those that forward has computed
        self.passed = [k for k, m in enumerate([*inputs, *[v.memory for v in saved]]) if m not in self.staying]
        self.new_grads = allocator(rest[0].kept)
        return [Function("forward", forward.statements, [*given.values(), *self.outputs.fresh]),
                Function("backward", rest[0].statements, [*[given[m] for m in inputs if m in given], *saved,
                                                          *self.backward.tangents, *rest[0].kept])]

    def bind(self, arrays: list[Any]) -> None:
        """Put the functions on these arrays, of the inputs that stay."""
        self.arrays, self.functions = arrays, self.source.bind(dict(zip(self.staying, arrays, strict=True)))
        self.owners = {id(owner_of(a)) for m, a in zip(self.staying, arrays, strict=True) if m in self.changed}

    # when it holds
    def pattern_of(self, tensors: Sequence[Tensor]) -> list[int]:
        """Which tensor each argument is: the number of one from outside, or by the place where it comes first."""
        first: dict[int, int] = {}
        return [self.numbers.get(id(t), first.setdefault(id(t), -1 - i)) for i, t in enumerate(tensors)]

    def matches(self, key: Any, tensors: Sequence[Tensor]) -> tuple[list[Any], list[float]] | None:
        """The tensors of this call by their numbers, and the scalars that it reads of them, if the program holds."""
        if key != self.key or not self.unchanged() or self.pattern_of(tensors) != self.pattern:
            return None
        every: list[Any] = [*self.outside, *[tensors[i] for i in self.firsts]]
        every += [None if i is None else every[i]._grad for i in self.old_grads]  # guards have seen that they are there
        if self.overlap(every) or any(lies_otherwise(every[k].array, then) for k, then in self.given_grads):
            return None
        arrays = [every[k].array for k in self.staying.values()]
        if not all(map(is_, arrays, self.arrays)):
            if any(map(lies_otherwise, arrays, self.arrays)):
                return None
            self.bind(arrays)
        scalars = self.scalars_of(every)
        return (every, scalars) if self.holds(*scalars) else None

    def scalars_of(self, every: Sequence[Tensor]) -> list[float]:
        return [read(every) for read in self.scalars]

    def overlap(self, every: Sequence[Tensor]) -> bool:
        """Whether an argument shares memory with another input, and one of them is changed."""
        arguments = [id(owner_of(t.array)) for t in every[len(self.outside):self.count]]
        if self.changes_given:
            owners = [*arguments, *[id(owner_of(t.array)) for t in self.outside]]
            return len(set(owners)) < len(owners)
        return not self.owners.isdisjoint(arguments)

    # a run
    def run(self, every: list[Any], scalars: list[float]) -> Any:
        """Do what the step does, and return what it returns."""
        given = [every[k].array for k in self.given.values()]
        for number in self.cleared:
            every[number]._grad = None
        for number, _, _ in self.grads:  # first, so that the memory can be used again
            every[number]._grad = None
        outputs = self.outputs.allocate()
        try:
            self.functions[0](*given, *outputs, *scalars)
        except BaseException as error:
            self.leave(self.outputs.tensors(outputs), every, self.statements_run(error))
            raise
        found = self.outputs.tensors(outputs)
        self.leave(found, every, None)
        for number, flag in self.requires_grad:
            every[number].requires_grad_(flag)
        results = found[:self.results]
        if self.backward is not None:
            saved = [*[every[k] for k in self.saved], *found[self.results:]]
            inputs = [every[i] for i in self.backward.inputs]
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
        old = {self.with_grad[k - self.count]: every[k] for k, _ in self.given_grads} if done is not None else {}
        for k, (number, version, _) in enumerate(self.grads, self.results):
            if done is not None and not self.complete(self.source.program.kept[k].memory, done):
                every[number]._grad = old.get(number)
                continue
            every[number]._grad = grad = found[k]
            if version:
                counter_of(grad).value = version
        memories = {k: m for m, k in self.trace.inputs.items()} if done is not None else {}
        for number, change in self.versions:
            if done is None or self.complete(memories[number], done):
                counter_of(every[number]).value += change

    def complete(self, memory: Memory, done: int) -> bool:
        """Whether all statements that write a memory are among the first `done`."""
        return all(v.memory is not memory for s in self.source.program.statements[done:] for v in s.outs)

    # to be read
    def about(self) -> str:
        """Of a result that keeps its graph: how the joint graph was divided."""
        if self.backward is None:
            return ""
        forward, backward = [len(function.statements) for function in self.source.functions]
        saved = len(self.saved) + len(self.outputs.views) - self.results
        return (f"the result keeps its graph: {forward} statements run in forward, {backward} in backward, "
                f"{saved} values are saved for it")

    def conditions(self) -> list[str]:
        """The conditions under which it holds, in words."""
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
    """The array that owns the memory of this one."""
    return array if array.base is None else array.base
