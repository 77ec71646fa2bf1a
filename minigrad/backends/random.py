"""Random numbers as PyTorch generates them on the CPU: mirrors ATen's `DistributionTemplates.h`.

It shows which draws of the Mersenne Twister become which number; docs/random.md has the table. Every distribution
takes a stream, the number of elements, a NumPy dtype and the parameters, which `minigrad.backends.draws` has checked,
and returns a flat array.
"""

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import HALVES, as_dtype
from minigrad.backends.stream import Stream, fractions

Array = np.ndarray[Any, Any]
FLOAT64 = np.dtype("float64")


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
