"""What the transforms do with a custom Function. Mirrors `torch/_functorch/autograd_function.py`.

The innermost transform sees the call first. `grad` and `jvp` record a node, whose forward calls the Function again for
the transforms outside of them. `vmap` calls the Function's own `vmap` on whole batches; with `generate_vmap_rule` the
Function runs as any function does, on tensors of one example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from minigrad._base.nested import leaves, mapped
from minigrad.autograd.forward_ad import cut_loose
from minigrad.autograd.function import Function
from minigrad.backends.batched import BACKEND, Level, batched_at
from minigrad.core import LOCAL, Tensor
from minigrad.func.batching import Enter, Leave, Lift, lifted
from minigrad.func.levels import STACK, AllTransforms, lowered
from minigrad.func.transforms import refilled, structure
from minigrad.func.vmap import spread
from minigrad.history.custom_function import DIRTY_NOT_RETURNED, SAVED_AS_IT_IS, among

__all__ = ["VmapInfo"]

DETAILS = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
NO_SETUP = ("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod. {DETAILS}")
NO_RULE = ("You tried to vmap over {}, but it does not have vmap support. Please override and implement the vmap "
           f"staticmethod or set generate_vmap_rule=True. {DETAILS}")
TWO_RULES = ("You tried to vmap over {}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
             "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. "
             f"{DETAILS}")
TWO_RETURNS = ("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
               "compatible with the output. Got {}")
OTHER_STRUCTURE = ("The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
                   "Expected out_dims={} to be compatible with the structure of `output`. out_dims has structure {} "
                   f"but output has structure {{}}. {DETAILS}")


class VmapInfo(NamedTuple):
    """What `Function.vmap` gets first: the number of examples, and what random draws do."""

    batch_size: int
    randomness: str


def transformed(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Function.apply`: the innermost transform has its way with the call. Raises RuntimeError, PyTorch's, for a
    Function without `setup_context`, or without the rule that `vmap` needs."""
    def call(cls: type[Function], *args: Any, **kwargs: Any) -> Any:
        stack = STACK.levels
        if not stack:
            return apply(cls, *args, **kwargs)
        if not cls._has_setup():
            raise RuntimeError(NO_SETUP)
        args, level = cls._bound(args, kwargs), stack[-1]
        if type(level) is Level:
            check_rules(cls)
            if not any(is_batch(each, level) for each in leaves(args)):
                with lowered(stack[:-1]):
                    found = call(cls, *args)
                return mapped(lambda each: same_for_all(each, level), found)
            if not cls.generate_vmap_rule:
                return by_own_rule(cls, level, args)
        return apply(of_one_level(cls), *mapped(lambda each: lifted(each) if isinstance(each, Tensor) else each,
                                                      args))

    return call


AllTransforms.rule = staticmethod(transformed)


def is_batch(value: Any, level: Level) -> bool:
    """Whether a value is a tensor with examples of this level."""
    return isinstance(value, Tensor) and batched_at(value.array, level)


def same_for_all(value: Any, level: Level) -> Any:
    """Let a result that was computed outside of a level be used in it: its gradient is the sum over the examples. (Its
    node is new, so `lifted` would take it for one from inside.)"""
    wanted = isinstance(value, Tensor) and value._requires_grad and LOCAL.recording
    return Lift.forward(value, level) if wanted else value


def check_rules(cls: type[Function]) -> None:
    """Raise RuntimeError unless a Function has one rule for `vmap`, its own or a generated one."""
    own = cls.vmap is not Function.vmap
    if own == cls.generate_vmap_rule:
        raise RuntimeError((TWO_RULES if own else NO_RULE).format(cls.__name__))


def of_one_level(cls: type[Function]) -> type[Function]:
    """The Function whose node is recorded for one transform: its forward is what those outside make of the call. Raises
    PyTorch's RuntimeErrors for one that writes to what it is given, in a batch."""
    if "_generated" not in vars(cls):
        def forward(*args: Any) -> Any:
            if type(STACK.levels[-1]) is not Level:
                inner = [cut_loose(each) if isinstance(each, Tensor) and each._requires_grad else each for each in args]
                with lowered(STACK.levels[:-1]):
                    found = cls.apply(*inner)
                written = {id(own): each for own, each in zip(inner, args, strict=True)}  # what it returns as it was
                return mapped(lambda each: written.get(id(each), each), found)
            with lowered(tuple([each for each in STACK.levels if type(each) is Level])):
                return cls.forward(*args)

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            cls.setup_context(ctx, inputs, output)
            if ctx.dirty_tensors and type(STACK.levels[-1]) is Level:
                kept = (*(ctx.to_save or ()), *(ctx.saved_for_forward or ()))
                raise RuntimeError(SAVED_AS_IT_IS if any(among(each, kept) for each in ctx.dirty_tensors)
                                   else DIRTY_NOT_RETURNED)

        cls._generated = type(f"{cls.__name__}Generated", (cls,), {"forward": staticmethod(forward),
                                                                   "setup_context": staticmethod(setup_context)})
    return cls._generated


def alike(given: Any, array: Any) -> bool:
    """Whether two batches of a level show the same memory in the same way: one is an alias of the other, or itself."""
    return bool(given.shape == array.shape and given.value.strides == array.value.strides
                and BACKEND.address(given) == BACKEND.address(array))


def by_own_rule(cls: type[Function], level: Level, args: tuple[Any, ...]) -> Any:
    """Call a Function's `vmap` outside of the level, and return its output as a batch. Raises RuntimeError if it does
    not return an output and the dimensions of the examples in it."""
    def dim_of(each: Any) -> int | None:
        """Where the examples of a batch are: for what `vmap` was given where they had been, else in front."""
        if not is_batch(each, level):
            return None
        return next((dim for array, dim, _ in level.given if alike(array, each.array)), 0)

    def whole(each: Any) -> Any:
        dim = dim_of(each)
        return each if dim is None else Leave.forward(each, level, dim)

    with lowered(STACK.levels[:-1]):
        in_dims, given = mapped(dim_of, args), mapped(whole, args)
        found = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *given)
    if not isinstance(found, tuple):
        raise RuntimeError(TWO_RETURNS.format(f"a {type(found)} instead"))
    if len(found) != 2:
        raise RuntimeError(TWO_RETURNS.format(f"{len(found)} returns instead"))
    output, out_dims = found
    dims = spread(out_dims, output)
    if dims is None:
        raise RuntimeError(OTHER_STRUCTURE.format(out_dims, structure(out_dims), structure(output)))
    same = {id(own): each for own, each in zip(leaves(given), leaves(args), strict=True)}

    def entered(value: Any, dim: int | None) -> Any:
        if not isinstance(value, Tensor) or id(value) in same:
            return same.get(id(value), value)
        if dim is None:
            return same_for_all(value, level)
        return Enter.forward(lifted(value), level, dim % value.ndim)

    return refilled(output, iter([entered(*each) for each in zip(leaves(output), dims, strict=True)]))
