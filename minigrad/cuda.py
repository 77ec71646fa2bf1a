"""Graphics cards, of which minigrad uses none: mirrors a part of `torch/cuda/__init__.py`, `random.py` and `memory.py`.

What a script asks before it chooses a device is answered as PyTorch answers it on a machine without a GPU, so that
`torch.device("cuda" if torch.cuda.is_available() else "cpu")` is the CPU. What needs a GPU raises PyTorch's error.
"""

from __future__ import annotations

from typing import Any, NoReturn

from minigrad._device import NO_GPU

__all__ = ["current_device", "device_count", "empty_cache", "get_device_capability", "get_device_name",
           "get_device_properties", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
           "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
           "seed", "seed_all", "synchronize"]


def is_available() -> bool:
    """Whether there is a GPU to compute on: False."""
    return False


def is_initialized() -> bool:
    """Whether a GPU was used: False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU knows bfloat16: False."""
    return False


def device_count() -> int:
    """The number of GPUs: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seeds the generator of the GPU; there is none. `minigrad.manual_seed` seeds the CPU's."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all GPUs; there are none."""
    int(seed)


def seed() -> None:
    """Seeds the generator of the GPU with a number of chance; there is none."""


def seed_all() -> None:
    """Seeds the generators of all GPUs with a number of chance; there are none."""


def empty_cache() -> None:
    """Gives back what the GPU's allocator keeps: nothing."""


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors hold on a GPU: 0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors held on a GPU: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """The bytes that the GPU's allocator keeps: 0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the GPU's allocator kept: 0."""
    return 0


def synchronize(device: Any = None) -> NoReturn:
    """Waits for a GPU. Raises: AssertionError, as there is none."""
    refuse()


def current_device() -> NoReturn:
    """The number of the GPU in use. Raises: AssertionError, as there is none."""
    refuse()


def get_device_name(device: Any = None) -> NoReturn:
    """What a GPU is called. Raises: AssertionError, as there is none."""
    refuse()


def get_device_capability(device: Any = None) -> NoReturn:
    """What a GPU can do. Raises: AssertionError, as there is none."""
    refuse()


def get_device_properties(device: Any = None) -> NoReturn:
    """What a GPU is like. Raises: AssertionError, as there is none."""
    refuse()


def refuse() -> NoReturn:
    """PyTorch's sentence for a build without CUDA."""
    raise AssertionError(f"Torch not compiled with CUDA enabled{NO_GPU}")
