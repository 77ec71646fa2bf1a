"""Seeds, generators and random tensors: mirrors `torch/random.py` and PyTorch's random factories.

The same seed gives the numbers that PyTorch gives on the CPU (see `minigrad.backends.random`): put the same
`manual_seed(0)` into a PyTorch program and compare. All lessons that need random data start with a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._device import device as Device
from minigrad._device import on_cpu
from minigrad._dtype import dtype as DType
from minigrad._tensor import Tensor, plain
from minigrad._tensor_errors import check_tensor
from minigrad.backends import random as draws
from minigrad.ops.create import made, numpy_dtype

__all__ = [
    "Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
]


class Generator:
    """A source of random numbers of one's own: `rand(3, generator=Generator().manual_seed(42))`."""

    __slots__ = ("stream",)

    def __init__(self, device: str | Device = "cpu") -> None:
        on_cpu(device)
        self.stream = draws.Stream()

    @property
    def device(self) -> Device:
        """Where the numbers are made."""
        return on_cpu(None)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`; returns this generator."""
        if not isinstance(seed, (int, np.integer)):
            raise RuntimeError(
                f"manual_seed expected a long, but got {type(seed).__name__}")
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

    def set_state(self, new_state: Any) -> None:
        """Go back to a state from `get_state`.

        Raises:
            TypeError: if it is no tensor of bytes.
            RuntimeError: if it has another size, or is no state.
        """
        if not isinstance(new_state, Tensor) or new_state.array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.stream.set_state_bytes(new_state.array.tobytes())


default_generator = Generator()
default_generator.stream = draws.DEFAULT


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


def rand(*size: Any, dtype: DType | None = None, device: str | Device | None = None, requires_grad: bool = False,
         generator: Generator | None = None) -> Tensor:
    """Numbers of [0, 1), all equally likely: `rand(2, 3)` or `rand((2, 3))`."""
    on_cpu(device)
    array = draws.uniform(stream_of(generator), sizes("rand", size), numpy_dtype(dtype, what="rand"))
    return made(array, requires_grad, "rand")


def randn(*size: Any, dtype: DType | None = None, device: str | Device | None = None, requires_grad: bool = False,
          generator: Generator | None = None) -> Tensor:
    """Numbers of the standard normal distribution."""
    on_cpu(device)
    array = draws.normal(stream_of(generator), sizes("randn", size), numpy_dtype(dtype, what="randn"))
    return made(array, requires_grad, "randn")


def randint(*bounds: Any, low: int = 0, high: int | None = None, size: Sequence[int] | None = None,
            dtype: DType | None = None, device: str | Device | None = None, requires_grad: bool = False,
            generator: Generator | None = None) -> Tensor:
    """Integers of [low, high): `randint(high, size)` or `randint(low, high, size)`."""
    on_cpu(device)
    given = list(bounds)
    if given and isinstance(given[-1], (tuple, list)) and size is None:
        size = given.pop()
    if given and high is None:
        high = given.pop()
    if given:
        low = given.pop()
    if given or high is None or size is None:
        got = ", ".join(type(b).__name__ for b in bounds)
        raise TypeError(f"randint() received an invalid combination of arguments - got ({got})\n\n"
                        "Give an upper end and a size: randint(10, (2, 3)) or randint(0, 10, (2, 3)).")
    array = draws.randint(stream_of(generator), int(low), int(high), sizes("randint", (size,)),
                          numpy_dtype(dtype, np.int64, "randint"))
    return made(array, requires_grad, "randint")


def randperm(n: int, *, dtype: DType | None = None, device: str | Device | None = None, requires_grad: bool = False,
             generator: Generator | None = None) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    on_cpu(device)
    sizes("randperm", (n,))
    array = draws.randperm(stream_of(generator), n).astype(numpy_dtype(dtype, np.int64, "randperm"))
    return made(array, requires_grad, "randperm")


def rand_like(input: Tensor, *, dtype: DType | None = None, device: str | Device | None = None,
              requires_grad: bool = False, generator: Generator | None = None) -> Tensor:
    """`rand` of the shape and dtype of `input`."""
    check_tensor(input, "rand_like")
    on_cpu(device)
    return rand(input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad, generator=generator)


def randn_like(input: Tensor, *, dtype: DType | None = None, device: str | Device | None = None,
               requires_grad: bool = False, generator: Generator | None = None) -> Tensor:
    """`randn` of the shape and dtype of `input`."""
    check_tensor(input, "randn_like")
    on_cpu(device)
    return randn(input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad, generator=generator)


def randint_like(input: Tensor, *bounds: int, dtype: DType | None = None, device: str | Device | None = None,
                 requires_grad: bool = False, generator: Generator | None = None) -> Tensor:
    """`randint` of the shape and dtype of `input`: `randint_like(t, high)` or `randint_like(t, low, high)`."""
    check_tensor(input, "randint_like")
    on_cpu(device)
    return randint(*bounds, input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad, generator=generator)


def stream_of(generator: Generator | None) -> draws.Stream:
    """The stream to draw from: the default one if none is given."""
    return (default_generator if generator is None else generator).stream


def sizes(op: str, given: tuple[Any, ...]) -> tuple[int, ...]:
    """A size given as separate numbers or as one sequence.

    Raises:
        TypeError: for an entry that is no integer.
        RuntimeError: for a negative one.
    """
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    for n in given:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"{op}(): argument 'size' (position 1) must be tuple of ints, not {type(n).__name__}")
    shape = tuple([n.__index__() for n in given])
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape
