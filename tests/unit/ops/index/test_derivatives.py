"""Derivatives of the ops of minigrad/ops/index."""

from __future__ import annotations

import minigrad
from tests.unit.ops.derivatives import derivative_tests


def assigned(a, b):
    """`b` in the first place of `a`."""
    a[:1] = b
    return a


BY_HAND = {
    "one": (lambda a: a[1], [[1.0, 2.0, 3.0]], [[0, 1, 0]]),
    "a slice": (lambda a: a[::2], [[1.0, 2.0, 3.0]], [[1, 0, 1]]),
    "one place twice": (lambda a: a[minigrad.tensor([0, 0, 2])], [[1.0, 2.0, 3.0]], [[2, 0, 1]]),
    "a mask": (lambda a: a[a > 1.5], [[1.0, 2.0, 3.0]], [[0, 1, 1]]),
    "index_select": (lambda a: a.index_select(0, minigrad.tensor([2, 2])), [[1.0, 2.0, 3.0]], [[0, 0, 2]]),
    "gather": (lambda a: a.gather(0, minigrad.tensor([1, 1, 0])), [[1.0, 2.0, 3.0]], [[1, 2, 0]]),
    "scatter": (lambda a, b: a.scatter(0, minigrad.tensor([1]), b), [[1.0, 2.0], [5.0]], [[1, 0], [1]]),
    "scatter_add": (lambda a, b: a.scatter_add(0, minigrad.tensor([1]), b), [[1.0, 2.0], [5.0]], [[1, 1], [1]]),
    "index_add": (lambda a, b: a.index_add(0, minigrad.tensor([0]), b, alpha=3), [[1.0, 2.0], [5.0]], [[1, 1], [3]]),
    "index_copy": (lambda a, b: a.index_copy(0, minigrad.tensor([0]), b), [[1.0, 2.0], [5.0]], [[0, 1], [1]]),
    "index_put": (lambda a, b: a.index_put((minigrad.tensor([0]),), b), [[1.0, 2.0], [5.0]], [[0, 1], [1]]),
    "scatter_reduce": (lambda a, b: a.scatter_reduce(0, minigrad.tensor([0, 0]), b, "prod"), [[2.0], [3.0, 4.0]],
                       [[12], [8, 6]]),
    "assignment": (lambda a, b: assigned(a * 1, b), [[1.0, 2.0], [5.0]], [[0, 1], [1]]),
    "masked_fill": (lambda a: a.masked_fill(a > 1.5, 9.0), [[1.0, 2.0]], [[1, 0]]),
    "masked_select": (lambda a: a.masked_select(a > 1.5), [[1.0, 2.0]], [[0, 1]]),
    "take": (lambda a: a.take(minigrad.tensor([3])), [[[1.0, 2.0], [3.0, 4.0]]], [[[0, 0], [0, 1]]]),
}

test_against_differences, test_by_hand = derivative_tests("index", BY_HAND)
