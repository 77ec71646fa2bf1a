"""Derivatives of the ops of minigrad/ops/nn, layers and losses as functions."""

from __future__ import annotations

import minigrad
from tests.unit.ops.derivatives import derivative_tests

F = minigrad.nn.functional
FIRST = minigrad.tensor([0])
BY_HAND = {
    "linear": (F.linear, [[1.0, 2.0], [[3.0, 4.0]], [5.0]], [[3, 4], [[1, 2]], [1]]),
    "conv1d": (F.conv1d, [[[1.0, 2.0, 3.0]], [[[1.0, 2.0]]]], [[[1, 3, 2]], [[[3, 5]]]]),
    "conv_transpose1d": (F.conv_transpose1d, [[[1.0, 2.0]], [[[3.0, 4.0]]]], [[[7, 7]], [[[3, 3]]]]),
    "max_pool1d": (lambda a: F.max_pool1d(a, 2), [[[1.0, 3.0, 2.0, 4.0]]], [[[0, 1, 0, 1]]]),
    "avg_pool1d": (lambda a: F.avg_pool1d(a, 2), [[[1.0, 3.0]]], [[[1 / 2, 1 / 2]]]),
    "adaptive_avg_pool1d": (lambda a: F.adaptive_avg_pool1d(a, 1), [[[1.0, 3.0]]], [[[1 / 2, 1 / 2]]]),
    "interpolate": (lambda a: F.interpolate(a, scale_factor=2), [[[[1.0], [2.0]]]], [[[[2], [2]]]]),
    "pad": (lambda a: F.pad(a, (1, 1)), [[1.0, 2.0]], [[1, 1]]),
    "pad reflect": (lambda a: F.pad(a, (1, 1), mode="reflect"), [[[1.0, 2.0, 3.0]]], [[[1, 3, 1]]]),
    "unfold": (lambda a: F.unfold(a, (1, 2)), [[[[1.0, 2.0, 3.0]]]], [[[[1, 2, 1]]]]),
    "embedding": (lambda w: F.embedding(minigrad.tensor([2, 0, 2]), w), [[[1.0], [2.0], [3.0]]], [[[1], [0], [2]]]),
    "dropout of nothing": (lambda a: F.dropout(a, 0.0), [[1.0, 2.0]], [[1, 1]]),
    "dropout of all": (lambda a: F.dropout(a, 1.0), [[1.0, 2.0]], [[0, 0]]),
    "layer_norm": (lambda a, w: F.layer_norm(a, (2,), w, eps=0.0)[0], [[1.0, 3.0], [5.0, 7.0]], [[0, 0], [-1, 0]]),
    "mse_loss": (lambda a: F.mse_loss(a, minigrad.zeros(2).double()), [[1.0, 2.0]], [[1, 2]]),
    "l1_loss": (lambda a: F.l1_loss(a, minigrad.zeros(2).double()), [[1.0, -2.0]], [[1 / 2, -1 / 2]]),
    "huber_loss": (lambda a: F.huber_loss(a, minigrad.zeros(2).double()), [[0.5, -2.0]], [[1 / 4, -1 / 2]]),
    "binary_cross_entropy": (lambda a: F.binary_cross_entropy(a, minigrad.ones(1).double()), [[0.5]], [[-2]]),
    "with logits": (lambda a: F.binary_cross_entropy_with_logits(a, minigrad.ones(1).double()), [[0.0]], [[-1 / 2]]),
    "cross_entropy": (lambda a: F.cross_entropy(a, FIRST), [[[0.0, 0.0]]], [[[-1 / 2, 1 / 2]]]),
    "nll_loss": (lambda a: F.nll_loss(a, FIRST), [[[3.0, 4.0]]], [[[-1, 0]]]),
    "hinge_embedding_loss": (lambda a: F.hinge_embedding_loss(a, minigrad.tensor([1.0, -1.0]).double()), [[2.0, 0.5]],
                             [[1 / 2, -1 / 2]]),
    "attention of one": (F.scaled_dot_product_attention, [[[1.0]], [[2.0]], [[3.0]]], [[[0]], [[0]], [[1]]]),
}

test_against_differences, test_by_hand = derivative_tests("nn", BY_HAND)
