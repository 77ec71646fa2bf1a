"""Stores hooks and checks what they return: mirrors `torch/utils/hooks.py` and PyTorch's `python_hook.cpp`.

A hook is a user's function that a tensor or a node calls in a backward pass. NOTE 1 in core/engine.py gives the order
in which the engine calls them.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from minigrad._base.type_name import type_name
from minigrad.backends.registry import BACKEND_OF

Hook = Callable[..., Any]


class RemovableHandle:
    """Removes a hook: every `register_…` call returns one. It is also a context manager.

    `extra_dict` is a dict, or a list of dicts, whose entries under the hook's id are removed with it. A handle can be
    pickled if its hooks can.
    """

    __module__ = "minigrad.utils.hooks"

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        extras = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.__setstate__((hooks_dict, RemovableHandle.next_id, extras))

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple([reference() for reference in self.extra_dict_ref])

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, extras = state
        self.hooks_dict_ref = weakref.ref(HookDict() if hooks is None else hooks)  # if the dict is gone, so is the hook
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
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle


def add_hook(hooks: OrderedDict[int, Hook], hook: Hook, *flags: tuple[dict[int, bool], bool],
             prepend: bool = False) -> RemovableHandle:
    """Add a hook of a module or an optimiser, before the others if `prepend`, and set its flags; its handle removes it
    with its flags."""
    handle = RemovableHandle(hooks, extra_dict=[flag_dict for flag_dict, _ in flags])
    hooks[handle.id] = hook
    for flag_dict, is_set in flags:
        if is_set:
            flag_dict[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class NodeHooks:
    """The hooks of a node."""

    __slots__ = ("post", "pre", "retains", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, HookDict] = {}  # by output number, the hooks of the tensor that is this output
        self.retains: dict[int, weakref.ref[Any]] = {}  # by output number, the tensor that called retain_grad()
        self.pre = HookDict()  # Node.register_prehook
        self.post = HookDict()  # Node.register_hook


def hook_name(hook: Hook) -> str:
    name = getattr(hook, "__name__", None)
    return name if isinstance(name, str) else "<unknown>"


def check_result(result: Any, grad: Any, hook: Hook) -> Any:
    """Return the gradient after a hook: its `result`, or `grad` if it returned None. Raises RuntimeError or TypeError,
    PyTorch's, for a result that cannot replace `grad`."""
    if result is None or result is grad:
        return grad
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not hasattr(result, "_requires_grad"):
        raise TypeError(f"expected Variable, but hook returned '{type_name(result)}'")
    new, old = type(result.array), type(grad.array)
    if result.array.dtype != grad.array.dtype or (new is not old and BACKEND_OF.get(new) is not BACKEND_OF.get(old)):
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the type of value (was {grad.type()} got "
                           f"{result.type()})")
    if result.array.shape != grad.array.shape:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value")
    return result


def check_results(results: Any, grads: tuple[Any, ...], hook: Hook) -> tuple[Any, ...]:
    """Return the gradients after a node's hook; the errors are those of `check_result`."""
    if results is None or results is grads:
        return grads
    if not isinstance(results, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type_name(results)}'")
    if len(results) != len(grads):
        raise RuntimeError(f"hook '{hook_name(hook)}' has returned an incorrect number of values (got {len(results)}, "
                           f"but expected {len(grads)})")
    return tuple([None if new is None else check_result(new, old, hook)
                  for new, old in zip(results, grads, strict=True)])


def call_post_accumulate(hook: Hook, leaf: Any) -> None:
    """Call a post-accumulate hook, which must return None or the leaf. Raises RuntimeError, PyTorch's, for anything
    else."""
    if check_result(hook(leaf), leaf, hook) is not leaf:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
