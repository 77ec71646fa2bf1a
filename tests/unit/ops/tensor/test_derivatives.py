"""Derivatives of the ops of minigrad/ops/tensor, what a tensor is and how it is copied."""

from __future__ import annotations

import minigrad
from tests.unit.ops.derivatives import derivative_tests

BY_HAND = {
    "clone": (lambda a: a.clone() * 3, [2.0], [3]),
    "contiguous": (lambda a: a.t().contiguous() * minigrad.tensor([[1.0], [2.0]]), [[[1.0, 1.0]]], [[[1, 2]]]),
    "to another dtype": (lambda a: a.to(minigrad.float32) * 3, [2.0], [3]),
    "copy_": (lambda a, b: (a * 1).copy_(b), [2.0, 3.0], [0, 1]),
    "copy_ of a row": (lambda a, b: (a * 1).copy_(b), [[[1.0], [3.0]], [5.0]], [[[0], [0]], [2]]),
    "detach": (lambda a: a * a.detach(), [3.0], [3]),
}

test_against_differences, test_by_hand = derivative_tests("tensor", BY_HAND)
