"""Derivatives of the ops of minigrad/ops/pointwise."""

from __future__ import annotations

from math import log, sqrt

import minigrad
from tests.unit.ops.derivatives import derivative_tests

BY_HAND = {
    "add": (lambda a, b: a + b, [2.0, 3.0], [1, 1]),
    "add alpha": (lambda a, b: minigrad.add(a, b, alpha=2), [2.0, 3.0], [1, 2]),
    "add a row": (lambda a, b: a + b, [[[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]], [[[1, 1], [1, 1]], [2, 2]]),
    "sub": (lambda a, b: a - b, [2.0, 3.0], [1, -1]),
    "mul": (lambda a, b: a * b, [2.0, 3.0], [3, 2]),
    "mul itself": (lambda a: a * a, [3.0], [6]),
    "mul by a number": (lambda a: 5 * a, [3.0], [5]),
    "mul a column by a row": (lambda a, b: a * b, [[[1.0], [2.0]], [3.0, 4.0]], [[[7], [7]], [3, 3]]),
    "mul in place": (lambda a, b: (a + 1).mul_(b), [2.0, 3.0], [3, 3]),
    "div": (lambda a, b: a / b, [6.0, 2.0], [1 / 2, -6 / 4]),
    "remainder": (lambda a, b: a % b, [7.0, 3.0], [1, -2]),
    "neg": (lambda a: -a, [3.0], [-1]),
    "reciprocal": (lambda a: a.reciprocal(), [2.0], [-1 / 4]),
    "pow 3": (lambda a: a ** 3, [2.0], [12]),
    "pow 0": (lambda a: a ** 0, [2.0], [0]),
    "pow tensor": (lambda a, b: a ** b, [2.0, 3.0], [12, 8 * log(2)]),
    "rpow": (lambda a: 2 ** a, [3.0], [8 * log(2)]),
    "square": (lambda a: a.square(), [3.0], [6]),
    "exp": (lambda a: a.exp(), [0.0], [1]),
    "log": (lambda a: a.log(), [4.0], [1 / 4]),
    "sqrt": (lambda a: a.sqrt(), [4.0], [1 / 4]),
    "sin, cos": (lambda a: [a.sin(), a.cos()], [0.0], [1]),
    "tan": (lambda a: a.tan(), [0.0], [1]),
    "atan": (lambda a: a.atan(), [1.0], [1 / 2]),
    "sinh, cosh": (lambda a: [a.sinh(), a.cosh()], [0.0], [1]),
    "abs": (lambda a: abs(a), [[-3.0, 0.0, 2.0]], [[-1, 0, 1]]),
    "sign, floor, round": (lambda a: [a.sign(), a.floor(), a.round()], [1.5], [0]),
    "hypot": (minigrad.hypot, [3.0, 4.0], [3 / 5, 4 / 5]),
    "atan2": (minigrad.atan2, [1.0, 1.0], [1 / 2, -1 / 2]),
    "maximum": (minigrad.maximum, [[1.0, 2.0, 5.0], [3.0, 2.0, 4.0]], [[0, 1 / 2, 1], [1, 1 / 2, 0]]),
    "clamp": (lambda a: a.clamp(0, 1), [[-1.0, 0.5, 2.0]], [[0, 1, 0]]),
    "where": (lambda a, b: minigrad.where(a > 0, a, b), [[-1.0, 1.0], [5.0, 6.0]], [[0, 1], [1, 0]]),
    "lerp": (lambda a, b: minigrad.lerp(a, b, 0.25), [1.0, 5.0], [3 / 4, 1 / 4]),
    "lerp by a tensor": (minigrad.lerp, [1.0, 5.0, 0.25], [3 / 4, 1 / 4, 4]),
    "addcmul": (lambda a, b, c: minigrad.addcmul(a, b, c, value=2), [1.0, 3.0, 4.0], [1, 8, 6]),
    "addcdiv": (minigrad.addcdiv, [1.0, 6.0, 2.0], [1, 1 / 2, -6 / 4]),
    "rsqrt": (lambda a: a.rsqrt(), [4.0], [-1 / 16]),
    "logaddexp": (minigrad.logaddexp, [1.0, 1.0], [1 / 2, 1 / 2]),
    "compared in place": (lambda a: (a * 1).eq_(2.0), [[1.0, 2.0]], [[0, 0]]),
    "asin": (lambda a: a.asin(), [0.5], [1 / sqrt(3 / 4)]),
}

test_against_differences, test_by_hand = derivative_tests("pointwise", BY_HAND)
