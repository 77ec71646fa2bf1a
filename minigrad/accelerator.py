"""The accelerator of the machine, whatever its maker: mirrors a part of `torch/accelerator/__init__.py`.

For minigrad that is an NVIDIA GPU or none: without one `current_accelerator()` is None, and a script that asks stays on
the CPU.
"""

from __future__ import annotations

from minigrad import cuda
from minigrad._base.device import NO_GPU, device

__all__ = ["current_accelerator", "current_device_index", "device_count", "empty_cache", "get_memory_info",
           "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
           "reset_peak_memory_stats", "set_device_index", "synchronize"]

Where = device | str | int | None


def needed() -> None:
    """PyTorch's error where there is no accelerator."""
    if not cuda.is_available():
        raise RuntimeError(f"Cannot access accelerator device when none is available.{NO_GPU}")


def is_available() -> bool:
    """Whether there is an accelerator to compute on."""
    return cuda.is_available()


def device_count() -> int:
    """The number of accelerators."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """The device of the accelerator, without a number; None if there is none."""
    return device("cuda") if cuda.is_available() else None


def current_device_index() -> int:
    """The number of the accelerator in use. Raises: RuntimeError, if there is none; so do those below."""
    needed()
    return cuda.current_device()


def set_device_index(device: Where, /) -> None:
    """Use this accelerator from now on."""
    needed()
    cuda.set_device(device)


def synchronize(device: Where = None, /) -> None:
    """Wait until an accelerator has done what it was given."""
    needed()
    cuda.synchronize(device)


def empty_cache() -> None:
    """Give back what the pool keeps unused."""
    needed()
    cuda.empty_cache()


def memory_allocated(device_index: Where = None, /) -> int:
    """The bytes that arrays hold."""
    needed()
    return cuda.memory_allocated(device_index)


def max_memory_allocated(device_index: Where = None, /) -> int:
    """The most bytes that arrays held since `reset_peak_memory_stats`."""
    needed()
    return cuda.max_memory_allocated(device_index)


def memory_reserved(device_index: Where = None, /) -> int:
    """The bytes that the pool keeps, in use or not."""
    needed()
    return cuda.memory_reserved(device_index)


def max_memory_reserved(device_index: Where = None, /) -> int:
    """What the pool keeps now, see `cuda.max_memory_reserved`."""
    needed()
    return cuda.max_memory_reserved(device_index)


def reset_peak_memory_stats(device_index: Where = None, /) -> None:
    """Forget what was the most."""
    needed()
    cuda.reset_peak_memory_stats(device_index)


def get_memory_info(device_index: Where = None, /) -> tuple[int, int]:
    """Free and all bytes of the device, whoever uses them."""
    needed()
    return cuda.mem_get_info(device_index)
