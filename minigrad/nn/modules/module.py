"""Modules: mirrors `torch/nn/modules/module.py`.

A Module is put together of parts, each in a file of its own: what is assigned to it (`_registry.py`), the modules in it
(`_tree.py`), its conversions (`_convert.py`), its state (`_state_dict.py`) and its hooks (`_hooks.py`). What is left
for here is the call.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, TypeVar

from minigrad.autograd.observer import WATCHING
from minigrad.nn.modules._call import call
from minigrad.nn.modules._convert import Convertible
from minigrad.nn.modules._hooks import (
    BACKWARD,
    BACKWARD_PRE,
    FORWARD,
    FORWARD_PRE,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from minigrad.nn.modules._state_dict import Stateful

__all__ = ["Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]

T = TypeVar("T", bound=type)


def assembled(cls: T) -> T:
    """Have errors and generators call the methods of the parts what PyTorch calls them: `Module.parameters`."""
    for part in cls.__mro__[1:-1]:
        for method in vars(part).values():
            if isinstance(method, FunctionType):
                method.__qualname__ = f"{cls.__name__}.{method.__name__}"
    return cls


@assembled
class Module(Convertible, Stateful):
    """A part of a model: derive from this class, call `super().__init__()`, assign parameters and modules, and write
    `forward`.

    What is assigned is found by `parameters()`, `modules()`, `state_dict()`. Call the module, not its `forward`: the
    call runs the hooks.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; defined by subclasses."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks
                or FORWARD_PRE or FORWARD or BACKWARD_PRE or BACKWARD or WATCHING):
            return call(self, args, kwargs)
        return self.forward(*args, **kwargs)
