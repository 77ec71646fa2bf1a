"""Derivatives of the ops of minigrad/ops/linalg."""

from __future__ import annotations

import minigrad
from tests.unit.ops.derivatives import derivative_tests

MATRIX = [[1.0, 2.0], [3.0, 4.0]]
BY_HAND = {
    "matrix and vector": (lambda a, b: a @ b, [MATRIX, [5.0, 6.0]], [[[5, 6], [5, 6]], [4, 6]]),
    "mm": (lambda a, b: a @ b, [MATRIX, [[5.0], [6.0]]], [[[5, 6], [5, 6]], [[4], [6]]]),
    "dot": (minigrad.dot, [[1.0, 2.0], [3.0, 4.0]], [[3, 4], [1, 2]]),
    "bmm": (minigrad.bmm, [[[[1.0, 2.0]]], [[[3.0], [4.0]]]], [[[[3, 4]]], [[[1], [2]]]]),
    "addmm": (lambda a, b, c: minigrad.addmm(a, b, c, beta=2, alpha=3), [[[1.0]], [[2.0]], [[5.0]]],
              [[[2]], [[15]], [[6]]]),
    "outer": (minigrad.outer, [[1.0, 2.0], [3.0, 4.0]], [[7, 7], [3, 3]]),
    "einsum": (lambda a, b: minigrad.einsum("i,i->", a, b), [[1.0, 2.0], [3.0, 4.0]], [[3, 4], [1, 2]]),
    "trace": (minigrad.trace, [MATRIX], [[[1, 0], [0, 1]]]),
    "cross": (lambda a, b: minigrad.linalg.cross(a, b), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1, 0, -1], [0, 1, -1]]),
    "norm": (lambda a: a.norm(), [[3.0, 4.0]], [[3 / 5, 4 / 5]]),
    "norm 1": (lambda a: a.norm(1), [[3.0, -4.0]], [[1, -1]]),
    "dist": (minigrad.dist, [[3.0, 4.0], [0.0, 0.0]], [[3 / 5, 4 / 5], [-3 / 5, -4 / 5]]),
    "det": (minigrad.det, [MATRIX], [[[4, -3], [-2, 1]]]),
    "logdet": (minigrad.logdet, [[[2.0, 0.0], [0.0, 4.0]]], [[[1 / 2, 0], [0, 1 / 4]]]),
    "inverse": (minigrad.inverse, [[[2.0]]], [[[-1 / 4]]]),
    "solve": (minigrad.linalg.solve, [[[2.0]], [6.0]], [[[-3 / 2]], [1 / 2]]),
    "cholesky": (minigrad.linalg.cholesky, [[[4.0]]], [[[1 / 4]]]),
    "matrix_power": (lambda a: a.matrix_power(3), [[[2.0]]], [[[12]]]),
}

test_against_differences, test_by_hand = derivative_tests("linalg", BY_HAND)
