"""Sums and means of float16 that it could not hold step by step."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.tensors import outcome
from tests.parity.values import same_end

pytestmark = pytest.mark.torch

LONG_SUMS = {
    "half sum": lambda m: m.ones(10000, 2, dtype=m.float16).sum(0),
    "half mean": lambda m: (m.ones(70000, dtype=m.float16).mean(), m.ones(70000, 2, dtype=m.float16).mean(0)),
    "half norm": lambda m: m.full((1000,), 300.0, dtype=m.float16).norm(),
    "half loss": lambda m: m.nn.functional.mse_loss(m.full((99999,), 2.0, dtype=m.float16),
                                                    m.zeros(99999, dtype=m.float16)),
    "half broadcast": lambda m: (x := m.ones(3, dtype=m.float16, requires_grad=True),
                                 (x * m.ones(5000, 3, dtype=m.float16)).sum(0).sum().backward(), x.grad),
}

MEANS = {
    "half mean": lambda m: m.ones(70000, dtype=m.float16).mean(),
    "half mean dim": lambda m: m.ones(2, 70000, dtype=m.float16).mean(1),
    "half mean grad": lambda m: ((x := m.ones(70000, dtype=m.float16, requires_grad=True)), x.mean().backward(),
        x.grad[:2])[-1],
    "half mean dim grad": lambda m: ((x := m.ones(2, 70000, dtype=m.float16, requires_grad=True)),
        x.mean(1).sum().backward(), x.grad[0, :2])[-1],
    "half mse": lambda m: ((x := m.ones(70000, dtype=m.float16, requires_grad=True)),
        (y := m.nn.functional.mse_loss(x * 300, x.detach() * 100)), y, y.backward(), x.grad[:2])[2::2],
}


@pytest.mark.parametrize("name", LONG_SUMS)
def test_values(torch, name):
    same_end(torch, LONG_SUMS[name])


@pytest.mark.parametrize("name", MEANS)
def test_means_and_their_gradients(torch, every_warning, name):
    assert outcome(MEANS[name], minigrad) == outcome(MEANS[name], torch)
