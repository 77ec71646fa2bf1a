"""Samplers: mirrors `torch/utils/data/sampler.py`.

A sampler says in which order a loader takes samples. The random ones take their numbers from the generator as
PyTorch's do, so that one seed gives one order in both libraries.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from minigrad._base.dtype import float64, int64
from minigrad.core import Tensor
from minigrad.ops.factory import as_tensor, empty
from minigrad.ops.random import Generator, multinomial, randint, randperm

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
           "WeightedRandomSampler"]

Index = TypeVar("Index", covariant=True)


def drawn_seed(generator: Generator | None) -> int:
    """Draw a seed of 63 bits from a generator."""
    return int(empty((), dtype=int64).random_(generator=generator).item())


class Sampler(Generic[Index]):
    """An order of indices. A subclass writes `__iter__`, and `__len__` for the loader's length."""

    def __iter__(self) -> Iterator[Index]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All indices from the first to the last."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in random order; `replacement`: each is drawn from all, so some come twice and some never.

    Without a `generator`, each pass seeds its own from the default generator.
    """

    data_source: Sized
    replacement: bool

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
                 generator: Generator | None = None) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices a pass has: as many as there are samples, unless given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, count = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(drawn_seed(None))
        at_once = 32 if self.replacement else n
        for start in range(0, count + 1, at_once):  # PyTorch draws once more where `count` is a multiple of n
            if self.replacement:
                drawn = randint(high=n, size=(min(at_once, count - start),), dtype=int64, generator=generator)
            else:
                drawn = randperm(n, generator=generator)
            yield from drawn.tolist()[:count - start]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """These indices, in random order."""

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices, each drawn with a probability proportional to its weight."""

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
                 generator: Generator | None = None) -> None:
        check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError("weights should be a 1d sequence but given weights have shape "
                             f"{tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of `batch_size`; `drop_last`: drop a shorter last list."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler: Iterable[int] = sampler
        self.batch_size, self.drop_last = batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # a sampler that has no length says so itself
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def check_count(name: str, value: Any) -> None:
    """Refuse a value that is not a positive integer."""
    if type(value) is bool or not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")
