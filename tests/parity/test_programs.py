"""Whole programs: minigrad prints what PyTorch prints."""

from __future__ import annotations

import pytest

from tests.parity.runner import difference, expected, library, names, run, same


def test_there_are_programs():
    assert len(names()) == 26


@pytest.mark.parametrize("name", names())
def test_minigrad_prints_what_pytorch_printed(name):
    assert difference(expected(name), run(name, library("minigrad"))) == ""


@pytest.mark.torch
@pytest.mark.parametrize("name", names())
def test_pytorch_still_prints_it(torch, name):
    assert difference(expected(name), run(name, library("torch"))) == ""


@pytest.mark.parametrize(("want", "got", "equal"), [
    ("tensor(1.0000)", "tensor(1.0001)", True),
    ("tensor(1.0000)", "tensor(1.0100)", False),
    ("tensor(1.)", "tensor(1.0000)", False),
    ("x 3", "x 4", False),
    ("x 1e-06", "x 1.0e-06", False),
    ("1. 2.", "1. 2. 3.", False),
    ("MulBackward0", "MulBackward1", False),
    ("", "a line too many", False),
])
def test_the_comparison_allows_rounding_and_nothing_else(want, got, equal):
    assert same(want, got) is equal
    assert (difference(want, got) == "") is equal
