"""Distributions for all devices: `minigrad.backends.random` draws from a stream on the CPU,
`minigrad.backends.curand` from a source on a GPU.

The same seed gives PyTorch's numbers, so that a lesson, a forum answer and a test can be compared digit by digit. The
parameters of each distribution are checked here, with PyTorch's errors. Every distribution takes a stream, a shape and
a NumPy dtype, and returns an array in row-major order, which `minigrad.ops.random` wraps in a tensor.

Sampling with probabilities from an array mirrors `multinomial` and `poisson` of ATen's `Distributions.cpp`, with
classical methods: categories by binary search in the running sum of their probabilities, and without replacement by a
race of exponential waiting times; Poisson counts by Knuth's product of uniform numbers, and for rates of 10 and more by
Hörmann's transformed rejection (PTRS, 1993).
"""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from minigrad._base.contexts import quiet
from minigrad._base.dtype import BFLOAT16, as_dtype, float_info, from_numpy_dtype, numpy_dtype_of
from minigrad.backends import curand, intp, random
from minigrad.backends.batched import CURRENT, check_randomness, for_examples, in_memory
from minigrad.backends.random import DEFAULT as DEFAULT
from minigrad.backends.random import Stream as Stream
from minigrad.backends.random import fractions
from minigrad.backends.registry import CPU_ONLY

Array = np.ndarray[Any, Any]
Shape = Sequence[int]
FLOAT64 = np.dtype("float64")
CPP_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
             "bool": "bool", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
             "float64": "double"}
# Up to these bounds a float represents every integer.
WHOLE = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24, "float64": 2**53}


def drawn(here: Callable[..., Any], there: Callable[..., Any], stream: Any, shape: Shape, *parameters: Any) -> Any:
    """Draw by `here` on the CPU or by `there` on a GPU, which is current meanwhile: an array of this shape."""
    if CURRENT.inside:
        return for_examples(partial(drawn, here, there, stream), shape, parameters)
    if type(stream) is Stream:
        return here(stream, math.prod(shape), *parameters).reshape(tuple(shape))
    if any(each is BFLOAT16 for each in parameters):
        raise RuntimeError(CPU_ONLY)
    with stream.on():
        return there(stream, math.prod(shape), *parameters).reshape(tuple(shape))


def device_type(stream: Any) -> str:
    """The device type of a stream, as in the names of PyTorch's kernels."""
    return "cpu" if type(stream) is Stream else "cuda"


def uniform(stream: Any, shape: Shape, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Any:
    """Uniformly distributed numbers in [low, high). Raises NotImplementedError for a dtype that is not floating point;
    RuntimeError if `low` is above `high`, or the dtype cannot represent one of them or their difference."""
    dtype = floating_dtype(dtype, "check_uniform_bounds")
    most = float(float_info(dtype).max)
    for name, end in (("from", low), ("to", high)):
        if not -most <= end <= most:
            raise RuntimeError(f"{name} is out of bounds for {CPP_NAMES[dtype.name]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{from_numpy_dtype(dtype).type_name}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit")
    return drawn(random.uniform, curand.uniform, stream, shape, dtype, low, high)


@quiet
def normal(stream: Any, shape: Shape, dtype: Any = np.float32, mean: float = 0.0, std: float = 1.0, *,
           blocks: bool = True) -> Any:
    """Normally distributed numbers; `blocks=False` if the memory that they fill has gaps, which changes PyTorch's draws
    on the CPU. Raises NotImplementedError for a dtype that is not floating point; RuntimeError if `std` is negative."""
    dtype = floating_dtype(dtype, f"normal_kernel_{device_type(stream)}")
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return drawn(random.normal, curand.normal, stream, shape, dtype, mean, std, blocks)


@quiet
def log_normal(stream: Any, shape: Shape, dtype: Any = np.float32, mean: float = 1.0, std: float = 2.0) -> Any:
    """Numbers whose logarithm is normal with `mean` and `std`. Raises NotImplementedError for a dtype that is not
    floating point; RuntimeError if `std` is not positive."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    dtype = floating_dtype(dtype, f"log_normal_{device_type(stream)}")
    return drawn(random.log_normal, curand.log_normal, stream, shape, dtype, mean, std)


@quiet
def exponential(stream: Any, shape: Shape, dtype: Any = np.float32, lambd: float = 1.0) -> Any:
    """Exponentially distributed numbers, of density `lambd * exp(-lambd * x)`. Raises RuntimeError for a dtype that is
    not floating point, or if `lambd` is not positive."""
    dtype = numpy_dtype_of(dtype)
    if dtype.kind != "f":
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {from_numpy_dtype(dtype).type_name}")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return drawn(random.exponential, curand.exponential, stream, shape, dtype, lambd)


@quiet
def cauchy(stream: Any, shape: Shape, dtype: Any = np.float32, median: float = 0.0, sigma: float = 1.0) -> Any:
    """Cauchy-distributed numbers: where a ray of random angle meets a line. Raises RuntimeError for a dtype that is not
    floating point, or if `sigma` is not positive."""
    dtype = numpy_dtype_of(dtype)
    if dtype.kind != "f":
        name = {"short": "short int", "long": "long int"}.get(CPP_NAMES[dtype.name], CPP_NAMES[dtype.name])
        raise RuntimeError("Cauchy distribution is a continuous probability distribution. dtype must be a floating "
                           f"point but you specified {name}")
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return drawn(random.cauchy, curand.cauchy, stream, shape, dtype, median, sigma)


@quiet
def geometric(stream: Any, shape: Shape, dtype: Any = np.float32, p: float = 0.5) -> Any:
    """The number of trials until one with probability `p` succeeds: 1, 2, … Raises RuntimeError if `p` is not in (0,
    1); NotImplementedError for bool."""
    dtype = numpy_dtype_of(dtype)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if dtype.kind == "b":
        raise NotImplementedError(f"\"geometric_{device_type(stream)}\" not implemented for 'Bool'")
    return drawn(random.geometric, curand.geometric, stream, shape, dtype, p)


def bernoulli(stream: Any, p: Any, shape: Shape, dtype: Any = np.float32) -> Any:
    """1 with probability `p` (a number, or an array that broadcasts to `shape`), else 0.

    For a number PyTorch may use another stream on Intel processors (docs/random.md), with the same distribution.
    Probabilities in an array on a GPU are not checked, which would block: PyTorch's kernel asserts. Raises RuntimeError
    if `p` is not in [0, 1]; NotImplementedError for an array whose dtype is not floating point.
    """
    dtype, kind = numpy_dtype_of(dtype), device_type(stream)
    if isinstance(p, (int, float)):
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        return drawn(random.bernoulli, curand.bernoulli, stream, shape, dtype, p)
    floating_dtype(p.dtype, f"bernoulli_tensor_{kind}_p_")
    if kind == "cpu" and not CURRENT.inside and not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    chances = np.broadcast_to(p, tuple(shape)).reshape(-1)
    return drawn(random.bernoulli, curand.bernoulli_each, stream, shape, dtype, chances)


def randint(stream: Any, low: int, high: int | None, shape: Shape, dtype: Any = np.int64) -> Any:
    """Integers in [low, high), by the remainder of a draw.

    None for `high`: up to the largest integer of the dtype, for a float up to where it represents every integer. Raises
    RuntimeError if the range is empty or does not fit into `dtype`.
    """
    dtype = numpy_dtype_of(dtype)
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    check_range(low, high, dtype)
    width = (largest(dtype) + 1 if high is None else high) - low
    return drawn(random.integers, random.integers, stream, shape, dtype, low, width)


def random_integers(stream: Any, shape: Shape, dtype: Any = np.float32) -> Any:
    """Integers from 0 to the largest of the dtype, for a float up to where it represents every integer."""
    dtype = numpy_dtype_of(dtype)
    draw = random.integers_of_dtype
    return drawn(draw, draw, stream, shape, dtype, largest(dtype))


def randperm(stream: Any, n: int) -> Any:
    """The numbers 0 to n - 1 in random order; inside of `vmap`, in one for each example."""
    def of_each(draw: Callable[..., Any], stream: Any, count: int) -> Any:
        return np.concatenate([draw(stream, n) for _ in range(count // n)]) if n and count > n else draw(stream, count)

    return drawn(partial(of_each, random.randperm), partial(of_each, curand.randperm), stream, (n,))


def largest(dtype: np.dtype[Any]) -> int:
    """The largest integer drawn for a dtype."""
    if dtype.kind == "b":
        return 1
    return WHOLE[dtype.name] if dtype.kind == "f" else int(np.iinfo(dtype).max)


def check_range(low: int, high: int | None, dtype: np.dtype[Any]) -> None:
    """PyTorch's error if a bound is outside the dtype's range, its warning if floats have gaps there."""
    if dtype.kind == "f":
        least, most = float(float_info(dtype).min), float(float_info(dtype).max)
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
                "version 1.7 release, please fix the code in advance", UserWarning, stacklevel=3)


def floating_dtype(dtype: Any, kernel: str) -> np.dtype[Any]:
    """The NumPy dtype; PyTorch's error unless it is floating point."""
    found: np.dtype[Any] = numpy_dtype_of(dtype)
    if found.kind != "f":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{from_numpy_dtype(found).type_name}'")
    return found


def multinomial(stream: Any, chances: Any, count: int, replacement: bool) -> Any:
    """`count` categories per row of `chances` (an array of one or two dimensions), which need not sum to 1."""
    def of_all(own: Any) -> Any:
        return multinomial(stream, own.reshape(-1, chances.shape[-1]), count, replacement).reshape(
            (*own.shape[:-1], count))

    if CURRENT.inside:
        check_randomness(chances)
        found = in_memory(of_all, chances)
        return found if found is not None else for_examples(
            lambda shape, own: of_all(own.reshape((*shape[:-1], -1))), (*chances.shape[:-1], count), (chances,))
    if replacement and count > 1 and type(stream) is not Stream:
        return with_replacement_on_gpu(stream, chances, count)
    if replacement and count > 1:
        drawn = np.empty((*chances.shape[:-1], count), np.int64)
        for row, out in zip(chances.reshape(-1, chances.shape[-1]), drawn.reshape(-1, count), strict=True):
            out[:] = with_replacement(stream, row, count)
        return drawn
    if chances.ndim == 2 and 0 < chances.strides[0] < chances.strides[1]:  # the numbers lie in memory as the chances do
        waits = exponential(stream, chances.shape[::-1], chances.dtype).T
    else:
        waits = exponential(stream, chances.shape, chances.dtype)
    speed = chances / waits  # the likelier, the sooner it arrives
    if count == 1:
        return intp.argmax(speed, -1)[..., None]
    return intp.argsort(-speed, -1, kind="stable")[..., :count].copy()


def with_replacement(stream: Stream, chances: Array, count: int) -> Any:
    """`count` categories, each drawn from all of them; float16 is summed in float32."""
    reached = np.cumsum(chances, dtype=np.result_type(chances.dtype, np.float32))
    reached /= reached[-1]
    reached[-1] = 1
    return intp.searchsorted(reached, fractions(stream, count, FLOAT64))


def with_replacement_on_gpu(source: Any, chances: Any, count: int) -> Any:
    """The same on a device, all rows at once: for each draw, the number of running sums it exceeds."""
    reached = np.cumsum(chances, -1, dtype=np.float64)
    drawn = curand.fractions(source, math.prod((*chances.shape[:-1], count)), FLOAT64)
    height = drawn.reshape((*chances.shape[:-1], count)) * reached[..., -1:]  # in (0, the sum of all]
    return (reached[..., None, :] < height[..., None]).sum(-1)


@quiet
def poisson(stream: Any, rates: Any) -> Array:
    """For each rate, how often an event occurs in a period in which it occurs `rate` times on average. Raises
    NotImplementedError for rates whose dtype is not floating point, and on a GPU; RuntimeError for a negative rate."""
    check_randomness(rates)
    if type(stream) is not Stream:
        raise NotImplementedError("poisson is not implemented for tensors on a GPU\n\nminigrad draws these numbers on "
                                  "the CPU only: use poisson(rates.cpu()).")
    floating_dtype(rates.dtype, "poisson_cpu")
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    with stream.lock:
        drawn = Fractions(stream)
        counts = [(large_poisson if rate >= 10 else small_poisson)(rate, drawn) for rate in rates.ravel().tolist()]
        drawn.close()
    return as_dtype(np.array(counts), rates.dtype).reshape(rates.shape)


class Fractions(Iterator[float]):
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
        """Leave the stream right after the last fraction used, with the normal number that it keeps by now."""
        kept = self.stream.cached
        self.stream.set_state_bytes(self.start)
        self.stream.draw64(self.used)
        self.stream.cached = kept


def small_poisson(rate: float, drawn: Iterator[float]) -> int:
    """Knuth: how many uniform numbers can be multiplied before the product falls to exp(-rate)."""
    if rate == 0:
        return 0
    count, product, least = -1, 1.0, math.exp(-rate)
    while product > least:
        product *= next(drawn)
        count += 1
    return count


def large_poisson(rate: float, drawn: Iterator[float]) -> int:
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
