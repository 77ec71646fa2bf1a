"""Random numbers as PyTorch makes them on the CPU: mirrors ATen's `CPUGeneratorImpl` and `DistributionTemplates.h`.

The same seed gives the numbers that PyTorch gives, so that a lesson, a forum answer and a test can be compared digit
by digit. A reader finds here which draws of the Mersenne Twister become which number. `minigrad.random` wraps these
arrays in tensors.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["DEFAULT", "Stream", "bernoulli", "normal", "randint", "randperm", "uniform"]

Array = np.ndarray[Any, Any]
Shape = Sequence[int]

WORDS = 624  # of the twister's state
DEFAULT_SEED = 67280421310721
# PyTorch's `CPUGeneratorImplState`, byte for byte: seed, words left, seeded, next word, the words (64 bits each),
# x, y and rho of the cached normal, whether there is one; then the same for a float that is never used.
STATE = struct.Struct(f"=QiiQ{WORDS}Q3di4xf?3x")


class Stream:
    """A stream of random numbers, from a seed on. Its state has the layout of PyTorch's generators."""

    __slots__ = ("_bits", "_cached", "_fresh", "_seed")

    _seed: int
    _bits: np.random.MT19937 | None  # made at the first draw, so that `import minigrad` need not load numpy.random
    _cached: float | None  # the normal that the last pair left over
    _fresh: bool  # nothing drawn since the seed: PyTorch then counts from 0, NumPy from 624

    def __init__(self) -> None:
        self.start(DEFAULT_SEED)

    def start(self, seed: int) -> None:
        """Begin the stream of a seed, 0 <= seed < 2**64, of which the lower half counts."""
        self._seed, self._bits, self._cached, self._fresh = seed, None, None, True

    def twister(self) -> np.random.MT19937:
        """NumPy's Mersenne Twister at this point of the stream."""
        if self._bits is None:
            seeded: Any = np.random.RandomState(self._seed & 0xFFFFFFFF).get_state()
            self._bits = twister_at(seeded[1], WORDS)
        return self._bits

    def manual_seed(self, seed: int) -> None:
        """Begin the stream of a seed of 64 bits; a negative one counts from the end, as in PyTorch.

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
        """Begin a stream that nobody can foresee; returns its seed."""
        self.start(int.from_bytes(os.urandom(8)) >> 11)
        return self._seed

    def draw(self, n: int) -> Array:
        """The next `n` words of 32 bits, as uint64."""
        self._fresh = self._fresh and not n
        return self.twister().random_raw(n)

    def draw64(self, n: int) -> Array:
        """The next `n` words of 64 bits, of two draws each, the higher half first."""
        halves = self.draw(2 * n).reshape(n, 2)
        return halves[:, 0] << np.uint64(32) | halves[:, 1]

    def state_bytes(self) -> bytes:
        """The state as PyTorch's `get_state` lays it out."""
        inner: Any = self.twister().state["state"]
        cached = self._cached
        return STATE.pack(self._seed, WORDS + 1 - inner["pos"], True, 0 if self._fresh else inner["pos"],
                          *inner["key"].tolist(), 0.0, cached or 0.0, 0.0, cached is not None, 0.0, False)

    def set_state_bytes(self, state: bytes) -> None:
        """Go to a state that `state_bytes` gave, here or in PyTorch.

        Raises:
            RuntimeError: if it has another size, or is no state.
        """
        if len(state) != STATE.size:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE.size} but found the input RNG state "
                               f"size to be {len(state)}")
        seed, left, seeded, at, *rest = STATE.unpack(state)
        if not (seeded and 0 < left <= WORDS and at <= WORDS):
            raise RuntimeError("Invalid mt19937 state")
        self._seed, self._fresh = seed, left == 1 and at == 0
        self._cached = rest[WORDS + 1] if rest[WORDS + 3] else None
        self._bits = twister_at(np.array(rest[:WORDS], np.uint64).astype(np.uint32), WORDS + 1 - left)


def twister_at(words: Any, position: int) -> np.random.MT19937:
    """A Mersenne Twister with this state, of whose 624 words `position` are used up."""
    bits = np.random.MT19937(0)
    bits.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": position}}
    return bits


DEFAULT = Stream()
DEFAULT.seed()


def fractions(stream: Stream, n: int, dtype: Any) -> Array:
    """`n` numbers of [0, 1) that fill the mantissa: 53 bits of two draws for float64, else 24 bits of one."""
    if dtype == np.float64:
        return (stream.draw64(n) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53
    return (stream.draw(n) & np.uint64(2**24 - 1)).astype(np.float32) * np.float32(2.0**-24)


def uniform(stream: Stream, shape: Shape, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Array:
    """Numbers of [low, high), all equally likely.

    Raises:
        NotImplementedError: for a dtype that is not a floating point one.
        RuntimeError: if `low` is above `high`.
    """
    dtype = floating(dtype, "check_uniform_bounds")
    if low > high:
        raise RuntimeError("uniform_ expects to return a [from, to) range, but found "
                           f"from={low:g} > to={high:g}")
    drawn = fractions(stream, math.prod(shape), dtype)
    kind: Any = drawn.dtype.type
    out: Array = (drawn * (kind(high) - kind(low)) + kind(low)).astype(dtype)
    out[out == dtype.type(high)] = dtype.type(low)  # rounding must not reach the upper end
    return out.reshape(tuple(shape))


def normal(stream: Stream, shape: Shape, dtype: Any = np.float32, mean: float = 0.0, std: float = 1.0) -> Array:
    """Numbers of the normal distribution, by Box and Muller's transform of uniform ones.

    Raises:
        NotImplementedError: for a dtype that is not a floating point one.
        RuntimeError: if `std` is negative.
    """
    dtype = floating(dtype, "normal_kernel_cpu")
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    n = math.prod(shape)
    drawn = many_normals(stream, n, dtype) if n >= 16 else few_normals(stream, n)
    kind: Any = drawn.dtype.type
    out: Array = (drawn * kind(std) + kind(mean)).astype(dtype)
    return out.reshape(tuple(shape))


def many_normals(stream: Stream, n: int, dtype: np.dtype[Any]) -> Array:
    """16 and more: blocks of 8 + 8 uniforms; where 16 does not divide `n` the last 16 are drawn once more."""
    if dtype == np.float16:  # PyTorch fills a block at a time here, and draws nothing for an unfinished one
        drawn = np.zeros(n, np.float32)
        drawn[:n - n % 16] = fractions(stream, n - n % 16, dtype)
    else:
        drawn = fractions(stream, n, dtype)
    box_muller(drawn[:n - n % 16].reshape(-1, 2, 8))
    if n % 16:
        drawn[-16:] = fractions(stream, 16, dtype)
        box_muller(drawn[-16:].reshape(1, 2, 8))
    return drawn


def box_muller(pairs: Array) -> None:
    """Uniforms to normals, in place: `pairs[:, 0]` gives the radius, `pairs[:, 1]` the angle."""
    kind = pairs.dtype.type
    radius = np.sqrt(kind(-2) * np.log(kind(1) - pairs[:, 0]))
    angle = kind(2 * math.pi) * pairs[:, 1]
    pairs[:, 0], pairs[:, 1] = radius * np.cos(angle), radius * np.sin(angle)


def few_normals(stream: Stream, n: int) -> Array:
    """Fewer than 16: pairs of doubles; the second of a pair waits in the stream for the next call."""
    out = []
    for _ in range(n):
        if stream._cached is not None:
            out.append(stream._cached)
            stream._cached = None
            continue
        angle, far = fractions(stream, 2, np.float64).tolist()
        radius = math.sqrt(-2.0 * math.log1p(-far))
        stream._cached = radius * math.sin(2.0 * math.pi * angle)
        out.append(radius * math.cos(2.0 * math.pi * angle))
    return np.array(out, np.float64)


def bernoulli(stream: Stream, p: Any, shape: Shape, dtype: Any = np.float32) -> Array:
    """1 with probability `p` (a number, or an array that broadcasts to `shape`), else 0.

    For a number PyTorch may use another stream on Intel processors; there the draws differ, the distribution does not.

    Raises:
        RuntimeError: if `p` is not in [0, 1].
    """
    if isinstance(p, (int, float)):
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        return (fractions(stream, math.prod(shape), np.float64) < p).astype(dtype).reshape(shape)
    if ((p < 0) | (p > 1)).any():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    chances = np.broadcast_to(p, tuple(shape))
    drawn = fractions(stream, math.prod(shape), np.float64 if p.dtype == np.float64 else np.float32)
    return (drawn.reshape(shape) < chances).astype(dtype)


def randint(stream: Stream, low: int, high: int, shape: Shape, dtype: Any = np.int64) -> Array:
    """Integers of [low, high), by the remainder of a draw (of 64 bits where the range is wide).

    Raises:
        RuntimeError: if the range is empty or does not fit into `dtype`.
    """
    dtype = np.dtype(dtype)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    check_range(low, high, dtype)
    width = high - low
    draw = stream.draw64 if width >= 2**28 else stream.draw
    drawn = (draw(math.prod(shape)) % np.uint64(width)).astype(np.int64) + np.int64(low)
    return drawn.astype(dtype).reshape(shape)


CPP_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
             "bool": "bool", "float16": "c10::Half", "float32": "float", "float64": "double"}


def check_range(low: int, high: int, dtype: np.dtype[Any]) -> None:
    """PyTorch's error where an end of the range is no number of the dtype."""
    if dtype.kind == "f":
        least, most = float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    elif dtype.kind == "b":
        least, most = 0, 1
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for name, end in (("from", low), ("to - 1", high - 1)):
        if not least <= end <= most:
            raise RuntimeError(f"{name} is out of bounds for {CPP_NAMES[dtype.name]}")


def randperm(stream: Stream, n: int) -> Array:
    """The numbers 0 to n - 1, shuffled by Fisher and Yates."""
    order = list(range(n))
    for i, word in enumerate(stream.draw(max(n - 1, 0)).tolist()):
        j = i + word % (n - i)
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def floating(dtype: Any, kernel: str) -> np.dtype[Any]:
    """The NumPy dtype, which must be a floating point one."""
    found: np.dtype[Any] = np.dtype(dtype)
    if found.kind != "f":
        names = {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}
        raise NotImplementedError(f'"{kernel}" not implemented for \'{names[found.name]}\'')
    return found
