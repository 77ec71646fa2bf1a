"""Operators with operands that are neither tensors nor numbers: Python asks the operand, then raises its own error."""

from __future__ import annotations

import operator
from decimal import Decimal

import numpy as np
import pytest

import minigrad
from tests.parity.alike import ending

pytestmark = pytest.mark.torch


def agree(torch, program):
    """Without the warnings: NumPy warns of PyTorch's `__array_wrap__`."""
    assert ending(program, minigrad)[0] == ending(program, torch)[0]


class Answers:
    """An operand that answers to every operator from the right."""

    def answer(self, other):
        return f"asked by a {type(other).__name__}"

    __rsub__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rlshift__ = __rand__ = answer


OPERANDS = {"array": np.array([2.0, 4.0]), "integers": np.array([2, 4]), "decimal": Decimal(2), "text": "a",
            "list": [1, 2], "None": None, "answers": Answers()}
OPERATORS = ("sub", "truediv", "floordiv", "mod", "pow", "lshift", "and_")
IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ilshift")


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_on_either_side(torch, name, operand, dtype):
    for turned in (False, True):
        def program(m, turned=turned):
            pair = m.tensor([7, 9]).to(getattr(m, dtype)), OPERANDS[operand]
            return getattr(operator, name)(*(pair[::-1] if turned else pair))

        agree(torch, program)


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(torch, name, operand):
    agree(torch, lambda m: getattr(operator, name)(m.tensor([7.0, 9.0]), OPERANDS[operand]))
