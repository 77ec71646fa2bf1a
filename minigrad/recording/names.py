"""Names leaves by the variables of the functions that run while a program is recorded.

The variables around the recording name most tensors when it ends. A leaf that a function made for itself is in none of
them, and may be gone by then: when it is first used, it is looked up in the running functions.
"""

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from types import FrameType, GetSetDescriptorType, MemberDescriptorType
from typing import Any
from weakref import ref

from minigrad.recording.builder import LIBRARIES

__all__ = ["OPTIMIZED", "ParameterPaths", "drop_copy", "drop_refilled", "empty", "held_by", "names_in", "public",
           "running", "held_inside", "is_module"]

OPTIMIZED = 0x1  # the flag of a code object whose locals are not a dict: a function's
DEEPEST = 4  # steps from a variable
MOST = 2_000  # objects inspected in all
WIDEST = 100  # objects in one container
LONGEST = 40  # characters of a key
HEAP = 1 << 9  # the flag of a class made at run time: objects of other classes hold nothing of the user's
MRO, OWN = type.__dict__["__mro__"].__get__, type.__dict__["__dict__"].__get__
PARTS = ("_parameters", "_buffers", "_modules")  # of a module: what is in these is its attribute


def running(base: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of the user's functions, innermost first, down to `base`, where the recording began."""
    frame = None if base is None else sys._getframe(1)
    libraries = tuple(LIBRARIES)
    while frame is not None and frame is not base:
        if frame.f_code.co_flags & OPTIMIZED and not frame.f_code.co_filename.startswith(libraries):
            yield frame
        frame = frame.f_back


def drop_copy(frame: FrameType, names: dict[str, Any], more: int = 0) -> bool:
    """Empty the copy of a function's variables that its frame keeps, if `names` is one: it would keep tensors alive.

    Before Python 3.13 `f_locals` is such a copy. If it has only four references (the frame, the caller, this function,
    the call of `getrefcount`) and `more` known ones, nobody else asked for it. A debugger writes the copy back into the
    variables: under one it stays.
    """
    own = type(names) is dict and frame.f_code.co_flags & OPTIMIZED and sys.getrefcount(names) <= 4 + more
    if not own or sys.gettrace() is not None:
        return False
    names.clear()
    return True


def drop_refilled(copies: list[dict[str, Any]]) -> None:
    """Empty the copies again: Python refills them while a profile function is on. Forget those of ended functions."""
    for at in reversed(range(len(copies))):
        names = copies[at]
        holders = sys.getrefcount(names) - 3  # this function, the list, the call
        if holders == 0:
            del copies[at]
        elif holders == 1 and sys.gettrace() is None:
            names.clear()


def empty(frame: FrameType, names: dict[str, Any], copies: list[dict[str, Any]]) -> None:
    """Empty the copy of a function's variables, and add it to `copies`; the caller holds it in one variable."""
    known = id(names) in map(id, copies)
    if drop_copy(frame, names, known + 1) and not known:
        copies.append(names)


class ParameterPaths:
    """The paths of the parameters in modules: a module is walked once, and again only if one is not found.

    Each of the n parameters of a model is looked for when it is first used, and a walk visits all n.
    """

    def __init__(self) -> None:
        self.walked: dict[int, tuple[ref[Any], dict[int, str]]] = {}  # by the id of a module, which must still live

    def find(self, owner: Any, wanted: Mapping[int, Any]) -> dict[int, str]:
        """Return the paths, by id, of those wanted tensors that are parameters of this module."""
        module, paths = self.walked.get(id(owner), (None, {}))
        if module is None or module() is not owner or not all(leads_to(value, owner, paths.get(key, ""))
                                                              for key, value in wanted.items()):
            paths = {id(parameter): path for path, parameter in reversed(list(owner.named_parameters()))}
            self.walked[id(owner)] = ref(owner), paths
        return {key: paths[key] for key in wanted if key in paths}


def leads_to(value: Any, owner: Any, path: str) -> bool:
    """Return whether a path from a module leads to this object."""
    try:
        return reduce(getattr, path.split("."), owner) is value
    except AttributeError:
        return False


def names_in(base: FrameType | None, wanted: Mapping[int, Any], copies: list[dict[str, Any]],
             paths: ParameterPaths) -> dict[int, tuple[str, bool]]:
    """Return names for objects, by id, and whether each is a path from a module; the outermost variable counts.

    The emptied copies of variables are added to `copies`.
    """
    found: dict[int, tuple[str, bool]] = {}
    tensors = {key: value for key, value in wanted.items() if hasattr(type(value), "requires_grad")}
    for frame in running(base):
        names = frame.f_locals
        known = public(names)
        here = {id(value): (name, False) for name, value in known if wanted.get(id(value)) is value}
        for name, owner in known:
            if tensors and is_module(owner):
                here |= {key: (f"{name}.{path}", True) for key, path in paths.find(owner, tensors).items()}
        if len(here) < len(wanted):
            for value, name, is_path in held_inside(known):
                if wanted.get(id(value)) is value:
                    here.setdefault(id(value), (name, is_path))
        empty(frame, names, copies)
        found |= here
    return found


def public(names: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the variables with public names, except classes."""
    return [(name, value) for name, value in list(names.items())
            if not name.startswith("_") and not issubclass(type(value), type)]


def held_by(names: Mapping[str, Any]) -> Iterator[tuple[Any, str, bool]]:
    """Yield what variables hold, with its name; then the parameters of modules among it, with their paths (True)."""
    known = public(names)
    yield from [(value, name, False) for name, value in known]
    for name, owner in known:
        if is_module(owner):
            yield from [(parameter, f"{name}.{path}", True) for path, parameter in owner.named_parameters()]


# What lists, dicts, tuples and plain objects hold, named as the program would write it: `weights[0]`, `net.w`. No code
# of the user's runs: no property, no `__getattr__`, no method of a container. The search goes inwards from the
# variables, level by level, and ends at its bounds.
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
