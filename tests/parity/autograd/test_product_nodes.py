"""Which nodes a product of batches records, by the shapes of its factors and by whose gradient is wanted."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch

SHAPES = [((3,), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
          ((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((1, 2, 3), (1, 3, 4)), ((5, 1, 3), (1, 3, 4)),
          ((1, 1, 3), (5, 3, 1)), ((1, 1, 2, 3), (5, 3, 4)), ((6, 5, 2, 3), (1, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)),
          ((1, 2, 3), (6, 5, 3, 4)), ((5, 2, 3), (1, 2, 4))]


def nodes(node):
    """The names of a node and of all before it."""
    return None if node is None else [node.name(), *[nodes(before) for before, _ in node.next_functions]]


@pytest.mark.parametrize("wanted", ["both", "left", "right"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_a_product(torch, shapes, wanted):
    def program(m):
        a, b = [m.arange(float(m.ones(s).numel())).view(s).requires_grad_(wanted in ("both", side))
                for s, side in zip(shapes, ("left", "right"), strict=True)]
        product = a @ b
        product.sum().backward()
        return nodes(product.grad_fn), product, product.stride(), a.grad, b.grad

    alike(torch, program)


@pytest.mark.parametrize("product", [lambda m, a, b: m.bmm(a, b), lambda m, a, b: a @ b,
                                     lambda m, a, b: m.baddbmm(m.ones(4), a, b)], ids=["bmm", "matmul", "baddbmm"])
def test_a_recorded_gradient_of_a_product(torch, product):
    def program(m):
        a, b = [m.arange(float(m.ones(s).numel())).view(s).requires_grad_() for s in ((2, 2, 3), (2, 3, 4))]
        v = m.arange(16.0).view(2, 2, 4).requires_grad_()
        grads = m.autograd.grad(product(m, a, b), (a, b), v, create_graph=True)
        return [nodes(g.grad_fn) for g in grads], m.autograd.grad(sum(g.sum() for g in grads), (a, b, v))

    alike(torch, program)
