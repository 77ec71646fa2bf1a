"""Layers whose higher derivatives PyTorch does not have, or has wrong: values, graphs and the derivatives that it has.

The third derivatives of PyTorch's layer_norm, group_norm and batch_norm are not those of the same formula written out;
minigrad's are.
"""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.compare import Input, derivatives, frozen, leaf, numbers
from tests.parity.ops.test_ops import compare

pytestmark = pytest.mark.torch

TWICE = {
    # norms
    "layer_norm": (lambda m, a, w, b: m.layer_norm(a, (3,), w, b), [leaf(2, 3), leaf(3), leaf(3)]),
    "layer_norm alone": (lambda m, a: m.nn.functional.layer_norm(a, (3, 2)), [leaf(2, 3, 2)]),
    "layer_norm weight": (lambda m, a, w: m.layer_norm(a, (3, 2), w, eps=0.1), [leaf(2, 2, 3, 2), leaf(3, 2)]),
    "layer_norm of one": (lambda m, a, w, b: m.layer_norm(a, [3], w, b), [leaf(3), leaf(3), leaf(3)]),
    "group_norm": (lambda m, a, w, b: m.group_norm(a, 2, w, b), [leaf(2, 4, 3), leaf(4), leaf(4)]),
    "group_norm alone": (lambda m, a: m.nn.functional.group_norm(a, 1), [leaf(2, 2, 2, 2)]),
    "batch_norm": (lambda m, a, w, b: m.nn.functional.batch_norm(a, None, None, w, b, True),
                   [leaf(3, 2), leaf(2), leaf(2)]),
    "batch_norm of pictures": (lambda m, a, w, b: m.nn.functional.batch_norm(a, None, None, w, b, training=True),
                               [leaf(2, 2, 2, 2), leaf(2), leaf(2)]),
    "batch_norm alone": (lambda m, a: m.nn.functional.batch_norm(a, None, None, training=True), [leaf(2, 2, 3)]),
    "batch_norm running": (
        lambda m, a, r, v: [m.nn.functional.batch_norm(a, r, v, None, None, True, 0.2), r, v],
        [leaf(2, 2, 3), frozen(2), Input((2,), positive=True, grad=False)]),
    "instance_norm running": (
        lambda m, a, r, v: [m.nn.functional.instance_norm(a, r, v, momentum=0.2), r, v],
        [leaf(2, 2, 3), frozen(2), Input((2,), positive=True, grad=False)]),
    "instance_norm": (lambda m, a, w, b: m.nn.functional.instance_norm(a, weight=w, bias=b),
                      [leaf(2, 2, 3), leaf(2), leaf(2)]),
    "instance_norm alone": (lambda m, a: m.nn.functional.instance_norm(a), [leaf(1, 2, 2, 2)]),
}
ONCE = {
    "multilabel_margin_loss": (
        lambda m, a: m.nn.functional.multilabel_margin_loss(a, m.tensor([[2, -1, 0], [1, 0, -1]])), [leaf(2, 3)]),
    "embedding_bag": (lambda m, a: m.nn.functional.embedding_bag(m.tensor([[0, 2], [1, 1]]), a, mode="sum"),
                      [leaf(3, 2)]),
    "embedding_bag weighted": (
        lambda m, a, b: m.nn.functional.embedding_bag(m.tensor([[0, 2], [1, 1]]), a, mode="sum", per_sample_weights=b),
        [leaf(3, 2), leaf(2, 2)]),
    "multi_margin_loss": (lambda m, a: m.nn.functional.multi_margin_loss(a, m.tensor([0, 2])), [leaf(2, 3)]),
    "multi_margin_loss square": (
        lambda m, a, w: m.nn.functional.multi_margin_loss(a, m.tensor([0, 2]), 2, 1.5, w, reduction="none"),
        [leaf(2, 3), frozen(3)]),
    "multi_margin_loss of one": (lambda m, a: m.nn.functional.multi_margin_loss(a, m.tensor(1), reduction="sum"),
                                 [leaf(3)]),
    "attention": (lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v),
                  [leaf(2, 2, 3, 4), leaf(2, 2, 5, 4), leaf(2, 2, 5, 4)]),
    "attention causal": (
        lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.4),
        [leaf(1, 2, 3, 4), leaf(1, 2, 4, 4), leaf(1, 2, 4, 4)]),
    "attention mask": (
        lambda m, q, k, v, b: m.nn.functional.scaled_dot_product_attention(q, k, v, b > 0),
        [leaf(1, 2, 3, 4), leaf(1, 2, 3, 4), leaf(1, 2, 3, 4), frozen(3, 3)]),
    "attention bias": (
        lambda m, q, k, v, b: m.nn.functional.scaled_dot_product_attention(q, k, v, b),
        [leaf(1, 2, 3, 4), leaf(1, 2, 3, 4), leaf(1, 2, 3, 4), frozen(1, 2, 3, 3)]),
    "attention of groups": (
        lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        [leaf(1, 4, 3, 2), leaf(1, 2, 3, 2), leaf(1, 2, 3, 2)]),
    "hardsigmoid": (lambda m, a: m.nn.functional.hardsigmoid(a * 2.5), [leaf(8)]),
    "hardsigmoid inplace": (lambda m, a: m.nn.functional.hardsigmoid(a * 2.5, inplace=True), [leaf(8)]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TWICE)
def test_two_derivatives(torch, name, dtype):
    compare(torch, *TWICE[name], dtype, order=2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ONCE)
def test_one_derivative(torch, name, dtype):
    compare(torch, *ONCE[name], dtype, order=1)


def by_hand(x):
    """layer_norm over the last dimension, of other ops."""
    apart = x - x.mean(-1, keepdim=True)
    return apart / (apart.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def test_the_third_derivative_of_a_norm_is_that_of_its_formula(torch):
    values = np.random.RandomState(0).randn(2, 3)
    found = []
    for lib, call in ((minigrad, lambda x: minigrad.layer_norm(x, (3,))), (torch, by_hand)):
        x = lib.from_numpy(values.copy()).requires_grad_()
        found.append([numbers(g) for (g,) in derivatives(lib, [call(x)], [x], 3)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-12)
