"""Writes and reads the files of `torch.save`: a zip archive of a pickle, which says how things are nested, and of
storages.

PyTorch reads such a file with `weights_only=True` if it holds tensors and containers. A storage is written once, so
that tensors that shared it share it again. The pickle is written instruction by instruction, since Python's own pickler
writes only names that it can import, and `torch` need not be installed.

A pickle is a program. Its instructions name functions to call, and could name any. Here they find only those on a
closed list, each an object that allows no assignment and builds plain values: tensors, parameters, sizes, dtypes,
devices, containers, and the layers of `nn`. This is what `torch.load(weights_only=True)` does. A module of your own
class is built if the class was allowed (`add_safe_globals`).
"""

import functools
import io
import pickle
import struct
import sys
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minigrad._base.device import device
from minigrad._base.dtype import DTYPES, Size, dtype, load_bfloat16
from minigrad.backends.registry import host
from minigrad.core import Tensor, materialized
from minigrad.nn import modules
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Buffer, Parameter
from minigrad.ops.tensor.storage import UntypedStorage, looking_at, rebuild, storage_offset, stride, untyped_storage

__all__ = ["NotLoaded", "NotWritten", "add_safe_globals", "archive_of", "clear_safe_globals", "get_safe_globals",
           "read_archive", "safe_globals", "torch_name"]

ALIGNMENT = 64  # of each storage in the file, as in PyTorch, so that it can be mapped into memory
REFUSED = (
    "minigrad.save writes tensors, modules, numbers, texts, None, dtypes, devices, and dicts, lists, tuples and sets "
    "of these; {} is of type {}.{}.{}")
HINTS = {"ndarray": " Give torch.from_numpy() of it.", "generic": " Give its item().",
         "function": " If it is part of a module, give the module's state_dict().",
         "Tensor": " Give its as_subclass(torch.Tensor).", "Uninitialized": " Run its module once before."}
TWO_DTYPES = ("Cannot save multiple tensors or storages that view the same data as different types")


class NotWritten(TypeError):
    """Raised for an object of a type that such a file cannot hold."""


def torch_name(cls: type) -> tuple[str, str]:
    """Return the module and name under which PyTorch has a minigrad class; for other classes, their own."""
    module, name = cls.__module__, cls.__qualname__
    if module.partition(".")[0] != "minigrad":
        return module, name
    if name == "NonDynamicallyQuantizableLinear":  # the one layer that PyTorch has in another module than minigrad
        return "torch.nn.modules.linear", name
    return module.replace("minigrad", "torch", 1), name


class PickleWriter:
    """Writes one object as a pickle of protocol 2, and collects the storages of its tensors."""

    def __init__(self) -> None:
        self.out = io.BytesIO()
        self.memo: dict[Any, int] = {}  # by identity, or by content for names and strings: the position in the memo
        self.alive: list[Any] = []  # what the memo knows by identity
        self.storages: dict[int, tuple[str, Any, Any]] = {}  # by address and device: key, dtype, bytes

    def pickle_of(self, obj: Any) -> bytes:
        self.out.write(b"\x80\x02")
        self.save(obj, ())
        self.out.write(b".")
        return self.out.getvalue()

    def remember(self, key: Any) -> None:
        """Add what was just written to the memo."""
        self.memo[key] = len(self.memo)
        self.out.write(b"r" + struct.pack("<I", self.memo[key]))

    def write_reference(self, key: Any) -> bool:
        """Return whether something is in the memo; if so, write a reference to it."""
        if key not in self.memo:
            return False
        self.out.write(b"j" + struct.pack("<I", self.memo[key]))
        return True

    def name(self, module: str, name: str) -> None:
        """Write what has this name in this module."""
        if not self.write_reference((module, name)):
            self.out.write(b"c" + f"{module}\n{name}\n".encode())
            self.remember((module, name))

    def text(self, value: str) -> None:
        if not self.write_reference(value):
            data = value.encode("utf-8", "surrogatepass")
            self.out.write(b"X" + struct.pack("<I", len(data)) + data)
            self.remember(value)

    def save(self, value: Any, path: tuple[Any, ...]) -> None:
        """Write any value; `path` says where in the object it is, for an error."""
        kind = type(value)
        if value is None or kind is bool:
            self.out.write(b"N" if value is None else b"\x88" if value else b"\x89")
        elif kind is int:
            self.integer(value)
        elif kind is float:
            self.out.write(b"G" + struct.pack(">d", value))
        elif kind is str:
            self.text(value)
        elif kind is dtype:
            self.name("torch", value.name)
        elif not self.write_reference(id(value)):
            self.alive.append(value)
            self.save_composed(value, path)

    def integer(self, value: int) -> None:
        if -(1 << 31) <= value < 1 << 31:
            self.out.write(b"J" + struct.pack("<i", value))
            return
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        short = len(data) < 256
        self.out.write((b"\x8a" + bytes([len(data)]) if short else b"\x8b" + struct.pack("<i", len(data))) + data)

    def save_composed(self, value: Any, path: tuple[Any, ...]) -> None:
        """Write a value that consists of others."""
        kind = type(value)
        if isinstance(value, Tensor):
            self.tensor(value, path)
        elif kind is list:
            self.out.write(b"]")
            self.remember(id(value))
            self.several(value, path, b"e")
        elif kind is tuple:
            self.several(value, path, b"t")
            self.remember(id(value))
        elif kind in (dict, OrderedDict, Counter):
            self.mapping(value, path)
        elif kind in (set, Size):
            self.name(*("torch", "Size") if kind is Size else ("builtins", "set"))
            self.out.write(b"" if kind is Size else b"]")
            self.several(value if kind is Size else sorted(value, key=repr), path, b"t" if kind is Size else b"e")
            self.out.write(b"\x85R")
            self.remember(id(value))
        elif kind is device:
            self.name("torch", "device")
            self.several((value.type,) if value.index is None else (value.type, value.index), path, b"t")
            self.out.write(b"R")
            self.remember(id(value))
        elif isinstance(value, Module):
            self.module(value, path)
        else:
            raise refusal(value, path)

    def several(self, values: Any, path: tuple[Any, ...], end: bytes) -> None:
        """Write values between a mark and the instruction that combines them."""
        self.out.write(b"(")
        for i, value in enumerate(values):
            self.save(value, (*path, i))
        self.out.write(end)

    def mapping(self, value: Any, path: tuple[Any, ...]) -> None:
        """Write a dict, and the versions of modules that a module's state dict carries."""
        if type(value) is dict:
            self.out.write(b"}")
        else:
            self.name("collections", type(value).__name__)
            self.out.write(b")R")
        self.remember(id(value))
        if value:
            self.out.write(b"(")
            for key, item in value.items():
                self.save(key, (*path, "a key"))
                self.save(item, (*path, key))
            self.out.write(b"u")
        if getattr(value, "_metadata", None) is not None:
            self.save({"_metadata": value._metadata}, path)
            self.out.write(b"b")

    def module(self, value: Module, path: tuple[Any, ...]) -> None:
        """Write a module: its class by name, and all its attributes."""
        if "<locals>" in type(value).__qualname__:
            raise NotWritten(f"minigrad.save: {location_text(path)} is of the class {type(value).__qualname__}, which "
                             "is in a function: nobody would find it there. Give its state_dict().")
        self.name(*torch_name(type(value)))
        self.out.write(b")\x81")
        self.remember(id(value))
        state = dict(vars(value))
        if "_all_weights" in state:  # PyTorch's recurrent layers also keep their weights in a list
            names = [name for layer in state["_all_weights"] for name in layer]
            state |= {"_flat_weights_names": names, "_flat_weights": [getattr(value, name) for name in names]}
        self.save(state, path)
        self.out.write(b"b")

    def tensor(self, value: Tensor, path: tuple[Any, ...]) -> None:
        """Write a tensor or parameter as a view of its storage."""
        if type(value) not in (Tensor, Parameter, Buffer):
            raise refusal(value, path)
        is_parameter = type(value) is Parameter
        self.name("torch._utils", "_rebuild_parameter" if is_parameter else "_rebuild_tensor_v2")
        if is_parameter:
            self.out.write(b"(")
            self.name("torch._utils", "_rebuild_tensor_v2")
        self.out.write(b"(")
        self.storage(value)
        self.integer(storage_offset(value))
        for sizes in (value.array.shape, stride(value)):
            self.several(sizes, path, b"t")
        self.save(value.requires_grad and not is_parameter, path)
        self.name("collections", "OrderedDict")  # hooks, which are not saved
        self.out.write(b")RtR")
        if is_parameter:
            self.save(value.requires_grad, path)
            self.name("collections", "OrderedDict")
            self.out.write(b")RtR")
        self.remember(id(value))

    def storage(self, value: Tensor) -> None:
        """Write the storage of a tensor, by its number in the archive."""
        memory = untyped_storage(value)
        at = memory.data_ptr() or -1 - len(self.storages)  # tensors without bytes share none
        kind = value.dtype
        key, known, _ = self.storages.setdefault(at, (str(len(self.storages)), kind, host(memory.bytes)))
        if known is not kind:
            raise RuntimeError(TWO_DTYPES)
        self.out.write(b"(")
        self.text("storage")
        self.name("torch", f"{kind.type_name}Storage")
        self.text(key)
        self.text(str(value.device))
        self.integer(memory.nbytes() // materialized(value).itemsize)
        self.out.write(b"tQ")


def refusal(value: Any, path: tuple[Any, ...]) -> NotWritten:
    """Return the error for a value that is not written, and what to do."""
    kind = type(value)
    hint = next((HINTS[c.__name__] for c in kind.__mro__ if c.__name__ in HINTS), "")
    return NotWritten(REFUSED.format(location_text(path), kind.__module__, kind.__qualname__, hint))


def location_text(path: tuple[Any, ...]) -> str:
    """Return where in an object something is, for an error."""
    return "the object" + "".join([f"[{key!r}]" for key in path])


def archive_of(obj: Any, stem: str, file: Any) -> None:
    """Write an object as an archive into a binary file that is open for writing; `stem` names the folder in it.

    Raises:
        NotWritten: for an object of a type that such a file cannot hold; nothing is written then.
        RuntimeError: if tensors of two dtypes share a storage.
    """
    pickle = PickleWriter()
    parts = {"data.pkl": pickle.pickle_of(obj), ".format_version": b"1", ".storage_alignment": b"%d" % ALIGNMENT,
             "byteorder": sys.byteorder.encode()}
    parts |= {f"data/{key}": memory for key, _, memory in pickle.storages.values()}
    parts["version"] = b"3\n"
    archive = zipfile.ZipFile(file, "w")
    try:
        for name, data in parts.items():
            info = zipfile.ZipInfo(f"{stem}/{name}")
            begin = archive.fp.tell() + 30 + len(info.filename.encode()) + 4  # type: ignore[union-attr]  # it is open
            gap = -begin % ALIGNMENT
            info.extra = b"FB" + struct.pack("<H", gap) + b"Z" * gap
            archive.writestr(info, memoryview(data).cast("B") if len(data) else b"")
        archive.close()
    except BaseException as error:
        archive.fp = None  # it cannot be closed if an interrupt broke off a part, and would raise another error
        if isinstance(lack := error.__context__, MemoryError):  # the file could not grow; then a part was closed in it
            raise lack from None
        raise


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
    Raises TypeError for an entry that is not a class."""
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
        result = Parameter(data, bool(requires_grad))
        self.tensors.append((result, self.tensors[-1][1]))
        return result


def read_archive(data: bytes) -> tuple[Any, list[tuple[Tensor, str]]]:
    """Return the object in an archive, and its tensors with the devices that they were on. Raises NotLoaded for what is
    not on the closed list, and for a damaged archive."""
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
