"""Workers: threads here, processes in PyTorch; what a loop sees of them is the same."""

from __future__ import annotations

import functools
import random
import threading

import numpy as np
import pytest

import minigrad
from minigrad.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info
from tests.parity.alike import ending

pytestmark = pytest.mark.torch


class Fragile:
    """Numbers, of which some are errors."""

    def __init__(self, error):
        self.error = error

    def __getitem__(self, i):
        if i == 3:
            raise self.error
        return i

    def __len__(self):
        return 5


class TwoTexts(Exception):
    """An error that no single text makes."""

    def __init__(self, a, b):
        super().__init__(a, b)


class Draws:
    """What worker there is, and numbers out of its generators: PyTorch's are the default ones of the process."""

    def __init__(self, m):
        self.m, self.added = m, 0

    def __getitem__(self, i):
        info = self.m.utils.data.get_worker_info()
        rng = info.rng
        one, two, three = ((random.random(), self.m.rand(1).item(), np.random.rand()) if rng is None else (
            rng.random_generator.random(), self.m.rand(1, generator=rng.torch_generator).item(),
            rng.numpy_generator.rand()))
        return [i + self.added, info.id, info.num_workers, info.seed, one, two, three]

    def __len__(self):
        return 6


def stream_of(m, sizes):
    """A stream with a part for each worker; every pass through it starts again."""
    class Parts(m.utils.data.IterableDataset):
        def __iter__(self):
            info = m.utils.data.get_worker_info()
            return iter([10 * info.id + i for i in range(sizes[info.id])])

    return Parts()


def add(m, worker):
    """A worker's own start: it changes its copy of the data set."""
    m.utils.data.get_worker_info().dataset.added = 100 * worker


def refuse(worker):
    raise ValueError("no start")


def passes(loader, n=2):
    return [list(loader) for _ in range(n)]


def tensors(m):
    return m.utils.data.TensorDataset(m.arange(14.0).view(7, 2), m.arange(7))


PROGRAMS = {
    "shuffled": lambda m: passes(m.utils.data.DataLoader(tensors(m), 2, True, num_workers=2)),
    "one worker": lambda m: passes(m.utils.data.DataLoader(tensors(m), 2, True, num_workers=1, prefetch_factor=5)),
    "generator": lambda m: [passes(m.utils.data.DataLoader(
        tensors(m), 2, True, num_workers=2, generator=(g := m.Generator().manual_seed(2)))), m.rand(1, generator=g)],
    "persistent": lambda m: passes(m.utils.data.DataLoader(
        tensors(m), 2, True, num_workers=2, persistent_workers=True), 3),
    "no batches": lambda m: passes(m.utils.data.DataLoader(tensors(m), None, num_workers=2)),
    "seeds and numbers": lambda m: list(m.utils.data.DataLoader(Draws(m), 2, num_workers=2)),
    "a start of one's own": lambda m: list(m.utils.data.DataLoader(
        Draws(m), 2, num_workers=2, worker_init_fn=functools.partial(add, m))),
    "streams": lambda m: passes(m.utils.data.DataLoader(stream_of(m, (3, 5)), 2, num_workers=2)),
    "streams, whole": lambda m: passes(m.utils.data.DataLoader(stream_of(m, (5, 2)), 2, num_workers=2, drop_last=True)),
    "streams, kept": lambda m: passes(m.utils.data.DataLoader(
        stream_of(m, (1, 6)), 2, num_workers=2, persistent_workers=True, prefetch_factor=1)),
    "streams, no batches": lambda m: passes(m.utils.data.DataLoader(stream_of(m, (2, 1)), None, num_workers=2)),
    "left and begun again": lambda m: [next(iter(loader := m.utils.data.DataLoader(
        tensors(m), 2, num_workers=2, persistent_workers=True))), list(loader)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(torch, name):
    def told(m):
        m.manual_seed(7)
        return ending(PROGRAMS[name], m), m.rand(1).item()

    assert told(minigrad) == told(torch)


# PyTorch's own are not asked in a test: its processes then take 10 seconds to end.
ERRORS = {
    "error": (ValueError("no"), None, "Caught ValueError in DataLoader worker process 1.", "ValueError: no"),
    "of a key": (KeyError("no"), None, "Caught KeyError in DataLoader worker process 1.", "KeyError: 'no'"),
    "of two texts": (TwoTexts("a", "b"), None, "Caught TwoTexts in DataLoader worker process 1.",
                     "tests.parity.utils.test_data_workers.TwoTexts: ('a', 'b')"),
    "at the start": (None, refuse, "Caught ValueError in DataLoader worker process 0.", "ValueError: no start"),
    "no error": (SystemExit(3), None, "Caught SystemExit in DataLoader worker process 1.", "SystemExit: 3"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    error, start, first, last = ERRORS[name]
    kind = {"at the start": ValueError, "error": ValueError, "of a key": KeyError}.get(name, RuntimeError)
    with pytest.raises(kind) as caught:
        list(DataLoader(Fragile(error), 2, num_workers=2, worker_init_fn=start))
    assert type(caught.value) is kind
    lines = str(caught.value).rstrip().split("\n")
    assert [*lines[:2], lines[-1]] == [first, "Original Traceback (most recent call last):", last]


def test_nothing_ahead():
    with pytest.raises(AssertionError, match="^prefetch_factor must be greater than 0 for MultiProcessingDataLoade"):
        iter(DataLoader(Four(), num_workers=1, prefetch_factor=0))


def test_goes_on_after_an_error():
    batches = iter(DataLoader(Fragile(ValueError("no")), 2, num_workers=2))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 1"):
        next(batches)
    assert next(batches).tolist() == [4]
    assert next(batches, None) is None


class Four:
    """The numbers from 0 to 3."""

    def __getitem__(self, i):
        return i

    def __len__(self):
        return 4


class Held(Four):
    """The first comes once `released` is set, or after so long that a test has failed."""

    def __init__(self):
        self.released = threading.Event()

    def __copy__(self):
        return self  # each worker waits for the same

    def __getitem__(self, i):
        if i == 0:
            self.released.wait(120)
        return i


def test_timeout():
    held = Held()
    batches = iter(DataLoader(held, num_workers=1, timeout=0.05))
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 0.05 seconds$"):
        next(batches)
    held.released.set()
    assert len(list(DataLoader(held, num_workers=1, timeout=60))) == 4


def test_as_they_are_ready():
    held, given = Held(), []
    for batch in DataLoader(held, num_workers=2, in_order=False):
        given.append(batch.item())
        if given == [1, 3]:
            held.released.set()
    assert given[:2] == [1, 3]
    assert sorted(given) == [0, 1, 2, 3]


def test_workers_work_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)

    class Meets(Four):
        def __getitem__(self, i):
            return meeting.wait() >= 0

    assert len(list(DataLoader(Meets(), num_workers=2))) == 4


def workers():
    return {thread for thread in threading.enumerate() if thread.name.startswith("minigrad_data_worker")}


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_end_with_the_loop_that_is_left(persistent):
    before = workers()
    loader = DataLoader(TensorDataset(minigrad.arange(100)), num_workers=2, persistent_workers=persistent)
    for _ in loader:
        own = workers() - before
        assert len(own) == 2
        break
    del loader
    for thread in own:
        thread.join(timeout=30)
    assert not own & workers()


def test_workers_end_after_an_error():
    before = workers()
    with pytest.raises(ValueError, match="Caught"):
        list(DataLoader(Fragile(ValueError("no")), 2, num_workers=2))
    for thread in workers() - before:
        thread.join(timeout=30)
    assert workers() <= before


def test_a_context_is_not_used():
    with pytest.warns(UserWarning, match="workers are threads"):
        assert len(list(DataLoader(Four(), num_workers=1, multiprocessing_context="spawn"))) == 4


class Counting(IterableDataset):
    def __iter__(self):
        return iter(range(4))

    def __len__(self):
        return 4


def test_a_stream_that_no_worker_divides(torch):
    loader = DataLoader(Counting(), None, num_workers=2)
    assert len(loader) == 4
    with pytest.warns(UserWarning, match="For multiprocessing data-loading, this could be caused by not properly"):
        assert sorted(loader) == [0, 0, 1, 1, 2, 2, 3, 3]


class NotCopied(Four):
    def __copy__(self):
        raise TypeError("only one of me")


def test_data_that_cannot_be_copied():
    with pytest.raises(TypeError, match="(?s)Caught TypeError in DataLoader worker process 0.*only one of me"):
        list(DataLoader(NotCopied(), num_workers=1))


def test_a_worker_that_has_nothing_to_do_begins_all_the_same():
    begun, both = [], threading.Barrier(3, timeout=30)

    def begin(worker):
        begun.append(worker)
        both.wait()

    batches = iter(DataLoader(Four(), batch_size=4, num_workers=2, worker_init_fn=begin))
    both.wait()
    assert len(list(batches)) == 1
    assert sorted(begun) == [0, 1]


def test_no_worker_info_outside():
    assert get_worker_info() is None
