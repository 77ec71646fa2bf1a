"""Traces for the tests of the widgets: made by hand, or recorded from a small program."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as torch
from minigrad.recorder import Trace, record
from tests.widgets import synthetic


@pytest.fixture
def data() -> dict[str, Any]:
    """A diamond, made by hand."""
    return synthetic.diamond()


@pytest.fixture
def trace() -> Trace:
    """A recorded program with a node of two outputs."""
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with record() as recorded:
        p, q = m.unbind()
        total = (q * p).sum()
        total.backward()
    return recorded
