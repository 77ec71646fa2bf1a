"""How gradients lie in memory: in the order of the leaf that they belong to."""

from __future__ import annotations

import pytest

from tests.parity.values import leaf, same_end

pytestmark = pytest.mark.torch


def laid(m, w, make, **how):
    """The strides of a leaf's first gradient; `view` takes those of a row-major one only."""
    make(w).sum().backward(**how)
    return w.grad.stride(), w.grad.is_contiguous(), w.grad.view(-1) if w.is_contiguous() else w.grad


def asked_for(m, make):
    """The strides of a gradient that `autograd.grad` gives, which may be written to; and the node of a recorded one."""
    x = leaf(m, 2, 4, 4, 4)
    grad = m.autograd.grad(make(x).sum(), x)[0]
    recorded = m.autograd.grad(make(x), x, make(x), create_graph=True)[0]
    return grad.stride(), grad.add_(1), recorded.grad_fn.name(), recorded


LAYOUTS = {
    "of a turned factor": lambda m: laid(m, leaf(m, 3, 4), lambda w: w * leaf(m, 4, 3).detach().t()),
    "of a turned factor, recorded": lambda m: laid(m, leaf(m, 3, 4), lambda w: w * leaf(m, 4, 3).detach().t(),
                                                   create_graph=True),
    "of a small product": lambda m: laid(m, leaf(m, 3, 4), lambda w: leaf(m, 2, 3).mm(w)),
    "of a product and its square": lambda m: laid(m, leaf(m, 3, 3), lambda w: m.addmm(w, w, w.t()) + w.t()),
    "of a turned leaf": lambda m: laid(m, leaf(m, 3, 4).detach().t().requires_grad_(), lambda w: w * 2),
    "of a turned weight": lambda m: laid(m, leaf(m, 3, 4).detach().t().requires_grad_(),
                                         lambda w: m.nn.functional.linear(leaf(m, 5, 3), w, m.ones(4))),
    "of a permuted leaf": lambda m: laid(m, leaf(m, 2, 3, 4).detach().permute(2, 0, 1).requires_grad_(),
                                         lambda w: w * w),
    "of every other row": lambda m: laid(m, leaf(m, 6, 4).detach()[::2].requires_grad_(), lambda w: w * w),
    "of shuffled pixels asked for": lambda m: asked_for(m, lambda x: m.nn.functional.pixel_shuffle(x, 2)),
    "of unshuffled pixels asked for": lambda m: asked_for(m, lambda x: m.nn.functional.pixel_unshuffle(x, 2)),
    "of shuffled channels asked for": lambda m: asked_for(m, lambda x: m.nn.functional.channel_shuffle(x, 2)),
    "of a small product asked for": lambda m: m.autograd.grad(
        leaf(m, 2, 3).mm(w := leaf(m, 3, 4)).sum(), w)[0].stride(),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_gradient_lies_as_in_pytorch(torch, name):
    same_end(torch, LAYOUTS[name])
