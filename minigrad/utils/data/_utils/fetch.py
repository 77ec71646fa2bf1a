"""Makes a batch from indices: mirrors `torch/utils/data/_utils/fetch.py`."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minigrad.core import Tensor
from minigrad.utils.data._utils.collate import default_collate
from minigrad.utils.data.dataset import IterableDataset, Subset, TensorDataset, items_of

__all__ = ["Plan", "fetcher_of"]


@dataclass(frozen=True)
class Plan:
    """What a loader and each of its workers need to know to make batches."""

    dataset: Any
    batched: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool


def fetcher_of(plan: Plan) -> Callable[[Any], Any]:
    """Return a function from a list of indices (or one index, without batches) to what the loop gets.

    For a stream only the length of the list counts; at the stream's end the function raises StopIteration.
    """
    dataset, collate_fn = plan.dataset, plan.collate_fn
    if isinstance(dataset, IterableDataset):
        return stream_fetcher(plan)
    if plan.batched:
        rows = rows_of(dataset) if collate_fn is default_collate else lambda _: None
        return lambda indices: rows(indices) or collate_fn(items_of(dataset, indices))
    return lambda index: collate_fn(dataset[index])


def rows_of(dataset: Any) -> Callable[[list[Any]], list[Tensor] | None]:
    """Return a function that makes batches of a TensorDataset, or part of one, ten times as fast: a step per tensor.

    The function returns None if samples must be fetched one by one: for another class, for tensors that require grad or
    are not contiguous, and for indices that are not integers.
    """
    if type(dataset) is Subset:
        rows = rows_of(dataset.dataset)
        return lambda indices: rows([dataset.indices[i] for i in indices])
    if type(dataset) is not TensorDataset:
        return lambda indices: None

    def rows_together(indices: list[Any]) -> list[Tensor] | None:
        simple = all(type(x) is Tensor and not x.requires_grad and x.array.flags.c_contiguous for x in dataset.tensors)
        if not simple or {int} != set(map(type, indices)):
            return None
        rows = list(indices)  # a tuple, which a sampler may yield too, would be an index for each dimension
        return [x[rows] for x in dataset.tensors]

    return rows_together


def stream_fetcher(plan: Plan) -> Callable[[Any], Any]:
    """`fetcher_of` for a stream."""
    stream = iter(plan.dataset)

    def fetch(indices: Any) -> Any:
        if not plan.batched:
            return plan.collate_fn(next(stream))
        samples = list(itertools.islice(stream, len(indices)))
        if not samples or plan.drop_last and len(samples) < len(indices):
            raise StopIteration
        return plan.collate_fn(samples)

    return fetch
