"""Lists and dicts of parameters: `ParameterList` and `ParameterDict` of `torch/nn/modules/container.py`.

They may hold anything; a tensor that is put in becomes a Parameter.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn, Self

from minigrad.core.tensor import Tensor
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.tensor.properties import typename

__all__ = ["ParameterDict", "ParameterList", "pairs", "place"]


def place(index: Any, size: int) -> int:
    """An index into a list of this size, counted from its start.

    Raises:
        IndexError: if it is out of range.
        TypeError: for what is no whole number.
    """
    found = operator.index(index)
    if not -size <= found < size:
        raise IndexError(f"index {found} is out of range")
    return found % size


def pairs(given: Any, mappings: tuple[type, ...], called: str, name: str) -> Iterator[tuple[str, Any]]:
    """The names and values that `update` was given, in a mapping or in pairs; PyTorch's errors for anything else."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{called}.update should be called with an iterable of key/value pairs, but got "
                        f"{type(given).__name__}")
    if isinstance(given, mappings):
        yield from given.items()  # type: ignore[attr-defined]  # these all have items
        return
    for number, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{number} should be Iterable; is{type(pair).__name__}")
        values: Any = pair
        if len(values) != 2:
            raise ValueError(f"{name} update sequence element #{number} has length {len(values)}; 2 is required")
        yield values[0], values[1]


def made_parameter(value: Any) -> Any:
    """A tensor as a Parameter; anything else as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def row(name: Any, value: Any, kind: str) -> str:
    """The line that is printed of an element; `kind`: the type of a tensor."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.shape))
    return f"  ({name}): {type(value).__name__} containing: [{kind} of size {size}]"


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
        return getattr(self, str(place(index, len(self))))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(place(index, len(self))), made_parameter(value))

    def append(self, value: Any) -> Self:
        """Put a value at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Put values at the end.

        Raises:
            TypeError: for a tensor, and for what cannot be iterated.
        """
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        """One line for each element."""
        return "\n".join([row(i, each, str(getattr(each, "dtype", ""))) for i, each in enumerate(self)])

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters, by strings that are names of attributes too."""

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
        setattr(self, self._key_to_attr(key), made_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return ParameterDict(list(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is put in first if it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take out all values."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out a value and return it."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take out the last key and its value."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with one value for all keys."""
        return ParameterDict([(key, default) for key in keys])

    def keys(self) -> Any:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The keys with the values."""
        return ((key, self[key]) for key in self)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self)

    def update(self, parameters: Any) -> None:
        """Add values, from a mapping or from pairs of key and value; they replace those of the same keys.

        Those of a plain dict come in the order of their keys.

        Raises:
            TypeError: for what cannot be iterated.
            ValueError: for an element that is no pair.
        """
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            parameters = sorted(parameters.items())
        for key, value in pairs(parameters, (ParameterDict, Mapping), "ParametersDict", "ParameterDict"):
            self[key] = value

    def extra_repr(self) -> str:
        """One line for each value."""
        return "\n".join([row(key, each, typename(each)) for key, each in self.items()])

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
