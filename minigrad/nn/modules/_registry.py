"""What is assigned to a module, and where it is kept: mirrors parts of `torch/nn/modules/module.py`.

Parameters, buffers and modules do not live among the attributes of a module (its `__dict__`), but in three dicts of
their own: that is how `parameters()` and `state_dict()` find them. `__setattr__` sorts, `__getattr__` looks them up.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from minigrad.core.tensor import Tensor
from minigrad.nn.modules._hooks import BUFFERS, MODULES, PARAMETERS, Hooks
from minigrad.nn.parameter import Buffer, Parameter
from minigrad.ops.tensor.properties import typename

if TYPE_CHECKING:
    from minigrad.nn.modules.module import Module

__all__ = ["Registry"]

HOOKS = ("_backward_pre_hooks", "_backward_hooks", "_is_full_backward_hook", "_forward_hooks",
         "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
         "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
         "_load_state_dict_post_hooks")
TOO_EARLY = "cannot assign {} before Module.__init__() call"


def check_name(self: Registry, kind: str, name: Any, known: dict[str, Any]) -> None:
    """A name for a parameter, a buffer or a module must be a new one without dots; PyTorch's errors else."""
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    taken = hasattr(self, name) and name not in known
    if taken and kind == "module":
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if taken:
        raise KeyError(f"attribute '{name}' already exists")


def passed(hooks: Hooks, self: Registry, name: str, value: Any) -> Any:
    """What the registration hooks of all modules make of a value."""
    for hook in hooks.values():
        given = hook(self, name, value)
        value = value if given is None else given
    return value


class Registry:
    """The part of a Module that keeps parameters, buffers and modules."""

    training: bool
    call_super_init: bool = False
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Module | None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            wrong = (f"got an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else
                     f"takes 1 positional argument but {len(args) + 1} were given")
            raise TypeError(f"{type(self).__name__}.__init__() {wrong}")
        own: dict[str, Any] = self.__dict__
        own.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set())
        for name in HOOKS:
            own[name] = OrderedDict()
        own["_is_full_backward_hook"], own["_modules"] = None, {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError(TOO_EARLY.format("parameters"))
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                                "expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Registry):
            if "_modules" not in own:
                raise AttributeError(TOO_EARLY.format("module"))
            self._forget(name, "_modules")
            own["_modules"][name] = passed(MODULES, self, name, value)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None "
                                "expected)")
            own["_modules"][name] = passed(MODULES, self, name, value)
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
        persistent = (value.persistent if isinstance(value, Buffer) else
                      name not in self._non_persistent_buffers_set)
        self.register_buffer(name, value, persistent)

    def _forget(self, name: str, kept: str) -> None:
        """Take a name out of all places but one."""
        for place in ("_parameters", "_buffers", "_modules"):
            if place != kept:
                self.__dict__[place].pop(name, None)
        self.__dict__.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        try:  # written out: `self.weight` comes here every time
            if name in (held := own["_parameters"]):
                return held[name]
            if name in (held := own["_buffers"]):
                return held[name]
            if name in (held := own["_modules"]):
                return held[name]
        except KeyError:
            """Before `__init__` a module has none of them."""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for held in (self._parameters, self._buffers, self._modules):
            if name in held:
                del held[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted([name for name in names if not name[0].isdigit()])

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in HOOKS:  # a state from elsewhere may not have them all
            self.__dict__.setdefault(name, None if name == "_is_full_backward_hook" else OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that a layer does without.

        Raises:
            KeyError: if the name is empty, has a dot or is taken.
            TypeError: for what is no Parameter.
            ValueError: for a parameter with a graph.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError(TOO_EARLY.format("parameter"))
        known = self._parameters
        check_name(self, "parameter", name, known)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter "
                                "or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                                 f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                                 "the value in the forward() method.")
            param = passed(PARAMETERS, self, name, param)
        known[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the module's state, but no parameter; it moves along with `to`.

        `persistent`: whether it is part of `state_dict()`.

        Raises:
            KeyError: if the name is empty, has a dot or is taken.
            TypeError: for what is no tensor.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError(TOO_EARLY.format("buffer"))
        known = self._buffers
        check_name(self, "buffer", name, known)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None "
                            "required)")
        known[name] = passed(BUFFERS, self, name, tensor)
        change = self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add
        change(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module, or None, under a name by which it is an attribute.

        Raises:
            KeyError: if the name is empty, has a dot or is taken.
            TypeError: for what is no Module.
        """
        if module is not None and not isinstance(module, Registry):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        check_name(self, "module", name, self._modules)
        self._modules[name] = passed(MODULES, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)
