"""Derivatives of the ops of minigrad/ops/special."""

from __future__ import annotations

from math import log, pi, sqrt

import minigrad
from tests.unit.ops.derivatives import derivative_tests

EULER = 0.5772156649015329
BY_HAND = {
    "erf": (minigrad.erf, [0.0], [2 / sqrt(pi)]),
    "erfc": (minigrad.erfc, [0.0], [-2 / sqrt(pi)]),
    "erfinv": (minigrad.erfinv, [0.0], [sqrt(pi) / 2]),
    "lgamma": (minigrad.lgamma, [1.0], [-EULER]),
    "digamma": (minigrad.digamma, [1.0], [pi ** 2 / 6]),
    "ndtr": (minigrad.special.ndtr, [0.0], [1 / sqrt(2 * pi)]),
    "i0": (minigrad.i0, [0.0], [0]),
    "logit": (minigrad.logit, [0.5], [4]),
    "entr": (minigrad.special.entr, [1.0], [-1]),
    "xlogy": (minigrad.xlogy, [2.0, 4.0], [log(4), 2 / 4]),
    "xlog1py": (minigrad.special.xlog1py, [2.0, 3.0], [log(4), 2 / 4]),
}

test_against_differences, test_by_hand = derivative_tests("special", BY_HAND)
