"""Modules: mirrors `torch/nn/modules/module.py`, as far as parameters and calling go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minigrad.nn.parameter import Parameter

__all__ = ["Module"]


class Module:
    """A part of a model: parameters and modules that are assigned to it are found by `parameters()`."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        object.__setattr__(self, "training", True)
        object.__setattr__(self, "_parameters", {})
        object.__setattr__(self, "_modules", {})

    def __setattr__(self, name: str, value: Any) -> None:
        kind = Parameter if isinstance(value, Parameter) else Module if isinstance(value, Module) else None
        if kind is not None and "_parameters" not in self.__dict__:
            what = "parameters" if kind is Parameter else "module"
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if kind is None and name in self.__dict__.get("_parameters", {}):
            if value is not None:
                raise TypeError(f"cannot assign '{type(value).__module__}.{type(value).__qualname__}' as parameter "
                                f"'{name}' (torch.nn.Parameter or None expected)")
            self._parameters[name] = None
            object.__setattr__(self, name, None)
            return
        if kind is Parameter:
            self._parameters[name] = value
        elif kind is Module or name in self.__dict__.get("_modules", {}):
            if value is not None and kind is not Module:
                raise TypeError(f"cannot assign '{type(value).__module__}.{type(value).__qualname__}' as child module "
                                f"'{name}' (torch.nn.Module or None expected)")
            self._modules[name] = value
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._parameters.pop(name, None)
        self._modules.pop(name, None)
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that a layer does without."""
        self._parameters[name] = param
        object.__setattr__(self, name, param)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; defined by subclasses."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, each once, with dotted names."""
        seen: set[Module] = set()
        stack = [(prefix, self)]
        while stack:
            name, module = stack.pop()
            if module in seen:
                continue
            seen.add(module)
            yield name, module
            stack.extend([(f"{name}.{key}" if name else key, child)
                          for key, child in reversed(module._modules.items()) if child is not None])

    def children(self) -> Iterator[Module]:
        """The modules right below this one, each once."""
        return iter(dict.fromkeys([child for child in self._modules.values() if child is not None]))

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """All parameters of this module and those below it, each once, with dotted names."""
        seen: set[Parameter] = set()
        for name, module in self.named_modules(prefix):
            for key, param in module._parameters.items():
                if param is not None and param not in seen:
                    seen.add(param)
                    yield (f"{name}.{key}" if name else key), param

    def parameters(self) -> Iterator[Parameter]:
        """All parameters of this module and those below it, each once."""
        return iter([param for _, param in self.named_parameters()])

    def train(self, mode: bool = True) -> Module:
        """Set training mode for this module and all below it."""
        for _, module in self.named_modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Set evaluation mode; gradients are recorded as before."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set `requires_grad` of all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for param in self.parameters():
            if param.grad is not None:
                param.grad = None if set_to_none else param.grad.detach().zero_()

    def extra_repr(self) -> str:
        """What stands between the brackets when the module is printed."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        rows = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self._modules.items()]
        if not rows:
            return f"{type(self).__name__}({extra})"
        inside = "\n  ".join([*([extra] if extra else []), *rows])
        return f"{type(self).__name__}(\n  {inside}\n)"
