"""Puts wrappers around the forward of every op: device guards, and modes that see each op.

An op is a class of nodes with a `forward`. With no wrapper installed, the classes are as they were written, and an op
costs nothing extra. `OPS` alone changes them: `OPS.wrap` installs a wrapper or removes it.
"""

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from minigrad._base.locks import new_lock
from minigrad.core import Node, Tensor

__all__ = ["OPS", "Lingering", "is_part", "op_nodes"]

Wrapper = Callable[[Any, type[Node] | None], Any]  # of a forward and its class; None: the class is the first argument


def op_nodes(cls: type[Node] = Node) -> Iterator[type[Node]]:
    """Yield all classes of nodes that belong to an op of minigrad."""
    for subclass in cls.__subclasses__():
        if subclass.__module__.startswith("minigrad.ops."):
            yield subclass
        yield from op_nodes(subclass)


def is_part(forward: Any) -> bool:
    """Whether a forward is a part of an op, called by another forward, rather than an op of its own."""
    own = inspect.unwrap(forward)
    return own.__name__ != "forward" or own.__closure__ is not None


class Bound(NamedTuple):
    """An attribute of a class that, for speed, is the forward of an op itself: `Tensor.__mul__` is `Mul.forward`."""

    owner: type
    name: str
    cls: type[Node]  # of the op


class OpWrappers:
    """The wrappers around all ops, and what it takes to remove them again."""

    def __init__(self) -> None:
        self.installed: list[Wrapper] = []  # the innermost first
        self.applied: tuple[Wrapper, ...] | None = ()  # those that all ops have; None while that changes
        self.written: dict[type[Node], Any] = {}  # the forward of each class as it was written
        self.wrapped: dict[tuple[Any, ...], Any] = {}  # by class and wrappers: its forward inside these
        self.tables: dict[tuple[Wrapper, ...], list[tuple[type[Node], Any]]] = {}  # the same of all classes
        self.classes: list[type[Node]] = []  # those that have a forward, found when it is first needed
        self.bound: list[Bound] = []
        self.after: list[Callable[[], None]] = []  # called when methods of Tensor were bound again

    def wrap(self, wrapper: Wrapper, on: bool) -> None:
        """Put a wrapper around the forward of each op, outside of those already there, or remove it. One with an
        attribute `outermost` stays outside."""
        if (wrapper in self.installed) != on:
            others = [each for each in self.installed if each is not wrapper]
            self.installed = sorted([*others, wrapper] if on else others, key=lambda each: hasattr(each, "outermost"))
        if self.applied != tuple(self.installed):  # also if an interrupt broke off the last change
            self.update()

    def wrap_new(self) -> None:
        """Wrap the ops of a module that has just been loaded in the installed wrappers."""
        self.classes = []
        if self.installed:  # otherwise they stay as they are, and so does a method of Tensor that a user has replaced
            self.update()

    def update(self) -> None:
        """Give each op exactly the installed wrappers."""
        self.applied = None
        if not self.classes:
            self.classes = [cls for cls in op_nodes() if isinstance(
                self.written.setdefault(cls, vars(cls).get("forward")), (staticmethod, classmethod))]
            self.tables = {}
        installed = tuple(self.installed)
        if installed not in self.tables:  # `vmap` and `jvp` come here at each call
            self.tables[installed] = [(cls, self.inside(cls, self.written[cls])) for cls in self.classes]
        for cls, forward in self.tables[installed]:
            setattr(cls, "forward", forward)  # noqa: B010 (as of a Node, mypy knows none)
        for owner, name, cls in self.bound:
            function = getattr(cls, "forward")  # noqa: B009 (as above)
            setattr(owner, name, function if owner is Tensor else staticmethod(function))
        self.notify()
        self.applied = tuple(self.installed)

    def inside(self, cls: type[Node], forward: Any) -> Any:
        """The forward of a class inside all wrappers, a static method or a class method as before."""
        key = (cls, *self.installed)
        if key not in self.wrapped:
            function = forward.__func__
            for wrapper in self.installed:
                function = wrapper(function, None if isinstance(forward, classmethod) else cls)
            self.wrapped[key] = type(forward)(function) if self.installed else forward
        return self.wrapped[key]

    def bind(self, owner: type) -> None:
        """Find the attributes of a class that are an op's forward itself; they are wrapped too."""
        by_function = {vars(cls)["forward"].__func__: cls for cls in op_nodes() if isinstance(
            vars(cls).get("forward"), staticmethod)}
        for name, value in vars(owner).items():
            function = value.__func__ if isinstance(value, staticmethod) else value
            if isinstance(function, FunctionType) and function in by_function:
                self.bound.append(Bound(owner, name, by_function[function]))

    def notify(self) -> None:
        """Say that methods of Tensor were bound again."""
        for each in self.after:
            each()


OPS = OpWrappers()


class Lingering:
    """A wrapper that is put on by whoever needs it, and stays until some ops have run that nobody needs it for.

    Changing all classes takes as long as a dozen ops, and Python looks up what it knew of them anew: a tenth of the
    time of a small Hessian. So a transform that is called again and again finds it in place, also if some ops run
    between the calls.
    """

    PATIENCE = 100  # ops

    def __init__(self, wrapper: Wrapper) -> None:
        self.wrapper, self.count, self.idle, self.lock = wrapper, 0, 0, new_lock()

    def need(self, number: int) -> None:
        """Count who needs it: 1 more, or with -1 one less."""
        with self.lock:
            self.count += number
            self.idle = 0
            if self.count:
                OPS.wrap(self.wrapper, on=True)

    def unneeded(self) -> None:
        """Count an op that runs while nobody needs it; the last of so many takes it off."""
        self.idle += 1
        if self.idle >= self.PATIENCE:
            with self.lock:
                if not self.count:  # else somebody needs it after all
                    OPS.wrap(self.wrapper, on=False)
