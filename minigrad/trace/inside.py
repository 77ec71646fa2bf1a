"""Names what lists, dicts, tuples and plain objects hold, as the program would write it: `weights[0]`, `net.w`.

No code of the user's runs: no property, no `__getattr__`, no method of a container. The search goes inwards from the
variables, level by level, and ends at its bounds.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

__all__ = ["held_inside", "is_module"]

DEEPEST = 4  # steps from a variable
MOST = 2_000  # objects inspected in all
WIDEST = 100  # objects in one container
LONGEST = 40  # characters of a key
HEAP = 1 << 9  # the flag of a class made at run time: objects of other classes hold nothing of the user's
MRO, OWN = type.__dict__["__mro__"].__get__, type.__dict__["__dict__"].__get__
PARTS = ("_parameters", "_buffers", "_modules")  # of a module: what is in these is its attribute


def is_module(value: Any) -> bool:
    """Return whether something is a module of any library."""
    return callable(getattr(type(value), "named_parameters", None))


def held_inside(variables: Iterable[tuple[str, Any]]) -> Iterator[tuple[Any, str, bool]]:
    """Yield what is inside what variables hold, with its name, and whether it is a parameter of a module."""
    waiting = deque([(name, value, 0) for name, value in variables])
    opened: set[int] = set()
    left = MOST
    while waiting:
        name, owner, depth = waiting.popleft()
        if id(owner) in opened or hasattr(type(owner), "requires_grad"):  # what a tensor holds has no name
            continue
        opened.add(id(owner))
        for step, value, is_parameter in parts(owner):
            if left == 0:
                return
            left -= 1
            yield value, name + step, is_parameter
            if depth + 1 < DEEPEST:
                waiting.append((name + step, value, depth + 1))


def parts(owner: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield what an object holds: how to reach it, what it is, and whether it is a parameter of a module."""
    kind = type(owner)  # `isinstance` asks an object for its `__class__`
    if issubclass(kind, (list, tuple)):
        base: Any = tuple if issubclass(kind, tuple) else list
        names = getattr(kind, "_fields", ())
        for at in range(min(base.__len__(owner), WIDEST)):
            yield f".{names[at]}" if at < len(names) else f"[{at}]", base.__getitem__(owner, at), False
    elif issubclass(kind, dict):
        for key, value in list(dict.items(owner))[:WIDEST]:
            if type(key) is int or type(key) is str and len(key) <= LONGEST:
                yield f"[{key!r}]", value, False
    elif kind.__flags__ & HEAP:
        for name, value in list(attributes(owner))[:WIDEST]:
            if not name.startswith("_"):
                yield f".{name}", value, False
            elif name in PARTS and issubclass(type(value), dict) and is_module(owner):
                for key, part in list(dict.items(value))[:WIDEST]:
                    yield f".{key}", part, name == "_parameters"


def attributes(owner: Any) -> Iterator[tuple[str, Any]]:
    """Yield an object's own attributes, without calling its code."""
    for cls in MRO(type(owner)):
        for name, member in list(OWN(cls).items()):
            if type(member) is GetSetDescriptorType and name == "__dict__":
                yield from list(member.__get__(owner).items())
            elif type(member) is MemberDescriptorType:  # a slot
                try:
                    yield name, member.__get__(owner)
                except AttributeError:  # the slot is empty
                    continue
