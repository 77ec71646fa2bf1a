"""Reads the files of `torch.save`: a zip archive of a pickle, which says how things are nested, and of storages.

A pickle is a program. Its instructions name functions to call, and could name any. Here they find only those on a
closed list, each an object that allows no assignment and builds plain values: tensors, parameters, sizes, dtypes,
devices, containers, and the layers of `nn`. This is what `torch.load(weights_only=True)` does. Tensors that shared a
storage share one again. A module of your own class is built if the class was allowed (`add_safe_globals`).
"""

import functools
import io
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minigrad._base.device import device
from minigrad._base.dtype import DTYPES, Size, load_bfloat16
from minigrad.core import Tensor
from minigrad.nn import modules
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.tensor.storage import UntypedStorage, looking_at, rebuild
from minigrad.serialization.torch_writer import torch_name

__all__ = ["NotLoaded", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "read", "safe_globals"]

BY_NAME = {each.name: each for each in DTYPES}
STORAGES = {f"{each.type_name}Storage": each for each in DTYPES}
WHOLE = (
    "it holds {}, which minigrad does not load: a file may hold tensors, parameters, numbers, texts, dtypes, sizes, "
    "devices, layers of nn and containers of these.\n\nSave what state_dict() gives rather than the object, and load "
    "it into one. Or, where it is a module of a class that you trust, allow the class before you load: "
    "minigrad.serialization.add_safe_globals([the class]).")
ALLOWED: dict[tuple[str, str], type] = {}  # classes that the user trusts, by module and name


class NotLoaded(Exception):
    """Raised with what in a file is not read, or why it cannot be."""


class Named:
    """What a pickle finds under a name: it can be called, but allows no assignment to attributes."""

    __slots__ = ("build", "value")

    build: Callable[..., Any] | None
    value: Any

    def __init__(self, build: Callable[..., Any] | None = None, value: Any = None) -> None:
        object.__setattr__(self, "build", build)
        object.__setattr__(self, "value", value)

    def __call__(self, *args: Any) -> Any:
        if self.build is None:
            raise NotLoaded("it calls what is no function")
        return self.build(*args)

    def __setattr__(self, name: str, value: Any) -> None:
        raise NotLoaded("it sets an attribute of what it finds by name")

    def __setstate__(self, state: Any) -> None:
        raise NotLoaded("it changes what it finds by name")


class Frozen(type):
    """The metaclass of the classes that stand for modules: they allow no assignment to attributes."""

    def __setattr__(cls, name: str, value: Any) -> None:
        raise NotLoaded("it sets an attribute of what it finds by name")


def stand_in(cls: type) -> type:
    """Make what a pickle finds in place of a class: called without arguments, it makes an empty object of the class."""
    def new(stand_in: type, *args: Any) -> Any:
        if args:
            raise NotLoaded(f"it gives arguments to {cls.__qualname__}")
        return object.__new__(cls)

    return Frozen(cls.__name__, (), {"__new__": new, "__slots__": ()})


@functools.cache
def layers() -> dict[tuple[str, str], type]:
    """Return the layers of `nn`, by their names in PyTorch's pickles."""
    found: list[Any] = [Module]
    for cls in found:
        found += [each for each in cls.__subclasses__() if each.__module__.startswith(modules.__name__)]
    return {torch_name(cls): cls for cls in found}


def add_safe_globals(safe_globals: Iterable[type]) -> None:
    """Allow files to hold objects of these classes: `load` makes them without `__init__`, and sets their attributes.

    Raises:
        TypeError: for an entry that is not a class.
    """
    for cls in safe_globals:
        if not isinstance(cls, type):
            raise TypeError(f"minigrad.serialization.add_safe_globals takes classes; {cls!r} is none.")
        ALLOWED[cls.__module__, cls.__qualname__] = cls


def get_safe_globals() -> list[Any]:
    """Return the allowed classes."""
    return [*ALLOWED.values()]


def clear_safe_globals() -> None:
    """Allow no classes any more."""
    ALLOWED.clear()


@contextmanager
def safe_globals(allowed: Iterable[type]) -> Iterator[None]:
    """A block in which files may also hold objects of these classes."""
    before = dict(ALLOWED)
    try:
        add_safe_globals(allowed)
        yield
    finally:
        ALLOWED.clear()
        ALLOWED.update(before)


class Stored:
    """A storage of a file: its memory, its dtype, and the device that it was on."""

    __slots__ = ("dtype", "location", "memory")

    def __init__(self, memory: UntypedStorage, dtype: Any, location: str) -> None:
        self.memory, self.dtype, self.location = memory, dtype, location


class Reader(pickle.Unpickler):
    """Builds what a pickle describes, from the closed list."""

    def __init__(self, pickled: bytes, storage: Callable[[str], Any], order: str) -> None:
        super().__init__(io.BytesIO(pickled))
        self.storage, self.order = storage, order
        self.storages: dict[str, Stored] = {}
        self.tensors: list[tuple[Tensor, str]] = []  # with the devices that they were on
        self.names: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): Named(OrderedDict), ("collections", "Counter"): Named(Counter),
            ("builtins", "set"): Named(set), ("__builtin__", "set"): Named(set),
            ("torch", "Size"): Named(Size), ("torch", "device"): Named(device),
            ("torch._utils", "_rebuild_tensor_v2"): Named(self.tensor),
            ("torch._utils", "_rebuild_parameter"): Named(self.parameter)}

    def find_class(self, module: str, name: str) -> Any:
        """Return what the closed list has under a name."""
        found = self.names.get((module, name))
        if found is not None:
            return found
        if module == "torch" and name in ("bfloat16", "BFloat16Storage"):
            return load_bfloat16() if name == "bfloat16" else Named(value=load_bfloat16())
        if module in ("torch", "torch.storage") and name in STORAGES:
            return Named(value=STORAGES[name])
        if module == "torch" and name in BY_NAME:
            return BY_NAME[name]
        cls = ALLOWED.get((module, name)) or (layers().get((module, name)) if module.startswith("torch.nn.") else None)
        if cls is not None:
            return self.names.setdefault((module, name), stand_in(cls))
        raise NotLoaded(WHOLE.format(f"{module}.{name}"))

    def persistent_load(self, pid: Any) -> Stored:
        """Return a storage by its number in the archive; the same object each time."""
        kind, of, key, location, count = pid
        if kind != "storage" or not isinstance(of, Named) or of.value is None:
            raise NotLoaded(f"it holds a {kind} that is no storage of a dtype that minigrad has")
        if key not in self.storages:
            width = of.value.itemsize
            array = np.frombuffer(self.storage(key), f"{'<' if self.order == 'little' else '>'}u{width}", count)
            memory = UntypedStorage(array.astype(f"u{width}").view(np.uint8))
            self.storages[key] = Stored(memory, of.value, location)
        return self.storages[key]

    def tensor(self, storage: Stored, offset: int, size: Any, strides: Any, requires_grad: bool, hooks: Any = None,
               metadata: Any = None) -> Tensor:
        """Return a tensor that is a view of a storage."""
        look = storage.dtype.numpy, int(offset), tuple(size), tuple(strides)
        looking_at(storage.memory, *look)  # raises if it would exceed the storage
        result = rebuild(Tensor, storage.memory, *look, bool(requires_grad))
        self.tensors.append((result, storage.location))
        return result

    def parameter(self, data: Tensor, requires_grad: bool, hooks: Any = None) -> Parameter:
        """Return a parameter with the data of a tensor."""
        result = Parameter(data, bool(requires_grad))
        self.tensors.append((result, self.tensors[-1][1]))
        return result


def read(data: bytes) -> tuple[Any, list[tuple[Tensor, str]]]:
    """Return the object in an archive, and its tensors with the devices that they were on.

    Raises:
        NotLoaded: for what is not on the closed list, and for a damaged archive.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
            raise NotLoaded("its parts are compressed, as torch.save never does")
        names = {name.partition("/")[2]: name for name in archive.namelist()}
        if "data.pkl" not in names:
            raise NotLoaded("it is an archive, but none that torch.save wrote")
        order = archive.read(names["byteorder"]).decode() if "byteorder" in names else "little"
        if order not in ("little", "big"):
            raise NotLoaded(f"its bytes are in the order {order!r}")
        reader = Reader(archive.read(names["data.pkl"]), lambda key: archive.read(names[f"data/{key}"]), order)
        return reader.load(), reader.tensors
    except NotLoaded:
        raise
    except (zipfile.BadZipFile, pickle.UnpicklingError, EOFError, LookupError, ValueError, TypeError, AttributeError,
            ArithmeticError, ImportError, NotImplementedError, RuntimeError, OSError) as error:
        raise NotLoaded(f"it is damaged ({type(error).__name__}: {error})") from error
