"""The reference that tests of this folder compare with."""

from __future__ import annotations

import pytest

from tests.groups import has_torch, require


@pytest.fixture(scope="session")
def torch():
    """PyTorch 2.13; without it the test skips."""
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    return pytest.importorskip("torch")
