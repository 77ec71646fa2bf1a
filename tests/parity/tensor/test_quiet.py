"""Numbers that overflow or are NaN: values are PyTorch's, and NumPy warns of nothing that PyTorch is silent about."""

from __future__ import annotations

import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.core.engine import SILENCE
from tests.parity.outcome import plain

pytestmark = pytest.mark.torch
NAN, INF = math.nan, math.inf

PROGRAMS = {
    "det of NaN": lambda m: m.linalg.det(m.tensor([[NAN, 1.0], [1.0, 2.0]])),
    "det, too large": lambda m: m.linalg.det(m.eye(3) * 1e30),
    "det of a stack": lambda m: m.linalg.det(m.tensor([[[NAN, 1.0], [1.0, 2.0]], [[1.0, 2.0], [3.0, 5.0]]])),
    "slogdet of NaN": lambda m: m.linalg.slogdet(m.tensor([[NAN, 1.0], [1.0, 2.0]])),
    "slogdet of other NaN": lambda m: m.linalg.slogdet(
        m.tensor([[[-1.0, NAN], [3.0, 1.0]], [[2.0, 0.0], [0.0, -INF]]])),
    "solve, too large": lambda m: m.linalg.solve(m.eye(1) * 1e-30, m.ones(1) * 1e30),
    "isclose, far apart": lambda m: m.isclose(m.tensor([INF, NAN, 1e38, INF]), m.tensor([INF, 1.0, -3e38, -INF])),
    "isclose of NaN": lambda m: m.isclose(m.tensor([NAN, NAN, 1.0]), m.tensor([NAN, 1.0, NAN]), equal_nan=True),
    "allclose, far apart": lambda m: m.allclose(m.tensor([1e38]), m.tensor([-3e38])),
    "histc, far apart": lambda m: m.histc(m.tensor([1e38, -1e38]), bins=4),
}


def without_warnings(program, lib):
    """What a program returns, where it warns of nothing under the filter that the library sets when it is imported."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filters.insert(0, SILENCE)
        result = plain(program(lib))
    assert [str(each.message) for each in caught] == []
    return result


@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_says_nothing(torch, name):
    assert str(without_warnings(PROGRAMS[name], minigrad)) == str(without_warnings(PROGRAMS[name], torch))  # NaN != NaN


NUMBERS = {
    "float32": st.floats(width=32), "float64": st.floats(), "int64": st.integers(-(2 ** 63), 2 ** 63 - 1),
    "uint8": st.integers(0, 255), "bool": st.booleans(),
}


@given(data=st.data())
def test_isclose_of_any_numbers(torch, data):
    dtype = data.draw(st.sampled_from(list(NUMBERS)))
    x = data.draw(st.lists(NUMBERS[dtype], min_size=1, max_size=4))
    y = [v if data.draw(st.booleans()) else data.draw(NUMBERS[dtype]) for v in x]
    rtol, atol = (data.draw(st.sampled_from([0.0, 1e-5, 0.5, 2.0])) for _ in range(2))

    def run(lib):
        tensors = [lib.tensor(values, dtype=getattr(lib, dtype)) for values in (x, y)]
        return [lib.isclose(*tensors, rtol=rtol, atol=atol, equal_nan=nan).tolist() for nan in (False, True)]

    assert run(minigrad) == run(torch)
