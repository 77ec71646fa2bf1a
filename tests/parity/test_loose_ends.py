"""Small things that ended otherwise than in PyTorch once: values, errors and warnings of whole programs."""

from __future__ import annotations

import copy
import pickle

import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch

PROGRAMS = Programs({
    "few degrees of freedom, twice": lambda m: [
        str(f().tolist()) for f in (m.ones(1).var, m.ones(1).var, m.ones(2, 1).cov, m.ones(2, 1).cov)],
    "a mask of bytes, twice": lambda m: [m.ones(2)[m.tensor([1, 0], dtype=m.uint8)] for _ in range(2)],
    "a list for a tuple, twice": lambda m: [m.ones(2, 2)[[[0], [1]]] for _ in range(2)],
})


@PROGRAMS
def a_number_of_a_tensor_without_grad_mode(m):
    x = m.ones(1, requires_grad=True)
    with m.no_grad():
        return float(x), complex(x), int(x)


@PROGRAMS
def copies_of_a_generator_go_on_alike(m):
    g = m.Generator().manual_seed(4)
    m.randn(3, generator=g)
    others = [copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))]
    return [(m.randn(3, generator=each), each.initial_seed(), str(each.device)) for each in (g, *others)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_ends_as_in_pytorch(torch, name):
    (mine, warned), (theirs, expected) = (outcome(PROGRAMS[name], lib) for lib in (minigrad, torch))
    assert mine == theirs
    assert [each for each in warned if each[0] != "RuntimeWarning"] == expected  # NumPy has its own
