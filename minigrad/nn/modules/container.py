"""Modules that hold modules or parameters: mirrors `torch/nn/modules/container.py`.

A Sequential calls its modules one after the other; a ModuleList and a ModuleDict are a list and a dict whose modules
are found by `parameters()` and `state_dict()`, which those in a plain list are not. ParameterList and ParameterDict,
which are the same for parameters, are in `_parameter_containers.py`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Any, Self

from minigrad.nn.modules._parameter_containers import ParameterDict, ParameterList, pairs, place
from minigrad.nn.modules.module import Module, indented

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Row(Module):
    """Modules in a row: what Sequential and ModuleList share."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _name(self, index: Any) -> str:
        """The name of the module at an index."""
        return list(self._modules)[place(index, len(self))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        for name in list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]:
            delattr(self, name)
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def append(self, module: Module) -> Self:
        """Put a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def _shift(self, index: int, module: Any) -> None:
        """Put a module at an index; those from there on get the next number."""
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def pop(self, key: Any) -> Any:
        """Take out a module, or those of a slice, and return it."""
        found = self[key]  # type: ignore[index]  # both classes have their own __getitem__
        del self[key]
        return found


class Sequential(_Row):
    """Modules called one after the other, given as arguments or as an OrderedDict of names and modules."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named: Iterable[tuple[str, Any]] = [(str(i), module) for i, module in enumerate(args)]
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """The input sent through all modules."""
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at an index.

        Raises:
            AssertionError: for what is no module.
            IndexError: for an index beyond the end.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        self._shift(index + count if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Put modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def __iadd__(self, other: Sequential) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(list(other))

    def __add__(self, other: Sequential) -> Sequential:
        joined = Sequential().extend(self)
        joined += other
        return joined

    def __imul__(self, times: int) -> Self:
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        modules: list[Any] = [self._modules[str(i)] for i in range(len(self))]  # a KeyError for names, as in PyTorch
        return self.extend(modules * (times - 1))

    def __mul__(self, times: int) -> Sequential:
        joined = Sequential().extend(self)
        joined *= times
        return joined

    __rmul__ = __mul__


class ModuleList(_Row):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._name(index)]

    def _name(self, index: Any) -> str:
        return str(place(index, len(self)))

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at an index, which must not be negative."""
        self._shift(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Put modules at the end.

        Raises:
            TypeError: for what cannot be iterated, or holds what is no module.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for index, module in enumerate(list(modules), len(self)):
            self.add_module(str(index), module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        lines, start = [], 0
        for text, alike in groupby(map(repr, self)):
            count = len(list(alike))
            row = f"({start}): {text}" if count == 1 else f"({start}-{start + count - 1}): {count} x {text}"
            lines.append(f"\n  {indented(row)}")
            start += count
        return f"{self._get_name()}({''.join(lines)}" + ("\n)" if lines else ")")


class ModuleDict(Module):
    """A dict of modules, by strings that are names of attributes too."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take out all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take out a module and return it."""
        found = self[key]
        del self[key]
        return found

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """The names with the modules."""
        return self._modules.items()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules, from a mapping or from pairs of name and module; they replace those of the same names.

        Raises:
            TypeError: for what cannot be iterated, or holds what is no module.
            ValueError: for an element that is no pair.
        """
        for name, module in pairs(modules, (ModuleDict, Mapping), "ModuleDict", "ModuleDict"):
            self[name] = module
