"""What an op was given changes between forward and backward: an error, or the gradient of what was saved."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike
from tests.parity.leaves import put
from tests.parity.values import leaf, same_end

pytestmark = pytest.mark.torch


def changed(m, make, change):
    """Change what an op was given between forward and backward."""
    x = leaf(m, 3)
    y, other = make(x)
    change(other)
    y.sum().backward()
    return x.grad


CHANGES = {
    "condition": lambda m: changed(m, lambda x: (m.where(c := m.tensor([True, False, True]), x, x * 2), c),
                                   lambda c: c.zero_()),
    "indices": lambda m: changed(m, lambda x: (x[i := m.tensor([0, 1])], i), lambda i: i.add_(1)),
    "mask": lambda m: changed(m, lambda x: (x[i := m.tensor([True, False, True])], i), lambda i: i.fill_(True)),
    "indices put": lambda m: changed(m, lambda x: (put(x.clone(), i := m.tensor([0, 1]), 2.0), i), lambda i: i.add_(1)),
    "data of a parameter": lambda m: changed(
        m, lambda x: ((p := m.nn.Parameter(d := m.ones(3))) * p * x, d), lambda d: d.add_(1)),
    "a saved result asked for": lambda m: changed(
        m, lambda x: (y := x.exp(), (y.detach(), y.grad_fn._saved_result.detach(), y)[2]), lambda y: y.add_(1)),
    "assigned grad": lambda m: (x := leaf(m, 3), y := x.exp(), setattr(x, "grad", y), (x * 2).sum().backward(),
                                y.sum().backward()),
    "expanded grad": lambda m: (x := leaf(m, 3), setattr(x, "grad", m.ones(1).expand(3)), x.sum().backward()),
    "a result saved by a pass": lambda m: (x := leaf(m, 3), v := leaf(m, 3), y := x.exp(), g := m.autograd.grad(
        y, x, v, create_graph=True)[0], y.detach().add_(1), m.autograd.grad(g.sum(), v)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_comes_of_a_change(torch, name):
    same_end(torch, CHANGES[name])


def moved(m, written, look):
    """A leaf that is a view, used, and then part of the graph: its base was written to."""
    base = m.zeros(4)
    leaf = base[:2].requires_grad_()
    used = leaf * 3
    base.mul_(written(m, used))
    return used, base, leaf, look and leaf.grad_fn


@pytest.mark.parametrize("look", [False, True])
@pytest.mark.parametrize("written", [lambda m, used: 2, lambda m, used: m.ones(4, requires_grad=True),
                                     lambda m, used: used.sum()])
def test_a_leaf_view_whose_base_is_written_to(torch, written, look):
    for which in (0, 1):
        alike(torch, lambda m, which=which: moved(m, written, look)[which].sum().backward())
    alike(torch, lambda m: m.autograd.grad((found := moved(m, written, look))[0].sum(), found[2]))
