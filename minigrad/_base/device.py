"""Devices and layouts: mirrors `torch.device` and `torch.layout`.

The existing devices are known to `minigrad.backends.registry`, which turns a device's name into a handle for arrays.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from minigrad._base.contexts import safe_exit
from minigrad._base.type_name import type_name

__all__ = ["OutOfMemoryError", "channels_last", "channels_last_3d", "contiguous_format", "device", "get_default_device",
           "layout", "memory_format", "preserve_format", "set_default_device", "strided"]

TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
         "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone")
NO_GPU = "\n\nWithout a GPU, omit `device`, or pass device='cpu'."
NO_CUPY = ("\n\nminigrad computes on NVIDIA's GPUs with CuPy, which is not installed. For CUDA 12 install it with: "
           'python -m pip install "minigrad-kit[cuda12x]"; for CUDA 13, use the extra cuda13x. ' + NO_GPU[2:])
ACCELERATOR: list[Callable[[], int]] = []  # the number of accelerators: set by the registry of backends


class device:
    """The device of a tensor's data: `device("cpu")`. In a `with` block it is the device of new tensors.

    Raises RuntimeError for a string that is not a device, and for a number, the index of a GPU, without a GPU;
    TypeError for anything else.
    """

    __slots__ = ("_entered", "_guard", "before", "index", "type")

    type: str
    index: int | None
    before: device

    def __init__(self, type: str | device | int, index: int | None = None) -> None:
        if isinstance(type, device):
            self.type, self.index = type.type, type.index
            return
        if isinstance(type, int) and not isinstance(type, bool):
            if type < 0:
                raise RuntimeError("Device index must not be negative")
            if not any(count() for count in ACCELERATOR):
                raise RuntimeError(f"Cannot access accelerator device when none is available.{NO_GPU}")
            self.type, self.index = "cuda", type
            return
        if not isinstance(type, str):
            given = type_name(type)
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({given}), but expected one of:\n"
                " * (torch.device device)\n      didn't match because some of the arguments have invalid types: "
                f"(!{given}!)\n * (str type, int index = -1)\n")
        self.type, self.index = parse_device(type)
        if index is None:
            return
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {type_name(index)}")
        if self.index is not None:
            raise RuntimeError("type (string) must not include an index because index was passed explicitly: "
                               f"{type}")
        if index < 0:
            raise RuntimeError("Device index must not be negative")
        self.index = index

    def __reduce__(self) -> tuple[object, ...]:
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __enter__(self) -> device:
        self.before, self._entered = Default.device, True
        Default.device = self
        return self

    @safe_exit
    def __exit__(self, *raised: object) -> None:
        Default.device = self.before

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else \
            f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


def parse_device(text: str) -> tuple[str, int | None]:
    """The type and the index in a string."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.fullmatch(r"([a-zA-Z_]+)(?::(0|[1-9]\d*))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if match[1] not in TYPES:
        raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {match[1]}")
    return match[1], None if match[2] is None else int(match[2])


class layout:
    """The layout of a tensor's elements in memory; there is one, `strided`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(layout):
    """The order of a tensor's dimensions in memory; `order`: the outermost first, unless it is their own order."""

    __slots__ = ("order",)

    def __init__(self, name: str, order: tuple[int, ...] | None = None) -> None:
        super().__init__(name)
        self.order = order


strided = layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))
CPU = device("cpu")


class Default:
    """The device of new tensors: set by `set_default_device` and `with device(...)`."""

    device = CPU


def set_default_device(device: str | device | None) -> None:
    """Create new tensors on this device from now on; None: on the CPU again."""
    Default.device = CPU if device is None else CPU.__class__(device)


def get_default_device() -> device:
    """The device of new tensors."""
    return Default.device


class OutOfMemoryError(RuntimeError):
    """A device has less free memory than was requested. Existing tensors are unaffected."""

    __module__ = "minigrad"


def out_of_memory(size: int, index: int, stats: dict[str, int]) -> OutOfMemoryError:
    """PyTorch's error. `size`: the bytes requested; `stats`: the result of `Backend.memory_stats`."""
    total, free, own = [of_bytes(stats[name]) for name in ("total", "free", "allocated")]
    return OutOfMemoryError(f"CUDA out of memory. Tried to allocate {of_bytes(size)}. GPU {index} has a total capacity "
                            f"of {total} of which {free} is free. Of the allocated memory {own} is allocated by "
                            f"minigrad, and {of_bytes(stats['reserved'] - stats['allocated'])} is reserved but "
                            "unallocated.")


def of_bytes(n: int) -> str:
    """Bytes as PyTorch writes them in its errors: 512 bytes, 1.50 KiB, 20.00 MiB, 2.00 GiB."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n > size:
            return f"{n / size:.2f} {unit}"
    return f"{n} bytes"
