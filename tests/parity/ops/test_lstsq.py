"""`linalg.lstsq`: its rank, and what it refuses."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

REFUSED = {
    "least squares of a row": lambda m: m.linalg.lstsq(m.ones(3), m.ones(3, 1)),
    "least squares of a number": lambda m: m.linalg.lstsq(m.ones(3, 2), m.tensor(1.0)),
    "least squares of two dtypes": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1).double()),
    "least squares of integers": lambda m: m.linalg.lstsq(m.ones(3, 2).long(), m.ones(3, 1).long()),
    "least squares of other rows": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(2, 1)),
    "least squares of other dimensions": lambda m: m.linalg.lstsq(m.ones(1, 1, 3, 2), m.ones(3, 1)),
    "least squares by no such driver": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1), driver="best"),
    "least squares without full rank": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1), driver="gels"),
    "the rank of least squares": lambda m: [m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1)).rank,
                                            m.linalg.lstsq(m.eye(2), m.ones(2, 1), driver="gelsd")[3],
                                            m.linalg.lstsq(m.tensor([[1, 0], [0, 1e-3]]), m.ones(2), rcond=0.1).rank],
    "least squares of no tensor": lambda m: m.linalg.lstsq(3, m.ones(2, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_gives_or_refuses(torch, name):
    assert outcome(REFUSED[name], minigrad) == outcome(REFUSED[name], torch)
