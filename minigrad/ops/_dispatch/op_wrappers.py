"""Puts wrappers around the forward of every op: device guards, and modes that see each op.

An op is a class of nodes with a `forward`. With no wrapper installed, the classes are as they were written, and an op
costs nothing extra. `wrap_ops` installs a wrapper or removes it.
"""

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from minigrad.core import Node, Tensor

__all__ = ["bind_forwards", "is_part", "op_nodes", "wrap_new_ops", "wrap_ops"]

Wrapper = Callable[[Any, type[Node] | None], Any]  # of a forward and its class; None: the class is the first argument
WRAPPERS: list[Wrapper] = []  # the installed ones, the innermost first
APPLIED: list[tuple[Wrapper, ...] | None] = [()]  # the one entry: those that all ops have, None while that changes
FORWARDS: dict[type[Node], Any] = {}  # by class: its forward as it was written, a static method or a class method
WRAPPED: dict[tuple[Any, ...], Any] = {}  # by class and wrappers: the wrapped forward
BOUND: list[tuple[type, str, type[Node]]] = []  # attributes that are an op's forward: class, name, class of the op
REBOUND: list[Callable[[], None]] = []  # called after methods of Tensor were rebound


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


def wrap_ops(wrapper: Wrapper, on: bool) -> None:
    """Put a wrapper around the forward of each op, outside of those already there, or remove it."""
    others = [each for each in WRAPPERS if each is not wrapper]
    if (wrapper in WRAPPERS) != on:
        WRAPPERS[:] = [*others, wrapper] if on else others
    if APPLIED[0] != tuple(WRAPPERS):  # also if an interrupt broke off the last change
        update_ops()


def wrap_new_ops() -> None:
    """Wrap the ops of a module that has just been loaded in the installed wrappers."""
    if WRAPPERS:  # otherwise they stay as they are, and so does a method of Tensor that a user has replaced
        update_ops()


def update_ops() -> None:
    """Give each op exactly the installed wrappers."""
    APPLIED[0] = None
    for cls in op_nodes():
        forward = FORWARDS[cls] if cls in FORWARDS else FORWARDS.setdefault(cls, vars(cls).get("forward"))
        if isinstance(forward, (staticmethod, classmethod)):
            setattr(cls, "forward", wrapped(cls, forward))  # noqa: B010 (mypy knows no `forward` of a Node)
    for owner, name, cls in BOUND:
        function = getattr(cls, "forward")  # noqa: B009 (as above)
        setattr(owner, name, function if owner is Tensor else staticmethod(function))
    for rewrap in REBOUND:
        rewrap()
    APPLIED[0] = tuple(WRAPPERS)


def wrapped(cls: type[Node], forward: Any) -> Any:
    """The forward of a class with all wrappers around it, as a static method or a class method again."""
    key = (cls, *WRAPPERS)
    if key not in WRAPPED:
        function = forward.__func__
        for wrapper in WRAPPERS:
            function = wrapper(function, None if isinstance(forward, classmethod) else cls)
        WRAPPED[key] = type(forward)(function) if WRAPPERS else forward
    return WRAPPED[key]


def bind_forwards(owner: type) -> None:
    """Find the attributes of a class that, for speed, are an op's forward itself; they are wrapped too."""
    by_function = {vars(cls)["forward"].__func__: cls for cls in op_nodes() if isinstance(
        vars(cls).get("forward"), staticmethod)}
    for name, value in vars(owner).items():
        function = value.__func__ if isinstance(value, staticmethod) else value
        if isinstance(function, FunctionType) and function in by_function:
            BOUND.append((owner, name, by_function[function]))
