"""Saves and loads tensors and modules: mirrors `torch/serialization.py`.

`save` writes what `torch.save` writes, an archive of a pickle and storages, and `load` reads it without running any
code from the file (torch_file.py). Shared storages stay shared.

To a name that ends in `.safetensors`, `save` writes safetensors: the tensors as they are in memory, and a JSON header.
PyTorch reads such a file with `safetensors.torch.load_file`. Everything else (nesting, numbers, strings) is stored as
JSON in the header's metadata, so that state dicts of modules, optimisers and schedules are restored as they were. In
this format, tensors that share memory or view a part of it are each written with their own values.

A damaged file is refused: an archive has a checksum for each part, and the metadata of safetensors has one.
"""

import io
import json
import math
import os
import re
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from minigrad._base.device import CPU, device
from minigrad._base.dtype import DTYPES, Size, as_dtype, dtype, load_bfloat16
from minigrad._base.files import read_json, replace_file
from minigrad._base.optional import optional
from minigrad.backends.registry import count, host, in_memory
from minigrad.core import Tensor, plain
from minigrad.nn.parameter import Buffer, Parameter
from minigrad.serialization.torch_file import (
    NotLoaded,
    add_safe_globals,
    archive_of,
    clear_safe_globals,
    get_safe_globals,
    location_text,
    read_archive,
    safe_globals,
)

__all__ = ["LoadError", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

KEY = "minigrad"  # the metadata's key for everything that is not a tensor
CHECKSUM = "minigrad.crc32"  # the metadata's key for `checksum` of the file
VERSION = 2  # files of version 1 have no checksum
NAMES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64", "U8": "uint8", "I8": "int8",
         "I16": "int16", "I32": "int32", "I64": "int64", "BOOL": "bool"}
CODES = {name: code for code, name in NAMES.items()}
MAPPINGS: dict[str, Any] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
SEQUENCES: dict[str, Any] = {"tuple": tuple, "Size": Size}
BY_NAME = {each.name: each for each in DTYPES}
PICKLED = (
    "{} is a pickle alone, as PyTorch wrote before version 1.6, which can hold any code; minigrad loads none, whatever "
    "weights_only says. Where you trust the file, convert it with PyTorch:\n\n"
    "    import torch, safetensors.torch\n"
    "    safetensors.torch.save_file(torch.load(\"old.pt\", weights_only=True), \"new.safetensors\")")
NOT_HERE = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
    "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU.")
NO_SUCH = (
    "Attempting to deserialize object on CUDA device {} but torch.cuda.device_count() is {}. Please use torch.load "
    "with map_location to map your storages to an existing device.")
REFUSED = (
    "minigrad.save writes tensors, numbers, texts, None, dtypes, and dicts, lists and tuples of these; {} is of type "
    "{}.{}")


class LoadError(RuntimeError):
    """Raised for a file that is damaged, or that `load` cannot read. Nothing was changed."""


def save(obj: Any, f: Any) -> None:
    """Write `obj` to a path or an open binary file: a state dict, a module, or anything nested from such parts.

    The format is that of `torch.save`; for a path that ends in `.safetensors` it is safetensors. An existing file is
    replaced by the new one as a whole, or stays unchanged. Raises TypeError for an object of a type that cannot be
    written; nothing is written then, and RuntimeError if the folder does not exist, or tensors of two dtypes share a
    storage.
    """
    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        archive = io.BytesIO()
        archive_of(obj, "archive", archive)
        f.write(archive.getbuffer())
        return
    path = os.path.realpath(os.fsdecode(f))
    if not os.path.isdir(os.path.dirname(path)):
        raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
    if path.endswith(".safetensors"):
        write = safetensors_of(obj)
    else:
        stem, archive = os.path.splitext(os.path.basename(path))[0], io.BytesIO()
        archive_of(obj, stem, archive)

        def write(name: str) -> None:
            with open(name, "wb") as file:
                file.write(archive.getbuffer())

    if os.path.exists(path) and not os.path.isfile(path):  # a device, a pipe, a folder
        write(path)
    else:
        replace_file(path, write)


def safetensors_of(obj: Any) -> Callable[[str], None]:
    """Return a function that writes `obj` as safetensors to the file name that it gets."""
    writer = Writer()
    tree = writer.encode(obj, ())
    text = json.dumps({"version": VERSION, "tree": tree}, allow_nan=False)
    parts = [(key, CODES[x.dtype.name], list(x.shape), little_endian_bytes(x)) for key, x in writer.arrays.items()]
    metadata = {"format": "pt", KEY: text, CHECKSUM: checksum(text, parts)}
    safetensors = optional("safetensors.numpy", "io")

    def write(name: str) -> None:
        try:
            safetensors.save_file(writer.arrays, name, metadata)
        except Exception as error:
            code = re.search(r"\(os error (\d+)\)", str(error))  # the system's error; this one is not an OSError
            if code is None:
                raise
            raise OSError(int(code[1]), os.strerror(int(code[1])), name) from error

    return write


def checksum(text: str, parts: Iterable[tuple[str, str, list[int], Any]]) -> str:
    """CRC-32 over the JSON, and over each tensor: its name, the format's code of its dtype, its shape and its bytes."""
    crc = zlib.crc32(text.encode())
    for name, code, shape, data in sorted(parts, key=lambda part: part[0]):
        crc = zlib.crc32(data, zlib.crc32(json.dumps([name, code, shape]).encode(), crc))
    return f"{crc:08x}"


def little_endian_bytes(array: Any) -> Any:
    """Return the bytes of an array as a file holds them: little-endian."""
    bits = array.reshape(-1).view(f"u{array.itemsize}")
    return memoryview(bits.astype(f"<u{array.itemsize}", copy=False).view(np.uint8))


class Writer:
    """Encodes an object as JSON, and collects its tensors by their names in the file."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.outer: list[int] = []

    def encode(self, value: Any, path: tuple[Any, ...]) -> Any:
        """Return a value as JSON; what JSON has no type for becomes a dict of the type's name and the content."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind in (Tensor, Parameter, Buffer):
            flag = {"requires_grad": True} if value.requires_grad else {}
            location = {} if value.device == CPU else {"device": str(value.device)}
            return {"tensor": self.collect(value, path), **flag, **location}
        if kind is dtype:
            return {"dtype": value.name}
        if kind not in (list, *SEQUENCES.values(), *MAPPINGS.values()):
            hint = " Give its state_dict()." if hasattr(value, "state_dict") else ""
            raise TypeError(REFUSED.format(location_text(path), f"{kind.__module__}.{kind.__qualname__}", hint))
        if id(value) in self.outer:
            raise ValueError(f"minigrad.save: {location_text(path)} contains itself.")
        self.outer.append(id(value))
        encoded = self.container(value, path)
        self.outer.pop()
        return encoded

    def container(self, value: Any, path: tuple[Any, ...]) -> Any:
        """Return a dict as pairs, since its keys may be numbers; lists and tuples as lists."""
        kind = type(value).__name__
        if kind not in MAPPINGS:
            items = [self.encode(item, (*path, i)) for i, item in enumerate(value)]
            return items if kind == "list" else {kind: items}
        pairs = []
        for key, item in value.items():
            check_key(key, path)
            pairs.append([self.encode(key, path), self.encode(item, (*path, key))])
        metadata = getattr(value, "_metadata", None)  # the versions of modules, which a state dict carries
        return {kind: pairs} if metadata is None else {kind: pairs, "_metadata": self.encode(metadata, path)}

    def collect(self, tensor: Tensor, path: tuple[Any, ...]) -> str:
        """Collect a tensor under the keys that lead to it, joined by dots, with a number if that name is taken."""
        name = wanted = ".".join(map(str, path)) or "tensor"
        count = 1
        while name in self.arrays or name == "__metadata__":
            count += 1
            name = f"{wanted}~{count}"
        self.arrays[name] = np.ascontiguousarray(in_memory(host(tensor.array))).reshape(np.shape(tensor.array))
        return name


def check_key(key: Any, path: tuple[Any, ...]) -> None:
    """Refuse keys that are neither plain values nor tuples of plain ones."""
    if type(key) is tuple:
        for part in key:
            check_key(part, path)
    elif key is not None and type(key) not in (bool, int, float, str):
        raise TypeError(REFUSED.format(f"a key of {location_text(path)}",
                                       f"{type(key).__module__}.{type(key).__qualname__}", ""))


def load(f: Any, map_location: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None) -> Any:
    """Read what `save` or `torch.save` wrote; from a foreign safetensors file, return a dict of tensors by name.

    `f`: a path, or a binary file open for reading. `map_location`: where to put tensors, by default on the device that
    they were on: a device for all; a dict from the file's devices to others; or a function of a tensor on the CPU
    (PyTorch passes its storage) and the device that it was on, whose result is used unless it is None. `weights_only`
    and `mmap` change nothing: no code from the file is run, and it is read as a whole. Raises LoadError if the file is
    damaged, or holds objects or a dtype that minigrad does not have; RuntimeError for a device that is not available.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            data = file.read()
        name = os.fsdecode(f)
    elif hasattr(f, "read"):
        data, name = f.read(), "The file"
    else:
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'read'")
    if not isinstance(data, bytes):
        raise TypeError(f"minigrad.load: {name} must be open in binary mode.")
    return parse_file(data, name, map_location)


def place_tensor(tensor: Tensor, location: str, mapped: Any) -> Tensor:
    """Return a tensor of a file where `map_location` says, or on the device that it was on."""
    if isinstance(mapped, dict):
        location = mapped.get(location, location)
    elif isinstance(mapped, (str, bytes, device)):
        location = mapped.decode() if isinstance(mapped, bytes) else str(mapped)
    elif mapped is not None:
        result = mapped(tensor, location)
        if result is not None:
            if not isinstance(result, Tensor):
                raise TypeError(f"minigrad.load: map_location gave no tensor but {type(result).__name__}.")
            return result.detach()
    target = device(location)
    if target.type == "cuda" and (target.index or 0) >= count("cuda"):
        raise RuntimeError(NO_SUCH.format(target.index, count("cuda")) if count("cuda") else NOT_HERE)
    return tensor if target.type == "cpu" else tensor.to(target)


def parse_file(data: bytes, name: str, mapped: Any = None) -> Any:
    """Return the object that the bytes of a file hold."""
    if data[:4] == b"PK\x03\x04" and data[8:9] != b"{":
        return load_archive(data, name, mapped)
    if data[:1] == b"\x80" and data[8:9] != b"{":
        raise LoadError(PICKLED.format(name))
    safetensors = optional("safetensors", "io")
    try:
        entries = dict(safetensors.deserialize(data))
    except safetensors.SafetensorError as error:
        raise LoadError(f"{name} is damaged, or no file of safetensors: {error}") from error
    metadata = json.loads(data[8:8 + int.from_bytes(data[:8], "little")]).get("__metadata__") or {}
    tensors = {key: tensor_of(name, key, entry) for key, entry in entries.items()}
    if KEY not in metadata and CHECKSUM not in metadata:
        return {key: place_tensor(t, "cpu", mapped) for key, t in tensors.items()}
    try:
        encoded = read_json(metadata[KEY])
        version = encoded["version"]
        if version not in (1, VERSION):
            raise LoadError(f"{name} was written by another version of minigrad, {version} and not {VERSION}.")
        parts = [(key, entry["dtype"], entry["shape"], entry["data"]) for key, entry in entries.items()]
        if (version == VERSION or CHECKSUM in metadata) and metadata[CHECKSUM] != checksum(metadata[KEY], parts):
            raise LoadError(f"{name} is damaged: its checksum is not that of what it holds.")
        reader = Reader(tensors)
        result = reader.decode(encoded["tree"])
        if tensors:
            raise LoadError(f"{name} holds tensors that are nowhere in what was saved: {', '.join(tensors)}.")
    except LoadError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, StopIteration, RuntimeError) as error:
        raise LoadError(f"{name} is damaged: its tensors are whole, but what was nested around them is not "
                        f"({type(error).__name__}: {error})") from error
    for tensor, location, needed in reader.read:  # the whole file was sound
        tensor.array = place_tensor(tensor, location, mapped).array
        tensor.requires_grad_(needed)
    return result


def load_archive(data: bytes, name: str, mapped: Any) -> Any:
    """Return the object in an archive of `torch.save`, with its tensors on the devices where they belong."""
    try:
        result, tensors = read_archive(data)
    except NotLoaded as error:
        raise LoadError(f"{name} cannot be loaded: {error}") from error
    for tensor, location in tensors:  # the whole file was sound
        tensor.array = place_tensor(tensor.detach(), location, mapped).array
    return result


def tensor_of(name: str, key: str, entry: Any) -> Tensor:
    """Return a tensor of a file, in its own memory."""
    if entry["dtype"] not in NAMES:
        raise LoadError(f"{name} holds '{key}' of dtype {entry['dtype']}, which is not one of minigrad's: "
                        f"{', '.join(NAMES)}.")
    if entry["dtype"] == "BOOL":
        array = np.frombuffer(entry["data"], np.uint8) != 0
    else:
        kind = load_bfloat16().numpy if entry["dtype"] == "BF16" else np.dtype(NAMES[entry["dtype"]])
        array = np.frombuffer(entry["data"], f"<u{kind.itemsize}").astype(f"u{kind.itemsize}", copy=False).view(kind)
        array = as_dtype(array, kind, copy=False)
    try:
        return plain(array.reshape(entry["shape"]))
    except (ValueError, OverflowError) as error:
        raise LoadError(f"{name} holds '{key}' of the shape {entry['shape']}, which no array has: {error}") from error


class Reader:
    """Rebuilds an object from what a `Writer` encoded; each tensor of the file is used once."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.tensors = tensors
        self.read: list[tuple[Tensor, str, bool]] = []

    def decode(self, encoded: Any) -> Any:
        """Return the value of this JSON."""
        if isinstance(encoded, list):
            return [self.decode(item) for item in encoded]
        if not isinstance(encoded, dict):
            return encoded
        kind, content = next(iter(encoded.items()))
        if kind == "tensor":
            tensor, needed = self.tensors.pop(content), encoded.get("requires_grad", False)
            location = device(encoded.get("device", "cpu"))
            if location.type not in ("cpu", "cuda"):
                raise ValueError(f"no tensor is on the device {location}")
            tensor.requires_grad_(needed).requires_grad_(False)
            self.read.append((tensor, str(location), needed))
            return tensor
        if kind == "float":
            return float(content)
        if kind == "dtype":
            return BY_NAME[content]
        if kind in SEQUENCES:
            return SEQUENCES[kind](self.decode(content))
        result = MAPPINGS[kind]({self.decode(key): self.decode(item) for key, item in content})
        if "_metadata" in encoded:
            result._metadata = self.decode(encoded["_metadata"])
        return result
