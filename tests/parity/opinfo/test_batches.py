"""`vmap` of PyTorch's own samples, of every op, against a loop: results, and gradients inside and outside."""

from __future__ import annotations

import numpy as np
import pytest

from tests.groups import has_torch, require

require("torch", has_torch(), "PyTorch 2.13 is not installed")

from minigrad.backends import batched_rules
from tests.parity import seen
from tests.parity.opinfo import batches, run
from tests.parity.opinfo.samples import OPS

pytestmark = pytest.mark.torch
MOST, ENOUGH = 2, 450
NAMES = [name for name in run.present() if OPS[name].supports_dtype(batches.torch.float64, "cpu")
         and name not in batches.LEFT_OUT]


@pytest.mark.parametrize("name", NAMES)
def test_op(name):
    found = batches.report_of(name, MOST)
    seen.note("vmap of PyTorch's own samples", name, found.tried, found.gradients)
    assert not found.failures, "\n".join([found.line(), *found.failures.values()])


def test_enough_ops():
    assert len(NAMES) >= ENOUGH


def test_a_wrong_rule_is_found(monkeypatch):
    """A reversal along the wrong axis."""
    monkeypatch.setitem(batched_rules.RULES, np.flip, lambda m, axis=None: m)
    assert batches.report_of("flip", 2).failures
