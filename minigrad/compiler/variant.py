"""A program that is ready to run: when it holds, what memory it works on, and what a run leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

from minigrad.compiler.capture import Captured
from minigrad.compiler.joint import CompiledFunction, Run
from minigrad.compiler.program import Memory
from minigrad.compiler.source import rounded
from minigrad.core import Tensor
from minigrad.core.tensor import counter_of, plain

__all__ = ["Variant"]


class Frame:
    """A program on memory of its own. What is kept of it belongs to the caller for as long as he holds it; then the
    next run needs another frame."""

    def __init__(self, variant: Variant, every: Sequence[Tensor]) -> None:
        self.arrays = variant.bound_arrays(every)
        self.on = same_arrays(variant, self.arrays)
        functions, self.kept = variant.source.bind(dict(self.arrays))
        self.function, self.backward = functions[0], functions[-1]
        self.given = [(a, a.base) for a in [self.kept[place] for _, place, _ in variant.effects.grads]]
        self.alone = self.references()

    def references(self) -> list[tuple[int, int]]:
        """How many references there are to each array of a gradient, and to the memory that all its views share."""
        return [(getrefcount(array), getrefcount(base)) for array, base in self.given]

    def free(self, tensors: Sequence[Tensor], grads: Sequence[tuple[int, int, int]]) -> bool:
        """Whether nobody but the tensors whose gradients they are holds the gradients of the last run."""
        for (number, _, _), (array, _), now, alone in zip(grads, self.given, self.references(), self.alone):
            grad = tensors[number]._grad
            mine = grad is not None and grad.array is array
            if now[0] > alone[0] + mine or now[1] > alone[1] or (mine and getrefcount(grad) > 3):
                return False  # 3: `.grad`, the variable, and the argument of `getrefcount`
        return True


class Variant:
    """One program of a compiled function."""

    def __init__(self, captured: Captured, key: Any, tensors: Sequence[Tensor], lock: Any) -> None:
        assert captured.source is not None and captured.effects is not None
        self.key, self.captured, self.lock = key, captured, lock
        self.source, self.effects, self.world = captured.source, captured.effects, captured.world
        self.outside = [t for _, t in captured.world.tensors.values()]
        self.numbers = [next((i for i, own in enumerate(self.outside) if own is t), None) for t in tensors]
        distinct = list({id(t): t for t, number in zip(tensors, self.numbers) if number is None}.values())
        self.firsts = [next(i for i, t in enumerate(tensors) if t is d) for d in distinct]
        self.same = [[i for i, t in enumerate(tensors) if t is d] for d in distinct]
        self.guards = [self.world.guards.compiled(), self.world.grads.compiled()]
        used = {v.memory for s in self.source.program.statements for v in s.uses()}
        used |= {v.memory for v in self.source.program.kept}
        self.bound = [(i, on_grad, m) for i, on_grad, m in captured.inputs if m in used and m.kind == "input"
                      and m not in self.source.parameters]
        written = {v.memory for s in self.source.program.statements for v in s.outs}
        self.written = [m for m in self.source.parameters if m in written and m.kind == "input"]
        self.owners = {id(owner_of(m.array)) for m in written if m.array is not None and m.kind == "input"}
        self.scalars = [self.reader(name) for name in self.source.scalars]
        conditions = " and ".join(captured.trace.guards) or "True"
        space = {"abs": abs, "rounded": rounded, "__builtins__": {}}
        self.holds: Callable[..., bool] = eval(f"lambda {', '.join(self.source.scalars)}: {conditions}", space)
        self.frames: list[Frame] = []

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

    def bound_arrays(self, every: Sequence[Tensor]) -> list[tuple[Memory, Any]]:
        """By memory: the arrays of the tensors that stay from call to call."""
        return [(memory, array_of(every[i], on_grad)) for i, on_grad, memory in self.bound]

    def matches(self, key: Any, tensors: Sequence[Tensor]) -> list[Tensor] | None:
        """The tensors in the program's order, if it holds for this call."""
        if key != self.key or not all(check() for check in self.guards):
            return None
        for tensor, number in zip(tensors, self.numbers):
            if number is not None and tensor is not self.outside[number]:
                return None
            if number is None and id(owner_of(tensor.array)) in self.owners and not self.written:
                return None
        for group in self.same:
            if any(tensors[i] is not tensors[group[0]] for i in group):
                return None
        every = [*self.outside, *[tensors[i] for i in self.firsts]]
        if len({id(tensors[i]) for i in self.firsts}) < len(self.firsts) or any(
                tensors[i] is t for i in self.firsts for t in self.outside if self.numbers[i] is None) or (
                self.written and self.overlap(every)):
            return None
        for i, on_grad, memory in self.bound:
            array, like = array_of(every[i], on_grad), memory.array
            if array is not like and (array.shape, array.strides, array.dtype) != (
                    like.shape, like.strides, like.dtype):
                return None
        return every

    def overlap(self, every: Sequence[Tensor]) -> bool:
        """Whether an argument that is changed shares memory with another input."""
        owners = [id(owner_of(t.array)) for t in every]
        return len(set(owners)) < len(owners)

    def run(self, every: list[Tensor]) -> Any:
        """Do what the step does; False if a condition on its scalars does not hold, before anything was done."""
        scalars = [read(every) for read in self.scalars]
        if not self.holds(*scalars):
            return False, None
        frame, joint = self.frame_for(every), self.captured.joint
        first = len(self.outside)
        fresh = [] if joint is None else joint.new_fresh()
        arrays = [t.array for t in every[first:]]
        for number in self.effects.cleared:
            every[number]._grad = None
        try:
            frame.function(*arrays, *fresh, *scalars)
        except BaseException as error:
            self.leave(frame, every, self.statements_run(error))
            raise
        self.leave(frame, every, None)
        if joint is None:
            return True, self.effects.result(every, [plain(a.copy()) for a in frame.kept[:self.effects.results]])
        run = Run(frame.backward, self.lock, every, fresh, scalars)
        return True, self.effects.result(every, CompiledFunction.apply(joint, run, *[every[i] for i in joint.inputs]))

    def frame_for(self, every: list[Tensor]) -> Frame:
        """A frame on the arrays that the tensors have now, whose gradients nobody holds."""
        for frame in list(self.frames):
            if not frame.on(every):
                self.frames.remove(frame)
            elif frame.free(every, self.effects.grads):
                return frame
        self.frames.insert(0, Frame(self, every))
        del self.frames[3:]
        return self.frames[0]

    def statements_run(self, error: BaseException) -> int:
        """How many statements had run when an error ended a run."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is self.source.codes[0]:
                return max(0, trace.tb_lineno - self.source.first_line)
            trace = trace.tb_next
        return 0

    def leave(self, frame: Frame, every: Sequence[Tensor], done: int | None) -> None:
        """Give tensors their gradients, and count versions up; after an error only for what was `done`."""
        for number, place, version in self.effects.grads:
            tensor = every[number]
            if done is not None and not self.complete(self.source.program.kept[place].memory, done):
                tensor._grad = None
                continue
            tensor._grad = grad = plain(frame.kept[place])
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


def same_arrays(variant: Variant, arrays: Sequence[tuple[Memory, Any]]) -> Callable[[Sequence[Tensor]], bool]:
    """One function that checks whether the tensors still have these arrays."""
    space = {f"a{k}": array for k, (_, array) in enumerate(arrays)}
    checks = [f"t[{i}]{'._grad' if on_grad else ''}.array is a{k}" for k, (i, on_grad, _) in enumerate(variant.bound)]
    check: Callable[[Sequence[Tensor]], bool] = eval(f"lambda t: {' and '.join(checks) or 'True'}", space)
    return check


def owner_of(array: Any) -> Any:
    """The array that owns the memory of this one."""
    return array if array.base is None else array.base


