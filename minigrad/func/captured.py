"""Which tensors a transformed function has only captured: it may read them, and not write to them.

What was made inside of a level is its own, and so is what it differentiates by. All else is from outside, as are views
of it, detached ones too: what is written there would outlive the level, and take its graph along. PyTorch refuses that.
"""

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.autograd.forward_ad import STATE, Tangents, keep, tensors_in
from minigrad.backends.batched import CURRENT, IN_PLACE, INTO_ONE, NO_DRAWS, Level, batched_at, outside
from minigrad.core import LOCAL, UNUSUAL, Node, Tensor, edge_target
from minigrad.func.levels import STACK, AllTransforms
from minigrad.history.inplace import LEAF, LEAF_VIEW
from minigrad.ops._dispatch.overloads import packets
from minigrad.trace.format import op_name

__all__ = ["birth", "born_with"]

CAPTURED = ("During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
            "(aten::{}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
            "transformed to explicitly accept the mutated Tensor(s) as inputs.")
RANDOM = {"normal", "random", "bernoulli", "uniform", "exponential", "geometric", "cauchy", "log_normal"}
RANDOM_OPS = {"Normal": ("normal", ""), "Random": ("random", ""), "RandomTo": ("random", "to"),
              "RandomFromTo": ("random", "from"), "BernoulliOf": ("bernoulli", "Tensor"),
              "BernoulliNumber": ("bernoulli", "float")}
ADD, FIRST_OP = "add_.Tensor", {"Adam": "addcdiv_", "AdamW": "mul_.Tensor"}  # of an optimizer's first step
# Ops to which PyTorch gives the batches as they are, those that it checks together, and those that have a check each.
BY_SHAPE = {"add", "atan2", "copysign", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
            "bitwise_right_shift", "gcd", "lcm"}
ARITHMETIC = {"sub", "mul", "div", "copy", "logical_and", "logical_or", "logical_xor", "clamp_min", "clamp_max"}
OWN_NAME = {"fill", "index_put", "index_add", "index_fill", "scatter_add", "scatter_reduce"}


ALIASES: dict[int, tuple[Any, int]] = {}  # since when there has been what a detached tensor shares the memory of


class Birth(weakref.ref[Any]):
    """When a level made a leaf, as a sequence number. A class of its own, since every op of a level makes one."""

    __slots__ = ("born", "key")
    born: int
    key: int  # the leaf's id


BORN: dict[int, Birth] = {}  # by id, until the leaf is freed


def forget(birth: Birth) -> None:
    """Remove the entry of a leaf that was freed."""
    BORN.pop(birth.key, None)


def note_leaf(marked: Callable[[Tensor], None]) -> Callable[[Tensor], None]:
    """What becomes of a new leaf, and inside of which level it was made: it may require grad later."""
    def note(leaf: Tensor) -> None:
        marked(leaf)
        levels, inside = STACK.levels, CURRENT.inside
        if levels or inside:
            birth = BORN[id(leaf)] = Birth(leaf, forget)
            birth.key = id(leaf)
            birth.born = max(levels[-1].born if levels else -1, inside[-1].born if inside else -1)

    return note


UNUSUAL.on_new_leaf = note_leaf(UNUSUAL.on_new_leaf)


def birth(tensor: Tensor) -> int | None:
    """When a tensor was made, as a sequence number, or when the level began in which it was; None: before all levels,
    or its base knows."""
    owner = BORN.get(id(tensor)) if tensor._current_grad_fn is None else tensor._current_grad_fn
    if owner is None:
        return None
    born: int = owner.born if isinstance(owner, Birth) else owner.sequence_nr
    return born


def since(tensor: Tensor) -> int:
    """Since when the memory of a tensor can be written to, as such a number, less than that of any level if it is from
    before all. A `Lift` is a tensor from outside, as it is seen inside of `vmap`."""
    target: Any = tensor._current_grad_fn
    while isinstance(target, Node) and target.op == "Lift":
        target = target.next[0]
    owner = tensor if target is None else target
    if isinstance(owner, Node):
        return owner.sequence_nr
    if id(owner) in ALIASES:
        return ALIASES[id(owner)][1]
    return BORN[id(owner)].born if id(owner) in BORN else -1


def born_with(alias: Tensor, source: Tensor) -> None:
    """Let an alias of a tensor count as made when that was."""
    owner = source if source._base is None or is_input(source._base) else source._base
    keep(ALIASES, id(alias), alias, since(owner))


def is_input(base: Tensor) -> bool:
    """Whether a level differentiates by a view of this tensor."""
    return any(each._base is base for level in STACK.levels if type(level) is not Level for each in level.inputs)


def is_captured(tensor: Tensor, level: Any) -> bool:
    """Whether a tensor is from outside of a level of forward or reverse mode, or a view of one that is."""
    base = tensor if tensor._base is None else tensor._base
    if since(base) >= level.born:
        return False
    return base is tensor or since(tensor) < level.born or all(each._base is not base for each in level.inputs)


def refuse_write(tensor: Tensor, forward: Any, args: Any) -> None:
    """Raise PyTorch's RuntimeError for a write in place that one of the levels forbids, the innermost first."""
    if forward is None or STATE.following or not STACK.levels:
        return
    name = operator_name(forward, args)
    for number, level in reversed([*enumerate(STACK.levels, 1)]):
        if type(level) is Level:
            if not batched_at(tensor.array, level):
                refuse_one_for_all(number, name, args)
        elif is_captured(tensor, level):
            raise RuntimeError(CAPTURED.format(name))
        elif type(level) is not Tangents and LOCAL.recording:
            refuse_input(tensor, level)
    if word_of(name) in BY_SHAPE | ARITHMETIC and not (tensor._requires_grad and tensor.is_leaf and LOCAL.recording):
        refuse_shape(tensor.array, [each.array for each in tensors_in(*args)])


AllTransforms.refuse_write = staticmethod(refuse_write)


def refuse_input(tensor: Tensor, level: Any) -> None:
    """Raise PyTorch's RuntimeError for a write to what a level of reverse mode differentiates by, or, inside of `vmap`,
    to a batch of it, or a view of one."""
    if any(each is tensor for each in level.inputs):
        raise RuntimeError(LEAF)
    base = tensor if tensor._base is None else tensor._base
    target: Any = base._current_grad_fn
    while isinstance(target, Node) and target.op in ("Enter", "Lift"):
        target = target.next[0]
    if target is not base._current_grad_fn and any(edge_target(each) is target for each in level.inputs):
        raise RuntimeError(LEAF if base is tensor else LEAF_VIEW)


def refuse_captured(tensor: Tensor, name: str) -> None:
    """Raise PyTorch's RuntimeError if a level has captured a tensor to which the op of this name would write."""
    if any(type(level) is not Level and is_captured(tensor, level) for level in STACK.levels):
        raise RuntimeError(CAPTURED.format(name))


def refuse_one_for_all(number: int, name: str, args: Any) -> None:
    """Raise PyTorch's RuntimeError for a write of something that differs between the examples of a level, the one of
    this number, into a tensor that is the same for all, unless the op is one that PyTorch lets find out by the shapes.
    """
    level, word = STACK.levels[number - 1], word_of(name)
    if level.randomness in NO_DRAWS and word in RANDOM:
        raise RuntimeError(NO_DRAWS[level.randomness])
    batches = [each for each in tensors_in(*args) if batched_at(each.array, level)]
    if not batches or word in BY_SHAPE or word in RANDOM:
        return
    if word in ARITHMETIC or (word == "masked_fill" and args[0] is batches[0]):
        raise RuntimeError(IN_PLACE)
    if word in OWN_NAME:
        raise RuntimeError(INTO_ONE.format(f"{word}_", "in a vmap"))
    raise RuntimeError(INTO_ONE.format(f"aten::{word}_", f"at level {number}"))


def refuse_shape(written: Any, arrays: Any) -> None:
    """Raise PyTorch's RuntimeError for arrays that broadcast to more than the one that is written; the sizes in it are
    those of all examples."""
    levels = max([outside(each) for each in (written, *arrays)], key=len)
    if levels:
        sizes = [level.size for level in reversed(levels)]
        try:
            shape = np.broadcast_shapes(written.shape, *[each.shape for each in arrays])
        except ValueError:
            return  # the op says so
        if len(outside(written)) < len(levels) or shape != written.shape:
            own = written.shape
            if outside(written):
                own = (*sizes, *(1,) * (len(shape) - len(own)), *own)
            raise RuntimeError(f"output with shape {list(own)} doesn't match the broadcast shape {[*sizes, *shape]}")


def word_of(name: str) -> str:
    """The op in the name of an operator: `index_put` in `index_put_`, `add` in `add_.Tensor`."""
    return name.split(".")[0].removesuffix("_")


def operator_name(forward: Any, args: Any) -> str:
    """What PyTorch calls the op that writes what a forward returns: `add_.Tensor`."""
    owner = getattr(forward, "__self__", None)
    word = forward.__qualname__.split(".")[0].removesuffix("Backward0") if owner is None else owner.op
    packet = packets().get(word.removesuffix("InPlace"))
    name = word if packet is None else packet._name.removeprefix("aten.")
    if word == "PowTensor":
        name, overload = "pow", "Tensor" if tensors_in(*args) else "Scalar"
    elif name in ("squeeze", "masked_fill"):
        overload = ("dim" if args else "") if name == "squeeze" else "Tensor" if tensors_in(args[1]) else "Scalar"
    elif forward.__module__ == "minigrad.ops.random":
        name, overload = RANDOM_OPS.get(getattr(owner, "__name__", word), (op_name(word), ""))
    else:
        overload = "" if packet is None or packet._overloads[0] == "default" else packet._overloads[0]
    return f"{name}_.{overload}" if overload else f"{name}_"


def aliasing(method: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """`detach`, whose result shares the memory of its tensor."""
    @functools.wraps(method)
    def call(self: Tensor) -> Tensor:
        made = method(self)
        born_with(made, self)
        return made

    return call


def refuse_step(optimizer: Any) -> None:
    """Raise PyTorch's RuntimeError for a step of an optimizer inside of a transform, under the name of its first op."""
    for each in [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]:
        refuse_captured(each, FIRST_OP.get(type(optimizer).__name__, ADD) if each not in optimizer.state else ADD)


AllTransforms.refuse_step = staticmethod(refuse_step)


def writing(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that changes a tensor without an op."""
    @functools.wraps(method)
    def call(self: Tensor, *args: Any, **options: Any) -> Any:
        if STACK.levels:
            refuse_captured(self, name)
        return method(self, *args, **options)

    return call


AllTransforms.changes["detach"] = aliasing
AllTransforms.changes.update({name: functools.partial(writing, written) for name, written in {
    "detach_": "detach_", "resize_": "resize_", "set_": "set_.source_Tensor"}.items()})
