"""What a step changes, kept before it runs and put back afterwards.

Kept is what can be reached from the step, its models and its optimizers. Of a module, an optimizer, a schedule, a
gradient scaler, that is all: each is put back as it was, with its containers. Of the user's own objects, containers and
variables, it is what holds one of those or a tensor: an average of the weights is put back, a list of losses is not. A
data set is only read; it is not kept.
"""

from __future__ import annotations

import functools
import inspect
import random
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from minigrad_widgets.doctor.library import (
    Library,
    Named,
    is_helper,
    is_installed,
    is_module,
    is_optimizer,
    is_tensor,
    packages_of,
)

__all__ = ["Kept", "State"]

PLAIN = (str, bytes, int, float, complex, type(None), type, np.ndarray, np.generic)
DEPTH = 4  # how many of the user's own objects, containers and functions may be between the step and a tensor
READ_ONLY = ("torch.utils.data", "minigrad.utils.data")


class Kept(NamedTuple):
    """What a tensor was: `alias` shares its memory, `values` is a copy, None of the result of an op; `hooks` has the
    contents of each of its dicts of hooks."""

    tensor: Any
    alias: Any
    values: Any
    grad: Any
    requires_grad: bool
    leaf: bool
    kind: type
    hooks: list[dict[int, Any]]


class State:
    """All that is reached from `roots` and can be put back, random states, and the library's switches."""

    def __init__(self, library: Library, optimizers: Sequence[Named], roots: Sequence[Any]) -> None:
        self.library = library
        self.tensors: dict[int, Kept] = {}  # by id()
        self.undo: list[Callable[[], None]] = []
        self.known: dict[int, tuple[bool, int]] = {}  # by id(): whether it holds something, how deep it was looked into
        self.alive: list[Any] = []  # keeps each id() that of one object
        for root in roots:
            self.visit(root, DEPTH)
        for cls in (library.package.nn.Module, library.package.optim.Optimizer):
            module = sys.modules[cls.__module__]
            shared = {key: value for key, value in vars(module).items() if key.startswith(("_global", "EVERY_MODULE"))}
            self.entries(vars(module), shared)
            for value in shared.values():
                self.whole(value if isinstance(value, dict) else getattr(value, "__dict__", {}))
        self.held = {id(p): p for each in optimizers for group in each.value.param_groups for p in group["params"]}
        self.switches()

    # what is kept
    def visit(self, value: Any, depth: int) -> bool:
        """Keep what is reached from a value, and return whether there was anything: a tensor, a module, ..."""
        if isinstance(value, PLAIN) or inspect.ismodule(value):
            return False
        found, before = self.known.get(id(value), (False, -1))
        if depth <= before:
            return found
        self.alive.append(value)
        self.known[id(value)] = False, depth  # while it is looked into: a cycle adds nothing
        if self.thing(value):
            self.known[id(value)] = True, DEPTH
        else:
            self.known[id(value)] = self.holds(value, depth), depth
        return self.known[id(value)][0]

    def thing(self, value: Any) -> bool:
        """Keep a tensor, something of the library's that has a state, or a source of random numbers; or return False.
        """
        if is_tensor(value):
            self.tensor(value)
        elif is_module(value) or is_optimizer(value) or is_helper(value):
            self.undo.append(functools.partial(set_class, value, type(value)))
            self.own(getattr(value, "__dict__", {}))
        elif generator := states_of(value):
            read, write = generator
            self.undo.append(functools.partial(write, read()))
        else:
            return False
        return True

    def holds(self, value: Any, depth: int) -> bool:
        """Keep what of something of the user's holds something, and return whether there was anything."""
        if depth == 0 or any(name.startswith(READ_ONLY) for name in packages_of(value)):
            return False
        if isinstance(value, (list, deque, set)):
            if found := True in [self.visit(each, depth - 1) for each in value]:
                self.whole(value)
            return found
        if isinstance(value, (tuple, frozenset)):
            return True in [self.visit(each, depth - 1) for each in value]
        return True in [self.some(names, found, depth) for names, found in variables_of(value)]

    def own(self, container: Any) -> None:
        """Keep a container of the library's, or of a module's: what is in it, and in the containers inside."""
        self.whole(container)
        for each in list(container.values() if isinstance(container, dict) else container):
            if isinstance(each, (dict, list, deque, set)):
                if self.known.get(id(each), (False, 0))[1] <= DEPTH:  # else it is kept like this already
                    self.known[id(each)] = True, DEPTH + 1
                    self.own(each)
            elif isinstance(each, tuple):
                self.own(list(each))
            elif not inspect.isroutine(each):
                self.visit(each, DEPTH)

    def some(self, names: Any, found: dict[Any, Any], depth: int) -> bool:
        """Keep those of some entries or variables of the user's that hold something."""
        holding = {key: each for key, each in found.items() if self.visit(each, depth - 1)}
        self.entries(names, holding)
        return bool(holding)

    def whole(self, container: Any) -> None:
        """Keep what is in a container."""
        self.undo.append(functools.partial(refill, container, container.copy()))

    def entries(self, names: Any, kept: dict[Any, Any]) -> None:
        """Keep some entries of a dict, or cells of a function."""
        if kept:
            self.undo.append(functools.partial(set_entries, names, kept))

    def tensor(self, tensor: Any) -> None:
        """Keep a tensor, and its gradient. The values of one that is part of a graph cannot be put back."""
        kind, leaf, data = type(tensor), tensor.is_leaf, tensor.data  # an uninitialized parameter has no more than that
        if data.is_inference():
            return
        self.whole(vars(tensor))
        grad = tensor.grad if leaf or tensor.retains_grad else None
        if grad is not None and id(grad) not in self.known:
            self.known[id(grad)] = True, DEPTH
            self.gradient(grad)
        hooks = [dict(each or {}) for each in self.library.hooks_of(tensor)]
        self.tensors[id(tensor)] = Kept(tensor, data, data.clone() if leaf else None, grad, tensor.requires_grad, leaf,
                                        kind, hooks)

    def gradient(self, grad: Any) -> None:
        """Keep the values of a gradient, which may be part of a graph itself."""
        self.undo.append(functools.partial(self.copy_back, grad, grad.data, grad.data.clone()))

    def switches(self) -> None:
        """Keep random states, and what is set for the whole library."""
        package = self.library.package
        pairs: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
            (random.getstate, random.setstate), (np.random.get_state, np.random.set_state),
            (package.get_rng_state, package.set_rng_state), (package.get_default_dtype, package.set_default_dtype),
            (self.anomaly, lambda state: package.autograd.set_detect_anomaly(*state))]
        if package.cuda.is_available():
            pairs.append((package.cuda.get_rng_state_all, package.cuda.set_rng_state_all))
        self.modes = [(write, read()) for read, write in pairs]
        self.grad_enabled = package.is_grad_enabled()

    def anomaly(self) -> tuple[bool, bool]:
        """Return whether anomaly mode is on, and whether it checks for NaN."""
        package = self.library.package
        return package.is_anomaly_enabled(), package.is_anomaly_check_nan_enabled()

    # what has changed
    def moved(self) -> set[int]:
        """Return the id() of each parameter of the optimizers whose values may be others than before; of a meta tensor
        nothing is known."""
        package, found = self.library.package, set()
        with package.no_grad():
            for key, p in self.held.items():
                old = self.tensors[key].values if key in self.tensors else p
                if p.device.type == "meta" or old is None or p.shape != old.shape or not package.equal(p, old):
                    found.add(key)
        return found

    # putting it back
    def restore(self) -> None:
        """Put everything back; versions are not put back but keep counting."""
        package = self.library.package
        package.set_grad_enabled(self.grad_enabled)
        with package.no_grad():
            for undo in self.undo:
                undo()
            for kept in self.tensors.values():
                self.put_back(kept)
        for write, state in self.modes:
            write(state)

    def put_back(self, kept: Kept) -> None:
        """Put one tensor back."""
        tensor = kept.tensor
        if kept.leaf:
            if not tensor.is_leaf and not tensor._is_view():
                tensor.detach_()
            self.copy_back(tensor, kept.alias, kept.values)
            set_class(tensor, kept.kind)
            if tensor.is_leaf and tensor.requires_grad != kept.requires_grad:
                tensor.requires_grad_(kept.requires_grad)
        if (tensor.grad if tensor.is_leaf or tensor.retains_grad else None) is not kept.grad:
            tensor.grad = kept.grad
        for hooks, before in zip(self.library.hooks_of(tensor), kept.hooks):
            if hooks is not None:
                refill(hooks, before)

    def copy_back(self, tensor: Any, alias: Any, values: Any) -> None:
        """Give a tensor back its memory, and the memory its values, unless it is expanded."""
        if values is not None and (alias.layout != self.library.package.strided or all(
                step or size < 2 for step, size in zip(alias.stride(), alias.shape))):
            alias.copy_(values)
        tensor.data = alias


def variables_of(value: Any) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Yield each dict or list of cells in which a function or an object of the user's has variables, with those that
    count: of globals, the ones that the function names."""
    if isinstance(value, functools.partial):
        yield value.keywords, dict(value.keywords)
        yield {}, dict(enumerate((value.func, *value.args)))
    elif inspect.ismethod(value):
        yield {}, {0: value.__self__, 1: value.__func__}
    elif isinstance(value, FunctionType):
        if is_installed(value.__code__.co_filename):
            return
        cells = [cell for cell in value.__closure__ or () if filled(cell)]
        yield cells, {i: cell.cell_contents for i, cell in enumerate(cells)}
        shared = value.__globals__
        yield shared, {name: shared[name] for name in named_by(value.__code__) if name in shared}
        yield {}, {"wrapped": getattr(value, "__wrapped__", None), "defaults": value.__defaults__,
                   "keywords": value.__kwdefaults__}
    elif isinstance(value, dict):
        yield value, dict(value)
    elif not inspect.isroutine(value):
        yield getattr(value, "__dict__", {}), dict(getattr(value, "__dict__", {}))
        yield {}, {"call": value.__call__ if callable(value) else None}


def filled(cell: Any) -> bool:
    """Whether a variable of an outer function has a value yet."""
    try:
        cell.cell_contents  # noqa: B018 - to read it is the test
    except ValueError:
        return False
    return True


def named_by(code: CodeType) -> set[str]:
    """The names that some code, and the functions in it, look up."""
    return set(code.co_names).union(*[named_by(each) for each in code.co_consts if isinstance(each, CodeType)])


def states_of(value: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]] | None:
    """How the state of a source of random numbers is read and written; None for other values."""
    if isinstance(value, random.Random):
        return value.getstate, value.setstate
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        bits = value.bit_generator if isinstance(value, np.random.Generator) else value._bit_generator
        return (lambda: bits.state), functools.partial(setattr, bits, "state")
    if type(value).__name__ == "Generator" and callable(getattr(value, "set_state", None)):
        return (lambda: value.get_state().clone()), value.set_state
    return None


def refill(container: Any, before: Any) -> None:
    """Put back what was in a dict, list, deque or set."""
    now = container.items() if isinstance(container, dict) else container
    old = before.items() if isinstance(before, dict) else before
    if len(now) == len(old) and all(a is b or isinstance(a, tuple) and isinstance(container, dict) and (
            a[0] is b[0] and a[1] is b[1]) for a, b in zip(now, old)):
        return
    if isinstance(container, dict):  # with its own methods, which a subclass may have replaced
        base: Any = OrderedDict if isinstance(container, OrderedDict) else dict
        base.clear(container)
        for key, value in before.items():
            base.__setitem__(container, key, value)
    elif isinstance(container, list):
        container[:] = before
    else:
        container.clear()
        (container.extend if isinstance(container, deque) else container.update)(before)


def set_entries(names: Any, kept: dict[Any, Any]) -> None:
    """Put back some entries of a dict, or cells of a function."""
    for key, value in kept.items():
        if isinstance(names, list):
            names[key].cell_contents = value
        elif names.get(key) is not value:
            dict.__setitem__(names, key, value)


def set_class(value: Any, kind: type) -> None:
    """Put back the class of an object: lazy modules and parametrizations have changed it."""
    if type(value) is not kind:
        value.__class__ = kind
