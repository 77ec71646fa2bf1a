"""Whole programs: minigrad prints what PyTorch prints."""

from __future__ import annotations

import re

import pytest

from tests.parity.runner import NUMBER, difference, expected, library, names, run, same


def test_there_are_programs():
    assert len(names()) == 26


@pytest.mark.parametrize("name", names())
def test_minigrad_prints_what_pytorch_printed(name):
    assert difference(expected(name), run(name, library("minigrad"))) == ""


def plainly(text):
    """Text with all numbers in one form, and no blanks before them: a sum that is 0 on one processor is 1e-8 on
    another, and then PyTorch prints the whole tensor with exponents."""
    return NUMBER.sub(lambda number: f"{float(number[0]):.4f}" if "." in number[0] else number[0],
                      re.sub(r"(?<=[\[,]) +", "", text)).replace("-0.0000", "0.0000")


@pytest.mark.torch
@pytest.mark.parametrize("name", names())
def test_pytorch_still_prints_it(any_torch, name):
    assert difference(plainly(expected(name)), plainly(run(name, library("torch")))) == ""


@pytest.mark.parametrize(("want", "got", "equal"), [
    ("[ 0.8230,  0.0000]", "[8.2304e-01, 1.0e-08]", True),
    ("[ 0.8230,  0.0000]", "[-8.2304e-01, 1.0e-08]", False),
    ("[0.8230, 3]", "[0.8230, 4]", False),
    ("[0.8230]", "[0.8330]", False),
])
def test_numbers_in_another_form_are_the_same_numbers(want, got, equal):
    assert (difference(plainly(want), plainly(got)) == "") is equal


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
