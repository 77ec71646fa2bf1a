"""The library that a program uses, PyTorch or minigrad, and what the doctor needs from it.

Neither is imported here: the program has imported the one it uses, and the recorders of both make the same trace.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from minigrad.recorder import record

__all__ = ["READER", "Library", "Named", "found_in", "held_tensors", "is_helper", "is_module", "is_optimizer",
           "is_tensor", "library_of", "surroundings", "uses_torch"]

READER = "minigrad_widgets.torch_reader"


class Named(NamedTuple):
    """Something that a program holds, and the variable or attribute that holds it."""

    name: str
    value: Any


def is_tensor(value: Any) -> bool:
    """Return whether this is a tensor of either library."""
    return not isinstance(value, type) and all(hasattr(value, name) for name in ("grad_fn", "backward",
                                                                                 "requires_grad"))


def is_module(value: Any) -> bool:
    """Return whether this is a module of either library."""
    return not isinstance(value, type) and callable(getattr(value, "named_parameters", None))


def is_optimizer(value: Any) -> bool:
    """Return whether this is an optimizer of either library."""
    return not isinstance(value, type) and hasattr(value, "param_groups") and callable(getattr(value, "step", None))


def is_helper(value: Any) -> bool:
    """Whether this is a library's own object, neither module nor optimizer, whose state can be saved and restored: a
    learning rate schedule, or a gradient scaler."""
    return (not isinstance(value, type) and not is_module(value) and not is_optimizer(value)
            and any(name.startswith(("torch.", "minigrad.")) for name in packages_of(value))
            and callable(getattr(value, "state_dict", None)) and callable(getattr(value, "load_state_dict", None)))


def surroundings(function: Any) -> dict[str, Any]:
    """What a Python function uses besides its arguments, by name: globals and closure, the object of a method, and the
    arguments of a `functools.partial`."""
    given: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        given = {**bound(function), **given}
        function = function.func
    if not inspect.isroutine(function) and callable(function):
        function = type(function).__call__.__get__(function)  # an object that can be called
    owner = getattr(function, "__self__", None)
    try:
        found = inspect.getclosurevars(getattr(function, "__func__", function))
    except (TypeError, ValueError):  # a module or a built-in: it has none
        return given
    names = {**found.globals, **found.nonlocals, **given}
    if owner is not None and not inspect.ismodule(owner):
        names["self"] = owner
    return names


def bound(partial: functools.partial[Any]) -> dict[str, Any]:
    """Return the arguments of a `functools.partial`, by the names of the function's parameters."""
    try:
        return inspect.signature(partial.func).bind_partial(*partial.args, **partial.keywords).arguments
    except (TypeError, ValueError):  # a built-in without a signature, or arguments that it does not take
        return dict(partial.keywords)


def uses_torch(values: Iterable[Any]) -> bool:
    """Return whether one of these is from PyTorch: a tensor, a module, or the package itself."""
    return any(name == "torch" or name.startswith("torch.") for value in values for name in packages_of(value))


def packages_of(value: Any) -> list[str]:
    """Return the names of the modules in which a value's class and its bases are defined."""
    return [value.__name__] if inspect.ismodule(value) else [cls.__module__ for cls in type(value).__mro__]


def library_of(values: Iterable[Any]) -> Library:
    """Return the library of these values; if they do not tell, PyTorch if it has been imported."""
    values = list(values)
    torch = uses_torch(values)
    if not torch and "torch" in sys.modules:
        torch = not any(name == "minigrad" or name.startswith("minigrad.")
                        for value in values for name in packages_of(value))
    return Library("torch" if torch else "minigrad")


class Library:
    """One of the two libraries."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.package: Any = sys.modules[name] if name in sys.modules else importlib.import_module(name)
        self.folder = os.path.dirname(os.path.abspath(str(self.package.__file__))) + os.sep

    def record(self, names: Mapping[str, Any]) -> Any:
        """Return the recorder, which names tensors after these variables."""
        if self.name == "torch":
            return importlib.import_module(READER).record(names=names)
        return record(names=names)

    def array(self, tensor: Any) -> Any:
        """Return the values of a tensor as a NumPy array, unseen by any recorder."""
        if self.name == "torch":
            return importlib.import_module(READER).array_of(tensor)
        array = tensor.array
        return array.get() if hasattr(array, "get") else array

    @contextmanager
    def every_warning(self) -> Iterator[None]:
        """A block in which warnings that are issued once per program are issued again, whatever ran before."""
        before = self.package.is_warn_always_enabled()
        self.package.set_warn_always(True)
        try:
            yield
        finally:
            self.package.set_warn_always(before)

    def grad_enabled(self) -> bool:
        """Return whether ops are recorded now."""
        return bool(self.package.is_grad_enabled())

    def owns(self, filename: str) -> bool:
        """Return whether a source file belongs to the library."""
        return filename.startswith(self.folder)


def held_tensors(names: Mapping[str, Any], depth: int = 2) -> Iterator[Named]:
    """Yield the tensors that variables hold, directly or in lists, dicts and plain objects, by their paths."""
    for name, value in list(names.items()):
        if is_tensor(value):
            yield Named(name, value)
        elif depth and not is_module(value) and not is_optimizer(value):
            for inner in held_tensors(contents(value), depth - 1):
                yield Named(f"{name}{inner.name}", inner.value)


def contents(value: Any) -> Mapping[str, Any]:
    """Return what a container or a plain object of the user's holds, by the path to it."""
    if isinstance(value, dict):
        return {f"[{key!r}]": inner for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return {f"[{i}]": inner for i, inner in enumerate(value)}
    if isinstance(value, type) or inspect.ismodule(value) or inspect.isroutine(value):
        return {}
    return {f".{key}": inner for key, inner in getattr(value, "__dict__", {}).items()}


def found_in(names: Mapping[str, Any], wanted: Callable[[Any], bool]) -> list[Named]:
    """Return the modules or optimizers that variables hold, also those directly inside lists, dicts and objects."""
    found = {id(value): Named(name, value) for name, value in names.items() if wanted(value)}
    for name, value in names.items():
        if not wanted(value) and not is_tensor(value):
            for inner, each in contents(value).items():
                if wanted(each):
                    found.setdefault(id(each), Named(f"{name}{inner}", each))
    return list(found.values())
