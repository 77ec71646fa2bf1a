"""Hooks of modules, and how they are hung up: mirrors the `register_…_hook`s of `torch/nn/modules/module.py`.

A reader finds here which hooks there are; when they run is in `_call.py` (forward), `_backward_hook.py` (backward) and
`_state_dict.py`. Hang one on a module to see what comes through.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from minigrad._base.hooks import RemovableHandle

__all__ = ["BoundHook", "HookRegistry", "register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]
Flags = OrderedDict[int, bool]

# the hooks of all modules, by the ids of their handles
BUFFERS, MODULES, PARAMETERS = Hooks(), Hooks(), Hooks()
FORWARD_PRE, FORWARD, BACKWARD_PRE, BACKWARD = Hooks(), Hooks(), Hooks(), Hooks()
ALWAYS_CALLED, WITH_KWARGS = Flags(), Flags()  # which of FORWARD are so
IS_FULL: list[bool | None] = [None]  # whether those of BACKWARD are full ones, once there was one

ONE_KIND = "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of them."
ON_ONE = ONE_KIND.format("on a single Module")
ON_ALL = ONE_KIND.format("as a global Module hook")


def hang(hooks: Hooks, hook: Hook, *flags: tuple[Flags, bool], prepend: bool = False) -> RemovableHandle:
    """Add a hook, in front of the others if `prepend`; each flag is noted beside it, and goes when it goes."""
    handle = RemovableHandle(hooks, extra_dict=[noted for noted, _ in flags])
    hooks[handle.id] = hook
    for noted, on in flags:
        if on:
            noted[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` before any module gets a buffer; what it returns takes its place."""
    return hang(BUFFERS, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` before any module gets a module; what it returns takes its place."""
    return hang(MODULES, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, param)` before any module gets a parameter; what it returns takes its place."""
    return hang(PARAMETERS, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_forward_pre_hook` on all modules; it runs before those of the module."""
    return hang(FORWARD_PRE, hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False,
                                 always_call: bool = False) -> RemovableHandle:
    """`Module.register_forward_hook` on all modules; it runs before those of the module."""
    return hang(FORWARD, hook, (WITH_KWARGS, with_kwargs), (ALWAYS_CALLED, always_call))


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_backward_hook` on all modules: the old kind.

    Raises:
        RuntimeError: if a full backward hook was registered on all modules before.
    """
    if IS_FULL[0] is True:
        raise RuntimeError(ON_ALL)
    IS_FULL[0] = False
    return hang(BACKWARD, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_full_backward_pre_hook` on all modules; it runs before those of the module."""
    return hang(BACKWARD_PRE, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_full_backward_hook` on all modules; it runs before those of the module.

    Raises:
        RuntimeError: if a backward hook of the old kind was registered on all modules before.
    """
    if IS_FULL[0] is False:
        raise RuntimeError(ON_ALL)
    IS_FULL[0] = True
    return hang(BACKWARD, hook)


class BoundHook:
    """A hook that is called with a module first, which it keeps weakly."""

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


class HookRegistry:
    """The part of a Module that keeps its hooks. Each `register_…` returns a handle: `remove()` takes the hook off."""

    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _is_full_backward_hook: bool | None
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Flags
    _forward_hooks_always_called: Flags
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Flags
    _state_dict_hooks: Hooks
    _state_dict_pre_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False,
                                  with_kwargs: bool = False) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it returns, made a tuple, takes the place of the arguments.

        `with_kwargs`: call `hook(module, args, kwargs)`, which returns None or both. `prepend`: before the others.
        """
        return hang(self._forward_pre_hooks, hook, (self._forward_pre_hooks_with_kwargs, with_kwargs), prepend=prepend)

    def register_forward_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; what it returns takes the place of the output.

        `with_kwargs`: call `hook(module, args, kwargs, output)`. `prepend`: before the others. `always_call`: also
        after an error, with the output as far as there is one.
        """
        return hang(self._forward_hooks, hook, (self._forward_hooks_with_kwargs, with_kwargs),
                    (self._forward_hooks_always_called, always_call), prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the output are known; it may return others."""
        return hang(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known; it may return others.

        Both are tuples, of the positional arguments and of the outputs, None for what is no tensor. The module's
        inputs and outputs go through a node for it, and cannot be changed in place.

        Raises:
            RuntimeError: if this module has a backward hook of the old kind.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(ON_ONE)
        self._is_full_backward_hook = True
        return hang(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The old kind: `hook(module, grad_input, grad_output)` is a hook of the node that made the output.

        Where `forward` does more than one op, `grad_input` is that of the last one only.

        Raises:
            RuntimeError: if this module has a full backward hook.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(ON_ONE)
        self._is_full_backward_hook = False
        return hang(self._backward_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously "
                               "registered via register_state_dict_post_hook")
        return hang(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`, which it may change in place."""
        hook._from_public_api = True
        return hang(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict`."""
        return hang(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        """`register_load_state_dict_pre_hook`, for a hook that gets the module only if `with_module`."""
        return hang(self._load_state_dict_pre_hooks, BoundHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        before this module takes its part of a state dict; it may change all of these in place."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module and all below it were loaded; it may empty the
        lists in there, and no error is raised for these keys."""
        return hang(self._load_state_dict_post_hooks, hook)
