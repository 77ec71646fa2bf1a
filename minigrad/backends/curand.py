"""Random numbers as PyTorch generates them on a GPU: mirrors `DistributionTemplates.h` and `Dropout.cu` of ATen.

It shows which words of Philox become which number: cuRAND's uniform numbers are in (0, 1], and its normal ones come
in pairs of a sine and a cosine, of which a small tensor uses only the sines. Every distribution takes a source, the
number of elements, a NumPy dtype and the parameters, which `minigrad.backends.draws` has checked, and returns a flat
array on the source's device. docs/random.md says which of them match PyTorch's in every bit.
"""

import math
from typing import Any

import numpy as np

from minigrad.backends.philox import Later, Source, laid, policy
from minigrad.backends.random import fused, integers

FLOAT32, FLOAT64 = np.dtype("float32"), np.dtype("float64")
# cuRAND's constants in float32: 2**-32, and 2π of them
UNIT, TURN = np.float32(2.0**-32), np.float32(2.0**-32) * np.float32(6.2831855)


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype a kernel computes in: float32 except for float64."""
    return FLOAT64 if dtype == FLOAT64 else FLOAT32


def bits53(x: Any, y: Any) -> Any:
    """53 bits of two words, as float64."""
    return (x ^ y << np.uint64(21)).astype(np.float64)


def fractions(source: Source, n: int, dtype: np.dtype[Any]) -> Any:
    """`n` numbers in (0, 1], as `curand_uniform4` or, for float64, `curand_uniform2_double` returns them."""
    if not n:
        return np.zeros(0, dtype, like=source.handle)
    if dtype == FLOAT64:
        x, y, z, w = source.words(n, 2)
        return laid((bits53(x, y), bits53(z, w)), n) * 2.0**-53 + 2.0**-54
    return scaled(laid(source.words(n, 4), n))


def scaled(words: Any) -> Any:
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
        return laid((radius * np.sin(angle), radius * np.cos(angle)), n)
    words = source.words(n, 4)
    if n <= words[0].shape[1]:  # each thread computes one element: the first sine
        return pair(*words[:2])[0].reshape(-1)[:n]
    return laid((*pair(*words[:2]), *pair(*words[2:])), n)


def pair(x: Any, y: Any) -> tuple[Any, Any]:
    """The Box-Muller transform: two normal numbers from two words."""
    radius = np.sqrt(np.float32(-2) * np.log(scaled(x)))
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
    return spread(source, n, dtype, mean, std).astype(dtype)


def spread(source: Source, n: int, dtype: np.dtype[Any], mean: float, std: float) -> Any:
    """Normal numbers, not yet rounded to the dtype."""
    kind: Any = wide(dtype).type
    return fused(standard_normal(source, n, wide(dtype)), kind(std), kind(mean))


def log_normal(source: Source, n: int, dtype: np.dtype[Any], mean: float, std: float) -> Any:
    return np.exp(spread(source, n, dtype, mean, std)).astype(dtype)


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
    drawn = scaled(np.stack(words, 1).reshape(-1)[:n])
    return (drawn <= chances.astype(wide(dtype))).astype(dtype)


def dropout_mask(source: Source, n: int, chance: float, dtype: np.dtype[Any], vector: int) -> Any:
    """The mask of `n` elements that fused dropout keeps, each with probability `chance`: bools, in memory order.

    `vector`: how many adjacent elements a thread processes at once; 1: they are apart, as for the distributions.
    """
    limit = wide(dtype).type(chance)
    if vector == 1:
        return scaled(laid(source.words(n, 4), n)) < limit
    threads, calls = policy(n, 4, source.most)
    at = source.advance(4 * calls)
    words = max(vector, 4) // 4  # draws of four words for one vector
    vectors = source.numbers(n // vector)
    turn, thread = vectors // np.uint64(threads), vectors % np.uint64(threads)
    drawn = [each for k in range(words) for each in source.at(at, turn * np.uint64(words) + np.uint64(k), thread)]
    return scaled(np.stack(drawn[:vector], 1).reshape(-1)) < limit


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
    return order[islands(source, same, offset)] if n > 1 and bool(same.any()) else order


def islands(source: Source, same: Any, offset: int | Later) -> Any:
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
