"""What tests of the doctor run on."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


@pytest.fixture(params=["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    """Each of the two libraries, from the same seed."""
    pytest.importorskip(request.param)
    library = importlib.import_module(request.param)
    library.manual_seed(0)
    return library
