"""What a step reads outside of its arguments: the tensors that it finds, and the guards on all else.

The survey starts at a function and follows its closure, the globals that its code names, modules, optimisers, lists,
dicts and objects of the user's own classes. Tensors become inputs of the program. Numbers, texts, flags, lengths and
identities become guards, since tracing bakes them in. Options of optimisers that are floats are neither: a program
reads them at each call.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from minigrad.core import Tensor
from minigrad.core.tensor import counter_of, materialized
from minigrad.nn.modules.module import Module
from minigrad.ops.random.generator import Generator
from minigrad.optim.optimizer import Optimizer

__all__ = ["Guards", "World"]

PLAIN = (bool, int, float, complex, str, bytes, type(None))
# Not looked into: their state is no state of the user's program.
SKIPPED = (types.ModuleType, type, types.BuiltinFunctionType, np.dtype, np.generic, np.ufunc, Generator)
MODULE_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
OPTIMIZER_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
INTERNAL = ("_blockwise", "_scratch", "defaults", "_optimizer_state_dict_pre_hooks", "_optimizer_state_dict_post_hooks",
            "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks")
LIBRARIES = {"minigrad", "numpy", *sys.stdlib_module_names} - {"__main__"}
MOST = 100_000  # objects that a survey looks at


class Guards:
    """Conditions that are checked before each call, as one function; each has a text for the reader."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"abs": abs}
        self.names: dict[int, str] = {}
        self.conditions: dict[str, str] = {}  # source: what it says

    def name_of(self, value: Any) -> str:
        """A name for an object in the source of a condition."""
        if id(value) not in self.names:
            self.names[id(value)] = name = f"v{len(self.space)}"
            self.space[name] = value
        return self.names[id(value)]

    def require(self, source: str, text: str) -> None:
        self.conditions[source] = text

    def value(self, source: str, value: Any, text: str) -> None:
        """Require that an expression gives a value: the same object, or an equal number or text of the same type."""
        if value is None or isinstance(value, bool):
            self.require(f"{source} is {value}", f"{text} is {value}")
        elif isinstance(value, PLAIN):
            same = f"{source} == {value!r}" if value == value else f"{source} != {source}"
            if isinstance(value, float) and abs(value) == float("inf"):
                same = f"{source} == {self.name_of(value)}"
            self.require(f"({same} and {source}.__class__ is {self.name_of(type(value))})", f"{text} is {value!r}")
        else:
            self.require(f"{source} is {self.name_of(value)}", f"{text} is the same object")

    def compiled(self) -> Callable[[], bool]:
        """One function that checks all."""
        body = " and ".join(self.conditions) or "True"
        self.space["__builtins__"] = {"len": len}
        check: Callable[[], bool] = eval(f"lambda: {body}", self.space)  # the source is made of names above
        return check

    def failing(self) -> str | None:
        """The text of the first condition that does not hold."""
        for source, text in self.conditions.items():
            if not eval(f"lambda: {source}", self.space)():
                return text
        return None


class World:
    """What a step can reach: `tensors` by name, `options` of optimisers that are floats, and `guards` on the rest."""

    def __init__(self) -> None:
        self.tensors: dict[int, tuple[str, Tensor]] = {}
        self.options: dict[str, tuple[dict[str, Any], str, int | None]] = {}  # name: a group, a key, a place in a tuple
        self.guards = Guards()
        self.grads = Guards()  # on whether there is a `.grad`
        self.looks_at_grads = False  # an optimiser can be reached, or a function names `grad`
        self.seen: dict[int, Any] = {}
        self.refused: str | None = None  # why what was found makes a program impossible

    def visit(self, value: Any, name: str) -> None:
        """Look at an object, and at what can be reached from it."""
        if isinstance(value, (*PLAIN, *SKIPPED)) or id(value) in self.seen or len(self.seen) > MOST:
            return
        self.seen[id(value)] = value  # the id stays its own as long as it is held
        if isinstance(value, Tensor):
            self.tensor(value, name)
        elif isinstance(value, np.ndarray):
            self.refused = self.refused or f"{name} is an array of NumPy's: make it a tensor"
        elif isinstance(value, types.MethodType):
            self.visit(value.__func__, name)
            self.visit(value.__self__, f"{name}.__self__")
        elif isinstance(value, types.FunctionType):
            self.function(value, name)
        elif isinstance(value, Module):
            self.module(value, name)
        elif isinstance(value, Optimizer):
            self.optimizer(value, name)
        elif isinstance(value, Mapping):
            self.mapping(value, name)
        elif isinstance(value, (list, tuple)):
            self.guards.require(f"len({self.guards.name_of(value)}) == {len(value)}", f"len({name}) is {len(value)}")
            self.items(enumerate(value), value, name)
        elif isinstance(value, functools.partial):
            self.visit((value.func, value.args, *value.keywords.values()), name)
        elif "__wrapped__" in getattr(value, "__dict__", ()):  # a step that is compiled by itself, for instance
            self.visit(value.__wrapped__, name)
        elif hasattr(value, "__dict__") and (type(value).__module__.partition(".")[0] not in LIBRARIES
                                             or type(value).__module__ == "minigrad.optim.lr_scheduler"):
            self.attributes(value, name)

    def tensor(self, tensor: Tensor, name: str) -> None:
        """A tensor, and its `.grad`: memory is an input, all else is guarded."""
        self.tensors[id(tensor)] = name, tensor
        materialized(tensor)
        counter_of(tensor)
        guards, t, extras = self.guards, self.guards.name_of(tensor), tensor._extras
        assert extras is not None
        guards.require(f"{t}._requires_grad is {tensor._requires_grad}",
                       f"{name}.requires_grad is {tensor._requires_grad}")
        e = guards.name_of(extras)
        guards.require(f"{t}._extras is {e}", f"{name} has the extras that it had")
        for kind in ("hooks", "post_accumulate", "accumulator_hooks"):
            hooks = getattr(extras, kind)
            if hooks is None:
                guards.require(f"{e}.{kind} is None", f"{name} has no hooks")
            elif kind != "accumulator_hooks":
                guards.require(f"len({e}.{kind}) == {len(hooks)}", f"{name} has {len(hooks)} hooks")
                for hook in hooks.values():
                    self.visit(hook, f"{name}.hook")
        has = "None" if tensor._grad is None else "not None"
        self.grads.require(f"{self.grads.name_of(tensor)}._grad is {has}", f"{name}.grad is {has}")

    def module(self, module: Module, name: str) -> None:
        """A module: its flag, the numbers of its hooks, its parameters, buffers, modules and attributes."""
        own = vars(module)
        for kind in MODULE_HOOKS:
            self.guards.require(f"len({self.guards.name_of(own[kind])}) == {len(own[kind])}",
                                f"len({name}.{kind}) is {len(own[kind])}")
            for hook in own[kind].values():
                self.visit(hook, f"{name}.hook")
        for part in ("_parameters", "_buffers", "_modules"):
            self.items(list(own[part].items()), own[part], name)
        self.items([(k, v) for k, v in own.items() if k == "training" or not k.startswith("_")], own, name)
        self.visit(type(module).forward, f"{name}.forward")

    def optimizer(self, optimizer: Optimizer, name: str) -> None:
        """An optimiser: its groups, whose floats are read at each call, and its state."""
        self.looks_at_grads = True
        for kind in OPTIMIZER_HOOKS:
            hooks = vars(optimizer)[kind]
            self.guards.require(f"len({self.guards.name_of(hooks)}) == {len(hooks)}",
                                f"len({name}.{kind}) is {len(hooks)}")
        groups = optimizer.param_groups
        self.guards.require(f"len({self.guards.name_of(groups)}) == {len(groups)}", f"{name} has {len(groups)} groups")
        for i, group in enumerate(groups):
            self.seen[id(group)] = group
            self.options_of(group, f"{name}_{i}" if i else name)
        for p, state in list(optimizer.state.items()):
            known = self.tensors.get(id(p))
            self.visit(state, f"{known[0] if known else name}")
        self.items([(k, v) for k, v in vars(optimizer).items() if k not in ("param_groups", "state", *INTERNAL)
                    and not k.startswith("_optimizer") and k != "step"], vars(optimizer), name)

    def options_of(self, group: dict[str, Any], name: str) -> None:
        g = self.guards.name_of(group)
        for key, option in group.items():
            if key == "params":
                self.visit(option, name)
            elif type(option) is float:
                self.options[f"{name}_{key}"] = group, key, None
                self.guards.require(f"{g}[{key!r}].__class__ is {self.guards.name_of(float)}",
                                    f"{name}.{key} is a float")
            elif isinstance(option, tuple) and option and all(type(v) is float for v in option):
                self.options.update({f"{name}_{key}{i}": (group, key, i) for i in range(len(option))})
            elif key not in ("initial_lr", "param_names"):
                self.items([(key, option)], group, name)

    def mapping(self, value: Mapping[Any, Any], name: str) -> None:
        self.guards.require(f"len({self.guards.name_of(value)}) == {len(value)}", f"len({name}) is {len(value)}")
        self.items([(k, v) for k, v in value.items() if isinstance(k, (str, int))], value, name)

    def attributes(self, value: Any, name: str) -> None:
        own = vars(value)
        self.items(list(own.items()), own, name)
        for found in vars(type(value)).values():
            if isinstance(found, types.FunctionType):
                self.visit(found, f"{name}.{found.__name__}")

    def items(self, items: Any, container: Any, name: str) -> None:
        """The parts of a container, each guarded where it lies, and visited."""
        c = self.guards.name_of(container)
        for key, part in items:
            text = f"{name}.{key}" if isinstance(key, str) else f"{name}[{key}]"
            if not isinstance(part, SKIPPED):
                self.guards.value(f"{c}[{key!r}]", part, text)
                self.visit(part, text)

    def function(self, function: types.FunctionType, name: str) -> None:
        """A function of the user's: its closure, its defaults, and the globals that its code names."""
        if (function.__module__ or "").partition(".")[0] in LIBRARIES:
            return
        names, reached = dict.fromkeys(names_in(function.__code__)), list[tuple[str, Any, str]]()
        self.looks_at_grads = self.looks_at_grads or "grad" in names
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            with suppress(ValueError):  # not yet assigned
                reached.append((f"{self.guards.name_of(cell)}.cell_contents", cell.cell_contents, variable))
        space = function.__globals__
        reached += [(f"{self.guards.name_of(space)}[{variable!r}]", space[variable], variable)
                    for variable in names if variable in space]
        reached.sort(key=lambda found: not isinstance(found[1], Module))  # parameters get the names of their modules
        for source, content, variable in reached:
            if not isinstance(content, SKIPPED):
                self.guards.value(source, content, variable)
                self.visit(content, variable)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.visit(default, f"{name}.default")


def names_in(code: types.CodeType) -> Iterator[str]:
    """The names of globals and attributes in a code, and in the functions that it defines."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)
