"""The stream of random numbers on the CPU: mirrors ATen's `CPUGeneratorImpl`.

A Mersenne Twister that counts its draws as PyTorch's does, so that one seed, and one stored state, mean the same in
both libraries. It shows how a draw of 32 bits becomes a fraction; `minigrad.backends.random` turns these into
distributions.
"""

import os
import struct
from typing import Any

import numpy as np

from minigrad._base.locks import free_in_children, new_lock

Array = np.ndarray[Any, Any]

XP = 624  # the words of the twister's state
DEFAULT_SEED = 67280421310721
# PyTorch's `CPUGeneratorImplState`, byte for byte: seed, words left, seeded, next word, the words (64 bits each),
# x, y and rho of the cached normal, whether there is one; then the same for a float that is never used.
STATE = struct.Struct(f"=QiiQ{XP}Q3di4xf?3x")


class Seeded:
    """A stream of random numbers with a seed: the common part of those of a CPU and of a GPU."""

    __slots__ = ("_seed", "lock")

    _seed: int

    def __init__(self) -> None:
        self.lock = new_lock()
        self.start(DEFAULT_SEED)

    def start(self, seed: int) -> None:
        """Start the stream of a seed, 0 <= seed < 2**64."""
        raise NotImplementedError

    def manual_seed(self, seed: int) -> None:
        """Start the stream of a seed of 64 bits; a negative one counts from the end, as in PyTorch.

        Raises:
            ValueError: if the seed has more bits.
        """
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self.start(seed % 2**64)

    def initial_seed(self) -> int:
        """The seed of this stream."""
        return self._seed

    def seed(self) -> int:
        """Start a stream with an unpredictable seed; return the seed."""
        self.start(int.from_bytes(os.urandom(8)) >> 11)
        return self._seed


class Stream(Seeded):
    """A stream of random numbers with a seed. Its state has the layout of PyTorch's generators.

    A distribution that draws more than once holds `lock`, so that the draws of two threads do not interleave.
    """

    __slots__ = ("_bits", "_fresh", "cached")

    _bits: np.random.MT19937 | None  # created at the first draw, so that `import minigrad` need not load numpy.random
    cached: float | None  # the unused second normal of the last pair
    _fresh: bool  # nothing drawn since the seed: PyTorch then counts from 0, NumPy from 624

    def start(self, seed: int) -> None:
        """Start the stream of a seed, 0 <= seed < 2**64, of which the lower half is used."""
        self._seed, self._bits, self.cached, self._fresh = seed, None, None, True

    def twister(self) -> np.random.MT19937:
        """NumPy's Mersenne Twister at the current position of the stream."""
        if self._bits is None:
            seeded: Any = np.random.RandomState(self._seed & 0xFFFFFFFF).get_state()
            self._bits = twister_at(seeded[1], XP)
        return self._bits

    def draw(self, n: int) -> Array:
        """The next `n` words of 32 bits, as uint64."""
        twister = self.twister()
        self._fresh = self._fresh and not n
        return twister.random_raw(n)

    def draw64(self, n: int) -> Array:
        """The next `n` words of 64 bits, from two draws each, the higher half first."""
        halves = self.draw(2 * n).reshape(n, 2)
        return halves[:, 0] << np.uint64(32) | halves[:, 1]

    def state_bytes(self) -> bytes:
        """The state in the layout of PyTorch's `get_state`."""
        inner: Any = self.twister().state["state"]
        cached = self.cached
        return STATE.pack(self._seed, XP + 1 - inner["pos"], True, 0 if self._fresh else inner["pos"],
                          *inner["key"].tolist(), 0.0, cached or 0.0, 0.0, cached is not None, 0.0, False)

    def set_state_bytes(self, state: bytes) -> None:
        """Restore a state from `state_bytes`, here or in PyTorch.

        Raises:
            RuntimeError: if it has another size, or is not a valid state.
        """
        if len(state) != STATE.size:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE.size} but found the input RNG state "
                               f"size to be {len(state)}")
        seed, left, seeded, at, *rest = STATE.unpack(state)
        if not (seeded and 0 < left <= XP and at <= XP):
            raise RuntimeError("Invalid mt19937 state")
        # All at once: an interrupt comes before or after it.
        bits = twister_at(np.array(rest[:XP], np.uint64).astype(np.uint32), XP + 1 - left)
        self._seed, self._fresh, self._bits = seed, left == 1 and at == 0, bits
        self.cached = rest[XP + 1] if rest[XP + 3] else None


def twister_at(words: Any, position: int) -> np.random.MT19937:
    """A Mersenne Twister with this state, of whose 624 words `position` are used."""
    try:
        bits = np.random.MT19937(0)
    except RecursionError:
        raise
    except RuntimeError as error:  # "can't allocate lock": the end of a block then retries to restore the state
        raise MemoryError(*error.args) from error
    free_in_children(bits.lock)
    bits.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": position}}
    return bits


DEFAULT = Stream()
DEFAULT.seed()


def fractions(stream: Stream, n: int, dtype: Any) -> Array:
    """`n` numbers in [0, 1) that fill the mantissa: 53 bits of two draws for float64, else 24 bits of one."""
    if dtype == np.float64:
        return (stream.draw64(n) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53
    return (stream.draw(n) & np.uint64(2**24 - 1)).astype(np.float32) * np.float32(2.0**-24)
