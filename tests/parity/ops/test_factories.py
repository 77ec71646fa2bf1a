"""Every function that makes tensors, with every argument that says what autograd and memory make of them."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.tensors import outcome

pytestmark = pytest.mark.torch

MAKERS = {
    "ones": lambda m, **k: m.ones(2, **k),
    "zeros": lambda m, **k: m.zeros(2, 3, **k),
    "empty": lambda m, **k: m.empty(0, **k),
    "full": lambda m, **k: m.full((2,), 1.0, **k),
    "eye": lambda m, **k: m.eye(2, **k),
    "arange": lambda m, **k: m.arange(3.0, **k),
    "linspace": lambda m, **k: m.linspace(0, 1, 3, **k),
    "tensor": lambda m, **k: m.tensor([1.0], **k),
    "scalar_tensor": lambda m, **k: m.scalar_tensor(1.0, **k),
    "rand": lambda m, **k: m.rand(0, **k),
    "randn": lambda m, **k: m.randn(0, **k),
    "randint": lambda m, **k: m.randint(0, 5, (0,), **k),
    "randperm": lambda m, **k: m.randperm(0, **k),
    "zeros_like": lambda m, **k: m.zeros_like(m.ones(2, 3).t(), **k),
    "ones_like": lambda m, **k: m.ones_like(m.arange(2), **k),
    "full_like": lambda m, **k: m.full_like(m.ones(2), 3, **k),
    "empty_like": lambda m, **k: m.empty_like(m.ones(0), **k),
    "rand_like": lambda m, **k: m.rand_like(m.ones(0), **k),
    "randn_like": lambda m, **k: m.randn_like(m.ones(0), **k),
    "new_zeros": lambda m, **k: m.ones(1).new_zeros(2, **k),
    "new_ones": lambda m, **k: m.ones(1, dtype=m.float64).new_ones((2, 3), **k),
    "new_full": lambda m, **k: m.ones(1).new_full((2,), 3, **k),
    "new_empty": lambda m, **k: m.ones(1).new_empty(0, **k),
    "new_tensor": lambda m, **k: m.ones(1, dtype=m.float64).new_tensor([2], **k),
}
ARGUMENTS = {
    "nothing": lambda m: {},
    "requires_grad": lambda m: {"requires_grad": True},
    "requires_grad of doubles": lambda m: {"dtype": m.float64, "requires_grad": True},
    "requires_grad of integers": lambda m: {"dtype": m.int64, "requires_grad": True},
    "requires_grad is None": lambda m: {"requires_grad": None},
    "requires_grad is 1": lambda m: {"requires_grad": 1},
    "cpu": lambda m: {"device": "cpu"},
    "device": lambda m: {"device": m.device("cpu")},
    "a dtype of NumPy": lambda m: {"dtype": np.float32},
}
# PyTorch tells of these by a list of all that it can be called with.
LISTS = {"eye", "arange", "linspace", "rand", "randn", "randint", "randperm", "rand_like", "randn_like",
         "scalar_tensor", "full"}
# Where nothing is drawn, PyTorch does not come to the error of a distribution that has no integers.
NOT_DRAWN = {("randn", "requires_grad of integers"), ("randn_like", "requires_grad of integers")}
PAIRS = [(maker, argument) for maker in MAKERS for argument in ARGUMENTS if (maker, argument) not in NOT_DRAWN]


@pytest.mark.parametrize(("maker", "argument"), PAIRS)
def test_both_make_the_same(torch, maker, argument):
    ours, theirs = (outcome(lambda m: MAKERS[maker](m, **ARGUMENTS[argument](m)), lib) for lib in (minigrad, torch))
    if maker in LISTS and "invalid combination" in str(theirs):
        assert ours[0].startswith("TypeError: ")
    else:
        assert ours == theirs
