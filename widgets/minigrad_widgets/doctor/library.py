"""The library that a program uses, PyTorch or minigrad, and what the doctor needs from it.

Neither is imported here: the program has imported the one it uses, and the recorders of both make the same trace.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from minigrad.recorder import record

__all__ = ["READER", "Library", "Loose", "Named", "check_call", "contents", "found_in", "held_tensors", "is_helper",
           "is_installed", "is_module", "is_optimizer", "is_tensor", "library_of", "loose_leaves", "surroundings",
           "uses_torch"]

INSTALLED = tuple(sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "purelib", "platlib"))
READER = "minigrad_widgets.torch_reader"
REACH = 4  # how many functions may be between a call and the library that it uses
KEPT_APART = frozenset({"_parameters", "_buffers", "_modules"})  # by a module
MOST = 1000  # values that are looked at, each time


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


def is_installed(path: str) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    return path.startswith(INSTALLED) or any(name in path for name in ("site-packages", "dist-packages", "<frozen"))


def surroundings(function: Any) -> dict[str, Any]:
    """What a call uses besides its arguments, by name: globals, closure and defaults, also those of the function that a
    decorator wraps, the object of a method, and the arguments of a `functools.partial`."""
    if isinstance(function, functools.partial):
        return {**surroundings(function.func), **bound(function)}
    if not inspect.isroutine(function) and callable(function):
        function = type(function).__call__.__get__(function)  # an object that can be called
    wrapped, owner = getattr(function, "__wrapped__", None), getattr(function, "__self__", None)
    names: dict[str, Any] = {}
    if owner is not None and not isinstance(owner, type) and not inspect.ismodule(owner):
        names["self"] = owner
    try:
        found = inspect.getclosurevars(getattr(function, "__func__", function))
    except (TypeError, ValueError):  # a module or a built-in: it has none
        return names
    parameters = inspect.signature(function, follow_wrapped=False).parameters
    defaults = {name: each.default for name, each in parameters.items() if each.default is not each.empty}
    return {**found.globals, **found.nonlocals, **defaults, **({} if wrapped is None else surroundings(wrapped)),
            **names}


def bound(partial: functools.partial[Any]) -> dict[str, Any]:
    """Return the arguments of a `functools.partial`, by the names of the function's parameters."""
    try:
        return inspect.signature(partial.func).bind_partial(*partial.args, **partial.keywords).arguments
    except (TypeError, ValueError):  # a built-in without a signature, or arguments that it does not take
        return {**{f"args[{i}]": each for i, each in enumerate(partial.args)}, **partial.keywords}


def check_call(function: Any, caller: str) -> None:
    """Raise a TypeError if calling this function would run nothing of its body."""
    if any(kind(function) for kind in (inspect.isgeneratorfunction, inspect.iscoroutinefunction,
                                       inspect.isasyncgenfunction)):
        raise TypeError(f"{caller} calls the function, and calling a generator or coroutine function runs nothing of "
                        f"its body. Pass a plain function; for a generator: {caller}(lambda: next(iterator))")


def uses_torch(values: Iterable[Any]) -> bool:
    """Return whether one of these is from PyTorch: a tensor, a module, a function, or the package itself."""
    return any(name == "torch" or name.startswith("torch.") for value in values for name in packages_of(value))


def packages_of(value: Any) -> list[str]:
    """Return the names of the modules in which a value, or its class and the bases of that, are defined."""
    if inspect.ismodule(value):
        return [value.__name__]
    if isinstance(value, type) or inspect.isroutine(value):
        owner = getattr(value, "__self__", None)  # of PyTorch's own functions, a class of PyTorch's
        return [str(each.__module__) for each in (value, owner) if hasattr(each, "__module__")]
    return [cls.__module__ for cls in type(value).__mro__]


def library_of(values: Iterable[Any]) -> Library:
    """Return the library of these values, or of the nearest thing that they hold or use; if nothing tells, PyTorch if
    it has been imported."""
    level, known = list(values), set[int]()
    for _ in range(REACH):
        packages = {name.partition(".")[0] for value in level for name in packages_of(value)}
        for name in ("torch", "minigrad"):
            if name in packages:
                return Library(name)
        known |= set(map(id, level))
        level = [each for value in level for each in used_by(value) if id(each) not in known][:MOST]
    return Library("torch" if "torch" in sys.modules else "minigrad")


def used_by(value: Any) -> Iterable[Any]:
    """Return what a value holds or, if it can be called, uses."""
    if isinstance(value, functools.partial):
        return [value.func, *surroundings(value).values()]
    held = contents(value).values()
    return [*held, *surroundings(value).values()] if callable(value) and not isinstance(value, type) else held


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

    def hooks_of(self, tensor: Any) -> tuple[Any, ...]:
        """Return the dicts of a tensor's hooks; None for one that does not exist yet."""
        if self.name == "torch":
            return tensor._backward_hooks, tensor._post_accumulate_grad_hooks
        extras = tensor._extras
        after = None if extras is None else extras.accumulator_hooks
        return (tensor._backward_hooks, None if extras is None else extras.post_accumulate,
                None if after is None else after.pre, None if after is None else after.post)

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


class Loose(NamedTuple):
    """A leaf that a module keeps as an attribute or a buffer, not as a parameter; `before`: its values at first;
    `kind`: what would register it, where the attribute is a list, tuple or dict of leaves or of modules."""

    name: str
    owner: Any
    attribute: str
    tensor: Any
    before: Any
    kind: str = ""


def loose_leaves(models: Iterable[Named]) -> list[Loose]:
    """Return the leaves that require grad and that modules keep as attributes, also in lists and dicts and as
    parameters of modules in them, or as buffers."""
    models = list(models)
    known = {id(p) for _, model in models for p in model.parameters()}
    found: dict[int, Loose] = {}
    for name, model in models:
        for path, module in model.named_modules():
            own = {**{k: v for k, v in vars(module).items() if k not in KEPT_APART}, **module._buffers}
            for inner, tensor, part in [*((*each, "Parameter") for each in held_tensors(own, depth=1)),
                                        *((*each, "Module") for each in hidden(own))]:
                if tensor.is_leaf and tensor.requires_grad and id(tensor) not in known:
                    attribute = re.split(r"[.\[]", inner)[0]
                    held = own[attribute]
                    kind = "Dict" if isinstance(held, dict) else "List" if isinstance(held, (list, tuple)) else ""
                    found.setdefault(id(tensor), Loose(
                        ".".join(filter(None, [name, path, inner])), module, attribute, tensor,
                        tensor.detach().clone(), kind and part + kind))
    return list(found.values())


def hidden(names: Mapping[str, Any], depth: int = 2) -> Iterator[Named]:
    """Yield the parameters of the modules in lists, tuples and dicts, which hide them from the module around."""
    for name, value in names.items():
        for inner, each in contents(value).items() if isinstance(value, (list, tuple, dict)) else ():
            if is_module(each):
                yield from (Named(f"{name}{inner}.{path}", p) for path, p in each.named_parameters())
            elif depth > 1:
                yield from hidden({f"{name}{inner}": each}, depth - 1)


def contents(value: Any) -> Mapping[str, Any]:
    """Return what a container or a plain object of the user's holds, by the path to it."""
    if isinstance(value, type) or inspect.ismodule(value) or inspect.isroutine(value):
        return {}
    if dataclasses.is_dataclass(value):  # those of transformers are dicts too
        return {f".{each.name}": getattr(value, each.name, None) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {f'["{key}"]' if isinstance(key, str) else f"[{key!r}]": inner for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", None)
        return {f".{fields[i]}" if fields else f"[{i}]": inner for i, inner in enumerate(value)}
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
