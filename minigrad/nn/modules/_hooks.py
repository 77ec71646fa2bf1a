"""Hooks on all modules at once, and how any hook is registered: mirrors parts of `torch/nn/modules/module.py`.

The hooks of one module are registered by its own methods (`module.py`), which use `add_hook`, too.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from minigrad._base.hooks import RemovableHandle

__all__ = ["WrappedHook", "add_hook", "register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]  # by the ids of their handles
Flags = OrderedDict[int, bool]

GLOBAL_BUFFER_REGISTRATION_HOOKS = Hooks()
GLOBAL_MODULE_REGISTRATION_HOOKS = Hooks()
GLOBAL_PARAMETER_REGISTRATION_HOOKS = Hooks()
GLOBAL_FORWARD_PRE_HOOKS = Hooks()
GLOBAL_FORWARD_HOOKS = Hooks()
GLOBAL_FORWARD_HOOKS_ALWAYS_CALLED = Flags()
GLOBAL_FORWARD_HOOKS_WITH_KWARGS = Flags()
GLOBAL_BACKWARD_PRE_HOOKS = Hooks()
GLOBAL_BACKWARD_HOOKS = Hooks()
GLOBAL_BACKWARD_HOOKS_ARE_FULL: list[bool | None] = [None]  # None until one was registered

ONE_KIND_OF_HOOK = "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of them."


def add_hook(hooks: Hooks, hook: Hook, *flags: tuple[Flags, bool], prepend: bool = False) -> RemovableHandle:
    """Add a hook, before the others if `prepend`, and set its flags; its handle removes it with its flags."""
    handle = RemovableHandle(hooks, extra_dict=[flag_dict for flag_dict, _ in flags])
    hooks[handle.id] = hook
    for flag_dict, is_set in flags:
        if is_set:
            flag_dict[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` before any module registers a buffer; it may return a replacement."""
    return add_hook(GLOBAL_BUFFER_REGISTRATION_HOOKS, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` before any module registers a module; it may return a replacement."""
    return add_hook(GLOBAL_MODULE_REGISTRATION_HOOKS, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, param)` before any module registers a parameter; it may return a replacement."""
    return add_hook(GLOBAL_PARAMETER_REGISTRATION_HOOKS, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_forward_pre_hook` on all modules; it runs before the module's own hooks."""
    return add_hook(GLOBAL_FORWARD_PRE_HOOKS, hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False,
                                 always_call: bool = False) -> RemovableHandle:
    """`Module.register_forward_hook` on all modules; it runs before the module's own hooks."""
    return add_hook(GLOBAL_FORWARD_HOOKS, hook, (GLOBAL_FORWARD_HOOKS_WITH_KWARGS, with_kwargs),
                    (GLOBAL_FORWARD_HOOKS_ALWAYS_CALLED, always_call))


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_backward_hook` on all modules: the non-full kind.

    Raises:
        RuntimeError: if a full backward hook was registered on all modules before.
    """
    if GLOBAL_BACKWARD_HOOKS_ARE_FULL[0] is True:
        raise RuntimeError(ONE_KIND_OF_HOOK.format("as a global Module hook"))
    GLOBAL_BACKWARD_HOOKS_ARE_FULL[0] = False
    return add_hook(GLOBAL_BACKWARD_HOOKS, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_full_backward_pre_hook` on all modules; it runs before the module's own hooks."""
    return add_hook(GLOBAL_BACKWARD_PRE_HOOKS, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_full_backward_hook` on all modules; it runs before the module's own hooks.

    Raises:
        RuntimeError: if a non-full backward hook was registered on all modules before.
    """
    if GLOBAL_BACKWARD_HOOKS_ARE_FULL[0] is False:
        raise RuntimeError(ONE_KIND_OF_HOOK.format("as a global Module hook"))
    GLOBAL_BACKWARD_HOOKS_ARE_FULL[0] = True
    return add_hook(GLOBAL_BACKWARD_HOOKS, hook)


class WrappedHook:
    """A hook that is called with a module as first argument, to which it holds a weak reference."""

    def __init__(self, hook: Hook, module: Any = None) -> None:
        functools.update_wrapper(self, hook)
        self.hook, self.with_module = hook, module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> tuple[Hook, bool, Any]:
        return self.hook, self.with_module, self.module() if self.with_module else None

    def __setstate__(self, state: tuple[Hook, bool, Any]) -> None:
        hook, with_module, module = state
        if with_module and module is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        functools.update_wrapper(self, hook)
        self.hook, self.with_module = hook, with_module
        if with_module:
            self.module = weakref.ref(module)
