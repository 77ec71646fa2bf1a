"""Devices and layouts: mirrors `torch.device` and `torch.layout`. This version computes on the CPU."""

from __future__ import annotations

import re

__all__ = ["CPU", "device", "layout", "on_cpu", "strided"]


class device:
    """Where a tensor's data lives: `device("cpu")`.

    Raises:
        RuntimeError: for a string that names no device.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, name: str | device, index: int | None = None) -> None:
        if isinstance(name, device):
            self.type, self.index = name.type, name.index
            return
        match = re.fullmatch(r"(cpu|cuda)(?::(\d+))?", name)
        if match is None:
            raise RuntimeError(
                "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, "
                "vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: " + name)
        self.type = match[1]
        self.index = int(match[2]) if match[2] is not None else index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else \
            f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


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


def on_cpu(given: str | device | None) -> device:
    """The device asked for, which must be the CPU.

    Raises:
        AssertionError: PyTorch's sentence for a build without CUDA.
    """
    if given is not None and device(given).type != "cpu":
        raise AssertionError("Torch not compiled with CUDA enabled\n\nThis version of minigrad computes on the CPU "
                             "only: leave `device` out, or pass device='cpu'.")
    return CPU
