"""What a step reads outside of its arguments: the tensors that it finds, and the guards on all else.

The survey starts at a function and follows its closure, the globals that its code names, also those of the user's own
modules of Python, `nn.Module`s, optimisers, containers, and the user's own classes and their objects. Tensors become
inputs of the program. Numbers, texts, flags, lengths and identities become guards, since tracing bakes them in. Options
of optimisers that are floats are neither: a program reads them at each call.
"""

import functools
import inspect
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import Enum, EnumMeta
from typing import Any

import numpy as np

from minigrad.core import Tensor, counter_of, extras_of, materialized
from minigrad.nn.modules.module import Module
from minigrad.ops.random import Generator
from minigrad.optim.optimizer import Optimizer

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
# Not looked into: their state is no state of the user's program.
SKIPPED = (types.ModuleType, types.BuiltinFunctionType, Enum, EnumMeta, np.dtype, np.ufunc, Generator)
MODULE_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
MODULE_PARTS = ("_parameters", "_buffers", "_modules")
MODULE_INTERNAL = vars(Module()).keys() - {"training"}
OPTIMIZER_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
OPTIMIZER_INTERNAL = {"param_groups", "state", "defaults", "step", "_blockwise", "_scratch"}
# pytest writes calls of its own functions into the `assert`s of tests.
LIBRARIES = {"minigrad", "numpy", "_pytest", *sys.stdlib_module_names} - {"__main__"}
FOLLOWED = {"minigrad.optim.lr_scheduler", "types", "argparse"}  # where namespaces come from: their attributes count
MOST = 100_000  # objects that a survey looks at


class Guards:
    """Conditions that are checked before each call, as one function; each has a text for the reader."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"__builtins__": {"len": len, "repr": repr}}
        self.names: dict[int, str] = {}
        self.conditions: dict[str, str] = {}  # source: what it says

    def name_of(self, value: Any) -> str:
        if id(value) not in self.names:
            self.names[id(value)] = name = f"v{len(self.space)}"
            self.space[name] = value
        return self.names[id(value)]

    def value(self, source: str, value: Any, text: str) -> None:
        """Require that an expression gives a value: the same object, or an equal number or text of the same type."""
        if value is None or isinstance(value, bool):
            self.conditions[f"{source} is {value}"] = f"{text} is {value}"
        elif isinstance(value, PLAIN):
            same = f"{source} == {repr(value) if type(value) in PLAIN else self.name_of(value)}"
            if isinstance(value, (float, complex, np.generic)):  # 0.0 equals -0.0, and NaN nothing
                same = f"repr({source}) == {repr(value)!r}"
            self.conditions[f"({source}.__class__ is {self.name_of(type(value))} and {same})"] = f"{text} is {value!r}"
        else:
            self.conditions[f"{source} is {self.name_of(value)}"] = f"{text} is the same object"

    def size(self, container: Any, text: str) -> None:
        self.conditions[f"len({self.name_of(container)}) == {len(container)}"] = f"len({text}) is {len(container)}"

    def compiled(self) -> Callable[[], bool]:
        return self.check(" and ".join(self.conditions) or "True")

    def check(self, source: str) -> Callable[[], bool]:
        """What checks a condition, which does not hold where what it looks at is gone."""
        condition: Callable[[], bool] = eval(f"lambda: {source}", self.space)  # the source is made of names above

        def holds() -> bool:
            try:
                return condition()
            except (AttributeError, LookupError, ValueError):
                return False
        return holds

    def failing(self) -> str | None:
        return next((text for source, text in self.conditions.items() if not self.check(source)()), None)


class Survey:
    """What a step can reach: `tensors` by name, those of arguments last, `options` of optimisers that are floats, and
    `guards` on the rest."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.tensors: dict[int, tuple[str, Tensor]] = {}
        self.options: dict[str, tuple[dict[str, Any], str]] = {}  # by name: a group of an optimiser, and a key
        self.guards = Guards()
        self.grads: dict[str, str] = {}  # more conditions: whether there is a `.grad`, which a step may change
        self.looks_at_grads = False  # an optimiser can be reached, or a function names `grad`
        self.seen: dict[int, Any] = {}
        self.names: dict[str, None] = {"forward": None}  # what code names: globals, attributes and methods
        self.modules: dict[type, str] = {}  # by the class of a module: the name of the first one
        self.refused: str | None = None  # why what was found makes a program impossible
        leaves_of((args, kwargs), tensors := list[Tensor](), others := list[Any]())
        self.visit(function, "model" if isinstance(function, Module) else getattr(function, "__name__", "step"))
        for other in others:
            self.visit(other, "argument")
        self.methods()
        self.outside = len(self.tensors)  # so many are none of the arguments
        for name, t in zip(argument_names(getattr(function, "forward", function), len(tensors)), tensors):
            self.tensors.setdefault(id(t), (name, t))
            materialized(t)
            counter_of(t)

    def visit(self, value: Any, name: str) -> None:
        """Look at an object, and at what can be reached from it."""
        if isinstance(value, PLAIN) or id(value) in self.seen:
            return
        if len(self.seen) > MOST:
            self.refused = self.refused or f"it reaches more than {MOST:,} objects, each of which would be checked"
            return
        self.seen[id(value)] = value  # the id stays its own as long as it is held
        if isinstance(value, SKIPPED):
            return
        if isinstance(value, np.ndarray):
            self.refused = self.refused or f"{name} is an array of NumPy's: make it a tensor"
        elif isinstance(value, types.MethodType):
            self.visit(value.__func__, name)
            self.visit(value.__self__, f"{name}.__self__")
        elif visit := next((visit for kind, visit in VISITS.items() if isinstance(value, kind)), None):
            visit(self, value, name)
        elif isinstance(value, (list, tuple, deque)):
            self.guards.size(value, name)
            self.items(enumerate(value), value, name)
        elif isinstance(value, set):
            same = self.guards.name_of(frozenset(value))
            self.guards.conditions[f"{self.guards.name_of(value)} == {same}"] = f"{name} has the elements that it had"
        elif isinstance(value, type):
            self.members(value, [n for each in own_classes(value) for n, found in vars(each).items()
                                 if n[:2] != "__" and not (callable(found) and issubclass(value, Module))], name)
        elif isinstance(value, functools.partial):
            self.visit((value.func, value.args, *value.keywords.values()), name)
        elif "__wrapped__" in getattr(value, "__dict__", ()):  # a step that is compiled by itself, for instance
            self.visit(value.__wrapped__, name)
        elif (hasattr(value, "__dict__") or "__slots__" in vars(type(value))) and (
                not of_library(type(value)) or type(value).__module__ in FOLLOWED):
            self.attributes(value, name)

    def tensor(self, tensor: Tensor, name: str) -> None:
        """A tensor, and its `.grad`: memory is an input, all else is guarded."""
        self.tensors[id(tensor)] = name, tensor
        materialized(tensor)
        counter_of(tensor)
        guards, t, extras = self.guards, self.guards.name_of(tensor), tensor._extras
        assert extras is not None
        flag = tensor._requires_grad
        guards.conditions[f"{t}._requires_grad is {flag}"] = f"{name}.requires_grad is {flag}"
        e = guards.name_of(extras)
        guards.conditions[f"{t}._extras is {e}"] = f"{name}'s hooks are kept in the same object"
        for kind in ("hooks", "post_accumulate", "accumulator_hooks"):
            hooks = getattr(extras, kind)
            if hooks is None:
                guards.conditions[f"{e}.{kind} is None"] = f"{name} has no hooks"
            elif kind != "accumulator_hooks":
                guards.conditions[f"len({e}.{kind}) == {len(hooks)}"] = f"{name} has {len(hooks)} hooks"
                for hook in hooks.values():
                    self.visit(hook, f"{name}.hook")
        self.items(vars(tensor).items(), vars(tensor), name)
        has = "None" if tensor._grad is None else "not None"
        self.grads[f"{t}._grad is {has}"] = f"{name}.grad is {has}"

    def module(self, module: Module, name: str) -> None:
        """A module: its flag, the numbers of its hooks, its parameters, buffers, modules and attributes."""
        own = vars(module)
        for hooks in MODULE_HOOKS:
            self.mapping(own[hooks], f"{name}.{hooks}")
        for part in MODULE_PARTS:
            self.guards.size(own[part], f"{name}.{part}")
            self.items(own[part].items(), own[part], name)
        self.items([(k, v) for k, v in own.items() if k not in MODULE_INTERNAL and (
            k[0] != "_" or not of_library(type(module)))], own, name)
        self.modules.setdefault(type(module), name)

    def optimizer(self, optimizer: Optimizer, name: str) -> None:
        """An optimiser: its groups, whose floats are read at each call, and its state."""
        self.looks_at_grads = True
        for hooks in OPTIMIZER_HOOKS:
            self.mapping(vars(optimizer)[hooks], f"{name}.{hooks}")
        self.guards.size(optimizer.param_groups, f"{name}.param_groups")
        for i, group in enumerate(optimizer.param_groups):
            self.seen[id(group)] = group
            self.options_of(group, f"{name}_{i}" if i else name)
        for p, state in list(optimizer.state.items()):
            known = self.tensors.get(id(p))
            self.visit(state, f"{known[0] if known else name}")
        self.items([(k, v) for k, v in vars(optimizer).items() if k not in OPTIMIZER_INTERNAL
                    and not k.startswith("_optimizer")], vars(optimizer), name)

    def options_of(self, group: dict[str, Any], name: str) -> None:
        g = self.guards.name_of(group)
        for key, option in group.items():
            if key == "params":
                self.visit(option, name)
            elif type(option) is float:
                self.options[f"{name}_{key}"] = group, key
                is_float = f"{g}[{key!r}].__class__ is {self.guards.name_of(float)}"
                self.guards.conditions[is_float] = f"{name}.{key} is a float"
            elif isinstance(option, tuple) and option and all(type(v) is float for v in option):
                self.options[f"{name}_{key}"] = group, key
            elif key not in ("initial_lr", "param_names"):
                self.items([(key, option)], group, name)

    def mapping(self, value: Mapping[Any, Any], name: str) -> None:
        self.guards.size(value, name)
        self.items(value.items(), value, name)

    def attributes(self, value: Any, name: str) -> None:
        own = getattr(value, "__dict__", {})
        self.items(own.items(), own, name)
        members = [member for each in own_classes(type(value)) for member in vars(each).items()]
        slots = [n for n, found in members if isinstance(found, types.MemberDescriptorType)]
        for slot in [n for n in slots if hasattr(value, n)]:
            self.guard(f"{self.guards.name_of(value)}.{slot}", getattr(value, slot), f"{name}.{slot}")
        self.members(type(value), [n for n, found in members if n not in slots and (
            n[:2] != "__" or isinstance(found, types.FunctionType))], name)

    def methods(self) -> None:
        """Look at the methods of modules that code names, which in turn may name others."""
        known = (0, 0)
        while known != (len(self.names), len(self.modules)):
            known = len(self.names), len(self.modules)
            for kind, name in list(self.modules.items()):
                self.members(kind, list(self.names), name)

    def members(self, kind: type, names: list[str], name: str) -> None:
        for each in own_classes(kind):
            for wanted in [n for n in names if n in vars(each)]:
                member = vars(each)[wanted]
                self.guard(f"{self.guards.name_of(each)}.__dict__[{wanted!r}]", member, f"{name}.{wanted}")
                called: Any = member.fget if isinstance(member, property) else member
                called = inspect.unwrap(called) if callable(called) or isinstance(called, classmethod) else None
                self.visit(called, f"{name}.{wanted}")

    def items(self, items: Any, container: Any, name: str) -> None:
        """The parts of a container, each guarded where it lies, and visited."""
        c = self.guards.name_of(container)
        for key, part in list(items):
            k = repr(key) if type(key) in (str, int) else self.guards.name_of(key)
            self.guard(f"{c}[{k}]", part, f"{name}.{key}" if isinstance(key, str) else f"{name}[{key}]")

    def guard(self, source: str, value: Any, name: str) -> None:
        if not isinstance(value, types.ModuleType):
            self.guards.value(source, value, name)
            self.visit(value, name)

    def function(self, function: types.FunctionType, name: str) -> None:
        """A function of the user's: its closure, its defaults, and the globals that its code names."""
        if of_library(function):
            return
        names, reached = dict.fromkeys(names_in(function.__code__)), list[tuple[str, Any, str]]()
        self.names |= names
        self.looks_at_grads = self.looks_at_grads or "grad" in names
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            with suppress(ValueError):  # not yet assigned
                reached.append((f"{self.guards.name_of(cell)}.cell_contents", cell.cell_contents, variable))
        spaces = [function.__globals__]
        for space in spaces:  # those of the user's modules that the code names become more
            for variable in [v for v in names if v in space]:
                reached.append((f"{self.guards.name_of(space)}[{variable!r}]", space[variable], variable))
                if isinstance(space[variable], types.ModuleType) and not of_library(space[variable]) and not any(
                        vars(space[variable]) is each for each in spaces):
                    spaces.append(vars(space[variable]))
        reached.sort(key=lambda found: not isinstance(found[1], Module))  # parameters get the names of their modules
        for source, content, variable in reached:
            self.guard(source, content, variable)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.visit(default, f"{name}.default")


VISITS: dict[type, Callable[[Survey, Any, str], None]] = {
    Tensor: Survey.tensor, types.FunctionType: Survey.function, Module: Survey.module, Optimizer: Survey.optimizer,
    Mapping: Survey.mapping}


def leaves_of(value: Any, tensors: list[Tensor], others: list[Any]) -> Any:
    """Collect the tensors of an argument in one list and its other objects in another; gives what has to be equal."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return (Tensor, leaves_of(vars(value), tensors, others)) if vars(value) else Tensor
    if isinstance(value, (list, tuple)):
        return type(value), *[leaves_of(part, tensors, others) for part in value]
    if isinstance(value, dict):
        return dict, *[(k, leaves_of(v, tensors, others)) for k, v in value.items()]
    if isinstance(value, PLAIN):  # 0.0 equals -0.0, and NaN nothing
        return type(value), repr(value) if isinstance(value, (float, complex, np.generic)) else value
    others.append(value)
    return id(value)


def argument_names(function: Any, count: int) -> list[str]:
    """Names for the tensors among the arguments, those of the function's signature if there is one for each."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    names = list(code.co_varnames[:code.co_argcount]) if code is not None else []
    names = [n for n in names if n != "self"]
    return names if len(names) == count else [f"arg{i}" for i in range(count)]


def attached_to(tensor: Tensor) -> Any:
    """What is attached to a tensor beside its memory: its history first, then its hooks and attributes."""
    node, extras = tensor.grad_fn, extras_of(tensor)
    hooks = [extras.hooks, extras.post_accumulate]
    if node is not None and node._extras is not None and node._extras.hooks is not None:
        hooks += node._extras.hooks.tensor.values()
    return (tensor._requires_grad, node, tensor.retains_grad, sum([len(each or ()) for each in hooks]),
            [(name, id(value)) for name, value in vars(tensor).items()])


def of_library(found: Any) -> bool:
    """Whether a function, a class or a module is one of minigrad's, NumPy's or the standard library's."""
    name = found.__name__ if isinstance(found, types.ModuleType) else found.__module__
    return (name or "").partition(".")[0] in LIBRARIES


def own_classes(kind: type) -> list[type]:
    return [each for each in kind.__mro__ if not of_library(each)]


def names_in(code: types.CodeType) -> Iterator[str]:
    """The names of globals and attributes in a code, and in the functions that it defines."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)
