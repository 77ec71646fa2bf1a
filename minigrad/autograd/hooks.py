"""Hooks: mirrors `torch/utils/hooks.py` and PyTorch's `python_hook.cpp`.

Where the functions are kept that a user hangs on a tensor or a node, and what they may return. In which order the
engine calls them is NOTE 1 in engine.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from minigrad._base.type_name import type_name
from minigrad.backends.registry import OF_TYPE
from minigrad.core.saved import is_tensor

__all__ = ["HookDict", "NodeHooks", "RemovableHandle", "call_post_accumulate", "checked", "checked_tuple"]

Hook = Callable[..., Any]


class RemovableHandle:
    """What a `register_…` call returns: `remove()` takes the hook off; it is also a context manager.

    `extra_dict`: a dict, or a list of dicts, with more about hooks by their ids, that forgets a hook with it. A handle
    can be pickled if its hooks can.
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        extras = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.__setstate__((hooks_dict, RemovableHandle.next_id, extras))

    def remove(self) -> None:
        """Take the hook off; nothing happens the second time."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple([reference() for reference in self.extra_dict_ref])

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, extras = state
        self.hooks_dict_ref = weakref.ref(HookDict() if hooks is None else hooks)  # if it had gone, so has this one
        self.extra_dict_ref = tuple([weakref.ref(each) for each in extras])
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

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
    name = getattr(hook, "__name__", None)
    return name if isinstance(name, str) else "<unknown>"


def checked(given: Any, grad: Any, hook: Hook) -> Any:
    """What a hook gave in place of `grad` (None: `grad` stays), or PyTorch's error about it."""
    if given is None or given is grad:
        return grad
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not is_tensor(given):
        raise TypeError(f"expected Variable, but hook returned '{type_name(given)}'")
    new, old = type(given.array), type(grad.array)
    if given.array.dtype != grad.array.dtype or (new is not old and OF_TYPE.get(new) is not OF_TYPE.get(old)):
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the type of value (was {grad.type()} got "
                           f"{given.type()})")
    if given.array.shape != grad.array.shape:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the size of value")
    return given


def checked_tuple(given: Any, grads: tuple[Any, ...], hook: Hook) -> tuple[Any, ...]:
    """What a node's hook gave in place of `grads` (None: they stay), or PyTorch's error about it."""
    if given is None or given is grads:
        return grads
    if not isinstance(given, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type_name(given)}'")
    if len(given) != len(grads):
        raise RuntimeError(f"hook '{name_of(hook)}' has returned an incorrect number of values (got {len(given)}, but "
                           f"expected {len(grads)})")
    return tuple([None if new is None else checked(new, old, hook) for new, old in zip(given, grads, strict=True)])


def call_post_accumulate(hook: Hook, leaf: Any) -> None:
    """Call a post-accumulate hook, which returns nothing, or the leaf: PyTorch's error else."""
    if checked(hook(leaf), leaf, hook) is not leaf:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
