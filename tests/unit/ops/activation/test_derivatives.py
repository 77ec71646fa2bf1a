"""Derivatives of the ops of minigrad/ops/activation."""

from __future__ import annotations

from math import exp

import minigrad
from tests.unit.ops.derivatives import derivative_tests

F = minigrad.nn.functional
BY_HAND = {
    "relu": (F.relu, [[-1.0, 0.0, 2.0]], [[0, 0, 1]]),
    "relu6": (F.relu6, [[-1.0, 3.0, 7.0]], [[0, 1, 0]]),
    "leaky_relu": (lambda a: F.leaky_relu(a, 0.1), [[-1.0, 2.0]], [[0.1, 1]]),
    "hardtanh": (F.hardtanh, [[-2.0, 0.5, 2.0]], [[0, 1, 0]]),
    "hardsigmoid": (F.hardsigmoid, [[-4.0, 0.0, 4.0]], [[0, 1 / 6, 0]]),
    "softshrink": (F.softshrink, [[-1.0, 0.2, 1.0]], [[1, 0, 1]]),
    "threshold": (lambda a: F.threshold(a, 1.0, 7.0), [[0.5, 2.0]], [[0, 1]]),
    "prelu": (F.prelu, [[-2.0, 3.0], [0.5]], [[0.5, 1], [-2]]),
    "sigmoid": (F.sigmoid, [0.0], [1 / 4]),
    "tanh": (F.tanh, [0.0], [1]),
    "gelu": (F.gelu, [0.0], [1 / 2]),
    "silu": (F.silu, [0.0], [1 / 2]),
    "softplus": (F.softplus, [0.0], [1 / 2]),
    "softsign": (F.softsign, [1.0], [1 / 4]),
    "logsigmoid": (F.logsigmoid, [0.0], [1 / 2]),
    "elu": (F.elu, [[-1.0, 2.0]], [[exp(-1), 1]]),
    "glu": (F.glu, [[2.0, 0.0]], [[1 / 2, 2 / 4]]),
    "softmax": (lambda a: F.softmax(a, 0)[0], [[0.0, 0.0]], [[1 / 4, -1 / 4]]),
    "log_softmax": (lambda a: F.log_softmax(a, 0)[0], [[0.0, 0.0]], [[1 / 2, -1 / 2]]),
}

test_against_differences, test_by_hand = derivative_tests("activation", BY_HAND)
