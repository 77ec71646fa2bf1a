"""What functions of complex numbers answer for real tensors, in both libraries."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

FACTS = {
    "the tensor itself": lambda m: [(x := m.ones(2, requires_grad=True), f(x) is x)[1] for f in (
        m.real, m.conj, m.conj_physical, m.resolve_conj, m.resolve_neg)],
    "methods": lambda m: [(x := m.ones(2), x.conj() is x, x.conj_physical() is x, x.resolve_conj() is x,
                           x.resolve_neg() is x, x.is_conj(), x.is_neg())[1:]],
    "is_conj, is_neg": lambda m: [m.is_conj(m.ones(2)), m.is_neg(m.ones(2)), m.is_complex(m.ones(2))],
    "imag": lambda m: m.imag(m.ones(2)),
}


@pytest.mark.parametrize("name", FACTS)
def test_fact(torch, name):
    assert outcome(FACTS[name], minigrad) == outcome(FACTS[name], torch)


@pytest.mark.parametrize("name", ["cdouble", "cfloat", "chalf"])
def test_a_complex_dtype_is_not_here(name):
    with pytest.raises(NotImplementedError):
        getattr(minigrad.ones(2), name)()
