"""What unit tests ask for: the library under test, and the reference that it is held against."""

from __future__ import annotations

import gc
import threading

import pytest

import minigrad
from tests.parity.reference import torch

__all__ = ["m", "torch"]


@pytest.fixture(params=["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def m(request):
    """First minigrad, then PyTorch: what a test expects of the one it must also find in the other."""
    return minigrad if request.param == "minigrad" else request.getfixturevalue("torch")


@pytest.fixture
def no_gc():
    """The garbage collector off: what is freed is freed by counting references."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def no_threads(monkeypatch):
    """A platform on which no thread can be started."""
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
