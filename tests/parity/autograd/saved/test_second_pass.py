"""Whether a second pass through an op raises: only if it saved something for the inputs that require grad."""

from __future__ import annotations

import itertools

import pytest

import minigrad
from tests.parity.compare import arrays_of, leaves_of, outputs_of
from tests.parity.tables import all_cases

pytestmark = pytest.mark.torch
CASES = all_cases()
SAVES_MORE = {"nextafter"}  # PyTorch saves nothing for the second input alone


def passes(lib, call, inputs, arrays, wanted):
    """For each output how a second pass ends, where only the `wanted` inputs require grad."""
    lib.manual_seed(0)
    leaves = leaves_of(lib, inputs, arrays)
    for leaf, on in zip(leaves, wanted, strict=True):
        if leaf.requires_grad:
            leaf.requires_grad_(on)
    try:
        outputs = [v for v in outputs_of(call(lib, *leaves)) if getattr(v, "requires_grad", False)]
    except RuntimeError as error:
        return type(error).__name__
    return [ended(output) for _ in range(2) for output in outputs]


def ended(output):
    """The error of a pass from an output."""
    try:
        output.sum().backward()
    except RuntimeError as error:
        return str(error)[:40]
    return ""


@pytest.mark.parametrize("name", [name for name in CASES if name not in SAVES_MORE])
def test_a_second_pass_ends_alike(torch, name):
    call, inputs = CASES[name]
    arrays = arrays_of(inputs, "float64", seed=3)
    for wanted in itertools.product([True, False], repeat=len(inputs)):
        mine, theirs = (passes(lib, call, inputs, arrays, wanted) for lib in (minigrad, torch))
        assert mine == theirs, wanted
