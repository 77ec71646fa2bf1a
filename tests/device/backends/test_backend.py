"""CuPy's backend where there is no GPU: what it asks of memory, on arrays whose addresses nobody reads."""

from __future__ import annotations

import gc
from contextlib import nullcontext
from types import SimpleNamespace

import cupy
import numpy as np
import pytest

import minigrad
from minigrad.backends.cupy import BACKEND, allocate


class Pool:
    """A pool that hands out one address, and rounds up as CuPy's does."""

    begin, used, full, emptied = 1 << 20, 0, False, 0

    def free_all_blocks(self):
        """What is free goes back."""
        self.emptied += 1

    def used_bytes(self):
        """Of all threads."""
        return self.used

    total_bytes = used_bytes

    def malloc(self, size):
        """A pointer to memory that is none."""
        if self.full:
            raise cupy.cuda.memory.OutOfMemoryError(size, 0)
        return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(self.begin, -(-size // 512) * 512, self, 0), 0)


@pytest.fixture
def pool(monkeypatch):
    """CuPy's pool is `Pool`."""
    made = Pool()
    monkeypatch.setattr(cupy, "get_default_memory_pool", lambda: made)
    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (1 << 20, 2 << 20))
    monkeypatch.setattr(BACKEND, "current_device", lambda: 0)
    monkeypatch.setattr(BACKEND, "on", nullcontext)
    return made


def test_all_views_know_the_bytes_that_were_asked_for(pool):
    x = cupy.ndarray((5, 5), "f4", allocate(100))
    strided = BACKEND.as_strided(x[1:], (3, 3), (4, 4))
    assert strided.base is None
    for view in (x, x[2:, 1:].T, strided, strided[1], BACKEND.bytes_of(x[1], pool.begin, 100)):
        assert BACKEND.storage(view) == (pool.begin, 100)
        assert BACKEND.index_of(view) == 0


def test_the_peak_is_the_most_that_was_held_since_it_was_reset(pool, monkeypatch):
    monkeypatch.setattr(BACKEND, "peaks", {})
    for used in (512, 1536, 1024):  # of all threads
        pool.used = used
        x = allocate(100)
    assert BACKEND.memory_stats(None)["peak"] == 1536
    BACKEND.reset_peak(0)
    assert BACKEND.memory_stats(None)["peak"] == 1024
    pool.used = 4096
    assert BACKEND.memory_stats(None)["peak"] == 4096 and x.ptr == pool.begin


def test_a_pool_without_memory_left(pool):
    full = Pool()
    full.full = True
    with pytest.raises(minigrad.OutOfMemoryError, match="Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 2"):
        allocate(3 << 30, SimpleNamespace(pool=full))
    assert allocate(100).ptr == pool.begin


class Stream:
    """A stream that notes nothing."""

    def __init__(self, non_blocking):
        self.begun = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def begin_capture(self):
        """It begins."""
        self.begun = True

    def end_capture(self):
        """A graph that is none."""
        assert self.begun


def test_a_capture_has_its_own_pool_and_the_same_error(pool, monkeypatch):
    own, used = Pool(), []
    monkeypatch.setattr(cupy.cuda, "MemoryPool", lambda: own)
    monkeypatch.setattr(cupy.cuda, "Stream", Stream)
    monkeypatch.setattr(cupy.cuda, "using_allocator", lambda given: nullcontext(used.append(given)))
    monkeypatch.setattr("minigrad.backends.cupy.captured_products", nullcontext)
    own.begin, own.full, own.used = 1 << 30, False, 4096
    with BACKEND.capture() as again:
        assert used[0](100).ptr == 1 << 30
        own.full = True
        with pytest.raises(minigrad.OutOfMemoryError, match="CUDA out of memory. Tried to allocate 100 bytes"):
            used[0](100)
        own.full = False
        x = cupy.ndarray((5, 5), "f4", used[0](100))
    assert BACKEND.memory_stats(None)["allocated"] == 4096
    used.clear()
    del again
    gc.collect()
    assert own.emptied == 0  # an array is still there
    del x
    gc.collect()
    assert own.emptied == 1 and BACKEND.memory_stats(None)["allocated"] == 0


def test_what_comes_from_the_host_is_sent_row_by_row_and_turned_back(pool, monkeypatch):
    sent = []

    def array(x, order):
        """An upload: CuPy's copies of NumPy's arrays know the orders of C and of Fortran alone."""
        sent.append((x.shape, x.flags.c_contiguous, order))
        return x.copy(order)

    monkeypatch.setattr(cupy, "array", array)
    x = np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)
    found = BACKEND.from_host(x, None)
    assert sent == [((2, 3, 4), True, "C")]
    assert (found.tolist(), found.strides) == (x.tolist(), x.strides)
