"""Modules that hold modules or parameters: mirrors `torch/nn/modules/container.py`.

A Sequential calls its modules one after the other; a ModuleList and a ModuleDict are a list and a dict whose modules
`parameters()` and `state_dict()` find, unlike those in a plain list. A ParameterList and a ParameterDict are the same
for parameters; they may hold anything, and a tensor that is added becomes a Parameter.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Any, NoReturn, Self

from minigrad.core import Tensor
from minigrad.nn.modules.module import Module, indented
from minigrad.nn.parameter import Parameter
from minigrad.ops.tensor.properties import typename

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def checked_index(index: Any, size: int) -> int:
    """Return an index into a list of this size, counted from its start; raise IndexError if it is out of range."""
    number = operator.index(index)
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of range")
    return number % size


def pairs(items: Any, mappings: tuple[type, ...], called: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the names and values in the argument of `update`, a mapping or pairs; raise PyTorch's errors otherwise."""
    if not isinstance(items, Iterable):
        raise TypeError(f"{called}.update should be called with an iterable of key/value pairs, but got "
                        f"{type(items).__name__}")
    if isinstance(items, mappings):
        yield from items.items()  # type: ignore[attr-defined]  # these all have items
        return
    for number, pair in enumerate(items):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{number} should be Iterable; is{type(pair).__name__}")
        values: Any = pair
        if len(values) != 2:
            raise ValueError(f"{name} update sequence element #{number} has length {len(values)}; 2 is required")
        yield values[0], values[1]


def as_parameter(value: Any) -> Any:
    """Return a tensor as a Parameter, anything else unchanged."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def row(name: Any, value: Any, kind: str) -> str:
    """Return the line that is printed for an element; `kind`: the type of a tensor."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.shape))
    return f"  ({name}): {type(value).__name__} containing: [{kind} of size {size}]"


class _Row(Module):
    """Modules in a row: what Sequential and ModuleList share."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _name(self, index: Any) -> str:
        """Return the name of the module at an index."""
        return list(self._modules)[checked_index(index, len(self))]

    def __getitem__(self, index: int | slice) -> Any:
        return self._slice(index) if isinstance(index, slice) else self._modules[self._name(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        for name in list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]:
            delattr(self, name)
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def _shift(self, index: int, module: Any) -> None:
        """Put a module at an index; those from there on move up by one."""
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def pop(self, key: Any) -> Any:
        """Remove and return a module, or those of a slice."""
        removed = self[key]
        del self[key]
        return removed


class Sequential(_Row):
    """Modules called one after the other, given as arguments or as an OrderedDict of names and modules."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        is_named = len(args) == 1 and isinstance(args[0], OrderedDict)
        modules = args[0] if is_named else {str(i): module for i, module in enumerate(args)}
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """Send the input through all modules."""
        for module in self:
            input = module(input)
        return input

    def _slice(self, index: slice) -> Self:
        return type(self)(OrderedDict(list(self._modules.items())[index]))

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before an index. Raises IndexError beyond the end, AssertionError for a non-module."""
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

    def _slice(self, index: slice) -> Self:
        return type(self)(list(self)[index])

    def _name(self, index: Any) -> str:
        return str(checked_index(index, len(self)))

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before the one at an index, which must not be negative."""
        self._shift(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Append modules. Raises TypeError for what is not iterable, or holds something that is not a module."""
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
        for text, equal in groupby(map(repr, self)):
            count = len(list(equal))
            row = f"({start}): {text}" if count == 1 else f"({start}-{start + count - 1}): {count} x {text}"
            lines.append(f"\n  {indented(row)}")
            start += count
        return f"{self._get_name()}({''.join(lines)}" + ("\n)" if lines else ")")


class _Dict(Module):
    """What ModuleDict and ParameterDict share; they define `keys`, and how to get, set and delete an item."""

    def __len__(self) -> int:
        return len(self.keys())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: str) -> bool:
        return key in self.keys()

    def pop(self, key: str) -> Any:
        """Remove an item and return it."""
        value = self[key]  # type: ignore[index]  # both subclasses define __getitem__ and __delitem__
        del self[key]
        return value

    def clear(self) -> None:
        for key in list(self):
            del self[key]


class ModuleDict(_Dict):
    """A dict of modules, whose keys are strings that are also names of attributes."""

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

    def keys(self) -> Any:
        return self._modules.keys()

    def values(self) -> Any:
        return self._modules.values()

    def items(self) -> Any:
        return self._modules.items()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules, from a mapping or from pairs of name and module; they replace those with the same names.

        Raises TypeError for what is not iterable, or holds something that is not a module; ValueError for an element
        that is not a pair.
        """
        for name, module in pairs(modules, (ModuleDict, Mapping), "ModuleDict", "ModuleDict"):
            self[name] = module


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(len(self))[index]])
        return getattr(self, str(checked_index(index, len(self))))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(checked_index(index, len(self))), as_parameter(value))

    def append(self, value: Any) -> Self:
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Append values. Raises TypeError for a tensor, and for what is not iterable."""
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join([row(i, value, str(getattr(value, "dtype", ""))) for i, value in enumerate(self)])

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(_Dict):
    """A dict of parameters, whose keys are strings that are also names of attributes."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                            f"'{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, self._key_to_attr(key), as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def copy(self) -> ParameterDict:
        return ParameterDict(list(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new dict with one value for all keys."""
        return ParameterDict([(key, default) for key in keys])

    def keys(self) -> Any:
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        return ((key, self[key]) for key in self)

    def values(self) -> Iterable[Any]:
        return (self[key] for key in self)

    def update(self, parameters: Any) -> None:
        """Add values, from a mapping or from pairs of key and value; they replace those with the same keys.

        Those of a plain dict are added in the order of their keys. Raises TypeError for what is not iterable;
        ValueError for an element that is not a pair.
        """
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            parameters = sorted(parameters.items())
        for key, value in pairs(parameters, (ParameterDict, Mapping), "ParametersDict", "ParameterDict"):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join([row(key, value, typename(value)) for key, value in self.items()])

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> Any:
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self
