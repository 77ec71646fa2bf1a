"""Derivatives of the ops of minigrad/ops/shape."""

from __future__ import annotations

import minigrad
from tests.unit.ops.derivatives import derivative_tests

WEIGHTS = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
BY_HAND = {
    "t": (lambda a: a.t() * WEIGHTS, [[[1.0, 2.0], [3.0, 4.0]]], [[[1, 3], [2, 4]]]),
    "permute": (lambda a: a.permute(1, 0) * WEIGHTS, [[[1.0, 2.0], [3.0, 4.0]]], [[[1, 3], [2, 4]]]),
    "reshape": (lambda a: a.reshape(2, 2) * WEIGHTS, [[1.0, 1.0, 1.0, 1.0]], [[1, 2, 3, 4]]),
    "view": (lambda a: a.view(4) * WEIGHTS.view(4), [[[1.0, 1.0], [1.0, 1.0]]], [[[1, 2], [3, 4]]]),
    "expand": (lambda a: a.expand(3), [2.0], [3]),
    "unsqueeze": (lambda a: a.unsqueeze(1) * minigrad.tensor([5.0, 6.0]), [[1.0, 2.0]], [[11, 11]]),
    "squeeze": (lambda a: a.squeeze() * minigrad.tensor([5.0, 6.0]), [[[1.0, 2.0]]], [[[5, 6]]]),
    "cat": (lambda a, b: minigrad.cat([a, b]) * minigrad.tensor([1.0, 2.0, 3.0]), [[1.0], [1.0, 1.0]], [[1], [2, 3]]),
    "stack": (lambda a, b: minigrad.stack([a, b]) * WEIGHTS, [[1.0, 1.0], [1.0, 1.0]], [[1, 2], [3, 4]]),
    "split": (lambda a: [part * (i + 1) for i, part in enumerate(a.split(2))], [[1.0, 1.0, 1.0]], [[1, 1, 2]]),
    "unbind": (lambda a: a.unbind(0)[1], [[[1.0, 2.0], [3.0, 4.0]]], [[[0, 0], [1, 1]]]),
    "narrow": (lambda a: a.narrow(0, 1, 2), [[1.0, 2.0, 3.0, 4.0]], [[0, 1, 1, 0]]),
    "select": (lambda a: a.select(0, -1), [[1.0, 2.0, 3.0]], [[0, 0, 1]]),
    "flip": (lambda a: a.flip(0) * minigrad.tensor([1.0, 2.0]), [[1.0, 1.0]], [[2, 1]]),
    "roll": (lambda a: a.roll(1) * minigrad.tensor([1.0, 2.0, 3.0]), [[1.0, 1.0, 1.0]], [[2, 3, 1]]),
    "repeat": (lambda a: a.repeat(3), [[1.0, 2.0]], [[3, 3]]),
    "diagonal": (lambda a: a.diagonal(), [[[1.0, 2.0], [3.0, 4.0]]], [[[1, 0], [0, 1]]]),
    "tril": (lambda a: a.tril(), [[[1.0, 2.0], [3.0, 4.0]]], [[[1, 0], [1, 1]]]),
    "unfold": (lambda a: a.unfold(0, 2, 1), [[1.0, 2.0, 3.0]], [[1, 2, 1]]),
    "as_strided": (lambda a: a.as_strided((3,), (0,)), [[1.0, 2.0]], [[3, 0]]),
}

test_against_differences, test_by_hand = derivative_tests("shape", BY_HAND)
