"""CuPy's backend where there is no GPU: what it asks of memory, on arrays whose addresses nobody reads."""

from __future__ import annotations

import cupy
import pytest

from minigrad.backends.cupy import BACKEND, allocate


class Pool:
    """A pool that hands out one address, and rounds up as CuPy's does."""

    begin = 1 << 20

    def malloc(self, size):
        """A pointer to memory that is none."""
        return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(self.begin, -(-size // 512) * 512, self, 0), 0)


@pytest.fixture
def pool(monkeypatch):
    """CuPy's pool is `Pool`."""
    made = Pool()
    monkeypatch.setattr(cupy, "get_default_memory_pool", lambda: made)
    return made


def test_all_views_know_the_bytes_that_were_asked_for(pool):
    x = cupy.ndarray((5, 5), "f4", allocate(100))
    strided = BACKEND.as_strided(x[1:], (3, 3), (4, 4))
    assert strided.base is None
    for view in (x, x[2:, 1:].T, strided, strided[1], BACKEND.bytes_of(x[1], pool.begin, 100)):
        assert BACKEND.storage(view) == (pool.begin, 100)
        assert BACKEND.index_of(view) == 0
