"""`Module`, the base class of all layers and models: mirrors `torch/nn/modules/module.py`.

Read it from top to bottom: the hooks of all modules; what is assigned to a module and how it is stored; the call with
its hooks; conversion to another dtype or device; the walk through a tree of modules; `state_dict` and
`load_state_dict`.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

from minigrad.__future__ import get_overwrite_module_params_on_conversion, get_swap_module_params_on_conversion
from minigrad._base.hooks import RemovableHandle, add_hook
from minigrad._base.warnings import warn
from minigrad.autograd.grad_mode import no_grad
from minigrad.core import LOCAL, Tensor, counter_of
from minigrad.nn.modules._backward_hook import BackwardHook
from minigrad.nn.parameter import Buffer, Parameter, Uninitialized
from minigrad.ops._dispatch.torch_function import DisableTorchFunctionSubclass
from minigrad.ops.factory import empty_like
from minigrad.ops.tensor.copy import parse_to
from minigrad.ops.tensor.properties import typename
from minigrad.ops.tensor.storage import swap_tensors
from minigrad.recording.observer import WATCHING

__all__ = ["Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]  # by the ids of their handles
Flags = OrderedDict[int, bool]

_global_buffer_registration_hooks = Hooks()
_global_module_registration_hooks = Hooks()
_global_parameter_registration_hooks = Hooks()
_global_forward_pre_hooks = Hooks()
_global_forward_hooks = Hooks()
_global_forward_hooks_always_called = Flags()
_global_forward_hooks_with_kwargs = Flags()
_global_backward_pre_hooks = Hooks()
_global_backward_hooks = Hooks()
EVERY_MODULE = SimpleNamespace(_is_full_backward_hook=None)  # None until a global backward hook is registered

HOOK_ATTRIBUTES = ("_backward_pre_hooks", "_backward_hooks", "_is_full_backward_hook", "_forward_hooks",
                   "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
                   "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
                   "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")
EXTRA_STATE = "_extra_state"

TOO_EARLY = "cannot assign {} before Module.__init__() call"
PRE_HOOK_RESULT = "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {}."
SILENCED = ("{}module forward hook with ``always_call=True`` raised an exception that was silenced as another error "
            "was raised in forward: {}")
NO_TENSOR = "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {}"
DEPRECATED = ("Using {} {} is deprecated and will be removed in future versions. This hook will be missing {}. Please "
              "use register_full_backward_hook to get the documented behavior.")
NO_EXTRA_STATE = ("Reached a code path in Module.{} that should never be called. Please file an issue at "
                  "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug.")
POSITIONAL = ("Positional args are being deprecated, use kwargs instead. Refer to "
              "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.")
POST_HOOK_RESULT = ("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace.")


def set_kind_of_hook(owner: Any, full: bool, where: str) -> None:
    """Note whether backward hooks of a module, or of all, are full; raise an error if some are of the other kind."""
    if owner._is_full_backward_hook not in (None, full):
        raise RuntimeError(f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only "
                           "one of them.")
    owner._is_full_backward_hook = full


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` before any module registers a buffer; it may return a replacement."""
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` before any module registers a module; it may return a replacement."""
    return add_hook(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, param)` before any module registers a parameter; it may return a replacement."""
    return add_hook(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_forward_pre_hook` on all modules; the hook runs before the module's own."""
    return add_hook(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False,
                                 always_call: bool = False) -> RemovableHandle:
    """`Module.register_forward_hook` on all modules; the hook runs before the module's own."""
    return add_hook(_global_forward_hooks, hook, (_global_forward_hooks_with_kwargs, with_kwargs),
                    (_global_forward_hooks_always_called, always_call))


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_backward_hook` on all modules: the non-full kind, which excludes global full ones."""
    set_kind_of_hook(EVERY_MODULE, False, "as a global Module hook")
    return add_hook(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_full_backward_pre_hook` on all modules; the hook runs before the module's own."""
    return add_hook(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_full_backward_hook` on all modules; the hook runs before the module's own."""
    set_kind_of_hook(EVERY_MODULE, True, "as a global Module hook")
    return add_hook(_global_backward_hooks, hook)


class WrappedHook:
    """A hook that is called with a module as its first argument; it holds a weak reference to the module."""

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
        vars(self).update(vars(WrappedHook(hook, module)))


class _IncompatibleKeys(NamedTuple):
    """What `load_state_dict` returns."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if self.missing_keys or self.unexpected_keys:
            return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"
        return "<All keys matched successfully>"


def indented(text: str, spaces: int = 2) -> str:
    """Indent the lines of a text after the first; empty ones stay empty."""
    first, *others = text.split("\n")
    return "\n".join([first, *[" " * spaces + line if line.strip() else "" for line in others]])


def check_name(module: Module, kind: str, name: Any, registry: dict[str, Any]) -> None:
    """Raise PyTorch's errors unless the name of a parameter, buffer or module is new and has no dots."""
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    taken = hasattr(module, name) and name not in registry
    if taken and kind == "module":
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if taken:
        raise KeyError(f"attribute '{name}' already exists")


def call_registration_hooks(hooks: Hooks, module: Module, name: str, value: Any) -> Any:
    """Return the value that a module will keep: each global registration hook may replace it."""
    for hook in hooks.values():
        replacement = hook(module, name, value)
        value = value if replacement is None else replacement
    return value


def unseen_by(node: Any, args: tuple[Any, ...], result: Any) -> tuple[str, str, str] | None:
    """What a non-full backward hook on `node` misses of this call, for the warning; None if it sees everything."""
    results = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(results, tuple) and all(isinstance(t, Tensor) for t in results)):
        return ("non-full backward hooks on a Module", "that does not return a single Tensor or a tuple of Tensors",
                "some of the grad_output")
    if not all(isinstance(t, Tensor) for t in args):
        return ("non-full backward hooks on a Module",
                "that does not take as input a single Tensor or a tuple of Tensors", "some of the grad_input")
    if len({t.grad_fn for t in results} - {None}) > 1:
        return ("a non-full backward hook", "when outputs are generated by different autograd Nodes",
                "some grad_output")
    if {t.grad_fn for t in args} - {None} != {target for target, _ in node.next_functions}:
        return ("a non-full backward hook", "when the forward contains multiple autograd Nodes", "some grad_input")
    return None


def snapshot(module: Module) -> Callable[[], None]:
    """Copy the tensors of a module and of all its submodules; the returned function restores them."""
    dicts = [tensors for m in module.modules() for tensors in (m._parameters, m._buffers)]
    entries: list[tuple[dict[str, Any], dict[str, Any]]] = [(tensors, dict(tensors)) for tensors in dicts]
    with DisableTorchFunctionSubclass():  # parameters without a shape are copied too
        copies = {t: (t.detach().clone(), counter_of(t).value) for _, tensors in entries for t in tensors.values()
                  if t is not None}

    def restore() -> None:
        for tensors, before in entries:
            tensors.update(before)
        with no_grad(), DisableTorchFunctionSubclass():
            for tensor, (copy, version) in copies.items():
                if counter_of(tensor).value != version:  # others may be such that refuse to be written to
                    tensor.copy_(copy)

    return restore


def load_below(module: Module, state: dict[str, Any], prefix: str, metadata: Any, assign: bool,
               incompatible_keys: _IncompatibleKeys, error_msgs: list[str]) -> None:
    """Load the part of a state dict below `prefix` into a module and all in it; list what does not fit."""
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = True
    module._load_from_state_dict(state, prefix, local_metadata, True, *incompatible_keys, error_msgs)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            inner = {k: v for k, v in state.items() if k.startswith(below)}
            load_below(child, inner, below, metadata, assign, incompatible_keys, error_msgs)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible_keys) is not None:
            raise AssertionError(POST_HOOK_RESULT)


class Module:
    """A layer or a model: derive from this class, call `super().__init__()`, assign parameters and modules, and write
    `forward`.

    Assigned parameters, buffers and modules are not stored among the attributes (`__dict__`), but in three separate
    dicts, where `parameters()`, `modules()` and `state_dict()` find them. Call the module, not its `forward`: only the
    call runs the hooks.
    """

    training: bool
    call_super_init: bool = False
    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Module | None]  # and the dicts of hooks, HOOK_ATTRIBUTES

    # state and registration
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            wrong = (f"got an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else
                     f"takes 1 positional argument but {len(args) + 1} were given")
            raise TypeError(f"{type(self).__name__}.__init__() {wrong}")
        own: dict[str, Any] = self.__dict__
        own.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set())
        for name in HOOK_ATTRIBUTES:
            own[name] = OrderedDict()
        own["_is_full_backward_hook"], own["_modules"] = None, {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError(TOO_EARLY.format("parameters"))
            self._remove_from_others(name, "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                                "expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError(TOO_EARLY.format("module"))
            self._remove_from_others(name, "_modules")
            own["_modules"][name] = call_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None "
                                "expected)")
            own["_modules"][name] = call_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or "
                            "None expected)")
        if "_buffers" not in self.__dict__:
            raise AttributeError(TOO_EARLY.format("buffer"))
        persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        self.register_buffer(name, value, persistent)

    def _remove_from_others(self, name: str, own_registry: str) -> None:
        """Remove a name from all dicts but the one of its kind."""
        for registry in ("_parameters", "_buffers", "_modules"):
            if registry != own_registry:
                self.__dict__[registry].pop(name, None)
        self.__dict__.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        try:  # no loop: every `self.weight` goes through here
            if name in (registry := own["_parameters"]):
                return registry[name]
            if name in (registry := own["_buffers"]):
                return registry[name]
            if name in (registry := own["_modules"]):
                return registry[name]
        except KeyError:
            """Before `__init__` a module has none of them."""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for registry in (self._parameters, self._buffers, self._modules):
            if name in registry:
                del registry[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted([name for name in names if not name[0].isdigit()])

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in HOOK_ATTRIBUTES:  # an older state may lack some
            self.__dict__.setdefault(name, None if name == "_is_full_backward_hook" else OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that the layer does not use. Raises KeyError if the name is empty, has a dot
        or is taken, TypeError if it is not a Parameter, and ValueError for a parameter with a graph."""
        if "_parameters" not in self.__dict__:
            raise AttributeError(TOO_EARLY.format("parameter"))
        check_name(self, "parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter "
                                "or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                                 f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                                 "the value in the forward() method.")
            param = call_registration_hooks(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the module's state but not a parameter; `to` moves it with the module.

        `persistent`: whether it is part of `state_dict()`. Raises KeyError if the name is empty, has a dot or is taken;
        TypeError if it is not a tensor.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError(TOO_EARLY.format("buffer"))
        check_name(self, "buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None "
                            "required)")
        self._buffers[name] = call_registration_hooks(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module, or None, under the name of an attribute. Raises KeyError if the name is empty, has a dot or is
        taken; TypeError if it is not a Module."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        check_name(self, "module", name, self._modules)
        self._modules[name] = call_registration_hooks(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    # the call and its hooks
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks
                or _global_forward_pre_hooks or _global_forward_hooks or _global_backward_pre_hooks
                or _global_backward_hooks or WATCHING):
            return self._call_impl(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `_call_with_hooks`, and report its beginning and end to an observer, if there is one."""
        observer = LOCAL.observer
        if observer is None:
            return self._call_with_hooks(args, kwargs)
        observer.seen.module_begin(self)
        result, raised = None, True
        try:
            result = self._call_with_hooks(args, kwargs)
            raised = False
            return result
        finally:
            observer.seen.module_end((args, kwargs), result, raised)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run forward pre-hooks, `forward` and forward hooks; add nodes for backward hooks. Global hooks come first.

        The node at the input is recorded before `forward`, the one at the output after the forward hooks.
        """
        result, called = None, set[int]()
        full, non_full = self._get_backward_hooks(full=True), self._get_backward_hooks(full=False)
        pre_hooks = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        try:
            for hook_id, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
                if hook_id in self._forward_pre_hooks_with_kwargs:
                    replaced = hook(self, args, kwargs)
                    if replaced is not None:
                        if not (isinstance(replaced, tuple) and len(replaced) == 2):
                            raise RuntimeError(PRE_HOOK_RESULT.format(replaced))
                        args, kwargs = replaced
                elif (replaced := hook(self, args)) is not None:
                    args = replaced if isinstance(replaced, tuple) else (replaced,)
            backward_hook = BackwardHook(self, full, pre_hooks) if full or pre_hooks else None
            if backward_hook is not None:
                args = backward_hook.setup_input_hook(args)
            result = self.forward(*args, **kwargs)
            for hook_id, hook in (*_global_forward_hooks.items(), *self._forward_hooks.items()):
                if hook_id in self._forward_hooks_always_called or hook_id in _global_forward_hooks_always_called:
                    called.add(hook_id)
                with_kwargs = (hook_id in self._forward_hooks_with_kwargs
                               or hook_id in _global_forward_hooks_with_kwargs)
                replaced = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                result = result if replaced is None else replaced
            if backward_hook is not None:
                if not isinstance(result, (Tensor, tuple)):
                    warn(NO_TENSOR.format(type(result)))
                result = backward_hook.setup_output_hook(result)
            if non_full:
                self._add_non_full_hooks(non_full, args, result)
        except Exception:
            self._call_remaining_hooks(called, args, kwargs, result)
            raise
        return result

    def _call_remaining_hooks(self, called: set[int], args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """After an error, call the remaining hooks with `always_call`; their own errors become warnings."""
        for scope, hooks, always_called, with_kwargs in (
                ("global ", _global_forward_hooks, _global_forward_hooks_always_called, {}),
                ("", self._forward_hooks, self._forward_hooks_always_called, self._forward_hooks_with_kwargs)):
            for hook_id, hook in hooks.items():
                if hook_id in always_called and hook_id not in called:
                    try:
                        replaced = (hook(self, args, kwargs, result) if hook_id in with_kwargs else
                                    hook(self, args, result))
                        result = result if replaced is None else replaced
                    except Exception as error:  # noqa: BLE001 (whatever it is: the first error is the one to show)
                        warn(SILENCED.format(scope, error))

    def _get_backward_hooks(self, full: bool) -> list[Hook]:
        """Return the full backward hooks, global ones first; or those of the older kind."""
        return [*(_global_backward_hooks.values() if EVERY_MODULE._is_full_backward_hook is full else ()),
                *(self._backward_hooks.values() if self._is_full_backward_hook is full else ())]

    def _add_non_full_hooks(self, hooks: list[Hook], args: tuple[Any, ...], result: Any) -> None:
        """Register backward hooks of the older kind on the node of the output's first tensor."""
        first = result
        while not isinstance(first, Tensor):
            first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
        node = first.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(WrappedHook(hook, self))
            unseen = unseen_by(node, args, result)
            if unseen is not None:
                warn(DEPRECATED.format(*unseen), FutureWarning)

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False,
                                  with_kwargs: bool = False) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; it may return other arguments, as a tuple or a single value.

        `with_kwargs`: call `hook(module, args, kwargs)`, which returns None or both. `prepend`: before the others.
        """
        return add_hook(self._forward_pre_hooks, hook, (self._forward_pre_hooks_with_kwargs, with_kwargs),
                        prepend=prepend)

    def register_forward_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; it may return another output.

        `with_kwargs`: call `hook(module, args, kwargs, output)`. `prepend`: before the others. `always_call`: also
        after an error, with the output so far.
        """
        return add_hook(self._forward_hooks, hook, (self._forward_hooks_with_kwargs, with_kwargs),
                        (self._forward_hooks_always_called, always_call), prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known; it may return others."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known; it may return others.

        Both are tuples, for the positional arguments and for the outputs, with None for what is not a tensor. The
        module's inputs and outputs go through nodes for this, and cannot be changed in place. Raises RuntimeError if
        this module has a non-full backward hook.
        """
        set_kind_of_hook(self, True, "on a single Module")
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` as a hook of the node that computed the output: the older kind.

        If `forward` runs more than one op, `grad_input` is that of the last one only. Raises RuntimeError if this
        module has a full backward hook.
        """
        set_kind_of_hook(self, False, "on a single Module")
        return add_hook(self._backward_hooks, hook)

    # conversion: a parameter stays the same object and gets new data, so an optimiser that holds it still works
    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of each parameter and of its gradient, and each buffer, by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                with no_grad():
                    data, grad_data = fn(param), None if param.grad is None else fn(param.grad)
                if get_overwrite_module_params_on_conversion():
                    new = self._parameters[name] = Parameter(data, param.requires_grad)
                    new.grad = grad_data
                    continue
                if get_swap_module_params_on_conversion():
                    grad = param.grad
                    swap_tensors(param, Parameter(data, param.requires_grad))
                    param._grad = grad
                else:
                    param.data = data
                if param.grad is not None and grad_data is not None:
                    param.grad.data = grad_data
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert by `to(device, dtype, non_blocking)`, `to(dtype, non_blocking)` or `to(tensor, non_blocking)`.

        Only floating point parameters and buffers change dtype. Raises TypeError for a dtype that is not floating
        point.
        """
        device, dtype, _, format = parse_to(*args, **kwargs)
        if "copy" in kwargs:
            raise RuntimeError(".to() does not accept copy argument")
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                            f"dtype={dtype}")

        def moved(t: Tensor) -> Tensor:
            options = {} if format is None or t.ndim not in (4, 5) else {"memory_format": format}
            return t.to(device, dtype if t.is_floating_point() else None, **options)

        return self._apply(moved)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without their values, which are then undefined."""
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, whatever their dtype, to this one."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Convert floating point parameters and buffers to `float32`."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to `float64`."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Convert floating point parameters and buffers to `float16`."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Floating point parameters and buffers as `bfloat16`."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    # the tree of modules, by dotted names
    def get_submodule(self, target: str) -> Module:
        """Return the module of a dotted name, `"net.0.conv"`, or this one for `""`; raise AttributeError for others."""
        module: Module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            child = getattr(module, name)
            if not isinstance(child, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
            module = child
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module where a dotted name says; with `strict`, only in place of another.

        Raises AttributeError if there is no module to put it into, or, with `strict`, none to replace; ValueError for
        an empty name, or what is not a module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent: Any = self.get_submodule(path) if path else self
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with a dotted name; raise AttributeError if there is none."""
        module, name = self._owner(target)
        param = getattr(module, name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with a dotted name; raise AttributeError if there is none."""
        module, name = self._owner(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(module, name)

    def _owner(self, target: str) -> tuple[Module, str]:
        """Return the module in which a dotted name ends, and the name of the attribute there."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name

    # the tree of modules, all of it
    def named_modules(self, memo: set[Any] | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Yield this module and all in it, with dotted names that begin with `prefix`.

        Each comes once, under its first name, unless `remove_duplicate` is False. `memo`: those already yielded.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all in it, each once unless `remove_duplicate` is False."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the modules directly in this one with their names, each once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the modules directly in this one, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]], prefix: str = "",
                       recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield `get_members_fn`'s results for this module and, with `recurse`, all in it, by dotted name, no None."""
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters of this module and, with `recurse`, all in it; dotted names begin with `prefix`.

        A parameter used twice comes once, under its first name, unless `remove_duplicate` is False.
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters of this module and, with `recurse`, of all in it, each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers, as `named_parameters` does the parameters."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers of this module and, with `recurse`, of all in it, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` with every module in this one, then with this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode for this module and all in it. Raises ValueError for a mode that is not a bool."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: layers like dropout behave differently; ops are recorded as before."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for param in self.parameters():
            grad = param.grad
            if set_to_none:
                param.grad = None
            elif grad is not None:
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    # printing
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what is printed between the brackets of the module; it may have several lines."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        several = len(lines) > 1 or bool(self._modules)
        for name, module in self._modules.items():  # a comprehension would take one more frame for each level
            lines.append(f"({name}): {indented(repr(module))}")
        if several:
            extra = "\n  " + "\n  ".join(lines) + "\n"
        return f"{self._get_name()}({extra})"

    # state_dict: an OrderedDict from dotted names to tensors, which share their data with the module
    def get_extra_state(self) -> Any:
        """Return what a class adds to its state besides tensors; override it together with `set_extra_state`."""
        raise RuntimeError(NO_EXTRA_STATE.format("get_extra_state()"))

    def set_extra_state(self, state: Any) -> None:
        """Restore what `get_extra_state` returned."""
        raise RuntimeError(NO_EXTRA_STATE.format("set_extra_state()"))

    def _state(self) -> dict[str, Tensor]:
        """Return the parameters and persistent buffers of this module alone, without None."""
        buffers = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {k: v for k, v in [*self._parameters.items(), *buffers.items()] if v is not None}

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Write the state of this module alone into `destination`."""
        for name, value in self._state().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the state of this module and all in it, by dotted names that begin with `prefix`.

        `destination`: a dict to write into, instead of a new OrderedDict. `keep_vars`: the parameters themselves, not
        detached.
        """
        if args:
            warn(POSITIONAL, FutureWarning)
            options = {"destination": destination, "prefix": prefix, "keep_vars": keep_vars}
            return self.state_dict(**options | dict(zip(options, args, strict=False)))
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # the versions of the modules
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local_metadata)
            if replaced is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = replaced
        return destination

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy a state dict into the parameters and buffers of this module and all in it.

        `strict`: the names must be the same on both sides. `assign`: the tensors replace the present ones instead of
        being copied into them. Returns `missing_keys` and `unexpected_keys`. After an error all tensors are as they
        were (in PyTorch those that fit have been loaded). Raises RuntimeError with a list of all names and shapes that
        do not fit; TypeError if `state_dict` is not a mapping.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        incompatible_keys, error_msgs, restore = _IncompatibleKeys([], []), list[str](), snapshot(self)

        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata
        try:
            load_below(self, state, "", metadata, assign, incompatible_keys, error_msgs)
            if strict:
                for kind, keys in zip(("Unexpected", "Missing"), reversed(incompatible_keys), strict=True):
                    if keys:
                        listed = ", ".join([f'"{key}"' for key in keys])
                        error_msgs.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
            if error_msgs:
                raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(
                    type(self).__name__, "\n\t".join(error_msgs)))
        except BaseException:
            restore()
            raise
        return incompatible_keys

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
                              strict: bool, missing_keys: list[str], unexpected_keys: list[str],
                              error_msgs: list[str]) -> None:
        """Load this module alone; what does not fit is added to the three lists. Subclasses may extend it."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        state = self._state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, target in state.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            value = state_dict[key]
            if isinstance(value, Tensor) and target.array.ndim == 0 and value.shape == (1,):
                value = value[0]  # how the first versions of PyTorch saved a scalar
            error = self._load_tensor(name, key, value, target, assign)
            if error is not None:
                error_msgs.append(error)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                first, dot, _ = key.removeprefix(prefix).partition(".")
                if key.startswith(prefix) and key != extra and first not in (self._modules if dot else state):
                    unexpected_keys.append(key)

    def _load_tensor(self, name: str, key: str, value: Any, target: Tensor, assign: bool) -> str | None:
        """Copy a value into one of this module's tensors, or replace the tensor; return the error message, if any."""
        if not (isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")):
            return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(value)}")
        if isinstance(target, Uninitialized) and isinstance(value, Uninitialized):
            return None  # neither has anything to copy
        if value.shape != target.shape:
            return (f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                    f"current model is {target.shape}.")
        try:
            with no_grad():
                if not assign:
                    target.copy_(value)
                    return None
                if isinstance(target, Parameter):
                    value = (value.requires_grad_(target.requires_grad) if isinstance(value, Parameter) else
                             Parameter(value, requires_grad=target.requires_grad))
                setattr(self, name, value)
                return None
        except Exception as error:  # noqa: BLE001 (whichever it is, it is reported along with the others)
            return (f'While copying the parameter named "{key}", whose dimensions in the model are {target.size()} and '
                    f"whose dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}.")

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously "
                               "registered via register_state_dict_post_hook")
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`, which it may change in place."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict`."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        """`register_load_state_dict_pre_hook`, for a hook that gets the module only if `with_module`."""
        return add_hook(self._load_state_dict_pre_hooks, WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        before this module loads its part of a state dict; it may change all of these in place."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module and all in it were loaded; if it empties the lists
        in there, no error is raised for these keys."""
        return add_hook(self._load_state_dict_post_hooks, hook)
