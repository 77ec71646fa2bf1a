"""The CUDA backend where there is no GPU: what it does around CuPy's calls."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

cupy = pytest.importorskip("cupy")
backend = pytest.importorskip("minigrad.backends.cupy")
BACKEND = backend.BACKEND


class Memory:
    """A graph's."""

    malloc = None


class Stream(nullcontext):
    """Counts what was begun and ended; the end can fail."""

    def __init__(self, fails=None):
        super().__init__()
        self.open, self.fails, self.launched, self.room = 0, fails, 0, Memory()

    def begin_capture(self):
        self.open += 1

    def end_capture(self):
        self.open -= 1
        if self.fails is not None:
            raise self.fails
        return SimpleNamespace(launch=self.launch)

    def launch(self):
        self.launched += 1


class Failed(cupy.cuda.runtime.CUDARuntimeError):
    """CuPy's own asks the driver for its text."""

    def __init__(self):
        RuntimeError.__init__(self, "operation failed due to a previous error during capture")


@pytest.fixture
def stream(monkeypatch):
    made = Stream()
    monkeypatch.setattr(cupy.cuda, "Stream", lambda non_blocking: made)
    monkeypatch.setattr(cupy.cuda, "using_allocator", nullcontext)
    monkeypatch.setattr(backend, "captured_products", nullcontext)
    monkeypatch.setattr(backend.Cuda, "current_device", lambda self: 0)
    monkeypatch.setattr(backend, "Room", lambda index: made.room)
    return made


def test_what_was_captured_is_launched(stream):
    with BACKEND.capture() as again:
        assert stream.open == 1
    again()
    again()
    assert (stream.open, stream.launched) == (0, 2)
    memory = weakref.ref(stream.room)
    stream.room = None
    gc.collect()
    assert memory() is not None
    del again
    gc.collect()
    assert memory() is None  # it goes with the graph


@pytest.mark.parametrize("fails", [None, Failed])
def test_an_error_in_a_capture_is_the_one_that_is_told(stream, fails):
    stream.fails = None if fails is None else fails()
    with pytest.raises(KeyError, match="mine"), BACKEND.capture():
        raise KeyError("mine")
    assert stream.open == 0


def test_an_error_of_the_end_is_told(stream):
    stream.fails = Failed()
    with pytest.raises(Failed), BACKEND.capture():
        pass
    assert stream.open == 0
