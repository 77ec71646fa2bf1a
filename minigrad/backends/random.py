"""Random numbers as PyTorch makes them on the CPU: mirrors ATen's `DistributionTemplates.h`.

The same seed gives the numbers that PyTorch gives, so that a lesson, a forum answer and a test can be compared digit
by digit. A reader finds here which draws of the Mersenne Twister become which number; docs/random.md has the table.
Every distribution takes a stream, a shape and a NumPy dtype, and gives an array in row-major order.
`minigrad.ops.random.factory` wraps these arrays in tensors.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._base.dtype import from_numpy_dtype
from minigrad.backends.stream import DEFAULT as DEFAULT
from minigrad.backends.stream import Stream as Stream
from minigrad.backends.stream import fractions

Array = np.ndarray[Any, Any]
Shape = Sequence[int]
FLOAT64 = np.dtype("float64")
CPP_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
             "bool": "bool", "float16": "c10::Half", "float32": "float", "float64": "double"}
WHOLE = {"float16": 2**11, "float32": 2**24, "float64": 2**53}  # up to here a float holds every integer


def uniform(stream: Stream, shape: Shape, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Array:
    """Numbers of [low, high), all equally likely.

    Raises:
        NotImplementedError: for a dtype that is not a floating point one.
        RuntimeError: if `low` is above `high`, or one of them or their distance is no number of the dtype.
    """
    dtype = floating(dtype, "check_uniform_bounds")
    check_ends(low, high, dtype)
    drawn = fractions(stream, math.prod(shape), dtype)
    kind: Any = drawn.dtype.type
    out: Array = fused(drawn, kind(high) - kind(low), kind(low)).astype(dtype)
    out[out == dtype.type(high)] = dtype.type(low)  # rounding must not reach the upper end
    return out.reshape(tuple(shape))


def fused(x: Any, factor: Any, summand: Any) -> Any:
    """`x * factor + summand`, rounded once, as processors do in one instruction and NumPy does not.

    float32 by way of float64; float64 by the errors of product and sum, which Dekker (1971) and Knuth give exactly.
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
    """A float64 as the sum of two of 26 bits, whose products are exact (Veltkamp's splitting)."""
    shifted = x * (2.0**27 + 1)
    high = shifted - (shifted - x)
    return high, x - high


def check_ends(low: float, high: float, dtype: np.dtype[Any]) -> None:
    """PyTorch's errors for the ends of a uniform distribution."""
    most = float(np.finfo(dtype).max)
    for name, end in (("from", low), ("to", high)):
        if not -most <= end <= most:
            raise RuntimeError(f"{name} is out of bounds for {CPP_NAMES[dtype.name]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{from_numpy_dtype(dtype).type_name}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit")


def normal(stream: Stream, shape: Shape, dtype: Any = np.float32, mean: float = 0.0, std: float = 1.0, *,
           blocks: bool = True) -> Array:
    """Numbers of the normal distribution, by Box and Muller's transform of uniform ones.

    PyTorch transforms 16 and more by blocks, unless the memory that it fills has gaps (`blocks=False`).

    Raises:
        NotImplementedError: for a dtype that is not a floating point one.
        RuntimeError: if `std` is negative.
    """
    dtype = floating(dtype, "normal_kernel_cpu")
    check_std(std)
    n = math.prod(shape)
    drawn = normal_blocks(stream, n, dtype) if n >= 16 and blocks else normal_pairs(stream, n)
    kind: Any = drawn.dtype.type
    return rounded(drawn * kind(std) + kind(mean), dtype).reshape(tuple(shape))


def check_std(std: float) -> None:
    """PyTorch's error for a normal distribution that cannot be."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def rounded(x: Array, dtype: np.dtype[Any]) -> Array:
    """An array in a dtype; float64 becomes float16 by way of float32, as in PyTorch."""
    return (x.astype(np.float32) if dtype == np.float16 else x).astype(dtype)


def normal_blocks(stream: Stream, n: int, dtype: np.dtype[Any]) -> Array:
    """Blocks of 8 + 8 uniforms; where 16 does not divide `n` the last 16 are drawn once more."""
    whole = n - n % 16
    with stream.lock:
        if dtype == np.float16:  # PyTorch fills a block at a time here, and draws nothing for an unfinished one
            drawn = np.zeros(n, np.float32)
            drawn[:whole] = fractions(stream, whole, dtype)
        else:
            drawn = fractions(stream, n, dtype)
        last = fractions(stream, 16, dtype) if n % 16 else None
    box_muller(drawn[:whole].reshape(-1, 2, 8))
    if last is not None:
        drawn[-16:] = last
        box_muller(drawn[-16:].reshape(1, 2, 8))
    return drawn


def box_muller(pairs: Array) -> None:
    """Uniforms to normals, in place: `pairs[:, 0]` gives the radius, `pairs[:, 1]` the angle."""
    kind = pairs.dtype.type
    radius = np.sqrt(kind(-2) * np.log(kind(1) - pairs[:, 0]))
    angle = kind(2 * math.pi) * pairs[:, 1]
    pairs[:, 0], pairs[:, 1] = radius * np.cos(angle), radius * np.sin(angle)


def normal_pairs(stream: Stream, n: int) -> Array:
    """Pairs of doubles, of an angle and a distance each; the second of a pair waits in the stream for the next call."""
    out = np.empty(n)
    with stream.lock:
        if n and stream.cached is not None:
            out[0], stream.cached, start = stream.cached, None, 1
        else:
            start = 0
        angle, far = fractions(stream, 2 * ((n - start + 1) // 2), FLOAT64).reshape(-1, 2).T
        radius = np.sqrt(-2.0 * np.log1p(-far))
        both = np.stack([radius * np.cos(2.0 * math.pi * angle), radius * np.sin(2.0 * math.pi * angle)], 1).ravel()
        out[start:] = both[:n - start]
        if len(both) > n - start:
            stream.cached = float(both[-1])
    return out


def log_normal(stream: Stream, shape: Shape, dtype: Any = np.float32, mean: float = 1.0, std: float = 2.0) -> Array:
    """Numbers whose logarithm is normal with `mean` and `std`.

    Raises:
        NotImplementedError: for a dtype that is not a floating point one.
        RuntimeError: if `std` is not above 0.
    """
    dtype = check_log_normal(dtype, std, "log_normal_cpu")
    drawn = normal_pairs(stream, math.prod(shape))
    return rounded(np.exp(drawn * std + mean), dtype).reshape(tuple(shape))


def check_log_normal(dtype: Any, std: float, kernel: str) -> np.dtype[Any]:
    """The NumPy dtype; PyTorch's errors for what `log_normal` cannot take."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return floating(dtype, kernel)


def exponential(stream: Stream, shape: Shape, dtype: Any = np.float32, lambd: float = 1.0) -> Array:
    """Waiting times: numbers of density `lambd * exp(-lambd * x)`.

    Raises:
        RuntimeError: for a dtype that is not a floating point one, or if `lambd` is not above 0.
    """
    dtype = check_exponential(dtype, lambd)
    drawn = fractions(stream, math.prod(shape), FLOAT64)
    return rounded(-1.0 / lambd * np.log1p(-drawn), dtype).reshape(tuple(shape))


def check_exponential(dtype: Any, lambd: float) -> np.dtype[Any]:
    """The NumPy dtype; PyTorch's errors for what `exponential` cannot take."""
    found: np.dtype[Any] = np.dtype(dtype)
    if found.kind != "f":
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {from_numpy_dtype(found).type_name}")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return found


def cauchy(stream: Stream, shape: Shape, dtype: Any = np.float32, median: float = 0.0, sigma: float = 1.0) -> Array:
    """Where a ray of random angle meets a line: numbers of the Cauchy distribution.

    Raises:
        RuntimeError: for a dtype that is not a floating point one, or if `sigma` is not above 0.
    """
    dtype = check_cauchy(dtype, sigma)
    drawn = fractions(stream, math.prod(shape), FLOAT64)
    return rounded(median + sigma * np.tan(math.pi * (drawn - 0.5)), dtype).reshape(tuple(shape))


def check_cauchy(dtype: Any, sigma: float) -> np.dtype[Any]:
    """The NumPy dtype; PyTorch's errors for what `cauchy` cannot take."""
    found: np.dtype[Any] = np.dtype(dtype)
    if found.kind != "f":
        name = {"short": "short int", "long": "long int"}.get(CPP_NAMES[found.name], CPP_NAMES[found.name])
        raise RuntimeError("Cauchy distribution is a continuous probability distribution. dtype must be a floating "
                           f"point but you specified {name}")
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return found


def geometric(stream: Stream, shape: Shape, dtype: Any = np.float32, p: float = 0.5) -> Array:
    """How many trials it takes until one of chance `p` succeeds: 1, 2, …

    Raises:
        RuntimeError: if `p` is not in (0, 1).
        NotImplementedError: for bool.
    """
    dtype = check_geometric(dtype, p, "geometric_cpu")
    drawn = fractions(stream, math.prod(shape), FLOAT64)
    return np.ceil(np.log(drawn) / math.log1p(-p)).astype(dtype).reshape(tuple(shape))


def check_geometric(dtype: Any, p: float, kernel: str) -> np.dtype[Any]:
    """The NumPy dtype; PyTorch's errors for what `geometric` cannot take."""
    found: np.dtype[Any] = np.dtype(dtype)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if found.kind == "b":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    return found


def bernoulli(stream: Stream, p: Any, shape: Shape, dtype: Any = np.float32) -> Array:
    """1 with probability `p` (a number, or an array that broadcasts to `shape`), else 0.

    For a number PyTorch may use another stream on Intel processors (docs/random.md): the distribution is the same.

    Raises:
        RuntimeError: if `p` is not in [0, 1].
        NotImplementedError: for an array that is not of a floating point dtype.
    """
    if isinstance(p, (int, float)):
        check_chance(p)
        return (fractions(stream, math.prod(shape), FLOAT64) < p).astype(dtype).reshape(tuple(shape))
    floating(p.dtype, "bernoulli_tensor_cpu_p_")
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    chances = np.broadcast_to(p, tuple(shape))
    drawn = fractions(stream, math.prod(shape), p.dtype)
    return (drawn.reshape(tuple(shape)) < chances).astype(dtype)


def check_chance(p: float) -> None:
    """PyTorch's error for what is no chance."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")


def randint(stream: Stream, low: int, high: int | None, shape: Shape, dtype: Any = np.int64) -> Array:
    """Integers of [low, high), by the remainder of a draw (of 64 bits where the range is wide).

    None for `high`: up to the largest integer of the dtype, of a float up to where it still holds every integer.

    Raises:
        RuntimeError: if the range is empty or does not fit into `dtype`.
    """
    dtype = np.dtype(dtype)
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    check_range(low, high, dtype)
    width = (largest(dtype) + 1 if high is None else high) - low
    draw = stream.draw64 if width >= 2**28 else stream.draw
    drawn = draw(math.prod(shape))
    if width < 2**64:  # else every word will do
        drawn %= np.uint64(width)
        drawn += np.uint64(low % 2**64)  # around the end of 64 bits, where `low` is negative
    return drawn.view(np.int64).astype(dtype).reshape(tuple(shape))


def random(stream: Stream, shape: Shape, dtype: Any = np.float32) -> Array:
    """Integers from 0 up to the largest of the dtype, of a float up to where it still holds every integer."""
    dtype = np.dtype(dtype)
    draw = stream.draw64 if dtype.itemsize == 8 else stream.draw
    drawn = draw(math.prod(shape)) % np.uint64(largest(dtype) + 1)
    return drawn.astype(dtype).reshape(tuple(shape))


def largest(dtype: np.dtype[Any]) -> int:
    """The largest integer that is drawn for a dtype."""
    if dtype.kind == "b":
        return 1
    return WHOLE[dtype.name] if dtype.kind == "f" else int(np.iinfo(dtype).max)


def check_range(low: int, high: int | None, dtype: np.dtype[Any]) -> None:
    """PyTorch's error where an end of the range is no number of the dtype, its warning where floats have gaps there."""
    if dtype.kind == "f":
        least, most = float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    elif dtype.kind == "b":
        least, most = 0, 1
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for name, end in (("from", low), ("to - 1", high if high is None else high - 1)):
        if end is None:
            continue
        kind = CPP_NAMES[dtype.name]
        if not least <= end <= most:
            raise RuntimeError(f"{name} is out of bounds for {kind}")
        if dtype.kind == "f" and abs(end) > WHOLE[dtype.name]:
            digits = WHOLE[dtype.name].bit_length() - 1
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {kind} can "
                "support discrete uniform distribution only within this range. This warning will become an error in "
                "version 1.7 release, please fix the code in advance", UserWarning, stacklevel=4)


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
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{from_numpy_dtype(found).type_name}'")
    return found
