"""Tangents of PyTorch's own samples: of every op that PyTorch pushes, first order and of gradients."""

from __future__ import annotations

import pytest

from tests.groups import has_torch, require

require("torch", has_torch(), "PyTorch 2.13 is not installed")

from minigrad.autograd import forward_ad
from minigrad.ops.pointwise import unary
from tests.parity import seen
from tests.parity.opinfo import run, tangents
from tests.parity.opinfo.samples import OPS

pytestmark = pytest.mark.torch
MOST, ENOUGH = 3, 1500
PUSHED = [name for name in run.present() if OPS[name].supports_forward_ad and name not in tangents.LEFT_OUT]


@pytest.mark.parametrize("name", PUSHED)
def test_op(name):
    found = tangents.report_of(name, MOST)
    seen.note("tangents of PyTorch's own samples", name, found.tried, found.gradients)
    assert not found.failures, "\n".join([found.line(), *found.failures.values()])


def test_enough_ops():
    assert len(PUSHED) >= 400


def test_what_is_left_out_disagrees():
    """A line whose reason is gone goes."""
    for name in tangents.LEFT_OUT:
        assert tangents.report_of(name, 12).failures, name


def test_a_wrong_tangent_is_found(monkeypatch):
    """The sine pushed by the rule for a linear op."""
    monkeypatch.setattr(forward_ad, "LINEAR_OPS", {*forward_ad.LINEAR_OPS, unary.Sin.__name__})
    assert tangents.report_of("sin", 1).failures
