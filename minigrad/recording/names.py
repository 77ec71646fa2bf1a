"""Names leaves by the variables of the functions that run while a program is recorded.

The variables around the recording name most tensors when it ends. A leaf that a function made for itself is in none of
them, and may be gone by then: when it is first used, it is looked up in the running functions.
"""

import sys
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from types import FrameType, GetSetDescriptorType, MappingProxyType, MemberDescriptorType
from typing import Any
from weakref import ref

from minigrad.recording.builder import LIBRARIES, in_libraries

__all__ = ["OPTIMIZED", "Copies", "ModulePaths", "drop_copy", "drop_refilled", "empty", "held_by", "held_inside",
           "names_in"]

OPTIMIZED = 0x1  # the flag of a code object whose locals are not a dict: a function's
DEEPEST = 4  # steps from a variable
MOST = 2_000  # objects inspected in all
WIDEST = 100  # objects in one container
LONGEST = 40  # characters of a key
HEAP = 1 << 9  # the flag of a class made at run time: objects of other classes hold nothing of the user's
HOLDERS = HEAP | 1 << 25 | 1 << 26 | 1 << 29  # but for lists, tuples and dicts
MRO, MEMBERS = type.__dict__["__mro__"].__get__, type.__dict__["__dict__"].__get__
OWN = object.__getattribute__
TABLES = ("_parameters", "_modules")  # of a module: what is in these is its attribute
PARTS = (*TABLES, "_buffers")
Copies = dict[int, dict[str, Any]]  # of the variables of functions, emptied, by id()
Layouts = dict[int, tuple[type, list[Any]]]  # where a class keeps attributes, by its id; the class stays alive with it


def running(base: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of the user's functions, innermost first, down to `base`, where the recording began."""
    frame = None if base is None else sys._getframe(1)
    known = len(LIBRARIES)
    while frame is not None and frame is not base:
        code = frame.f_code
        if code.co_flags & OPTIMIZED and not in_libraries(code.co_filename, known):
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


def drop_refilled(copies: Copies) -> None:
    """Empty the copies again: Python refills them while a profile function is on. Forget those of ended functions."""
    for key in reversed(list(copies)):
        names = copies[key]
        holders = sys.getrefcount(names) - 3  # this function, the table, the call
        if holders == 0:
            del copies[key]
        elif holders == 1 and sys.gettrace() is None:
            names.clear()


def empty(frame: FrameType, names: dict[str, Any], copies: Copies) -> None:
    """Empty the copy of a function's variables, and add it to `copies`; the caller holds it in one variable."""
    known = id(names) in copies
    if drop_copy(frame, names, known + 1) and not known:
        copies[id(names)] = names


class ModulePaths:
    """The paths of the parameters and modules in modules: one is walked once, and again if anything in it has changed.

    Each of the n parameters of a model is looked for when it is first used, and a walk visits all n. So of one that was
    found in a walk, only the path is followed once more.
    """

    def __init__(self) -> None:
        self.walked: dict[int, Walk] = {}  # by the id of a module, which must still live
        self.layouts: Layouts = {}

    def inside(self, owner: Any) -> "Walk":
        """Return what is in a module."""
        walk = self.walked.get(id(owner))
        if walk is None or walk.modules[0]() is not owner or walk.contents is None or (
                walk.contents != contents_of(walk.modules)):
            walk = self.walked[id(owner)] = Walk(owner)
        return walk

    def path(self, module: Any, owners: Sequence[Any]) -> str | None:
        """Return the path to a module from the first of these modules that it is in; the last one is around all."""
        key, walk = id(module), self.walk_of(owners[-1]) if owners else None
        for owner in owners:
            path = walk and walk.between(owner, key) or self.path_from(owner, key, "_modules")
            if path:
                return path
        return None

    def walk_of(self, owner: Any) -> "Walk | None":
        """Return the last walk through a module, if there was one."""
        walk = self.walked.get(id(owner))
        return None if walk is None or walk.modules[0]() is not owner else walk

    def path_from(self, owner: Any, key: int, table: str) -> str | None:
        """Return the path from a module to what has this `id()` and is in this table of it or of a module in it."""
        walk = self.walk_of(owner)
        path = None if walk is None else walk.checked(key, table)
        return self.inside(owner).found[table].get(key) if path is None else path


class Walk:
    """What is in a module: nothing here keeps it alive, and none of its code runs, since it may be half built.

    `parameters` and `paths` have the first path, by id, of each parameter and of each module, in the order of
    `named_parameters()` and `named_modules()`; `places`, in which of the modules it is, and its name there.
    """

    def __init__(self, owner: Any) -> None:
        self.parameters: dict[int, str] = {}
        self.paths: dict[int, str] = {}
        self.found = {"_parameters": self.parameters, "_modules": self.paths}
        self.places: dict[int, tuple[int, str]] = {}
        self.modules: list[ref[Any]] = []
        waiting = [("", owner, -1, "")]
        while waiting:
            path, module, above, last = waiting.pop()
            if id(module) in self.paths:
                continue
            self.paths[id(module)], self.places[id(module)] = path, (above, last)
            at, before = len(self.modules), path and f"{path}."
            self.modules.append(ref(module))
            for name, parameter in entries_of(module, "_parameters"):
                self.parameters.setdefault(id(parameter), before + name)
                self.places.setdefault(id(parameter), (at, name))
            waiting += [(before + name, inner, at, name) for name, inner in reversed(entries_of(module, "_modules"))]
        self.contents = contents_of(self.modules)

    def checked(self, key: int, table: str) -> str | None:
        """Return the path to what has this `id()`, if it is where it was found, and so are the modules around it."""
        path = self.found[table].get(key)
        return path if path == "" or path and self.between(self.modules[0](), key, table) else None

    def between(self, owner: Any, key: int, table: str = "_modules") -> str | None:
        """Return the path from one of the modules to what has this `id()`, if that is still in it where it was found.

        Had a shared module in it an earlier path, it would have been found there.
        """
        names: list[str] = []
        try:
            while True:
                at, name = self.places[key]
                module = self.modules[at]() if at >= 0 else None
                if id(dict.get(OWN(module, "__dict__")[table], name)) != key:
                    return None
                names.append(name)
                if module is owner:
                    return ".".join(reversed(names))
                key, table = id(module), "_modules"
        except (AttributeError, KeyError, TypeError):  # it is not there, a module is gone, or its tables are no dicts
            return None


def entries_of(module: Any, table: str) -> list[tuple[str, Any]]:
    """Return what a module has in one of its tables; nothing while there is no such table yet."""
    found = dict.get(OWN(module, "__dict__"), table, {})
    if issubclass(type(found), dict):
        return [(name, value) for name, value in dict.items(found) if value is not None]
    return list(getattr(found, "items", list)())  # of a scripted module, whose tables PyTorch keeps in C++


def contents_of(modules: list[ref[Any]]) -> list[int] | None:
    """Return the ids of all that these modules have in their tables; None where that cannot be told so fast."""
    try:
        own = [*map(OWN, [module() for module in modules], repeat("__dict__"))]
        tables = chain.from_iterable([map(dict.get, own, repeat(name), repeat({})) for name in TABLES])
        return [*map(id, chain.from_iterable(map(dict.values, tables)))]
    except (AttributeError, TypeError):  # a module is gone, or its tables are no dicts
        return None


def names_in(base: FrameType | None, wanted: Mapping[int, Any], copies: Copies,
             paths: ModulePaths) -> dict[int, tuple[str, bool]]:
    """Return names for objects, by id, and whether each is a path from a module; the outermost variable counts.

    The emptied copies of variables are added to `copies`.
    """
    found: dict[int, tuple[str, bool]] = {}
    for frame in reversed(list(running(base))):
        missing = wanted.keys() - found.keys()
        if not missing:
            break  # most leaves are in a model that the outermost function holds: the many inside it are not searched
        names = frame.f_locals
        known = public(names)
        here = {id(value): (name, False) for name, value in known if id(value) in missing}
        tensors = [key for key in missing if hasattr(type(wanted[key]), "requires_grad")]
        for name, owner in modules_in(known) if tensors else ():
            here |= {key: (f"{name}.{path}", True) for key in tensors
                     if (path := paths.path_from(owner, key, "_parameters")) is not None}
        if len(here) < len(missing):
            for value, name, is_path in held_inside(known, missing, paths.layouts):
                here.setdefault(id(value), (name, is_path))
        empty(frame, names, copies)
        found |= here
    return found


def public(names: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the variables with public names, except classes."""
    return [(name, value) for name, value in list(names.items())
            if not name.startswith("_") and not issubclass(type(value), type)]


def modules_in(variables: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return those variables that hold a module."""
    return [(name, value) for name, value in variables
            if type(value).__flags__ & HEAP and is_module(value)]


def held_by(names: Mapping[str, Any], wanted: Container[int], paths: ModulePaths) -> Iterator[tuple[int, str, bool]]:
    """Yield the ids of wanted objects that variables hold, each with its name and whether it is a path from a module:
    first the variables, then the parameters of modules, then what is inside of the rest."""
    known = public(names)
    yield from [(id(value), name, False) for name, value in known if id(value) in wanted]
    for name, owner in modules_in(known):
        yield from [(key, f"{name}.{path}", True) for key, path in paths.inside(owner).parameters.items()
                    if key in wanted]
    yield from [(id(value), name, is_path) for value, name, is_path in held_inside(known, wanted, paths.layouts)]


# What lists, dicts, tuples and plain objects hold, named as the program would write it: `weights[0]`, `net.w`. No code
# of the user's runs: no property, no `__getattr__`, no method of a container. The search goes inwards from the
# variables, level by level, and ends at its bounds.


def is_module(value: Any) -> bool:
    """Return whether something is a module of any library."""
    kind = type(value)
    return bool(callable(getattr(kind, "named_parameters", None)) and kind.__dictoffset__ and kind.__weakrefoffset__)


def held_inside(variables: Iterable[tuple[str, Any]], wanted: Container[int] | None = None,
                layouts: Layouts | None = None) -> list[tuple[Any, str, bool]]:
    """Return what is inside what variables hold, with its name, and whether it is a parameter of a module.

    `wanted`: the ids of the objects that are asked for; all by default. `layouts`: what earlier searches of the same
    recording have found of classes.
    """
    found: list[tuple[Any, str, bool]] = []
    waiting = deque([(name, value, 0) for name, value in variables if type(value).__flags__ & HOLDERS])
    opened: set[int] = set()
    layouts = {} if layouts is None else layouts
    left = MOST
    while waiting:
        name, owner, depth = waiting.popleft()
        if id(owner) in opened or hasattr(type(owner), "requires_grad"):  # what a tensor holds has no name
            continue
        opened.add(id(owner))
        for step, value, is_parameter in parts(owner, layouts):
            if left == 0:
                return found
            left -= 1
            if wanted is None or id(value) in wanted:
                found.append((value, name + step, is_parameter))
            if depth + 1 < DEEPEST and type(value).__flags__ & HOLDERS:
                waiting.append((name + step, value, depth + 1))
    return found


def parts(owner: Any, layouts: Layouts) -> list[tuple[str, Any, bool]]:
    """Return what an object holds: how to reach it, what it is, and whether it is a parameter of a module."""
    kind = type(owner)  # `isinstance` asks an object for its `__class__`
    if issubclass(kind, (list, tuple)):
        base: Any = tuple if issubclass(kind, tuple) else list
        names = getattr(kind, "_fields", ())
        return [(f".{names[at]}" if at < len(names) else f"[{at}]", base.__getitem__(owner, at), False)
                for at in range(min(base.__len__(owner), WIDEST))]
    if issubclass(kind, dict):
        return [(f"[{key!r}]", value, False) for key, value in entries(owner)[:WIDEST]
                if type(key) is int or type(key) is str and len(key) <= LONGEST]
    found: list[tuple[str, Any, bool]] = []
    for name, value in attributes(owner, layouts)[:WIDEST]:
        if not name.startswith("_"):
            found.append((f".{name}", value, False))
        elif name in PARTS and issubclass(type(value), dict) and is_module(owner):
            found += [(f".{key}", part, name == "_parameters") for key, part in entries(value)[:WIDEST]]
    return found


def entries(owner: Any) -> list[tuple[Any, Any]]:
    """Return the entries of a dict, or of a class's read-only view of one; no method of a subclass is called. A
    finalizer that runs while the list is made may change the dict; it runs once, so the list is then made again."""
    items = MappingProxyType.items if type(owner) is MappingProxyType else dict.items
    try:
        return list(items(owner))
    except RuntimeError:
        return list(items(owner))


def attributes(owner: Any, layouts: Layouts) -> list[tuple[str, Any]]:
    """Return an object's own attributes, without calling its code. `layouts`: where those of each class are kept."""
    kind = type(owner)
    known = layouts.get(id(kind))
    if known is None:
        known = layouts[id(kind)] = kind, [
            (name, member) for cls in MRO(kind) for name, member in list(MEMBERS(cls).items())
            if type(member) is MemberDescriptorType or type(member) is GetSetDescriptorType and name == "__dict__"]
    found: list[tuple[str, Any]] = []
    for name, member in known[1]:
        if name == "__dict__" and type(member) is GetSetDescriptorType:
            found += entries(member.__get__(owner))
        else:  # a slot
            try:
                found.append((name, member.__get__(owner)))
            except AttributeError:  # the slot is empty
                continue
    return found
