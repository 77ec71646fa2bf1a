"""Writes the files of `torch.save`: a zip archive of a pickle, which says how things are nested, and of storages.

PyTorch reads such a file with `weights_only=True` if it holds tensors and containers. A storage is written once, so
that tensors that shared it share it again. The pickle is written instruction by instruction, since Python's own pickler
writes only names that it can import, and `torch` need not be installed.
"""

import io
import struct
import sys
import zipfile
from collections import Counter, OrderedDict
from typing import Any

from minigrad._base.device import device
from minigrad._base.dtype import Size, dtype
from minigrad.backends.registry import host
from minigrad.core import Tensor, materialized
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Buffer, Parameter
from minigrad.ops.tensor.storage import storage_offset, stride, untyped_storage

__all__ = ["NotWritten", "archive_of", "torch_name"]

ALIGNMENT = 64  # of each storage in the file, as in PyTorch, so that it can be mapped into memory
# Layers that PyTorch has in another module than minigrad.
ELSEWHERE = {"MultiheadAttention": "activation", "NonDynamicallyQuantizableLinear": "linear"}
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
    if not module.startswith("minigrad."):
        return module, name
    return f"torch.nn.modules.{ELSEWHERE[name]}" if name in ELSEWHERE else module.replace("minigrad", "torch", 1), name


class PickleWriter:
    """Writes one object as a pickle of protocol 2, and collects the storages of its tensors."""

    def __init__(self) -> None:
        self.out = io.BytesIO()
        self.memo: dict[Any, int] = {}  # by identity, or by content for names and strings: the position in the memo
        self.alive: list[Any] = []  # what the memo knows by identity
        self.storages: dict[int, tuple[str, Any, Any]] = {}  # by address and device: key, dtype, bytes

    def written(self, obj: Any) -> bytes:
        """Return the whole pickle."""
        self.out.write(b"\x80\x02")
        self.save(obj, ())
        self.out.write(b".")
        return self.out.getvalue()

    def remember(self, key: Any) -> None:
        """Add what was just written to the memo."""
        self.memo[key] = len(self.memo)
        self.out.write(b"r" + struct.pack("<I", self.memo[key]))

    def recalled(self, key: Any) -> bool:
        """Return whether something is in the memo; if so, write a reference to it."""
        if key not in self.memo:
            return False
        self.out.write(b"j" + struct.pack("<I", self.memo[key]))
        return True

    def name(self, module: str, name: str) -> None:
        """Write what has this name in this module."""
        if not self.recalled((module, name)):
            self.out.write(b"c" + f"{module}\n{name}\n".encode())
            self.remember((module, name))

    def text(self, value: str) -> None:
        """Write a string."""
        if not self.recalled(value):
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
        elif not self.recalled(id(value)):
            self.alive.append(value)
            self.composed(value, path)

    def integer(self, value: int) -> None:
        """Write an integer of any size."""
        if -(1 << 31) <= value < 1 << 31:
            self.out.write(b"J" + struct.pack("<i", value))
            return
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        short = len(data) < 256
        self.out.write((b"\x8a" + bytes([len(data)]) if short else b"\x8b" + struct.pack("<i", len(data))) + data)

    def composed(self, value: Any, path: tuple[Any, ...]) -> None:
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
    parts = {"data.pkl": pickle.written(obj), ".format_version": b"1", ".storage_alignment": b"%d" % ALIGNMENT,
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
