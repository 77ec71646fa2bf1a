"""Defines `Generator`, the source of random numbers, and the functions that seed it, as `torch/random.py` does.

The same seed gives PyTorch's numbers on the same kind of device: put `manual_seed(0)` into a PyTorch program and
compare. docs/random.md says which numbers, and where they cannot agree. Each device has its own default generator;
`manual_seed` seeds them all, including those that are first used later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from minigrad._base.device import device as Device
from minigrad._base.type_name import type_name
from minigrad.backends.curand import Philox, Source
from minigrad.backends.random import DEFAULT, Stream
from minigrad.backends.registry import HOST, device_like, is_host, resolve_device
from minigrad.core import Tensor, plain
from minigrad.ops._dispatch import op

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

NO_OFFSET = "CPU Generator does not use offset"


class Generator:
    """A separate source of random numbers: `rand(3, generator=Generator().manual_seed(42))`."""

    __slots__ = ("__weakref__", "device", "stream")

    device: Device
    """The device of the generator."""

    def __init__(self, device: str | Device = "cpu") -> None:
        self.device = resolve_device(device)
        self.stream: Stream | Philox = Stream() if self.device.type == "cpu" else Philox()

    def __reduce__(self) -> tuple[Any, ...]:  # so that copies and pickles continue with the same numbers
        return Generator, (str(self.device),), self.get_state()

    def __setstate__(self, state: Tensor) -> None:
        self.set_state(state)

    def manual_seed(self, seed: int) -> Generator:
        """Restart from `seed`; return this generator."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self.stream.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Restart from an unpredictable seed; return the seed."""
        return self.stream.seed()

    def initial_seed(self) -> int:
        """The seed from which this generator started."""
        return self.stream.initial_seed()

    def get_state(self) -> Tensor:
        """The state, as a tensor of bytes in PyTorch's layout."""
        return plain(np.frombuffer(self.stream.state_bytes(), np.uint8).copy())

    def set_state(self, new_state: Any, /) -> Generator:
        """Restore a state from `get_state`; return this generator.

        Raises:
            TypeError: if it is not a tensor of bytes.
            RuntimeError: if it has another size, or is not a valid state.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type_name(new_state)}")
        if new_state.array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.stream.set_state_bytes(new_state.array.tobytes())
        return self

    def clone_state(self) -> Generator:
        """A separate generator in the same state."""
        other = Generator(self.device)
        other.stream.set_state_bytes(self.stream.state_bytes())
        return other

    def graphsafe_get_state(self) -> Generator:
        """Another generator that shares this one's state; GPU only."""
        self.philox(NotImplementedError("graphsafe_get_state is not supported in this Generator"))
        other = Generator(self.device)
        other.stream = self.stream
        return other

    def graphsafe_set_state(self, state: Generator, /) -> None:
        """Share the state of another generator; GPU only."""
        self.philox(NotImplementedError("graphsafe_set_state is not supported in this Generator"))
        self.stream = state.stream

    def get_offset(self) -> int:
        """The position of a GPU generator in its sequence.

        Raises:
            RuntimeError: for a CPU generator.
        """
        return self.philox(RuntimeError(NO_OFFSET)).offset

    def set_offset(self, offset: int, /) -> None:
        """Set the position of a GPU generator, a multiple of 4.

        Raises:
            RuntimeError: for a CPU generator, and for another number.
        """
        self.philox(RuntimeError(NO_OFFSET)).set_offset(offset)

    def philox(self, error: Exception) -> Philox:
        """The state of a GPU generator; raise the error for a CPU generator."""
        if isinstance(self.stream, Stream):
            raise error
        return self.stream


default_generator = Generator()
default_generator.stream = DEFAULT


class OnDevices:
    """The default generators of devices in use, and the seed for those used later (None: unpredictable)."""

    generators: ClassVar[dict[Device, Generator]] = {}
    seed: int | None = None


def default_of(where: Device) -> Generator:
    """The default generator of a device."""
    if where.type == "cpu":
        return default_generator
    if where not in OnDevices.generators:
        OnDevices.generators[where] = generator = Generator(where)
        if OnDevices.seed is None:
            generator.seed()
        else:
            generator.manual_seed(OnDevices.seed)
    return OnDevices.generators[where]


def stream_of(generator: Generator | None, handle: Any = HOST) -> Any:
    """The stream for numbers on a device; by default that of its default generator.

    Raises:
        RuntimeError: for a generator of another device type.
    """
    if generator is None and is_host(handle):
        return DEFAULT
    kind = "cpu" if is_host(handle) else handle.backend.type
    if generator is None:
        generator = default_of(Device(kind, handle.index))
    if generator.device.type != kind:
        raise RuntimeError(f"Expected a '{kind}' device type for generator but found '{generator.device.type}'")
    if isinstance(generator.stream, Stream):
        return generator.stream
    properties = handle.backend.properties(handle.index)
    threads = properties["multi_processor_count"] * properties["max_threads_per_multi_processor"]
    return Source(generator.stream, handle, threads)


def stream_beside(array: Any) -> Any:
    """The default stream for numbers on the device of an array."""
    return stream_of(None, device_like(array))


@op
def manual_seed(seed: int) -> Generator:
    """Restart the default generators of all devices from `seed`; return that of the CPU."""
    manual_seed_of_devices(int(seed))
    return default_generator.manual_seed(int(seed))


def manual_seed_of_devices(seed: int) -> None:
    """Restart the default generators of all devices but the CPU from `seed`, now or when they are first used."""
    OnDevices.seed = seed
    for generator in OnDevices.generators.values():
        generator.manual_seed(seed)


def device_states(devices: Iterable[Device] | None) -> dict[Device, Tensor]:
    """The states of the default generators of devices; None: of all that have been used."""
    chosen = list(OnDevices.generators) if devices is None else devices
    return {where: default_of(where).get_state() for where in chosen}


def set_device_states(states: dict[Device, Tensor], no_others: bool = False) -> None:
    """Restore the result of `device_states`; `no_others`: generators created since then restart when used."""
    for where, state in states.items():
        default_of(where).set_state(state)
    for where in [key for key in OnDevices.generators if no_others and key not in states]:
        del OnDevices.generators[where]


@op
def seed() -> int:
    """Restart the default generators of all devices from an unpredictable seed; return the seed."""
    chosen = default_generator.seed()
    manual_seed_of_devices(chosen)
    return chosen


@op
def initial_seed() -> int:
    """The seed from which the default generator started."""
    return default_generator.initial_seed()


@op
def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


@op
def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
    default_generator.set_state(new_state)
