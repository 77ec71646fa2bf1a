"""A warning is about the line that called minigrad, whatever lies between."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import minigrad
from minigrad._base import warnings as _warnings

CALLS = {
    "a function": lambda x: minigrad.tensor(x),
    "a method": lambda x: x.new_tensor(x),
    "out": lambda x: minigrad.add(x, x, out=minigrad.ones(5)),
    "an operator": lambda x: x[minigrad.tensor([1, 0], dtype=minigrad.uint8)],
    "Python's float": lambda x: float(x[0] * 1),
    "a list of arrays": lambda x: minigrad.tensor([np.ones(2)]),
    "a property": lambda x: minigrad.ones(2, 3, 4).T,
}


@pytest.mark.parametrize("name", CALLS)
def test_place(monkeypatch, name):
    monkeypatch.setattr(_warnings, "GIVEN", set())
    x = minigrad.ones(2, requires_grad=name == "Python's float")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name](x)
    assert [each.filename for each in caught] == [__file__]
