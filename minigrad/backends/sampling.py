"""Sampling with probabilities from an array: mirrors `multinomial` and `poisson` of ATen's `Distributions.cpp`.

It uses classical methods: categories by binary search in the running sum of their probabilities, and without
replacement by a race of exponential waiting times; Poisson counts by Knuth's product of uniform numbers, and for rates
of 10 and more by Hörmann's transformed rejection (PTRS, 1993).
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends import curand
from minigrad.backends.draws import exponential, floating
from minigrad.backends.stream import Stream, fractions

Array = np.ndarray[Any, Any]
FLOAT64 = np.dtype("float64")


def multinomial(stream: Any, chances: Any, count: int, replacement: bool) -> Any:
    """`count` categories per row of `chances` (an array of one or two dimensions), which need not sum to 1."""
    if replacement and count > 1 and type(stream) is not Stream:
        return with_replacement_there(stream, chances, count)
    if replacement and count > 1:
        drawn = np.empty((*chances.shape[:-1], count), np.int64)
        for row, out in zip(chances.reshape(-1, chances.shape[-1]), drawn.reshape(-1, count), strict=True):
            out[:] = with_replacement(stream, row, count)
        return drawn
    speed = chances / exponential(stream, chances.shape, chances.dtype)  # the likelier, the sooner it arrives
    if count == 1:
        return np.argmax(speed, -1)[..., None]
    return np.argsort(-speed, -1, kind="stable")[..., :count].copy()


def with_replacement(stream: Stream, chances: Array, count: int) -> Any:
    """`count` categories, each drawn from all of them; float16 is summed in float32."""
    reached = np.cumsum(chances, dtype=np.result_type(chances.dtype, np.float32))
    reached /= reached[-1]
    reached[-1] = 1
    return np.searchsorted(reached, fractions(stream, count, FLOAT64))


def with_replacement_there(source: Any, chances: Any, count: int) -> Any:
    """The same on a device, all rows at once: for each draw, the number of running sums it exceeds."""
    reached = np.cumsum(chances, -1, dtype=np.float64)
    drawn = curand.fractions(source, math.prod((*chances.shape[:-1], count)), FLOAT64)
    height = drawn.reshape((*chances.shape[:-1], count)) * reached[..., -1:]  # in (0, the sum of all]
    return (reached[..., None, :] < height[..., None]).sum(-1)


def poisson(stream: Any, rates: Any) -> Array:
    """For each rate, how often an event occurs in a period in which it occurs `rate` times on average.

    Raises:
        NotImplementedError: for rates whose dtype is not floating point, and on a GPU.
        RuntimeError: for a negative rate.
    """
    if type(stream) is not Stream:
        raise NotImplementedError("poisson is not implemented for tensors on a GPU\n\nminigrad draws these numbers on "
                                  "the CPU only: use poisson(rates.cpu()).")
    floating(rates.dtype, "poisson_cpu")
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    with stream.lock:
        drawn = Drawn(stream)
        counts = [often(rate, drawn) if rate >= 10 else seldom(rate, drawn) for rate in rates.ravel().tolist()]
        drawn.close()
    return as_dtype(np.array(counts), rates.dtype).reshape(rates.shape)


class Drawn(Iterator[float]):
    """Fractions of a stream, one after the other; it draws ahead, and `close` puts the unused ones back."""

    def __init__(self, stream: Stream, ahead: int = 256) -> None:
        self.stream, self.ahead = stream, ahead
        self.start, self.used = stream.state_bytes(), 0
        self.waiting: Iterator[float] = iter(())

    def __next__(self) -> float:
        self.used += 1
        for each in self.waiting:
            return each
        self.waiting = iter(fractions(self.stream, self.ahead, FLOAT64).tolist())
        return next(self.waiting)

    def close(self) -> None:
        """Leave the stream right after the last fraction used."""
        self.stream.set_state_bytes(self.start)
        self.stream.draw64(self.used)


def seldom(rate: float, drawn: Iterator[float]) -> int:
    """Knuth: how many uniform numbers can be multiplied before the product falls to exp(-rate)."""
    if rate == 0:
        return 0
    count, product, least = -1, 1.0, math.exp(-rate)
    while product > least:
        product *= next(drawn)
        count += 1
    return count


def often(rate: float, drawn: Iterator[float]) -> int:
    """Hörmann's PTRS: a transformed uniform number, accepted or rejected by a second one. Constants from the paper."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    bound = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = next(drawn) - 0.5, next(drawn)
        edge = 0.5 - abs(u)
        k = math.floor((2 * a / edge + b) * u + rate + 0.43) if edge else -1
        if edge >= 0.07 and v <= bound:
            return k
        if k < 0 or (edge < 0.013 and v > edge):
            continue
        taken = math.log(v * inverse_alpha / (a / (edge * edge) + b)) if v else -math.inf
        if taken <= k * math.log(rate) - rate - math.lgamma(k + 1):
            return k
