"""Generators and seeds: mirrors `torch.Generator` and the seed functions of `torch/random.py`.

The same seed gives the numbers that PyTorch gives on the CPU: put `manual_seed(0)` into a PyTorch program and compare.
docs/random.md says which numbers, and where they cannot be the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._device import device as Device
from minigrad._tensor import Tensor, plain
from minigrad._type_name import type_name
from minigrad.backends.registry import located
from minigrad.backends.stream import DEFAULT, Stream

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

NO_OFFSET = "CPU Generator does not use offset"


class Generator:
    """A source of random numbers of one's own: `rand(3, generator=Generator().manual_seed(42))`."""

    __slots__ = ("__weakref__", "stream")

    def __init__(self, device: str | Device = "cpu") -> None:
        located(device)
        self.stream = Stream()

    def __reduce__(self) -> tuple[Any, ...]:  # so that copies and pickles go on with the same numbers
        return Generator, (), self.get_state()

    def __setstate__(self, state: Tensor) -> None:
        self.set_state(state)

    @property
    def device(self) -> Device:
        """Where the numbers are made."""
        return located(None)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`; returns this generator."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self.stream.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Start again from a seed that nobody can foresee; returns it."""
        return self.stream.seed()

    def initial_seed(self) -> int:
        """The seed that this generator started from."""
        return self.stream.initial_seed()

    def get_state(self) -> Tensor:
        """The state, as a tensor of bytes with PyTorch's layout."""
        return plain(np.frombuffer(self.stream.state_bytes(), np.uint8).copy())

    def set_state(self, new_state: Any, /) -> Generator:
        """Go back to a state from `get_state`; returns this generator.

        Raises:
            TypeError: if it is no tensor of bytes.
            RuntimeError: if it has another size, or is no state.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type_name(new_state)}")
        if new_state.array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.stream.set_state_bytes(new_state.array.tobytes())
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        made = Generator()
        made.stream.set_state_bytes(self.stream.state_bytes())
        return made

    def graphsafe_get_state(self) -> Generator:
        """For CUDA graphs: always an error here, as in PyTorch on the CPU."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Generator, /) -> None:
        """For CUDA graphs: always an error here, as in PyTorch on the CPU."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self) -> int:
        """How far a CUDA generator has come: always an error here, as in PyTorch on the CPU."""
        raise RuntimeError(NO_OFFSET)

    def set_offset(self, offset: int, /) -> None:
        """Move a CUDA generator: always an error here, as in PyTorch on the CPU."""
        raise RuntimeError(NO_OFFSET)


default_generator = Generator()
default_generator.stream = DEFAULT


def stream_of(generator: Generator | None) -> Stream:
    """The stream to draw from: the default one if none is given."""
    return (default_generator if generator is None else generator).stream


def manual_seed(seed: int) -> Generator:
    """Start the default generator from `seed`; returns it."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the default generator from a seed that nobody can foresee; returns it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
    default_generator.set_state(new_state)
