"""Losses of rows that are ignored, or that have reached their margin, and their gradients: 0, not -0."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch

IGNORED = {
    "nll_loss": lambda m, x, t, w: m.nn.functional.nll_loss(x, t, w, reduction="none"),
    "cross_entropy": lambda m, x, t, w: m.nn.functional.cross_entropy(x, t, w, reduction="none"),
    "multi_margin_loss": lambda m, x, t, w: m.nn.functional.multi_margin_loss(x, t.clamp(0), weight=w, margin=0.1),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", IGNORED)
def test_signs_of_zeros(torch, name, weighted):
    def program(m):
        x = m.tensor([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [-1.0, 0.5, -2.0]], requires_grad=True)
        y = IGNORED[name](m, x, m.tensor([0, -100, 1]), m.tensor([0.0, 1.0, 2.0]) if weighted else None)
        grad, = m.autograd.grad(y.sum(), x)
        return m.signbit(y).tolist(), m.signbit(grad).tolist()

    alike(torch, program)
