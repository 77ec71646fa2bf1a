"""Hooks: mirrors `torch/utils/hooks.py` and the hook lists of PyTorch's nodes.

Where the functions are kept that a user hangs on a tensor or a node, and how they are called. In which order the
engine calls them is NOTE 1 in engine.py; lesson 6 shows it.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["NodeHooks", "RemovableHandle"]

Hook = Callable[..., Any]


class RemovableHandle:
    """What a `register_…` call returns: `remove()` takes the hook off; it is also a context manager."""

    next_id = itertools.count()

    def __init__(self, hooks: HookDict) -> None:
        self.id = next(RemovableHandle.next_id)
        self.hooks_ref = weakref.ref(hooks)

    def remove(self) -> None:
        """Take the hook off; nothing happens the second time."""
        hooks = self.hooks_ref()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


class HookDict(dict[int, Hook]):
    """Hooks by handle id, in the order of their registration."""

    __slots__ = ("__weakref__",)

    def register(self, hook: Hook) -> RemovableHandle:
        """Add a hook and give its handle."""
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle


class NodeHooks:
    """The hooks of a node.

    `tensor`: by output number, the hooks of the tensor that is this output (PyTorch's tensor pre-hooks);
    `retains`: by output number, a weak reference to the tensor that asked for `retain_grad()`;
    `pre` and `post`: the node's own.
    """

    __slots__ = ("post", "pre", "retains", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, HookDict] = {}
        self.retains: dict[int, weakref.ref[Any]] = {}
        self.pre = HookDict()
        self.post = HookDict()


def name_of(hook: Hook) -> str:
    """What PyTorch calls a hook in its errors."""
    return getattr(hook, "__name__", "<unknown>")


def checked(given: Any, grad: Any, hook: Hook) -> Any:
    """What a hook gave in place of `grad` (None: `grad` stays), or PyTorch's error about it."""
    if given is None:
        return grad
    if not hasattr(given, "_version_counter"):
        raise TypeError(f"expected Variable, but hook returned '{type(given).__name__}'")
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if given.array.dtype != grad.array.dtype:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the type of value (was {grad.type()} got "
                           f"{given.type()})")
    if given.array.shape != grad.array.shape:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the size of value")
    return given


def checked_tuple(given: Any, grads: tuple[Any, ...], hook: Hook) -> tuple[Any, ...]:
    """What a node's hook gave in place of `grads` (None: they stay), or PyTorch's error about it."""
    if given is None:
        return grads
    if not isinstance(given, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(given).__name__}'")
    if len(given) != len(grads):
        raise RuntimeError(f"hook '{name_of(hook)}' has returned an incorrect number of values (got {len(given)}, but "
                           f"expected {len(grads)})")
    return tuple([None if new is None else checked(new, old, hook) for new, old in zip(given, grads, strict=True)])


def call_post_accumulate(hook: Hook, leaf: Any) -> None:
    """Call a post-accumulate hook, which returns nothing: PyTorch's error else."""
    given = hook(leaf)
    if given is not None:
        checked(given, leaf, hook)
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
