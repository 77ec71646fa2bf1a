"""Defines datasets: mirrors `torch/utils/data/dataset.py`.

A data set is anything with `__getitem__` and `__len__`, or an `IterableDataset` with `__iter__`. This file has the
ready-made ones, and `random_split`, which cuts one into parts: the same seed gives PyTorch's parts.
"""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from minigrad.core import Tensor
from minigrad.ops.random import Generator, default_generator, randperm

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
           "random_split"]

Item = TypeVar("Item", covariant=True)


class Dataset(Generic[Item]):
    """Samples by index. A subclass writes `__getitem__`, and `__len__` for samplers.

    If it also writes `__getitems__(indices)`, a loader asks it for a whole batch of samples at once.
    """

    def __getitem__(self, index: Any) -> Item:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Item], Iterable[Item]):
    """Samples as a stream. A subclass writes `__iter__`."""

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


def items_of(dataset: Any, indices: list[Any]) -> Any:
    """Return the samples at these indices, from the data set's `__getitems__` if it has one."""
    together = getattr(dataset, "__getitems__", None)
    return together(indices) if together else [dataset[index] for index in indices]


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Row by row through tensors of the same first size: sample i is `(tensors[0][i], tensors[1][i], …)`."""

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if len({tensor.size(0) for tensor in tensors}) > 1:
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Data sets side by side: a sample is a tuple of theirs, or a dict if they are given by name."""

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                             "input/output, but both types are given.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        if len(set(lengths)) > 1:
            raise ValueError("Size mismatch between datasets")
        self.datasets, self._length = args or kwargs, lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple([dataset[index] for dataset in self.datasets])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        by_name = isinstance(self.datasets, dict)
        columns = []
        for dataset in self.datasets.values() if by_name else self.datasets:
            columns.append(items_of(dataset, indices))
            if len(columns[-1]) != len(indices):
                raise ValueError("Nested dataset's output size mismatch. "
                                 f"Expected {len(indices)}, got {len(columns[-1])}")
        rows = list(zip(*columns))
        return [dict(zip(self.datasets, row)) for row in rows] if by_name else rows

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Item]):
    """Data sets one after the other, as one."""

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return where each data set ends."""
        return list(itertools.accumulate([len(dataset) for dataset in sequence]))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> Any:
        if -idx > len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        index = idx if idx >= 0 else idx + len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - self.cumulative_sizes[which - 1] if which else index]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The misspelt name of early PyTorch."""
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Item]):
    """Streams one after the other, as one."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        """Yield the data sets, each of which must be a stream."""
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Item]:
        return itertools.chain.from_iterable(self._streams())

    def __len__(self) -> int:
        return sum([len(dataset) for dataset in self._streams()])


OVERRIDES = (
    "{} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding __getitem__, you must also "
    "override __getitems__ to ensure DataLoader works correctly with your custom logic. A simple implementation:\n\n"
    "def __getitems__(self, indices):\n    return [self.__getitem__(idx) for idx in indices]")


class Subset(Dataset[Item]):
    """Some samples of a data set: sample i is `dataset[indices[i]]`."""

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(OVERRIDES.format(kind.__name__))

    def __getitem__(self, idx: Any) -> Any:
        return self.dataset[[self.indices[i] for i in idx] if isinstance(idx, list) else self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> Any:
        return items_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float],
                 generator: Generator | None = default_generator) -> list[Subset[Any]]:
    """Cut a data set at random into parts of these lengths, or of these fractions if they add up to 1.

    Fractions are rounded down; the remaining samples go to the parts in turn, one each. Raises ValueError if the
    lengths do not add up to that of the data set, or a fraction is not between 0 and 1.
    """
    sizes = lengths
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        sizes = lengths_of(lengths, len(dataset))
    total: Any = sum(sizes)
    if total != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator).tolist()
    return [Subset(dataset, order[end - int(n):end]) for n, end in zip(sizes, itertools.accumulate(map(int, sizes)))]


def lengths_of(fractions: Sequence[float], total: int) -> list[int]:
    """Return how many samples each fraction of `total` gets; warn of a part that gets none."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3)
    return lengths
