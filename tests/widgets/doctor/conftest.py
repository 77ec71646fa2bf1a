"""What tests of the doctor run on."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(params=["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    """Each of the two libraries, from the same seed."""
    pytest.importorskip(request.param)
    library = importlib.import_module(request.param)
    library.manual_seed(0)
    return library


@pytest.fixture
def one_thread() -> Iterator[None]:
    """PyTorch on one thread: with several, these small steps wait for each other on a busy machine."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
