"""A module and the modules in it: mirrors parts of `torch/nn/modules/module.py`.

How `parameters()` and its like walk through a model, how modules are found by dotted names, and what is done to all of
them at once: `train()`, `apply()`, `zero_grad()`; and how a model is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from minigrad.core.tensor import Tensor
from minigrad.nn.modules._registry import Registry
from minigrad.nn.parameter import Parameter

if TYPE_CHECKING:
    from minigrad.nn.modules.module import Module

__all__ = ["Tree", "indented"]


def indented(text: str, spaces: int = 2) -> str:
    """The lines of a text after the first one moved to the right; empty ones stay empty."""
    first, *others = text.split("\n")
    return "\n".join([first, *[" " * spaces + line if line.strip() else "" for line in others]])


class Tree(Registry):
    """The part of a Module that knows the modules in it."""

    # by name
    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name, `"net.0.conv"`; the module itself for `""`.

        Raises:
            AttributeError: if there is none.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Registry):
                raise AttributeError(f"`{name}` is not an nn.Module")
        found: Module = module
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module where a dotted name says; with `strict` only in the place of another.

        Raises:
            AttributeError: if there is no module to put it into, or, with `strict`, none to replace.
            ValueError: for an empty name, or what is no module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Registry):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent: Any = self.get_submodule(path) if path else self
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Registry):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name.

        Raises:
            AttributeError: if there is none.
        """
        found = self._get(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name.

        Raises:
            AttributeError: if there is none.
        """
        found: Tensor = self._get(target)
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _get(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return getattr(module, name)

    # all of them
    def named_modules(self, memo: set[Any] | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """This module and all in it, with dotted names that begin with `prefix`.

        Each comes once, under its first name, unless `remove_duplicate` is False. `memo`: those that came already.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self  # type: ignore[misc]  # a Tree is always part of a Module
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all in it, each once unless `remove_duplicate` is False."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below this one with their names, each once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules right below this one, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]], prefix: str = "",
                       recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """What `get_members_fn` gives for this module and, with `recurse`, all in it, with dotted names; no None."""
        seen = set()
        modules: Iterable[tuple[str, Any]] = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """The parameters of this module and, with `recurse`, of all in it, with dotted names that begin with `prefix`.

        One that is used twice comes once, under its first name, unless `remove_duplicate` is False.
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and, with `recurse`, of all in it, each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The buffers, as `named_parameters` gives the parameters."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and, with `recurse`, of all in it, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # done to all of them
    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` with every module in this one, then with this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode for this module and all in it.

        Raises:
            ValueError: for a mode that is no bool.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: layers like dropout behave differently; gradients are recorded as before."""
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

    # printed
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the brackets when the module is printed; may have many lines."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if len(lines) > 1 or children:
            extra = "\n  " + "\n  ".join(lines + children) + "\n"
        return f"{self._get_name()}({extra})"
