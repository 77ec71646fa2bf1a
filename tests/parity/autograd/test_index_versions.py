"""Indices and masks that were changed in place before an op saved them, and after."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

LINES = """\
F.cross_entropy(x, t)
F.nll_loss(x, t)
F.multi_margin_loss(x, t)
F.soft_margin_loss(x, signs)
F.hinge_embedding_loss(x, signs)
F.binary_cross_entropy_with_logits(x, signs)
F.kl_div(x, signs.abs())
F.poisson_nll_loss(x, signs)
F.mse_loss(x, signs)
F.huber_loss(x, signs)
F.embedding(t, x)
torch.gather(x, 1, many)
torch.take(x, many)
torch.take_along_dim(x, many, 1)
torch.take_along_dim(x, many)
torch.index_select(x, 0, t)
torch.index_add(x, 0, t, x)
torch.index_copy(x, 0, t, x * 2)
torch.index_fill(x, 0, t, 3.0)
torch.scatter(x, 1, many, 2.0)
torch.scatter(x, 1, many, x * 2)
torch.scatter_add(x, 1, many, x * 2)
torch.scatter_reduce(x, 1, many, x * 2, "amax")
torch.masked_fill(x, mask, 0.0)
torch.masked_select(x, mask)
torch.masked_scatter(x, mask, x * 2)
torch.where(mask, x, x * 2)
x.put(many, x * 2)
x[t]
x[:, t]
x[mask]
x[t, t]
torch.prelu(x, signs[0])
x.copysign(signs)
x * signs
F.dropout(x, 0.5) * mask
F.nll_loss(x, t, weight=signs[0])
F.cross_entropy(x, t, weight=signs[0].abs())
F.embedding(t, x, padding_idx=0)
F.embedding(t, x, scale_grad_by_freq=True)
F.embedding_bag(many, x)
F.embedding_bag(many, x, mode="max")
F.embedding_bag(t, x, t.clone().zero_()[:1], mode="sum")
F.embedding_bag(torch.arange(3), x, t, mode="sum")
F.embedding_bag(many, x, mode="sum", per_sample_weights=signs)
"""


def words(m):
    """x, and what is not differentiated: t, many (indices), mask and signs; each was written to before."""
    x = (m.arange(9.0).reshape(3, 3) / 10).requires_grad_()
    t, many = m.zeros(3, dtype=m.long), m.zeros(3, 3, dtype=m.long)
    t[1], t[2] = 1, 2
    many[:, 1], many[:, 2] = 1, 2
    mask, signs = m.zeros(3, 3, dtype=m.bool), -m.ones(3, 3)
    mask[0], signs[0] = True, 1.0
    return {"torch": m, "F": m.nn.functional, "x": x, "t": t, "many": many, "mask": mask, "signs": signs}


@pytest.mark.parametrize("later", [None, "t", "many", "mask", "signs"], ids=lambda name: f"later: {name}")
@pytest.mark.parametrize("expression", LINES.splitlines())
def test_same(torch, expression, later):
    def program(m):
        m.manual_seed(0)
        names = words(m)
        result = eval(expression, names)
        if later is not None:
            names[later].copy_(names[later].clone())
        result.sum().backward()
        return [[round(entry, 5) for entry in row] for row in names["x"].grad.tolist()]

    assert outcome(program, minigrad) == outcome(program, torch)
