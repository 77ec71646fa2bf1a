"""Adaptive max pools: empty inputs, NaN, and sizes that are refused."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

POOLS = {
    "a pool of five dimensions": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(1, 1, 1, 2, 2), (2, 2)),
    "a pool of a matrix": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 2), (2, 2)),
    "a pool of an empty picture": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 3, 0, 2), 2),
    "a pool of an empty row": lambda m: m.nn.functional.adaptive_max_pool1d(m.ones(2, 0), 2),
    "a pool of an empty batch": lambda m: m.nn.functional.adaptive_max_pool3d(m.ones(0, 2, 4, 4, 4), 2),
    "a pool to nothing": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 3, 3), (0, 2)),
    "a pool to less than nothing": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 3, 3), (2, -1)),
    "a pool of integers": lambda m: m.nn.functional.adaptive_max_pool3d(m.ones(2, 3, 3, 3).long(), 2),
    "a pool with one size too many": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 2, 3, 3), (2, 2, 2)),
    "a pool of rows to two sizes": lambda m: m.nn.functional.adaptive_max_pool1d(m.ones(2, 3), (2, 2)),
    "a pool of one dimension": lambda m: m.nn.functional.adaptive_max_pool1d(m.ones(3), 2),
    "a pool of no tensor": lambda m: m.nn.functional.adaptive_max_pool1d(3, 2),
    "a pool with NaN": lambda m: m.nn.functional.adaptive_max_pool1d(m.tensor([[1, float("nan"), 3, float("nan")]]), 1,
                                                                     True)[1],
}


@pytest.mark.parametrize("name", POOLS)
def test_what_it_gives_or_refuses(torch, name):
    assert outcome(POOLS[name], minigrad) == outcome(POOLS[name], torch)
