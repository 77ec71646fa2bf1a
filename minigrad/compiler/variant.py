"""A program that is ready to run: when it holds, what memory it works on, and what a run leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from minigrad.compiler.capture import Captured
from minigrad.compiler.joint import CompiledFunction, Run
from minigrad.compiler.program import Memory
from minigrad.compiler.source import rounded
from minigrad.core import Tensor
from minigrad.core.tensor import counter_of

__all__ = ["Variant"]


class Variant:
    """One program of a compiled function."""

    def __init__(self, captured: Captured, key: Any, tensors: Sequence[Tensor], lock: Any) -> None:
        assert captured.source is not None and captured.effects is not None and captured.outputs is not None
        self.key, self.captured, self.lock, self.world = key, captured, lock, captured.world
        self.source, self.effects, self.outputs = captured.source, captured.effects, captured.outputs
        self.outside = [t for _, t in captured.world.tensors.values()]
        self.numbers = {id(t): i for i, t in enumerate(self.outside)}
        self.pattern = self.pattern_of(tensors)
        self.firsts = [i for i, number in enumerate(self.pattern) if number == -1 - i]
        self.guards = [self.world.guards.compiled(), self.world.grads.compiled()]
        used = {v.memory for s in self.source.program.statements for v in s.uses()}
        staying = [each for each in captured.inputs if each[2] in used and each[2] not in self.source.parameters]
        self.staying = [self.outside[i] for i, on_grad, _ in staying if not on_grad]
        self.staying_grads = [self.outside[i] for i, on_grad, _ in staying if on_grad]
        self.memories = [m for wanted in (False, True) for _, on_grad, m in staying if on_grad is wanted]
        self.given_grads = [(i, m.array) for i, on_grad, m in captured.given if on_grad]
        self.written = {v.memory for s in self.source.program.statements for v in s.outs}
        self.scalars = [self.reader(name) for name in self.source.scalars]
        conditions = " and ".join(captured.trace.guards) or "True"
        space = {"abs": abs, "rounded": rounded, "__builtins__": {}}
        self.holds: Callable[..., bool] = eval(f"lambda {', '.join(self.source.scalars)}: {conditions}", space)
        self.bind(self.arrays_now())

    def pattern_of(self, tensors: Sequence[Tensor]) -> list[int]:
        """Which tensor each argument is: the number of one from outside, or by the place where it comes first."""
        first: dict[int, int] = {}
        return [self.numbers.get(id(t), first.setdefault(id(t), -1 - i)) for i, t in enumerate(tensors)]

    def arrays_now(self) -> list[Any]:
        """The arrays of the tensors that stay from call to call."""
        grads: list[Any] = [t._grad for t in self.staying_grads]  # guards have seen that they are there
        return [t.array for t in self.staying] + [grad.array for grad in grads]

    def bind(self, arrays: list[Any]) -> None:
        """Put the functions on these arrays."""
        self.arrays, self.functions = arrays, self.source.bind(dict(zip(self.memories, arrays, strict=True)))
        self.owners = {id(owner_of(a)) for m, a in zip(self.memories, arrays, strict=True) if m in self.written}

    def reader(self, name: str) -> Callable[[Sequence[Tensor]], Any]:
        """What reads a scalar of the step before a run."""
        what = self.captured.trace.scalars[name]
        if isinstance(what, Memory):
            number, on_grad = next((i, on_grad) for i, on_grad, m in self.captured.inputs if m is what)
            if on_grad:
                return lambda tensors: tensors[number]._grad.array.item()  # type: ignore[union-attr]  # it is guarded
            return lambda tensors: tensors[number].array.item()
        group, key, place = self.world.options[what]
        return (lambda tensors: group[key]) if place is None else (lambda tensors: group[key][place])

    def matches(self, key: Any, tensors: Sequence[Tensor]) -> list[Tensor] | None:
        """The tensors in the program's order, if it holds for this call."""
        if key != self.key or not all(check() for check in self.guards) or self.pattern_of(tensors) != self.pattern:
            return None
        every = [*self.outside, *[tensors[i] for i in self.firsts]]
        if self.overlap(every) or any(unlike(array_of(every[i], True), then) for i, then in self.given_grads):
            return None
        arrays = self.arrays_now()
        if not all(map(is_, arrays, self.arrays)):
            if any(map(unlike, arrays, self.arrays)):
                return None
            self.bind(arrays)
        return every

    def overlap(self, every: Sequence[Tensor]) -> bool:
        """Whether an argument shares memory with another input, and one of them is changed."""
        arguments = [id(owner_of(t.array)) for t in every[len(self.outside):]]
        if any(m in self.written for i, _, m in self.captured.given):
            owners = [*arguments, *[id(owner_of(t.array)) for t in self.outside]]
            return len(set(owners)) < len(owners)
        return not self.owners.isdisjoint(arguments)

    def run(self, every: list[Tensor]) -> Any:
        """Do what the step does; False if a condition on its scalars does not hold, before anything was done."""
        scalars = [read(every) for read in self.scalars]
        if not self.holds(*scalars):
            return False, None
        (function, *backward), joint = self.functions, self.captured.joint
        given = [array_of(every[i], on_grad) for i, on_grad, _ in self.captured.given]
        old = {i: every[i]._grad for i, _ in self.given_grads}  # the step reads them: it has not cleared them before
        for number in self.effects.cleared:
            every[number]._grad = None
        for number, _, _ in self.effects.grads:  # first, so that the memory can be used again
            every[number]._grad = None
        outputs = self.outputs.allocate()
        try:
            function(*given, *outputs, *scalars)
        except BaseException as error:
            self.leave(self.outputs.tensors(outputs), every, self.statements_run(error), old)
            raise
        found = self.outputs.tensors(outputs)
        self.leave(found, every, None, old)
        for number, flag in self.effects.requires_grad:
            every[number].requires_grad_(flag)
        results = found[:self.effects.results]
        if joint is not None:
            saved = [every[i]._grad if on_grad else every[i] for i, on_grad, _ in joint.read]
            run = Run(backward[0], self.lock, results, [*saved, *found[len(results):]], scalars)
            results = CompiledFunction.apply(joint, run, *[every[i] for i in joint.inputs])
        return True, self.effects.result(every, results)

    def statements_run(self, error: BaseException) -> int:
        """How many statements had run when an error ended a run."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is self.source.codes[0]:
                return max(0, trace.tb_lineno - self.source.first_line)
            trace = trace.tb_next
        return 0

    def leave(self, found: Sequence[Tensor], every: Sequence[Tensor], done: int | None,
              old: dict[int, Tensor | None]) -> None:
        """Give tensors their gradients, and count versions up; after an error only for what was `done`: others get the
        `old` gradient, by the number of the tensor, if the step had not replaced it yet."""
        for number, place, version in self.effects.grads:
            tensor = every[number]
            if done is not None and not self.complete(self.source.program.kept[place].memory, done):
                tensor._grad = old.get(number)
                continue
            tensor._grad = grad = found[place]
            if version:
                counter_of(grad).value = version
        for number, on_grad, change in self.effects.versions:
            changed = every[number]._grad if on_grad else every[number]
            if changed is not None and (done is None or any(
                    i == number and self.complete(m, done) for i, g, m in self.captured.inputs if g is on_grad)):
                counter_of(changed).value += change

    def complete(self, memory: Memory, done: int) -> bool:
        """Whether all statements that write a memory are among the first `done`."""
        return all(v.memory is not memory for s in self.source.program.statements[done:] for v in s.outs)


def array_of(tensor: Tensor, on_grad: bool) -> Any:
    """The array of a tensor, or of its `.grad`, of which a guard has seen that it is there."""
    grad: Any = tensor._grad if on_grad else tensor
    return grad.array


def unlike(array: Any, then: Any) -> bool:
    """Whether an array lies otherwise than the one with which a program was made."""
    return (array.shape, array.strides, array.dtype) != (then.shape, then.strides, then.dtype)


def owner_of(array: Any) -> Any:
    """The array that owns the memory of this one."""
    return array if array.base is None else array.base
