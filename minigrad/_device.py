"""Devices and layouts: mirrors `torch.device` and `torch.layout`. This version computes on the CPU."""

from __future__ import annotations

import re

from minigrad._type_name import type_name

__all__ = ["CPU", "device", "get_default_device", "layout", "on_cpu", "set_default_device", "strided"]

TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
         "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone")
NO_GPU = "\n\nThis version of minigrad computes on the CPU only: leave `device` out, or pass device='cpu'."


class device:
    """Where a tensor's data lives: `device("cpu")`. In a `with` block it is where new tensors are made.

    Raises:
        RuntimeError: for a string that names no device, and for a number, which would be that of a GPU.
        TypeError: for anything else.
    """

    __slots__ = ("before", "index", "type")

    type: str
    index: int | None
    before: device

    def __init__(self, type: str | device | int, index: int | None = None) -> None:
        if isinstance(type, device):
            self.type, self.index = type.type, type.index
            return
        if isinstance(type, int) and not isinstance(type, bool):
            raise RuntimeError("Device index must not be negative" if type < 0 else
                               f"Cannot access accelerator device when none is available.{NO_GPU}")
        if not isinstance(type, str):
            given = type_name(type)
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({given}), but expected one of:\n"
                " * (torch.device device)\n      didn't match because some of the arguments have invalid types: "
                f"(!{given}!)\n * (str type, int index = -1)\n")
        self.type, self.index = parsed(type)
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

    def __enter__(self) -> device:
        self.before = Default.device
        Default.device = self
        return self

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


def parsed(text: str) -> tuple[str, int | None]:
    """The type and the index that a string names."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.fullmatch(r"([a-zA-Z_]+)(?::(0|[1-9]\d*))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if match[1] not in TYPES:
        raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {match[1]}")
    return match[1], None if match[2] is None else int(match[2])


class layout:
    """How the elements of a tensor lie in memory; there is one, `strided`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided = layout("strided")
CPU = device("cpu")


class Default:
    """Where tensors are made if nobody says where: what `set_default_device` and `with device(...)` set."""

    device = CPU


def set_default_device(device: str | device | None) -> None:
    """Make new tensors there from now on; None: on the CPU again."""
    Default.device = CPU if device is None else CPU.__class__(device)


def get_default_device() -> device:
    """Where tensors are made if nobody says where."""
    return Default.device


def on_cpu(given: str | device | None) -> device:
    """The device asked for, which must be the CPU.

    Raises:
        AssertionError: PyTorch's sentence for a build without CUDA.
        NotImplementedError: PyTorch's for what else it knows and was not built for.
    """
    where = Default.device if given is None else device(given)
    if where.type == "cuda":
        raise AssertionError(f"Torch not compiled with CUDA enabled{NO_GPU}")
    if where.type != "cpu":
        raise NotImplementedError("Could not run 'aten::empty.memory_format' with arguments from the "
                                  f"'{where.type.upper()}' backend.{NO_GPU}")
    return CPU
