"""Operands of dtypes that an op promotes or refuses, and numbers that a dtype cannot hold."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.tensors import outcome
from tests.parity.values import leaf, same_end

pytestmark = pytest.mark.torch

OPERANDS = {
    "large numbers": lambda m: (m.ones(2, dtype=m.uint8) + 300, m.ones(2, dtype=m.int8) * 200,
                                m.ones(2, dtype=m.uint8) * -1),
    "True minus": lambda m: True - m.ones(2),
    "minus True": lambda m: m.arange(2) - True,
    "bools minus": lambda m: m.tensor([True]) - 1,
    "not of floats": lambda m: ~m.ones(2),
    "bmm": lambda m: m.bmm(leaf(m, 1, 2, 2), leaf(m, 1, 2, 2, dtype="float64")),
    "mv": lambda m: m.mv(leaf(m, 2, 2), leaf(m, 2, dtype="float64")),
    "addmm bias": lambda m: m.addmm(leaf(m, 2, 2, dtype="float64"), leaf(m, 2, 2), leaf(m, 2, 2)),
    "addmm": lambda m: m.addmm(leaf(m, 2, 2), leaf(m, 2, 2, dtype="float64"), leaf(m, 2, 2)),
    "linear": lambda m: m.nn.functional.linear(leaf(m, 2, 2), leaf(m, 2, 2), leaf(m, 2, dtype="float64")),
    "condition of floats": lambda m: m.where(m.ones(2), leaf(m, 2), leaf(m, 2)),
    "cat of numbers": lambda m: m.cat([leaf(m), leaf(m)]),
}

BITWISE = {
    "&": lambda m: m.ones(2) & m.ones(2),
    "|": lambda m: m.ones(2) | m.ones(2),
    "~": lambda m: ~m.ones(2),
    "^": lambda m: m.tensor([1, 2]) ^ m.tensor([3, 3]),
    "^b": lambda m: m.tensor([True]) ^ m.tensor([True]),
    "^f": lambda m: m.ones(2) ^ m.ones(2),
    "& num": lambda m: m.tensor([1, 2]) & 1,
    "num &": lambda m: 1 & m.tensor([1, 2]),
    "& float num": lambda m: m.tensor([1, 2]) & 1.5,
    "& mix": lambda m: m.tensor([1, 2]) & m.tensor([True, False]),
    "& str": lambda m: m.tensor([1]) & "a",
    "|num": lambda m: True | m.tensor([False]),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_operands(torch, name):
    same_end(torch, OPERANDS[name])


@pytest.mark.parametrize("name", BITWISE)
def test_bitwise_operators(torch, every_warning, name):
    assert outcome(BITWISE[name], minigrad) == outcome(BITWISE[name], torch)
