"""A device for machines that have none: see `standin.py`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minigrad.autograd.grad_mode import UNUSUAL
from minigrad.backends import registry
from tests.device.standin import StandIn
from tests.device.strict import COUNTS, OWNERS


@pytest.fixture
def cuda() -> Iterator[StandIn]:
    """`device="cuda"` is the stand-in."""
    before = registry.BACKENDS.copy(), registry.OF_TYPE.copy(), registry.ARRAYS
    backend = StandIn()
    registry.install(backend)
    COUNTS.to_host = COUNTS.current = 0
    yield backend
    OWNERS.clear()
    if registry.Several.known:
        registry.Several.known = False
        UNUSUAL.add(-1)
    registry.BACKENDS.clear()
    registry.BACKENDS.update(before[0])
    registry.OF_TYPE.clear()
    registry.OF_TYPE.update(before[1])
    registry.ARRAYS = before[2]
