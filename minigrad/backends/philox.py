"""The stream of random numbers on a GPU: mirrors ATen's `CUDAGeneratorImpl` and the counters of cuRAND's Philox.

Philox4x32-10 (Salmon et al. 2011) has no changing state: it maps a counter and a key to four words of 32 bits, so each
thread of a GPU computes its own numbers. PyTorch's generator is therefore two integers: the key is the seed, and a
counter consists of the thread's number and the generator's position, its offset. This file shows which thread computes
which element (`policy`), and the whole generator (`philox`) as array code, which runs on NumPy arrays as well as on a
GPU's. `minigrad.backends.curand` turns the words into distributions.
"""

from __future__ import annotations

import math
import struct
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.registry import HOST, backend_of, device_guard
from minigrad.backends.stream import Seeded

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
        """Start the stream of a seed, 0 <= seed < 2**64."""
        self._seed, self.offset = seed, 0

    def set_offset(self, offset: int) -> None:
        """Set the position in the stream.

        Raises:
            RuntimeError: if it is not a multiple of 4.
        """
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
        """Restore a state from `state_bytes`, here or in PyTorch; 8 bytes are only a seed.

        Raises:
            RuntimeError: if it has another size, or is not a valid state.
        """
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
        """The lock that separates the draws of two threads."""
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
        """Return the position in the stream, and advance it.

        Raises:
            RuntimeError: during the capture of a CUDA graph with which the stream is not registered.
        """
        if self.handle is HOST or not self.handle.backend.capturing():
            return self.stream.advance(count)
        if self.stream.graph is None:
            raise RuntimeError("Attempt to increase offset for a CUDA generator not in capture mode.\n\nRegister it "
                               "before the capture: graph.register_generator_state(generator).")
        return self.stream.graph.advance(count)

    def numbers(self, n: int) -> Any:
        """0, 1, … as words."""
        return np.arange(n, dtype=np.uint64, like=self.handle)

    def words(self, n: int, unroll: int) -> tuple[Any, Any, Any, Any]:
        """The words of all draws for `n` elements, four arrays of shape (calls, threads)."""
        threads, calls = policy(n, unroll, self.most)
        at = self.advance(4 * calls)
        return self.at(at, self.numbers(calls)[:, None], self.numbers(threads)[None, :])

    def draw(self, n: int) -> Any:
        """`n` words of 32 bits, as uint64, in the order of their elements."""
        return laid(self.words(n, 4), n) if n else self.numbers(0)

    def draw64(self, n: int) -> Any:
        """`n` words of 64 bits, each from two words, the higher half first."""
        if not n:
            return self.numbers(0)
        x, y, z, w = self.words(n, 2)
        return laid((x << HALF | y, z << HALF | w), n)


def laid(parts: tuple[Any, ...], n: int) -> Any:
    """`n` elements in their order: for each call, the first part of all threads precedes the second."""
    calls, threads = parts[0].shape
    needed = parts[:math.ceil(n / threads)] if calls == 1 else parts
    flat = needed[0] if len(needed) == 1 else np.stack(needed, 1)
    return flat.reshape(-1)[:n]
