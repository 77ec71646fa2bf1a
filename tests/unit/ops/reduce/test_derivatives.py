"""Derivatives of the ops of minigrad/ops/reduce."""

from __future__ import annotations

from math import exp, sqrt

import minigrad
from tests.unit.ops.derivatives import derivative_tests

BY_HAND = {
    "sum": (lambda a: a.sum(), [[1.0, 2.0]], [[1, 1]]),
    "sum of rows": (lambda a: a.sum(0) * minigrad.tensor([1.0, 9.0]), [[[1.0, 2.0], [3.0, 4.0]]], [[[1, 9], [1, 9]]]),
    "mean": (lambda a: a.mean(), [[1.0, 2.0, 3.0, 4.0]], [[1 / 4] * 4]),
    "prod": (lambda a: a.prod(), [[2.0, 3.0, 4.0]], [[12, 8, 6]]),
    "prod with a 0": (lambda a: a.prod(), [[0.0, 3.0, 4.0]], [[12, 0, 0]]),
    "max": (lambda a: a.max(), [[1.0, 3.0, 2.0]], [[0, 1, 0]]),
    "max of equal ones": (lambda a: a.max(), [[3.0, 3.0]], [[1 / 2, 1 / 2]]),
    "max along a dimension": (lambda a: a.max(0).values, [[3.0, 3.0]], [[1, 0]]),
    "amin": (lambda a: a.amin(0), [[1.0, 1.0, 2.0]], [[1 / 2, 1 / 2, 0]]),
    "median": (lambda a: a.median(), [[1.0, 5.0, 3.0]], [[0, 0, 1]]),
    "cumsum": (lambda a: a.cumsum(0), [[1.0, 1.0, 1.0]], [[3, 2, 1]]),
    "cumprod": (lambda a: a.cumprod(0), [[2.0, 3.0]], [[4, 2]]),
    "logsumexp": (lambda a: a.logsumexp(0), [[0.0, 0.0]], [[1 / 2, 1 / 2]]),
    "logcumsumexp": (lambda a: a.logcumsumexp(0), [[0.0, 0.0]], [[3 / 2, 1 / 2]]),
    "var": (lambda a: a.var(), [[1.0, 3.0]], [[-2, 2]]),
    "std": (lambda a: a.std(), [[1.0, 3.0]], [[-1 / sqrt(2), 1 / sqrt(2)]]),
    "sort": (lambda a: a.sort().values * minigrad.tensor([1.0, 10.0, 100.0]), [[3.0, 1.0, 2.0]], [[100, 1, 10]]),
    "topk": (lambda a: a.topk(2).values * minigrad.tensor([1.0, 10.0]), [[3.0, 1.0, 2.0]], [[1, 0, 10]]),
    "all that is exp": (lambda a: a.exp().sum(), [[0.0, 1.0]], [[1, exp(1)]]),
}

test_against_differences, test_by_hand = derivative_tests("reduce", BY_HAND)
