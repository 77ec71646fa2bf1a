"""Queries about the machine's accelerator, whoever made it. Mirrors part of `torch/accelerator/__init__.py`.

For minigrad that is an NVIDIA GPU or none: without one, `current_accelerator()` is None, and a script that checks it
stays on the CPU; the functions that need one raise a RuntimeError.
"""

from collections.abc import Callable
from typing import Any

from minigrad import cpu, cuda
from minigrad._base.device import NO_GPU, device
from minigrad._base.device import device as torch_device
from minigrad.cuda import device_count, is_available

__all__ = ["current_accelerator", "current_device_index", "device_count", "empty_cache", "get_memory_info",
           "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
           "reset_peak_memory_stats", "set_device_index", "synchronize"]

Where = device | str | int | None


def needed() -> None:
    """Raise PyTorch's error if there is no accelerator."""
    if not cuda.is_available():
        raise RuntimeError(f"Cannot access accelerator device when none is available.{NO_GPU}")


def current_accelerator(check_available: bool = False) -> device | None:
    """The device of the accelerator, without an index; None if there is none."""
    return device("cuda") if cuda.is_available() else None


def current_device_index() -> int:
    """The index of the current accelerator."""
    needed()
    return cuda.current_device()


def set_device_index(device: Where, /) -> None:
    """Make an accelerator the current one."""
    needed()
    cuda.set_device(device)


def synchronize(device: Where = None, /) -> None:
    """Wait until an accelerator has finished its work."""
    needed()
    cuda.synchronize(device)


def empty_cache() -> None:
    """Free the unused memory of the pool."""
    needed()
    cuda.empty_cache()


def of_device(name: str, function: Callable[[Where], Any]) -> Callable[..., Any]:
    """A function of `minigrad.cuda` under its name here, for the current accelerator or a given one."""
    def call(device_index: Where = None, /) -> Any:
        needed()
        return function(device_index)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


memory_allocated = of_device("memory_allocated", cuda.memory_allocated)
max_memory_allocated = of_device("max_memory_allocated", cuda.max_memory_allocated)
memory_reserved = of_device("memory_reserved", cuda.memory_reserved)
max_memory_reserved = of_device("max_memory_reserved", cuda.max_memory_reserved)
reset_peak_memory_stats = of_device("reset_peak_memory_stats", cuda.reset_peak_memory_stats)
get_memory_info = of_device("get_memory_info", cuda.mem_get_info)


def get_device_module(device: Where = None) -> Any:
    """`minigrad.cuda` or `minigrad.cpu`: the module of a device, or of the accelerator, if there is one.

    Raises RuntimeError for another kind of device.
    """
    kind = (current_accelerator() or "cpu") if device is None else device
    name = torch_device(kind).type
    if name not in ("cpu", "cuda"):
        raise RuntimeError(f"Invalid device string: '{name}'. minigrad has modules for 'cpu' and 'cuda' only.")
    return cuda if name == "cuda" else cpu
