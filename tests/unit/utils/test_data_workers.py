"""A loader with workers where no thread can be started: the loop sees the same."""

from __future__ import annotations

import pytest

import minigrad
from minigrad.utils.data import DataLoader, IterableDataset, get_worker_info


class Numbers:
    """What each worker sees: the index, who it is, and a number of its own generator."""

    def __getitem__(self, i):
        info = get_worker_info()
        return i, info.id, info.num_workers, info.seed, float(minigrad.rand(1, generator=info.rng.torch_generator))

    def __len__(self):
        return 7


class Shards(IterableDataset):
    """A stream of which each worker yields its own part."""

    def __iter__(self):
        return iter(range(get_worker_info().id, 5, 2))


def seen(dataset, **options):
    """The batches of two passes."""
    generator = minigrad.Generator().manual_seed(7)
    loader = DataLoader(dataset, num_workers=2, collate_fn=list, generator=generator, **options)
    return [list(loader) for _ in range(2)]


CASES = {
    "in order": (Numbers(), {"batch_size": 2}),
    "kept from pass to pass": (Numbers(), {"batch_size": 2, "persistent_workers": True}),
    "shuffled": (Numbers(), {"batch_size": 3, "shuffle": True}),
    "a stream": (Shards(), {"batch_size": 2}),
}


@pytest.fixture(scope="module")
def by_threads():
    """What a loop sees of threads."""
    return {name: seen(dataset, **options) for name, (dataset, options) in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_same_batches(by_threads, no_threads, name):
    dataset, options = CASES[name]
    assert seen(dataset, **options) == by_threads[name]
    assert get_worker_info() is None


def test_an_error_of_the_data_and_of_the_start(no_threads):
    with pytest.raises(ValueError, match=r"(?s)^Caught ValueError in DataLoader worker process 0\..*not this one"):
        list(DataLoader([0, 1], num_workers=1, collate_fn=refuse))
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0"):
        list(DataLoader([0, 1], num_workers=1, worker_init_fn=refuse))
    assert get_worker_info() is None


def refuse(batch):
    raise ValueError("not this one")
