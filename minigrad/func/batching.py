"""How tensors get into a `vmap` and out again, and what its levels make of ops.

NOTE 15 (vmap and gradients). `Enter` hides a dimension of a tensor in its array (NOTE 14 in backends/batched.py),
`Leave` shows it again, and each is the derivative of the other. Between them ops and formulas see one example. A tensor
from outside of the level, such as a weight that all examples share, is the same for all, and its gradient is the sum
over the examples: so each op gets it through a `Lift`, which is nothing but the place where that sum is taken. What was
made inside, even if it does not depend on the examples, keeps a gradient for each: an inner `grad` may ask for it.

A wrapper around the ops, installed while a level is on, lifts. It also runs an op for each example if the op had to
know a number (`NoRule`), with PyTorch's warning. A hundred ops after the last level it is taken off again, and from
then on ops cost what they cost before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minigrad._base.nested import mapped
from minigrad._base.warnings import warn
from minigrad.autograd.forward_ad import carrying, replaced, tensors_in
from minigrad.backends import batched_rules
from minigrad.backends.batched import CURRENT, DYNAMIC, RULES, Batched, Level, NoRule, batched_at, innermost, make_ready
from minigrad.core import LOCAL, Node, Tensor, counter_of, record1
from minigrad.core.tensor import next_sequence_nr
from minigrad.func.captured import birth
from minigrad.func.levels import of_batch
from minigrad.func.whole_ops import WHOLE_OPS
from minigrad.ops._dispatch.op_wrappers import Lingering, is_part
from minigrad.ops.shape.join import stack

__all__ = ["Enter", "Leave", "entering", "lifted", "split_by_example"]

RULES.update(WHOLE_OPS)

MASKED_SELECT = ("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this "
                 "because for each batch this would return a differently shaped Tensor. Please file an issue at "
                 "https://github.com/pytorch/pytorch/issues if you need this feature.")
FALLBACK = ("There is a performance drop because we have not yet implemented the batching rule for {}. Please file us "
            "an issue on GitHub so that we can prioritize its implementation.")


def carried(cls: type[Node]) -> type[Node]:
    """Let an op outside of `minigrad.ops` carry tangents along."""
    forward = vars(cls)["forward"].__func__
    setattr(cls, "forward", staticmethod(carrying(forward, cls)))  # noqa: B010 (mypy knows no `forward` of a Node)
    return cls


def is_further_in(x: Any, level: Level) -> bool:
    """Whether an array is a batch of a level inside of another: one that had ended when the other began."""
    return type(x) is Batched and x.level.rank > level.rank


@carried
class Enter(Node):
    """A tensor, as a batch of what it has along a dimension."""

    @staticmethod
    def forward(a: Tensor, level: Level, dim: int) -> Tensor:
        return seen_through(a, record1(Enter, Enter.values(a.array, level, dim), a, (), (level, dim)))

    @staticmethod
    def values(x: Any, level: Level, dim: int) -> Any:
        if is_further_in(x, level):
            return x.like(Enter.values(x.value, level, dim + 1))
        return Batched(np.moveaxis(x, dim, 0) if dim else x, level)

    def backward(self, xp: Any, g: Any, level: Level, dim: int) -> Any:
        return xp.apply(Leave, g, level, dim)


@carried
class Leave(Node):
    """A batch, with its examples along a dimension; what is the same for all is repeated."""

    @staticmethod
    def forward(a: Tensor, level: Level, dim: int) -> Tensor:
        result: Tensor = record1(Leave, Leave.values(a.array, level, dim), a, (), (level, dim))
        return result

    @staticmethod
    def values(x: Any, level: Level, dim: int) -> Any:
        if is_further_in(x, level):
            return x.like(Leave.values(x.value, level, dim + 1))
        array = batched_rules.whole(x, level)
        return np.moveaxis(array, 0, dim) if dim else array

    def backward(self, xp: Any, g: Any, level: Level, dim: int) -> Any:
        return xp.apply(Enter, g, level, dim)


@carried
class Lift(Node):
    """A tensor from outside, whose gradient is the sum of those of all examples."""

    @staticmethod
    def forward(a: Tensor, level: Level) -> Tensor:
        return seen_through(a, record1(Lift, a.array, a, (), (level,)))

    @staticmethod
    def values(x: Any, level: Level) -> Any:
        return x

    def backward(self, xp: Any, g: Any, level: Level) -> Any:
        return xp.apply(SumOverExamples, g, level)


@carried
class SumOverExamples(Node):
    """The sum of a batch, the same for all."""

    @staticmethod
    def forward(a: Tensor, level: Level) -> Tensor:
        result: Tensor = record1(SumOverExamples, SumOverExamples.values(a.array, level), a, (), (level,))
        return result

    @staticmethod
    def values(x: Any, level: Level) -> Any:
        if is_further_in(x, level):
            return x.like(SumOverExamples.values(x.value, level))
        return x.value.sum(0) if batched_at(x, level) else x * level.size

    def backward(self, xp: Any, g: Any, level: Level) -> Any:
        return xp.apply(Lift, g, level)


def seen_through(a: Tensor, result: Tensor) -> Tensor:
    """A tensor that shares the memory of another, and so its version."""
    result._version_counter = counter_of(a) if a._grad_fn is None else a._version_counter
    return result


# ---- Levels.
@contextmanager
def entering(size: int, randomness: str) -> Iterator[Level]:
    """A block that is one more level, of so many examples. That of a batch of passes is no transform: what transforms
    refuse is allowed in it."""
    make_ready()
    before, births = CURRENT.inside, LOCAL.births
    level = Level(size, before[-1] if before else None, randomness, next_sequence_nr())
    LIFTING.need(1)
    CURRENT.inside, LOCAL.births = (*before, level), True
    LOCAL.update()
    try:
        with of_batch(level):
            yield level
    finally:
        CURRENT.inside, LOCAL.births = before, births
        LOCAL.update()
        LIFTING.need(-1)


def is_inside(tensor: Tensor, level: Level) -> bool:
    """Whether a tensor that requires grad was made inside a level."""
    if (born := birth(tensor)) is not None:
        return born >= level.born
    # A view that requires grad since its base was written to: its node is made when somebody asks for it.
    return tensor._base is not None and is_inside(tensor._base, level)


def lifted(tensor: Tensor) -> Tensor:
    """A tensor as the levels that it comes from outside of see it."""
    if tensor._requires_grad and LOCAL.recording:
        for level in CURRENT.inside:
            if not is_inside(tensor, level):
                tensor = Lift.forward(tensor, level)
    return tensor


def lifting(forward: Callable[..., Any], cls: type[Node] | None) -> Callable[..., Any]:
    """Wrap the forward of an op: it lifts what comes from outside, and runs for each example where that must be."""
    if is_part(forward):
        return forward

    @functools.wraps(forward)
    def call(*args: Any, **options: Any) -> Any:
        if not CURRENT.inside:
            if not LIFTING.count:
                LIFTING.unneeded()
            return forward(*args, **options)
        if [each for each in tensors_in(*args, *options.values()) if each._requires_grad]:
            args = tuple([replaced(each, lifted) for each in args])
            options = {name: replaced(each, lifted) for name, each in options.items()}
        try:
            return forward(*args, **options)
        except NoRule:
            level = innermost([args, options, *[each.array for each in tensors_in(*args, *options.values())]])
            if level is None or not level.size:
                raise
            op = args[0] if cls is None else cls
            if op.op == "MaskedSelect":  # even if all results happen to have one shape
                raise NoRule(MASKED_SELECT) from None
            return for_each(level, op.op, call, args, options)

    return call


lifting.outermost = True  # type: ignore[attr-defined]  # what a level lifts carries its tangents along
LIFTING = Lingering(lifting)


def for_each(level: Level, name: str, call: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
    """Run an op for each example, and stack the results."""
    warn(FALLBACK.format(f"aten::{name.lower()}"))
    before, CURRENT.inside = CURRENT.inside, tuple([each for each in CURRENT.inside if each is not level])
    try:
        results = [call(*each, **own) for each, own in split_by_example(level, (args, options))]
    finally:
        CURRENT.inside = before
    return joined(level, results, name)


def split_by_example(level: Level, values: Any) -> list[Any]:
    """Arguments with the tensors of each example in place of batches."""
    parts: dict[int, tuple[Tensor, ...]] = {}

    def part(i: int, value: Any) -> Any:
        if batched_at(value, level):
            return value.value[i]
        if not isinstance(value, Tensor) or not (value._requires_grad or batched_at(value.array, level)):
            return value  # what requires grad is split too: each example has a gradient of its own
        if id(value) not in parts:
            parts[id(value)] = Leave.forward(value, level, 0).unbind(0)
        return parts[id(value)][i]

    return [mapped(functools.partial(part, i), values) for i in range(level.size)]


def joined(level: Level, results: list[Any], name: str) -> Any:
    """The results of all examples as batches. Raises NoRule, PyTorch's error, if they have different shapes."""
    first = results[0]
    if isinstance(first, (tuple, list)):
        parts = [joined(level, list(each), name) for each in zip(*results, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if not isinstance(first, Tensor):
        return first
    if any(each.array.shape != first.array.shape for each in results):
        raise NoRule(DYNAMIC.format(f"aten::{name.lower()}"))
    return Enter.forward(stack(results), level, 0)
