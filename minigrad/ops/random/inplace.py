"""Fills tensors with random numbers, such as `x.normal_()`; also `bernoulli`, `poisson` and `multinomial`.

The derivative of each is zero, since the result does not depend on the old values. The numbers come from
`minigrad.backends.draws` and fill memory in the order of its addresses.
"""

import operator
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import from_numpy_dtype
from minigrad.backends import draws
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Node, Tensor, plain, record1, record2
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops._dispatch.memory_order import in_dense_order, in_memory_order, inverse, memory_order
from minigrad.ops.index.flat_indexing import raw
from minigrad.ops.random.generator import Generator, stream_of

__all__ = ["bernoulli", "multinomial", "poisson"]

Distribution = Callable[..., Any]


def stream_for(a: Tensor, generator: Generator | None) -> Any:
    """The stream for random numbers of a tensor."""
    return stream_of(generator, device_like(a.array))


def random_like(x: Any, stream: Any, draw: Distribution, *parameters: Any) -> Any:
    """Numbers of a distribution in the shape, dtype and memory order of an array."""
    options = {"blocks": x.flags.c_contiguous} if draw is draws.normal else {}
    return in_memory_order(x, lambda shape: draw(stream, shape, x.dtype, *parameters, **options))


def integers(stream: Any, shape: tuple[int, ...], dtype: Any, low: int, high: int | None) -> Any:
    """Integers in [low, high)."""
    return draws.randint(stream, low, high, shape, dtype)


def successes(stream: Any, shape: tuple[int, ...], dtype: Any, p: Any) -> Any:
    """1 with probability `p`, else 0."""
    return draws.bernoulli(stream, p, shape, dtype)


def long(value: Any) -> int:
    """An integer of 64 bits; a TypeError for a bool."""
    if isinstance(value, bool):
        raise TypeError("bool")
    number = operator.index(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError("Overflow when unpacking long long")
    return number


def by_name(names: tuple[str, ...], positional: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a function whose first parameter may be omitted; a TypeError for any others."""
    count = len(positional) + len(named)
    if not len(names) - 1 <= count <= len(names):
        raise TypeError(names)
    arguments = dict(zip(names[-count:], positional, strict=False)) | named
    if arguments.keys() != set(names[-count:]):
        raise TypeError(names)
    return arguments


class RandomFill(Node, number=None):
    """Replaces all elements by `draw(stream, shape, dtype, *parameters)`."""

    draw: ClassVar[Distribution]

    @classmethod
    def forward(cls, a: Tensor, stream: Any, *parameters: Any) -> Tensor:
        """The random numbers for `a`."""
        return record1(cls, random_like(raw(a), stream, cls.draw, *parameters), a)

    def backward(self, xp: Any, g: Any, *_: Any) -> tuple[Any, ...]:
        return tuple([xp.zeros(g.shape, g) for _ in self.next])


def random_fill(name: str, draw: Distribution, number: int = 0) -> Any:
    """The node that fills a tensor with numbers of one distribution."""
    return type(name, (RandomFill,), {"__module__": __name__, "draw": staticmethod(draw)}, number=number)


def fill(name: str, draw: Distribution, doc: str, **defaults: Any) -> Callable[..., Tensor]:
    """Register a method such as `Tensor.log_normal_`; `defaults`: its parameters, with None for a required one."""
    forward = random_fill(name.title().replace("_", ""), draw).forward

    def method(self: Tensor, *values: float, generator: Generator | None = None, **named: float) -> Tensor:
        parameters = dict(zip(defaults, values, strict=False)) | named
        if len(parameters) != len(values) + len(named) or parameters.keys() - defaults.keys():
            raise TypeError(name)
        return in_place(forward, self, stream_for(self, generator), *map(float, (defaults | parameters).values()))

    method.__doc__, method.__name__, method.__qualname__ = doc, name, name
    return tensor_method(method)


uniform_ = fill("uniform_", draws.uniform, "Fill with uniformly distributed numbers in [from, to).",
                **{"from": 0, "to": 1})
normal_ = fill("normal_", draws.normal, "Fill with normally distributed numbers.", mean=0, std=1)
log_normal_ = fill("log_normal_", draws.log_normal,
                   "Fill with numbers whose logarithm is normal with `mean` and `std`.", mean=1, std=2)
exponential_ = fill("exponential_", draws.exponential,
                    "Fill with exponentially distributed numbers, of density `lambd * exp(-lambd * x)`.", lambd=1)
cauchy_ = fill("cauchy_", draws.cauchy,
               "Fill with Cauchy-distributed numbers; half of them are within `sigma` of the median.",
               median=0, sigma=1)
geometric_ = fill("geometric_", draws.geometric,
                  "Fill with the number of trials until one with probability `p` succeeds: 1, 2, …", p=None)

RandomFromTo = random_fill("Random", integers)
RandomTo = random_fill("Random", integers, 1)
Random = random_fill("Random", draws.random_integers, 2)  # all integers from 0 that the dtype represents without a gap
BernoulliNumber = random_fill("Bernoulli", successes, 2)  # 1 with one probability for all elements


class Bernoulli(Node):
    """1 with the probability given by the element itself."""

    @staticmethod
    def forward(a: Tensor, stream: Any) -> Tensor:
        return record1(Bernoulli, draws.bernoulli(stream, raw(a), a.array.shape, a.array.dtype), a)

    backward = RandomFill.backward


class BernoulliOf(Node, name="Bernoulli", number=1):
    """1 with the probabilities of another tensor, whose gradient is zero too."""

    @staticmethod
    def forward(a: Tensor, stream: Any, p: Tensor) -> Tensor:
        x, chances = raw(a), p.array
        if chances.ndim > x.ndim:
            raise RuntimeError(
                f"expand({p.type()}{{{list(chances.shape)}}}, size={list(x.shape)}): the number of sizes provided "
                f"({x.ndim}) must be greater or equal to the number of dimensions in the tensor ({chances.ndim})")
        chances = p.expand(x.shape).array
        out = in_dense_order(np.empty_like, x)
        axes = memory_order(out.shape, out.strides)
        drawn = draws.bernoulli(stream, np.transpose(chances, axes), np.transpose(x, axes).shape, x.dtype)
        input_metadata = None, (p.array.shape, p.array.dtype)
        return record2(BernoulliOf, drawn.transpose(inverse(axes)), a, p, input_metadata=input_metadata)

    backward = RandomFill.backward


class Poisson(Node):
    @staticmethod
    def forward(a: Tensor, stream: Any) -> Tensor:
        return record1(Poisson, draws.poisson(stream, raw(a)), a)

    backward = RandomFill.backward


@tensor_method
def random_(self: Tensor, *ends: Any, generator: Generator | None = None, **named: Any) -> Tensor:
    """Fill with integers: `random_()`, `random_(to)` or `random_(from, to)`, excluding `to` (None: no bound)."""
    stream = stream_for(self, generator)
    if not ends and not named:
        return in_place(Random.forward, self, stream)
    arguments = by_name(("from", "to"), ends, named)
    low, high = arguments.get("from"), arguments["to"]
    if len(arguments) == 1:
        return in_place(RandomTo.forward, self, stream, 0, long(high))
    return in_place(RandomFromTo.forward, self, stream, long(low), None if high is None else long(high))


@tensor_method
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 with probability `p` (a number, or a tensor that broadcasts), else 0."""
    if isinstance(p, Tensor):
        return in_place(BernoulliOf.forward, self, stream_for(self, generator), p)
    return in_place(BernoulliNumber.forward, self, stream_for(self, generator), float(p))


@op(method=True)
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability given by the element of `input`, or `p` for all; else 0.

    Raises:
        RuntimeError: for a probability that is not in [0, 1].
        NotImplementedError: for integer probabilities.
    """
    stream = stream_for(input, generator)
    if p is None:
        return Bernoulli.forward(input, stream)
    return BernoulliNumber.forward(input.detach(), stream, float(p))


@op
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A count from the Poisson distribution for each rate.

    Raises:
        RuntimeError: for a negative rate.
        NotImplementedError: for integers.
    """
    return Poisson.forward(input, stream_for(input, generator))


@op(method=True)
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:
    """`num_samples` indices into each row of `input`, whose elements are relative probabilities; int64.

    Raises:
        RuntimeError: for more than two dimensions, for probabilities that are negative, infinite, NaN or all zero, for
            integers, and for more samples than non-zero elements without replacement.
    """
    chances = raw(input)
    if not 1 <= chances.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if chances.dtype.kind != "f":
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{from_numpy_dtype(chances.dtype).type_name}")
    num_samples = long(num_samples)
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > chances.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    here = backend_of(chances) is None  # checking a device would block
    if here and not (np.isfinite(chances) & (chances >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if here and (chances.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    stream = stream_for(input, generator)
    with stream.lock:
        return plain(draws.multinomial(stream, chances, num_samples, bool(replacement)))
