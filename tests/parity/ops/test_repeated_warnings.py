"""Warnings of programs that give cause for one twice: once per program, or each time, as in PyTorch."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

PROGRAMS = {
    "few degrees of freedom, twice": lambda m: [
        str(f().tolist()) for f in (m.ones(1).var, m.ones(1).var, m.ones(2, 1).cov, m.ones(2, 1).cov)],
    "a mask of bytes, twice": lambda m: [m.ones(2)[m.tensor([1, 0], dtype=m.uint8)] for _ in range(2)],
    "a list for a tuple, twice": lambda m: [m.ones(2, 2)[[[0], [1]]] for _ in range(2)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_said_as_often_as_in_pytorch(torch, name):
    (mine, warned), (theirs, expected) = (outcome(PROGRAMS[name], lib) for lib in (minigrad, torch))
    assert mine == theirs
    assert [each for each in warned if each[0] != "RuntimeWarning"] == expected  # NumPy has its own
