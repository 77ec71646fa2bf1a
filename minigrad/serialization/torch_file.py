"""Reads the files of `torch.save`: a zip archive of a pickle, which says how things are nested, and of storages.

A pickle is a program. Its instructions name functions to call, and could name any. Here they find but those of a closed
list, each an object that nothing can be set on and that builds plain values: tensors, parameters, sizes, dtypes,
devices and containers. This is what `torch.load(weights_only=True)` does. Tensors that shared a storage do so again.
"""

import io
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.device import device
from minigrad._base.dtype import DTYPES, Size
from minigrad.core import Tensor
from minigrad.nn.parameter import Parameter
from minigrad.ops.tensor.storage import UntypedStorage, looking_at, rebuild

__all__ = ["NotLoaded", "read"]

BY_NAME = {each.name: each for each in DTYPES}
STORAGES = {f"{each.type_name}Storage": each for each in DTYPES}
WHOLE = (
    "it holds {}, which minigrad does not load: a file may hold tensors, parameters, numbers, texts, dtypes, sizes, "
    "devices and containers of these.\n\nSave what state_dict() gives rather than the object, and load it into one.")


class NotLoaded(Exception):
    """What a file holds that is not read, or why it cannot be."""


class Named:
    """What a pickle finds under a name: it can be called, and nothing can be set on it."""

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


class Stored:
    """A storage of a file: its memory, its dtype, and the device that it was on."""

    __slots__ = ("dtype", "location", "memory")

    def __init__(self, memory: UntypedStorage, dtype: Any, location: str) -> None:
        self.memory, self.dtype, self.location = memory, dtype, location


class Reader(pickle.Unpickler):
    """Builds what a pickle describes, out of the closed list."""

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
        """What the closed list has under a name."""
        found = self.names.get((module, name))
        if found is not None:
            return found
        if module in ("torch", "torch.storage") and name in STORAGES:
            return Named(value=STORAGES[name])
        if module == "torch" and name in BY_NAME:
            return BY_NAME[name]
        raise NotLoaded(WHOLE.format(f"{module}.{name}"))

    def persistent_load(self, pid: Any) -> Stored:
        """A storage, by its number in the archive; the same one each time."""
        kind, of, key, location, count = pid
        if kind != "storage" or not isinstance(of, Named) or of.value is None:
            raise NotLoaded(f"it holds a {kind} that is no storage of a dtype that minigrad has")
        if key not in self.storages:
            array = np.frombuffer(self.storage(key), of.value.numpy.newbyteorder(self.order), count)
            memory = UntypedStorage(array.astype(of.value.numpy).view(np.uint8))
            self.storages[key] = Stored(memory, of.value, location)
        return self.storages[key]

    def tensor(self, storage: Stored, offset: int, size: Any, strides: Any, requires_grad: bool, hooks: Any = None,
               metadata: Any = None) -> Tensor:
        """A tensor that looks at a storage."""
        look = storage.dtype.numpy, int(offset), tuple(size), tuple(strides)
        looking_at(storage.memory, *look)  # raises where it would leave the storage
        result = rebuild(Tensor, storage.memory, *look, bool(requires_grad))
        self.tensors.append((result, storage.location))
        return result

    def parameter(self, data: Tensor, requires_grad: bool, hooks: Any = None) -> Parameter:
        """A parameter with the data of a tensor."""
        result = Parameter(data, bool(requires_grad))
        self.tensors.append((result, self.tensors[-1][1]))
        return result


def read(data: bytes) -> tuple[Any, list[tuple[Tensor, str]]]:
    """What an archive holds, and its tensors with the devices that they were on.

    Raises:
        NotLoaded: for what is not on the closed list, and for an archive that is damaged.
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
