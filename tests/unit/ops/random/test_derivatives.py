"""Derivatives of random numbers (minigrad/ops/random.py): they do not move with what they replace."""

from __future__ import annotations

import pytest

import minigrad
from tests.unit.ops.derivatives import check_by_hand

BY_HAND = {
    "normal_": (lambda a: (a * 1).normal_(), [[1.0, 2.0]], [[0, 0]]),
    "uniform_": (lambda a: (a * 1).uniform_(), [[1.0, 2.0]], [[0, 0]]),
    "bernoulli_": (lambda a: (a * 1).bernoulli_(0.5), [[1.0, 2.0]], [[0, 0]]),
    "bernoulli_ of a tensor": (lambda a, p: (a * 1).bernoulli_(p * 1), [[1.0, 2.0], [0.5, 0.5]], [[0, 0], [0, 0]]),
    "bernoulli": (lambda a: minigrad.bernoulli(a), [[0.5, 1.0]], [[0, 0]]),
    "poisson": (lambda a: minigrad.poisson(a), [[1.0, 2.0]], [[0, 0]]),
    "normal": (lambda a, b: minigrad.normal(a, b), [[1.0, 2.0], [1.0, 1.0]], [[0, 0], [0, 0]]),
    "dropout of all": (lambda a: minigrad.dropout(a, 1.0, True), [[1.0, 2.0]], [[0, 0]]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    check_by_hand(*BY_HAND[name])
