"""Optimizers step in bfloat16 as PyTorch's do: what they keep is of the same dtypes, and 20 steps differ by at most
five of the last bits of the largest element.

The gradients are given, so that no difference grows by way of the loss.
"""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
import minigrad.optim

pytestmark = pytest.mark.torch
OPTIONS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.1, "maximize": True}), ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}), ("AdamW", {"lr": 0.1}), ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}), ("RAdam", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1}), ("Adagrad", {"lr": 0.1, "lr_decay": 0.01}), ("Adadelta", {"lr": 1.0}),
    ("RMSprop", {"lr": 0.1}), ("RMSprop", {"lr": 0.1, "centered": True, "momentum": 0.9}), ("Rprop", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1}), ("Adafactor", {"lr": 0.1}), ("Muon", {"lr": 0.1})]
STEPS = 20


def stepped(m, name, options):
    """The parameter after its steps, and the tensors of its state by name."""
    p = (m.linspace(-1, 1, 12) * 17).sin().reshape(4, 3).bfloat16().requires_grad_()
    optimizer = getattr(m.optim, name)([p], **options)
    for i in range(STEPS):
        p.grad = (m.linspace(-1, 1, 12) * (7 + i)).cos().reshape(4, 3).bfloat16()
        optimizer.step()
    return {"p": p.detach(), **{key: v for key, v in optimizer.state[p].items() if isinstance(v, m.Tensor)}}


@pytest.mark.parametrize("name, options", OPTIONS, ids=lambda value: str(value))
def test_twenty_steps(torch, name, options):
    ours, theirs = (stepped(m, name, options) for m in (minigrad, torch))
    assert list(ours) == list(theirs)
    for key, other in theirs.items():
        assert str(ours[key].dtype) == str(other.dtype)
        largest = other.abs().max().item()
        np.testing.assert_allclose(ours[key].tolist(), other.tolist(), rtol=0, atol=largest * 5 / 128)
