"""`torch.Size`: it is added, multiplied, and joined with other sequences."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch


def sums_and_multiples(m):
    size, more, add = m.ones(2, 3).shape, (4, m.tensor(5), True), operator.add
    made = [add(size[:-1], more), add(more, size), size + size, size * 2, 2 * size, sum([size, size], ())]
    return [(repr(each), each) for each in made]


PROGRAMS = {
    "sums and multiples": sums_and_multiples,
    "and fractions": lambda m: operator.add(m.Size([1]), (2.5,)),
    "behind letters": lambda m: operator.add(("a",), m.Size([1])),
    "and a list": lambda m: operator.add(m.Size([1]), [2]),
    "behind a list": lambda m: operator.add([2], m.Size([1])),
    "and nothing": lambda m: m.Size([1]) + None,
    "times 1.5": lambda m: m.Size([1]) * 1.5,
    "of letters": lambda m: m.Size("ab"),
    "of a fraction": lambda m: m.Size([1, 2.5]),
    "of NumPy's fraction": lambda m: m.Size([np.float32(3)]),
    "of NumPy's integers": lambda m: repr(m.Size(np.array([2, 3]))),
    "of a list": lambda m: m.Size([[1]]),
    "of nothing": lambda m: m.Size([None]),
    "of bools and tensors": lambda m: repr(m.Size([True, m.tensor(2)])),
    "of a tensor": lambda m: repr(m.Size(m.tensor([1, 2]))),
    "of a tensor of fractions": lambda m: m.Size(m.ones(2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_size(torch, name):
    assert outcome(PROGRAMS[name], minigrad) == outcome(PROGRAMS[name], torch)
