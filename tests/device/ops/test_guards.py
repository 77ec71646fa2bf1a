"""Every op on tensors of a device that is not in use: it runs there, and the one in use stays in use."""

from __future__ import annotations

import pytest

import minigrad
from tests.device.ops.test_ops import CASES, DRAWN, close, run
from tests.device.strict import COUNTS
from tests.parity.compare import arrays_of

THERE = minigrad.device("cuda", 1)


@pytest.mark.parametrize("name", CASES)
def test_op(cuda, name):
    call, inputs = CASES[name]
    arrays = arrays_of(inputs, "float32", seed=len(inputs))
    (here, _, ours), (there, _, theirs) = [run(call, inputs, arrays, device, 2) for device in ("cpu", "cuda:1")]
    assert COUNTS.current == 0
    pairs = [*zip(here, there, strict=True), *[pair for one, other in zip(ours, theirs, strict=True)
                                               for pair in zip(one, other, strict=True)]]
    for a, b in pairs:
        if hasattr(b, "grad_fn"):
            assert b.device == THERE
            if name not in DRAWN:
                close(a, b)
