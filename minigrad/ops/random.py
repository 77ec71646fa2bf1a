"""Random numbers: `Generator` and the functions that seed it, as in `torch/random.py`; `rand`, `normal`, `randperm` and
their like; and those that fill a tensor, such as `x.normal_()`.

The same seed gives PyTorch's numbers on the same kind of device: put `manual_seed(0)` into a PyTorch program and
compare. docs/random.md says which numbers, and where they cannot agree. Each device has its own default generator;
`manual_seed` seeds them all, including those that are first used later.

The numbers come from `minigrad.backends.draws` and fill memory in the order of its addresses. The derivative of each
op in place is zero, since the result does not depend on the old values.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from minigrad._base.contexts import quiet
from minigrad._base.device import device as Device
from minigrad._base.device import memory_format
from minigrad._base.dtype import as_dtype, from_numpy_dtype
from minigrad._base.dtype import dtype as DType
from minigrad._base.type_name import type_name
from minigrad.backends import draws
from minigrad.backends.batched import Batched, check_randomness, in_memory
from minigrad.backends.curand import Philox, Source
from minigrad.backends.random import DEFAULT, Stream
from minigrad.backends.registry import (
    HOST,
    backend_of,
    device_guard,
    device_handle,
    device_like,
    is_host,
    resolve_device,
)
from minigrad.core import Node, Tensor, plain, record1, record2, record_n
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import broadcast_shape, op, refuse, tensor_method
from minigrad.ops._dispatch.memory_order import in_dense_order, in_format, in_memory_order, inverse, memory_order
from minigrad.ops.factory import new_leaf, numpy_dtype, size_of
from minigrad.ops.index.flat_indexing import raw

__all__ = [
    "Generator", "bernoulli", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "multinomial",
    "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "seed",
    "set_rng_state",
]

NO_OFFSET = "CPU Generator does not use offset"


class Generator:
    """A separate source of random numbers: `rand(3, generator=Generator().manual_seed(42))`."""

    __slots__ = ("__weakref__", "device", "stream")

    device: Device
    """The device of the generator."""

    def __init__(self, device: str | Device = "cpu") -> None:
        self.device = resolve_device(device)
        self.stream: Stream | Philox = Stream() if self.device.type == "cpu" else Philox()

    def __reduce__(self) -> tuple[Any, ...]:  # so that copies and pickles continue with the same numbers
        return Generator, (str(self.device),), self.get_state()

    def __setstate__(self, state: Tensor) -> None:
        self.set_state(state)

    def manual_seed(self, seed: int) -> "Generator":
        """Restart from `seed`; return this generator."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self.stream.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Restart from an unpredictable seed; return the seed."""
        return self.stream.seed()

    def initial_seed(self) -> int:
        """The seed from which this generator started."""
        return self.stream.initial_seed()

    def get_state(self) -> Tensor:
        """The state, as a tensor of bytes in PyTorch's layout."""
        return plain(np.frombuffer(self.stream.state_bytes(), np.uint8).copy())

    def set_state(self, new_state: Any, /) -> "Generator":
        """Restore a state from `get_state`; return this generator. Raises TypeError if it is not a tensor of bytes, and
        RuntimeError if it has another size, or is not a valid state."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type_name(new_state)}")
        if new_state.array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.stream.set_state_bytes(new_state.array.tobytes())
        return self

    def clone_state(self) -> "Generator":
        """A separate generator in the same state."""
        other = Generator(self.device)
        other.stream.set_state_bytes(self.stream.state_bytes())
        return other

    def graphsafe_get_state(self) -> "Generator":
        """Another generator that shares this one's state; GPU only."""
        self.philox(NotImplementedError("graphsafe_get_state is not supported in this Generator"))
        other = Generator(self.device)
        other.stream = self.stream
        return other

    def graphsafe_set_state(self, state: "Generator", /) -> None:
        """Share the state of another generator; GPU only."""
        self.philox(NotImplementedError("graphsafe_set_state is not supported in this Generator"))
        self.stream = state.stream

    def get_offset(self) -> int:
        """The position of a GPU generator in its sequence. Raises RuntimeError for a CPU generator."""
        return self.philox(RuntimeError(NO_OFFSET)).offset

    def set_offset(self, offset: int, /) -> None:
        """Set the position of a GPU generator, a multiple of 4. Raises RuntimeError for a CPU generator, and for
        another number."""
        self.philox(RuntimeError(NO_OFFSET)).set_offset(offset)

    def philox(self, error: Exception) -> Philox:
        """The state of a GPU generator; raise the error for a CPU generator."""
        if isinstance(self.stream, Stream):
            raise error
        return self.stream


default_generator = Generator()
default_generator.stream = DEFAULT


class OnDevices:
    """The default generators of devices in use, and the seed for those used later (None: unpredictable)."""

    generators: ClassVar[dict[Device, Generator]] = {}
    seed: int | None = None


def default_of(where: Device) -> Generator:
    """The default generator of a device."""
    if where.type == "cpu":
        return default_generator
    if where not in OnDevices.generators:
        OnDevices.generators[where] = generator = Generator(where)
        if OnDevices.seed is None:
            generator.seed()
        else:
            generator.manual_seed(OnDevices.seed)
    return OnDevices.generators[where]


def stream_of(generator: Generator | None, handle: Any = HOST) -> Any:
    """The stream for numbers on a device; by default that of its default generator. Raises RuntimeError for a generator
    of another device type."""
    if generator is None and is_host(handle):
        return DEFAULT
    kind = "cpu" if is_host(handle) else handle.backend.type
    if generator is None:
        generator = default_of(Device(kind, handle.index))
    if generator.device.type != kind:
        raise RuntimeError(f"Expected a '{kind}' device type for generator but found '{generator.device.type}'")
    if isinstance(generator.stream, Stream):
        return generator.stream
    properties = handle.backend.properties(handle.index)
    threads = properties["multi_processor_count"] * properties["max_threads_per_multi_processor"]
    return Source(generator.stream, handle, threads)


def stream_beside(array: Any) -> Any:
    """The default stream for numbers on the device of an array."""
    return stream_of(None, device_like(array))


@op
def manual_seed(seed: int) -> Generator:
    """Restart the default generators of all devices from `seed`; return that of the CPU."""
    manual_seed_of_devices(int(seed))
    return default_generator.manual_seed(int(seed))


def manual_seed_of_devices(seed: int) -> None:
    """Restart the default generators of all devices but the CPU from `seed`, now or when they are first used."""
    OnDevices.seed = seed
    for generator in OnDevices.generators.values():
        generator.manual_seed(seed)


def device_states(devices: Iterable[Device] | None) -> dict[Device, Tensor]:
    """The states of the default generators of devices; None: of all that have been used."""
    chosen = list(OnDevices.generators) if devices is None else devices
    return {where: default_of(where).get_state() for where in chosen}


def set_device_states(states: dict[Device, Tensor], no_others: bool = False) -> None:
    """Restore the result of `device_states`; `no_others`: generators created since then restart when used."""
    for where, state in states.items():
        default_of(where).set_state(state)
    for where in [key for key in OnDevices.generators if no_others and key not in states]:
        del OnDevices.generators[where]


@op
def seed() -> int:
    """Restart the default generators of all devices from an unpredictable seed; return the seed."""
    chosen = default_generator.seed()
    manual_seed_of_devices(chosen)
    return chosen


@op
def initial_seed() -> int:
    """The seed from which the default generator started."""
    return default_generator.initial_seed()


@op
def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


@op
def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
    default_generator.set_state(new_state)


Distribution = Callable[..., Any]


def stream_for(a: Tensor, generator: Generator | None) -> Any:
    """The stream for random numbers of a tensor."""
    return stream_of(generator, device_like(a.array))


def random_like(x: Any, stream: Any, draw: Distribution, *parameters: Any) -> Any:
    """Numbers of a distribution in the shape, dtype and memory order of an array."""
    drawn = in_memory(lambda whole: random_like(whole, stream, draw, *parameters), x)
    if drawn is not None:
        return drawn
    if type(x) is Batched:  # the numbers of one example, which lie in memory of their own
        return draw(stream, x.shape, x.dtype, *parameters)
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
        """The random numbers for `a`. Raises RuntimeError for one array for all examples, if they are to differ."""
        check_randomness(written=a.array)
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
        check_randomness(p.array, written=x)
        chances = p.expand(x.shape).array
        drawn = in_memory(functools.partial(BernoulliOf.values, stream), x, chances)
        if drawn is None:
            drawn = BernoulliOf.values(stream, x, chances)
        input_metadata = None, (p.array.shape, p.array.dtype)
        return record2(BernoulliOf, drawn, a, p, input_metadata=input_metadata)

    @staticmethod
    def values(stream: Any, x: Any, chances: Any) -> Any:
        """What is drawn for an array, in the order of its elements in memory."""
        out = in_dense_order(np.empty_like, x)
        axes = memory_order(out.shape, out.strides)
        drawn = draws.bernoulli(stream, np.transpose(chances, axes), np.transpose(x, axes).shape, x.dtype)
        return drawn.transpose(inverse(axes))

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
    """1 with the probability given by the element of `input`, or `p` for all; else 0. Raises RuntimeError for a
    probability that is not in [0, 1], and NotImplementedError for integer probabilities."""
    stream = stream_for(input, generator)
    if p is None:
        return Bernoulli.forward(input, stream)
    check_randomness(input.array)
    return record1(BernoulliNumber, draws.bernoulli(stream, float(p), input.array.shape, input.array.dtype),
                   input.detach())


@op
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A count from the Poisson distribution for each rate. Raises RuntimeError for a negative rate, and
    NotImplementedError for integers."""
    return Poisson.forward(input, stream_for(input, generator))


@op(method=True)
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:
    """`num_samples` indices into each row of `input`, whose elements are relative probabilities; int64.

    Raises RuntimeError for more than two dimensions, for probabilities that are negative, infinite, NaN or all zero,
    for integers, and for more samples than non-zero elements without replacement.
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


Where = str | Device | None


def drawn(name: str, draw: Any, what: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """Register the two forms of one distribution: `name(2, 3)` or `name((2, 3))`, and `name_like(tensor)`."""
    def create(*size: Any, generator: Generator | None = None, dtype: DType | None = None, device: Where = None,
               requires_grad: bool = False) -> Tensor:
        array = draw(stream_of(generator, device_handle(device)), size_of(size, name), numpy_dtype(dtype, what=name))
        return new_leaf(array, requires_grad, name, device)

    def like(input: Tensor, *, dtype: DType | None = None, device: Where = None, requires_grad: bool = False,
             generator: Generator | None = None, memory_format: memory_format | None = None) -> Tensor:
        x, handle = empty_like_input(input, dtype, f"{name}_like", device, memory_format)
        return new_leaf(random_like(x, stream_of(generator, handle), draw), requires_grad, f"{name}_like")

    create.__doc__, like.__doc__ = what, f"`{name}` with the shape and dtype of `input`."
    return op(name=name)(create), op(name=f"{name}_like")(like)


def empty_like_input(input: Tensor, dtype: DType | None, what: str, device: Where,
                     format: memory_format | None) -> tuple[Any, Any]:
    """An array with the shape and dtype of `input`, or another dtype, in its memory order or in a format; and the
    device for the numbers."""
    x = raw(input.array)
    array = in_dense_order(functools.partial(np.empty_like, dtype=numpy_dtype(dtype, None, what)), x)
    return in_format(array, format), device_like(x) if device is None else device_handle(device)


rand, rand_like = drawn("rand", draws.uniform, "Uniform numbers in [0, 1): `rand(2, 3)` or `rand((2, 3))`.")
randn, randn_like = drawn("randn", draws.normal, "Numbers from the standard normal distribution.")


@op
def randint(*bounds: Any, generator: Generator | None = None, dtype: DType | None = None, device: Where = None,
            requires_grad: bool = False, **named: Any) -> Tensor:
    """Integers in [low, high): `randint(high, size)` or `randint(low, high, size)`."""
    arguments = by_name(("low", "high", "size"), bounds, named)
    if not isinstance(arguments["size"], (tuple, list)):
        raise TypeError("size")
    low, high = long(arguments.get("low", 0)), long(arguments["high"])
    stream, size = stream_of(generator, device_handle(device)), size_of((arguments["size"],), "randint")
    array = draws.randint(stream, low, high, size, numpy_dtype(dtype, np.int64, "randint"))
    return new_leaf(array, requires_grad, "randint", device)


RANGE_OF = {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int"}


@op
def randperm(n: int, *, generator: Generator | None = None, dtype: DType | None = None, device: Where = None,
             requires_grad: bool = False) -> Tensor:
    """The numbers 0 to n - 1 in random order. Raises RuntimeError if `n` is negative, or the dtype cannot represent
    that many numbers, and NotImplementedError for bool."""
    handle = device_handle(device)
    count, = size_of((long(n),), "randperm")
    kind = numpy_dtype(dtype, np.dtype("int64"), "randperm")
    if kind.kind == "f" and count > draws.WHOLE[kind.name] + 1:
        name = {"float16": "Half", "float32": "Float", "float64": "Double"}[kind.name]
        raise RuntimeError(f"n cannot be greater than {draws.WHOLE[kind.name] + 1} for {name} type.")
    if kind.kind in "iu" and count > np.iinfo(kind).max:
        raise RuntimeError(f"value cannot be converted to type {RANGE_OF[kind.name]} without overflow")
    if kind.kind == "b":
        refuse("randperm", kind)
    permutation = draws.randperm(stream_of(generator, handle), count)
    with device_guard(permutation):
        return new_leaf(as_dtype(permutation, kind), requires_grad, "randperm", device)


@op
def randint_like(input: Tensor, *bounds: Any, dtype: DType | None = None, device: Where = None,
                 requires_grad: bool = False, generator: Generator | None = None,
                 memory_format: memory_format | None = None, **named: Any) -> Tensor:
    """`randint` with the shape and dtype of `input`: `randint_like(t, high)` or `randint_like(t, low, high)`."""
    x, handle = empty_like_input(input, dtype, "randint_like", device, memory_format)
    arguments = by_name(("low", "high"), bounds, named)
    low, high = long(arguments.get("low", 0)), long(arguments["high"])
    return new_leaf(random_like(x, stream_of(generator, handle), integers, low, high), requires_grad, "randint_like")


class NormalOf(Node, number=None):
    """`normal(mean, std)` with a tensor for one or both; the result has the dtype of the first tensor."""

    @classmethod
    @quiet
    def forward(cls, mean: Any, std: Any, stream: Any) -> Tensor:
        """Standard normal numbers times `std`, plus `mean`."""
        tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
        x, y = [v.array if isinstance(v, Tensor) else v for v in (mean, std)]
        if isinstance(y, float) and y < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {y:g}")
        if not isinstance(y, float) and backend_of(y) is None and not (y >= 0).all():  # checking a GPU would block
            raise RuntimeError("normal expects all elements of std >= 0.0")
        check_randomness(x, y)
        shape = functools.reduce(broadcast_shape, [v.array.shape for v in tensors])
        dtype = tensors[0].array.dtype
        array = as_dtype(as_dtype(draws.normal(stream, shape, dtype) * y, dtype) + x, dtype)
        metadata = tuple([(v.array.shape, v.array.dtype) for v in tensors])
        return record_n(cls, array, tensors, (), tuple([shape for shape, _ in metadata]), metadata)

    backward = RandomFill.backward


NormalMean, NormalStd, NormalBoth = [
    type("Normal", (NormalOf,), {"__slots__": (), "__module__": __name__, "constants": names}, number=number)
    for number, names in enumerate([("mean_sym_sizes",), ("std_sym_sizes",), ("mean_sym_sizes", "std_sym_sizes")], 1)]


@op
def normal(mean: Any, std: Any = 1.0, size: Sequence[int] | None = None, *, generator: Generator | None = None,
           dtype: DType | None = None, device: Where = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed numbers: `normal(mean, std)` with a tensor for one or both, or two numbers and a size.
    Raises RuntimeError for a negative standard deviation, and NotImplementedError for integer means."""
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    stream = stream_of(generator, device_like(tensors[0].array) if tensors else device_handle(device))
    if tensors:
        op: Any = NormalBoth if len(tensors) == 2 else NormalMean if isinstance(mean, Tensor) else NormalStd
        mean, std = [v if isinstance(v, Tensor) else float(v) for v in (mean, std)]
        return op.forward(mean, std, stream)
    array = draws.normal(stream, size_of((size,), "normal"), numpy_dtype(dtype, what="normal"), float(mean), float(std))
    return new_leaf(array, requires_grad, "normal", device)
