"""Random numbers as PyTorch generates them on the CPU: mirrors ATen's `CPUGeneratorImpl` and
`DistributionTemplates.h`.

The stream is a Mersenne Twister that counts its draws as PyTorch's does, so that one seed, and one stored state, mean
the same in both libraries. Below it is which draws become which number; docs/random.md has the table. Every
distribution takes a stream, the number of elements, a NumPy dtype and the parameters, which `minigrad.backends.draws`
has checked, and returns a flat array.
"""

import math
import os
import struct
from typing import Any

import numpy as np

from minigrad._base.dtype import HALVES, as_dtype
from minigrad._base.locks import free_in_children, new_lock

Array = np.ndarray[Any, Any]

FLOAT64 = np.dtype("float64")
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
        """Start the stream of a seed of 64 bits; a negative one counts from the end, as in PyTorch. Raises ValueError
        if the seed has more bits."""
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self.start(seed % 2**64)

    def initial_seed(self) -> int:
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
        """Restore a state from `state_bytes`, here or in PyTorch. Raises RuntimeError if it has another size, or is not
        a valid state."""
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


def uniform(stream: Stream, n: int, dtype: np.dtype[Any], low: float, high: float) -> Array:
    """Uniform fractions, scaled to [low, high)."""
    drawn = fractions(stream, n, dtype)
    kind: Any = drawn.dtype.type
    out: Array = as_dtype(fused(drawn, kind(high) - kind(low), kind(low)), dtype)
    out[out == dtype.type(high)] = dtype.type(low)  # rounding must not reach the upper end
    return out


def fused(x: Any, factor: Any, summand: Any) -> Any:
    """`x * factor + summand`, rounded once, as processors do in one instruction and NumPy does not.

    float32 by way of float64; float64 by the errors of product and sum, which Dekker (1971) and Knuth compute exactly.
    """
    if not summand:
        return x * factor
    if x.dtype == np.float32:
        return (x.astype(np.float64) * np.float64(factor) + np.float64(summand)).astype(np.float32)
    product = x * factor
    (x_high, x_low), (f_high, f_low) = halves(x), halves(factor)
    lost = ((x_high * f_high - product) + x_high * f_low + x_low * f_high) + x_low * f_low
    total = product + summand
    added = total - product
    lost += (product - (total - added)) + (summand - added)
    return total + lost


def halves(x: Any) -> tuple[Any, Any]:
    """A float64 as the sum of two with 26 bits, whose products are exact (Veltkamp's splitting)."""
    shifted = x * (2.0**27 + 1)
    high = shifted - (shifted - x)
    return high, x - high


def normal(stream: Stream, n: int, dtype: np.dtype[Any], mean: float, std: float, blocks: bool) -> Array:
    """The Box-Muller transform of uniform numbers: PyTorch transforms 16 and more in blocks."""
    drawn = normal_blocks(stream, n, dtype) if n >= 16 and blocks else normal_pairs(stream, n)
    kind: Any = drawn.dtype.type
    return rounded(drawn * kind(std) + kind(mean), dtype)


def rounded(x: Array, dtype: np.dtype[Any]) -> Array:
    """An array in a dtype; float64 becomes float16 by way of float32, as in PyTorch."""
    return as_dtype(x.astype(np.float32) if dtype in HALVES else x, dtype)


def normal_blocks(stream: Stream, n: int, dtype: np.dtype[Any]) -> Array:
    """Blocks of 8 + 8 uniforms; if `n` is not a multiple of 16, the last 16 are drawn again."""
    whole = n - n % 16
    # For float16 and bfloat16 PyTorch fills a block at a time, and draws nothing for an unfinished one.
    first = whole if dtype in HALVES else n
    with stream.lock:
        both = fractions(stream, first + 16 * (n > whole), dtype)  # one draw: an interrupt comes before or after it
    drawn, last = both[:n], both[first:].copy()
    box_muller(drawn[:whole].reshape(-1, 2, 8))
    if n > whole:
        drawn[-16:] = last
        box_muller(drawn[-16:].reshape(1, 2, 8))
    return drawn


def box_muller(pairs: Array) -> None:
    """Convert uniforms to normals, in place: `pairs[:, 0]` gives the radius, `pairs[:, 1]` the angle."""
    kind = pairs.dtype.type
    radius = np.sqrt(kind(-2) * np.log(kind(1) - pairs[:, 0]))
    angle = kind(2 * math.pi) * pairs[:, 1]
    pairs[:, 0], pairs[:, 1] = radius * np.cos(angle), radius * np.sin(angle)


def normal_pairs(stream: Stream, n: int) -> Array:
    """Pairs of doubles, from an angle and a distance each; the stream keeps the second of a pair for the next call.

    An interrupt here can leave the draws taken and the cached number unchanged: saving NumPy's state for that case
    would take twice as long as the draw.
    """
    out = np.empty(n)
    with stream.lock:
        start = int(n > 0 and stream.cached is not None)
        out[:start] = stream.cached
        angle, far = fractions(stream, 2 * ((n - start + 1) // 2), FLOAT64).reshape(-1, 2).T
        radius = np.sqrt(-2.0 * np.log1p(-far))
        both = np.stack([radius * np.cos(2.0 * math.pi * angle), radius * np.sin(2.0 * math.pi * angle)], 1).ravel()
        out[start:] = both[:n - start]
        if n:
            stream.cached = float(both[-1]) if len(both) > n - start else None
    return out


def log_normal(stream: Stream, n: int, dtype: np.dtype[Any], mean: float, std: float) -> Array:
    return rounded(np.exp(normal_pairs(stream, n) * std + mean), dtype)


def exponential(stream: Stream, n: int, dtype: np.dtype[Any], lambd: float) -> Array:
    return rounded(-1.0 / lambd * np.log1p(-fractions(stream, n, FLOAT64)), dtype)


def cauchy(stream: Stream, n: int, dtype: np.dtype[Any], median: float, sigma: float) -> Array:
    return rounded(median + sigma * np.tan(math.pi * (fractions(stream, n, FLOAT64) - 0.5)), dtype)


def geometric(stream: Stream, n: int, dtype: np.dtype[Any], p: float) -> Array:
    return as_dtype(np.ceil(np.log(fractions(stream, n, FLOAT64)) / math.log1p(-p)), dtype)


def bernoulli(stream: Stream, n: int, dtype: np.dtype[Any], p: Any) -> Array:
    """1 with probability `p`, a number or a flat array of `n` probabilities, which are compared in their own dtype."""
    return as_dtype(fractions(stream, n, getattr(p, "dtype", FLOAT64)) < p, dtype)


def integers(stream: Any, n: int, dtype: np.dtype[Any], low: int, width: int) -> Any:
    """Integers in [low, low + width), as remainders of draws, of 64 bits if the range is wide; on a GPU too."""
    drawn = stream.draw64(n) if width >= 2**28 else stream.draw(n)
    if width < 2**64:  # otherwise every word is a valid result
        drawn %= np.uint64(width)
        drawn += np.uint64(low % 2**64)  # wraps around 64 bits if `low` is negative
    return as_dtype(drawn.view(np.int64), dtype)


def integers_of_dtype(stream: Any, n: int, dtype: np.dtype[Any], largest: int) -> Any:
    """Integers in [0, largest], as remainders of draws as wide as the dtype; on a GPU too."""
    return as_dtype((stream.draw64 if dtype.itemsize == 8 else stream.draw)(n) % np.uint64(largest + 1), dtype)


def randperm(stream: Stream, n: int) -> Array:
    """The numbers 0 to n - 1, shuffled by Fisher and Yates."""
    order = list(range(n))
    for i, word in enumerate(stream.draw(max(n - 1, 0)).tolist()):
        j = i + word % (n - i)
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)
