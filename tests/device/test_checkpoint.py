"""Checkpoints on the stand-in device: the gradients of the plain pass, and a story that is the CPU's."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.recorder import record
from minigrad.utils.checkpoint import checkpoint, checkpoint_sequential
from tests.device.strict import COUNTS


def model():
    minigrad.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))


RUNS = {
    "plain": lambda m, x: m(x),
    "reentrant": lambda m, x: checkpoint(m, x, use_reentrant=True),
    "not reentrant": lambda m, x: checkpoint(m, x, use_reentrant=False),
    "sequential": lambda m, x: checkpoint_sequential(m, 2, x, use_reentrant=False),
    "without random state": lambda m, x: checkpoint(m, x, use_reentrant=False, preserve_rng_state=False),
}


def gradients(run, device):
    made = model().to(device)
    x = minigrad.linspace(-1, 1, 6).reshape(2, 3).to(device).requires_grad_()
    run(made, x).sum().backward()
    return [x.grad, *[p.grad for p in made.parameters()]]


@pytest.mark.parametrize("name", RUNS)
def test_gradients(cuda, name):
    ours, theirs = gradients(RUNS["plain"], "cpu"), gradients(RUNS[name], "cuda")
    assert COUNTS.to_host == 0
    for a, b in zip(ours, theirs, strict=True):
        assert b.device.type == "cuda"
        np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), rtol=1e-5, atol=1e-6)


def test_nested(cuda):
    def inner(v):
        return checkpoint(minigrad.tanh, v, use_reentrant=False) * v

    found = []
    for device in ("cpu", "cuda"):
        x = minigrad.tensor([0.5, 2.0], device=device, requires_grad=True)
        checkpoint(inner, x, use_reentrant=False).sum().backward()
        found.append(x.grad.cpu().numpy())
    np.testing.assert_allclose(*found, rtol=1e-6)


def told(name, device):
    """The story of a pass as text, with the devices left out."""
    made = model().to(device)
    x = minigrad.ones(2, 3, device=device, requires_grad=True)
    with record() as trace:
        RUNS[name](made, x).sum().backward()
    return re.sub(r"cuda:\d", "cpu", trace.text()), trace


@pytest.mark.parametrize("name", RUNS)
def test_story(cuda, name):
    (here, _), (there, trace) = told(name, "cpu"), told(name, "cuda")
    assert there == here
    assert len(trace.events) > 10


def test_story_of_a_move(cuda):
    x = minigrad.ones(2, requires_grad=True)
    with record() as trace:
        (x.cuda() * 2).sum().cpu().backward()
    assert x.grad.tolist() == [2, 2]
    assert trace.text().count("ToCopy") >= 2
