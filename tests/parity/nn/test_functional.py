"""Functions of `nn.functional`: they refuse what is no tensor, and can be pickled."""

from __future__ import annotations

import pickle

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

NO_TENSORS = [[1.0, 2.0], 3, None, "a"]
FUNCTIONS = {
    "linear": lambda m, x: m.nn.functional.linear(x, m.ones(2, 2)),
    "linear, weight": lambda m, x: m.nn.functional.linear(m.ones(2), x),
    "Linear": lambda m, x: m.nn.Linear(2, 2)(x),
    "Embedding": lambda m, x: m.nn.Embedding(2, 2)(x),
    "LayerNorm": lambda m, x: m.nn.LayerNorm(2)(x),
    "ReLU": lambda m, x: m.nn.ReLU()(x),
    "Dropout": lambda m, x: m.nn.Dropout()(x),
    "MaxPool2d": lambda m, x: m.nn.MaxPool2d(2)(x),
    "CrossEntropyLoss": lambda m, x: m.nn.CrossEntropyLoss()(x, m.tensor([0])),
    "nll_loss": lambda m, x: m.nn.functional.nll_loss(input=x, target=m.tensor([0])),
    "cosine_similarity": lambda m, x: m.nn.functional.cosine_similarity(x, m.ones(2)),
    "scaled_dot_product_attention": lambda m, x: m.nn.functional.scaled_dot_product_attention(x, m.ones(2), m.ones(2)),
    "unfold": lambda m, x: m.nn.functional.unfold(x, 2),
    "silu": lambda m, x: m.nn.functional.silu(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_tensor_is_refused_as_in_pytorch(torch, name):
    for value in NO_TENSORS:
        mine, theirs = (outcome(lambda m, value=value: FUNCTIONS[name](m, value), lib) for lib in (minigrad, torch))
        assert mine == theirs


def test_functions_in_python_can_be_pickled():
    functions = minigrad.nn.functional
    for name in (*functions.HANDED_ON, *functions.OTHERWISE):
        assert pickle.loads(pickle.dumps(getattr(functions, name))) is getattr(functions, name)


@pytest.mark.parametrize("loss", ["smooth_l1_loss", "huber_loss", "l1_loss", "mse_loss"])
def test_losses_of_infinite_numbers(torch, loss):
    def run(lib):
        values = [float("inf"), -float("inf"), float("nan"), 1.0, -1.0, 0.3]
        x, y = lib.tensor(values, requires_grad=True), lib.tensor(values[:1] * 3 + [0.0, 0.0, 0.0])
        getattr(lib.nn.functional, loss)(x, y, reduction="sum").backward()
        return repr(x.grad.tolist())

    assert outcome(run, minigrad)[0] == outcome(run, torch)[0]
