"""Random numbers as PyTorch generates them on a GPU: mirrors ATen's `CUDAGeneratorImpl`, `DistributionTemplates.h` and
`Dropout.cu`, and the counters of cuRAND's Philox.

Philox4x32-10 (Salmon et al. 2011) has no changing state: it maps a counter and a key to four words of 32 bits, so each
thread of a GPU computes its own numbers. PyTorch's generator is therefore two integers: the key is the seed, and a
counter consists of the thread's number and the generator's position, its offset. This file shows which thread computes
which element (`policy`), and the whole generator (`philox`) as array code, which runs on NumPy arrays as well as on a
GPU's.

Below that are the distributions: cuRAND's uniform numbers are in (0, 1], and its normal ones come in pairs of a sine
and a cosine, of which a small tensor uses only the sines. Every distribution takes a source, the number of elements, a
NumPy dtype and the parameters, which `minigrad.backends.draws` has checked, and returns a flat array on the source's
device. docs/random.md says which of them match PyTorch's in every bit.
"""

from __future__ import annotations

import math
import struct
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.random import Seeded, fused, integers
from minigrad.backends.registry import HOST, backend_of, device_guard

STATE = struct.Struct("=QQ")  # the seed and the offset, as `torch.cuda.get_rng_state` returns them
BLOCK = 256  # threads in a block, as in PyTorch
HALF, LOW = np.uint64(32), np.uint64(2**32 - 1)
FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
# The increments of the halves of the key after each round: golden ratio and √3.
STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


def philox(counter: tuple[Any, Any, Any, Any], key: Any) -> tuple[Any, Any, Any, Any]:
    """Ten rounds of Philox on four words, arrays of uint64 below 2**32 that broadcast, with a key of 64 bits: a number,
    or a one-element array."""
    x, y, z, w = counter
    key = np.uint64(key) if isinstance(key, int) else key
    low, high = key & LOW, key >> HALF
    for _ in range(10):
        p, q = x * FACTORS[0], z * FACTORS[1]
        x, y, z, w = q >> HALF ^ y ^ low, q & LOW, p >> HALF ^ w ^ high, p & LOW
        low, high = (low + STEPS[0]) & LOW, (high + STEPS[1]) & LOW
    return x, y, z, w


def policy(n: int, unroll: int, most: int) -> tuple[int, int]:
    """The number of threads for `n` elements, and how often each draws, with `unroll` elements at a time.

    `most`: the threads that the GPU runs at once. Up to that number each element has its own thread.
    """
    threads = min(most // BLOCK, -(-n // BLOCK)) * BLOCK
    return threads, (n - 1) // (threads * unroll) + 1


class Philox(Seeded):
    """A seed, and the offset of each thread's stream; `graph`: the CUDA graph being captured, if any."""

    __slots__ = ("graph", "offset")

    def __init__(self) -> None:
        super().__init__()
        self.graph: InGraph | None = None

    def start(self, seed: int) -> None:
        self._seed, self.offset = seed, 0

    def set_offset(self, offset: int) -> None:
        """Set the position in the stream. Raises RuntimeError if it is not a multiple of 4."""
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        self.offset = offset

    def advance(self, count: int) -> int:
        """Return the position in the stream, and advance it by `count`, rounded up to a multiple of 4."""
        with self.lock:
            at = self.offset
            self.offset = (at + (count + 3) // 4 * 4) % 2**64
        return at

    def state_bytes(self) -> bytes:
        """The state in the layout of PyTorch's `torch.cuda.get_rng_state`."""
        return STATE.pack(self._seed, self.offset)

    def set_state_bytes(self, state: bytes) -> None:
        """Restore a state from `state_bytes`, here or in PyTorch; 8 bytes are only a seed. Raises RuntimeError if it
        has another size, or is not a valid state."""
        if len(state) not in (8, STATE.size):
            raise RuntimeError("RNG state is wrong size")
        seed, offset = STATE.unpack(state.ljust(STATE.size, b"\0"))
        self.set_offset(offset)
        self._seed = seed


class InGraph:
    """A stream in a CUDA graph: the graph draws from the position that the stream has when the graph is replayed.

    The graph reads it from GPU memory, `state`: the seed, and the offset in units of 4, as PyTorch's graphs do
    (`CUDAGeneratorState` of ATen). `drawn`: how far one replay advances the stream.
    """

    def __init__(self, stream: Philox, handle: Any) -> None:
        self.stream, self.drawn = stream, 0
        self.state = np.zeros(2, np.uint64, like=handle)

    def advance(self, count: int) -> Later:
        """Return the graph's position in the stream, relative to its start, and advance it."""
        with self.stream.lock:
            at = self.drawn
            self.drawn = at + (count + 3) // 4 * 4
        return Later(self, at)

    def replay(self) -> None:
        """Give the graph the stream's position, and advance the stream by what the graph draws."""
        with self.stream.lock, device_guard(self.state):
            self.state[0], self.state[1] = np.uint64(self.stream.initial_seed()), np.uint64(self.stream.offset // 4)
            self.stream.advance(self.drawn)


class Later(NamedTuple):
    """An offset relative to the position of the stream when the graph is replayed."""

    graph: InGraph
    offset: int


class Source:
    """A stream in use: the device of its numbers (`handle`, for NumPy's `like`), and the maximum number of threads."""

    __slots__ = ("handle", "most", "stream")

    def __init__(self, stream: Philox, handle: Any, most: int) -> None:
        self.stream, self.handle, self.most = stream, handle, most

    def on(self) -> AbstractContextManager[Any]:
        """A block in which the device of the numbers is current."""
        if self.handle is HOST:
            return nullcontext()
        return self.handle.backend.on(self.handle.index)

    @property
    def lock(self) -> threading.RLock:
        return self.stream.lock

    def at(self, offset: int | Later, calls: Any, threads: Any) -> tuple[Any, Any, Any, Any]:
        """The draws of threads at some calls after an offset; the numbers of both are uint64 arrays that broadcast."""
        if isinstance(offset, Later):
            state = offset.graph.state
            key, start = state[0], state[1] + np.uint64(offset.offset // 4)
        else:
            key, start = np.uint64(self.stream.initial_seed()), np.uint64(offset // 4)
        where, backend = calls + start, backend_of(threads)
        kernel = None if backend is None else backend.fused("philox")
        if kernel is not None:
            x, y, z, w = kernel(where, threads, key)
            return x, y, z, w
        return philox((where & LOW, where >> HALF, threads, np.uint64(0)), key)

    def advance(self, count: int) -> int | Later:
        """Return the position in the stream, and advance it. Raises RuntimeError during the capture of a CUDA graph
        with which the stream is not registered."""
        if self.handle is HOST or not self.handle.backend.capturing():
            return self.stream.advance(count)
        if self.stream.graph is None:
            raise RuntimeError("Attempt to increase offset for a CUDA generator not in capture mode.\n\nRegister it "
                               "before the capture: graph.register_generator_state(generator).")
        return self.stream.graph.advance(count)

    def numbers(self, n: int) -> Any:
        return np.arange(n, dtype=np.uint64, like=self.handle)

    def words(self, n: int, unroll: int) -> tuple[Any, Any, Any, Any]:
        """The words of all draws for `n` elements, four arrays of shape (calls, threads)."""
        threads, calls = policy(n, unroll, self.most)
        at = self.advance(4 * calls)
        return self.at(at, self.numbers(calls)[:, None], self.numbers(threads)[None, :])

    def draw(self, n: int) -> Any:
        """`n` words of 32 bits, as uint64, in the order of their elements."""
        return in_element_order(self.words(n, 4), n) if n else self.numbers(0)

    def draw64(self, n: int) -> Any:
        """`n` words of 64 bits, each from two words, the higher half first."""
        if not n:
            return self.numbers(0)
        x, y, z, w = self.words(n, 2)
        return in_element_order((x << HALF | y, z << HALF | w), n)


def in_element_order(parts: tuple[Any, ...], n: int) -> Any:
    """`n` elements in their order: for each call, the first part of all threads precedes the second."""
    calls, threads = parts[0].shape
    needed = parts[:math.ceil(n / threads)] if calls == 1 else parts
    flat = needed[0] if len(needed) == 1 else np.stack(needed, 1)
    return flat.reshape(-1)[:n]


FLOAT32, FLOAT64 = np.dtype("float32"), np.dtype("float64")
# cuRAND's constants in float32: 2**-32, and 2π of them
UNIT, TURN = np.float32(2.0**-32), np.float32(2.0**-32) * np.float32(6.2831855)


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype a kernel computes in: float32 except for float64."""
    return FLOAT64 if dtype == FLOAT64 else FLOAT32


def bits53(x: Any, y: Any) -> Any:
    return (x ^ y << np.uint64(21)).astype(np.float64)


def fractions(source: Source, n: int, dtype: np.dtype[Any]) -> Any:
    """`n` numbers in (0, 1], as `curand_uniform4` or, for float64, `curand_uniform2_double` returns them."""
    if not n:
        return np.zeros(0, dtype, like=source.handle)
    if dtype == FLOAT64:
        x, y, z, w = source.words(n, 2)
        return in_element_order((bits53(x, y), bits53(z, w)), n) * 2.0**-53 + 2.0**-54
    return as_fractions(in_element_order(source.words(n, 4), n))


def as_fractions(words: Any) -> Any:
    """Words of 32 bits as float32 in (0, 1]."""
    return words.astype(np.float32) * UNIT + UNIT / np.float32(2)


def standard_normal(source: Source, n: int, dtype: np.dtype[Any]) -> Any:
    """`n` standard normal numbers, as `curand_normal4` or, for float64, `curand_normal2_double` returns them."""
    if not n:
        return np.zeros(0, dtype, like=source.handle)
    if dtype == FLOAT64:
        x, y, z, w = source.words(n, 2)
        radius = np.sqrt(-2.0 * np.log(bits53(x, y) * 2.0**-53 + 2.0**-54))
        angle = math.pi * (bits53(z, w) * 2.0**-52 + 2.0**-53)
        return in_element_order((radius * np.sin(angle), radius * np.cos(angle)), n)
    words = source.words(n, 4)
    if n <= words[0].shape[1]:  # each thread computes one element: the first sine
        return normal_pair(*words[:2])[0].reshape(-1)[:n]
    return in_element_order((*normal_pair(*words[:2]), *normal_pair(*words[2:])), n)


def normal_pair(x: Any, y: Any) -> tuple[Any, Any]:
    """The Box-Muller transform: two normal numbers from two words."""
    radius = np.sqrt(np.float32(-2) * np.log(as_fractions(x)))
    angle = fused(y.astype(np.float32), TURN, TURN / np.float32(2))
    return radius * np.sin(angle), radius * np.cos(angle)


def uniform(source: Source, n: int, dtype: np.dtype[Any], low: float, high: float) -> Any:
    """Numbers in [low, high): those equal to `high` become `low`."""
    kind: Any = wide(dtype).type
    start, end = dtype.type(low), dtype.type(high)
    out = fused(fractions(source, n, wide(dtype)), kind(end - start), kind(start)).astype(dtype)
    return np.where(out == end, start, out)


def normal(source: Source, n: int, dtype: np.dtype[Any], mean: float, std: float, blocks: bool) -> Any:
    """Normal numbers; `blocks` matters only on the CPU."""
    return unrounded_normal(source, n, dtype, mean, std).astype(dtype)


def unrounded_normal(source: Source, n: int, dtype: np.dtype[Any], mean: float, std: float) -> Any:
    """Normal numbers, not yet rounded to the dtype."""
    kind: Any = wide(dtype).type
    return fused(standard_normal(source, n, wide(dtype)), kind(std), kind(mean))


def log_normal(source: Source, n: int, dtype: np.dtype[Any], mean: float, std: float) -> Any:
    return np.exp(unrounded_normal(source, n, dtype, mean, std)).astype(dtype)


def exponential(source: Source, n: int, dtype: np.dtype[Any], lambd: float) -> Any:
    """Exponentially distributed numbers, none of them 0."""
    kind: Any = wide(dtype).type
    drawn = fractions(source, n, wide(dtype))
    least = kind(np.finfo(kind).eps / 2)
    logarithm = np.where(drawn >= kind(1) - least, -least, np.log(drawn))
    return (kind(-1) / kind(lambd) * logarithm).astype(dtype)


def cauchy(source: Source, n: int, dtype: np.dtype[Any], median: float, sigma: float) -> Any:
    kind: Any = wide(dtype).type
    drawn = fractions(source, n, wide(dtype))
    if kind is np.float32:  # where the tangent would overflow
        least = np.finfo(np.float32).eps
        drawn = np.clip(drawn, least, kind(1) - least)
    return (kind(sigma) * np.tan(kind(math.pi) * (drawn - kind(0.5))) + kind(median)).astype(dtype)


def geometric(source: Source, n: int, dtype: np.dtype[Any], p: float) -> Any:
    kind: Any = wide(dtype).type
    return np.ceil(np.log(fractions(source, n, wide(dtype))) / np.log1p(kind(-p))).astype(dtype)


def bernoulli(source: Source, n: int, dtype: np.dtype[Any], p: float) -> Any:
    """1 with probability `p`, else 0."""
    drawn = fractions(source, n, wide(dtype))
    return (drawn < drawn.dtype.type(p)).astype(dtype)


def bernoulli_each(source: Source, n: int, dtype: np.dtype[Any], chances: Any) -> Any:
    """The same with a probability for each element; each thread computes four adjacent ones."""
    words = source.at(source.advance(10), np.uint64(0), source.numbers(-(-n // 4)))
    drawn = as_fractions(np.stack(words, 1).reshape(-1)[:n])
    return (drawn <= chances.astype(wide(dtype))).astype(dtype)


def dropout_mask(source: Source, n: int, chance: float, dtype: np.dtype[Any], vector: int) -> Any:
    """The mask of `n` elements that fused dropout keeps, each with probability `chance`: bools, in memory order.

    `vector`: how many adjacent elements a thread processes at once; 1: they are apart, as for the distributions.
    """
    limit = wide(dtype).type(chance)
    if vector == 1:
        return as_fractions(in_element_order(source.words(n, 4), n)) < limit
    threads, calls = policy(n, 4, source.most)
    at = source.advance(4 * calls)
    words = max(vector, 4) // 4  # draws of four words for one vector
    vectors = source.numbers(n // vector)
    turn, thread = vectors // np.uint64(threads), vectors % np.uint64(threads)
    drawn = [each for k in range(words) for each in source.at(at, turn * np.uint64(words) + np.uint64(k), thread)]
    return as_fractions(np.stack(drawn[:vector], 1).reshape(-1)) < limit


def randperm(source: Source, n: int) -> Any:
    """The numbers 0 to n - 1 in the order of random keys; those with equal keys are shuffled once more.

    It asks the GPU whether any keys are equal, which happens in at most one of ten calls.
    """
    order = np.arange(n, like=source.handle)
    if n == 0:
        return order
    bits = min(64, math.ceil(math.log2(n - (6 * n * n + 1) / (12 * math.log(0.9)))))
    dtype = np.dtype("int32" if bits <= 32 else "int64")
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    keys = integers(source, n, dtype, low, high - low)
    if bits < 8 * dtype.itemsize:
        keys = keys & dtype.type(2**bits - 1)
    order = np.argsort(keys, kind="stable")
    keys, offset = keys[order], source.advance(n)
    same = keys[1:] == keys[:-1]
    return order[shuffled_runs(source, same, offset)] if n > 1 and bool(same.any()) else order


def shuffled_runs(source: Source, same: Any, offset: int | Later) -> Any:
    """The destination of each number if each run of equal keys is shuffled by Fisher and Yates, by its first thread."""
    places = list(range(len(same) + 1))
    ties = same.nonzero()[0].tolist()
    for start in [i for i in ties if i - 1 not in ties]:
        end = start + 1
        while end in ties:
            end += 1
        for step, i in enumerate(range(end - start, 0, -1)):
            words = source.at(offset, np.uint64(step // 4), np.uint64(start))
            j = start + int(words[step % 4]) % (i + 1)
            places[start + i], places[j] = places[j], places[start + i]
    return np.array(places, like=source.handle)
