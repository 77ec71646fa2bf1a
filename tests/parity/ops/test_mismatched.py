"""Every op with inputs that do not fit: both libraries refuse them with one type of error, or neither does.

Each line of `drawn.py` is given what fits it, but for one input (`mismatched.py`): of another dtype, of a shape from a
fixed list, or of its own shape with one dimension more, one less, or one longer. What is taken has the same dtype,
shape and values. Nothing may differ but what `MISMATCHED` names, each with what is wrong about it in PyTorch.
"""

from __future__ import annotations

import pytest

import minigrad
import minigrad.nn
from tests.parity import seen
from tests.parity.ops.mismatched import bases, difference, ending, substitutes
from tests.parity.tables import all_drawn, all_mismatched

pytestmark = pytest.mark.torch
DRAWN, MISMATCHED = all_drawn(), all_mismatched()


def differing(torch, name):
    """What was tried of a line: the inputs that were given, and what differed."""
    call, what = DRAWN[name]
    excepted, _ = MISMATCHED.get(name, (lambda *_: False, ""))
    for inputs, args in bases(torch, name, call, what):
        for given in substitutes(inputs):
            if not excepted(*given, *args):
                words = ", ".join([f"{spec.dtype or 'float64'} {spec.shape}" for spec in given])
                yield f"{words}; {args}", difference(*[ending(lib, call, given, args) for lib in (minigrad, torch)])


@pytest.mark.parametrize("name", DRAWN)
def test_one_input_that_does_not_fit(torch, name):
    found = list(differing(torch, name))
    seen.note("One input that does not fit", name, len(found), 0.0)
    assert found
    assert [": ".join(each) for each in found if each[1] is not None] == []


def test_excepted_lines_are_lines():
    assert set(MISMATCHED) <= set(DRAWN)
