"""Losses of rows that are ignored, or that have reached their margin, and their gradients: zeros with PyTorch's sign,
whatever arrives there in the backward pass."""

from __future__ import annotations

import math

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


ROWS = {
    "nll_loss": lambda m, x, t: m.nn.functional.nll_loss(x, t, reduction="none"),
    "weighted": lambda m, x, t: m.nn.functional.nll_loss(x, t, m.tensor([0.0, 1.0, 2.0]), reduction="none"),
    "of images": lambda m, x, t: m.nn.functional.nll_loss(
        x[:, :, None, None], t[:, None, None], reduction="none").flatten(),
    "of a vector": lambda m, x, t: m.nn.functional.nll_loss(x[0], t[0]).expand(3),
    "multi_margin_loss": lambda m, x, t: m.nn.functional.multi_margin_loss(x, t.clamp(0), reduction="none"),
    "multilabel_margin_loss": lambda m, x, t: m.nn.functional.multilabel_margin_loss(
        x, m.tensor([[0, -1, 1], [1, 2, -1], [-1, 0, 0]]), reduction="none"),
}


@pytest.mark.parametrize("arriving", [[-1.0, -2.0, -0.0], [1.0, math.inf, 2.0], [1.0, math.nan, 0.0]], ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_what_arrives_at_ignored_rows(torch, name, arriving):
    def program(m):
        x = m.tensor([[0.0, 1.0, -1.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
        v = m.tensor(arriving, requires_grad=True)
        y = ROWS[name](m, x, m.tensor([0, -100, 1]))
        grad, = m.autograd.grad(y, x, v, create_graph=True)
        parts = [y, grad]
        if "margin" not in name:  # their derivative has none
            parts += m.autograd.grad(grad.sum(), v)
        return [[str(part.detach()), m.signbit(part.nan_to_num(1.0)).tolist()] for part in parts]

    alike(torch, program)


@pytest.mark.parametrize("weight", ["ones(2)", "ones(4)", "ones(1)", "ones(())", "ones(0)", "ones(3).double()",
                                    "ones(4, 1)", "ones(3).long()", "ones(2).double()"])
@pytest.mark.parametrize("shape", [(4, 3), (3,), (2, 3, 2), (2, 3, 2, 2), (0, 3)], ids=str)
@pytest.mark.parametrize("loss", ["nll_loss", "cross_entropy"])
def test_weights_of_a_wrong_size(torch, loss, shape, weight):
    def program(m, reduction):
        x, wrong = m.zeros(shape, requires_grad=True), eval(f"m.{weight}", {"m": m})
        target = m.zeros(shape[:1] + shape[2:] if len(shape) > 1 else (), dtype=m.int64)
        y = getattr(m.nn.functional, loss)(x, target, wrong, reduction=reduction)
        return str(y.tolist()), y.requires_grad

    for reduction in ("mean", "none"):
        alike(torch, lambda m, reduction=reduction: program(m, reduction))
