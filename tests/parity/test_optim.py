"""optim: after a hundred steps parameters, states, versions and groups are PyTorch's, for every optimiser and option."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
import minigrad.optim
from minigrad.optim import _walk

pytestmark = pytest.mark.torch

LINES = """
SGD
SGD lr=0.05
SGD momentum=0.9
SGD momentum=0.9 dampening=0.3
SGD momentum=0.9 nesterov=True
SGD momentum=0.9 nesterov=True weight_decay=0.1 maximize=True
SGD weight_decay=0.2 lr=0.02
SGD maximize=True
SGD foreach=True momentum=0.5
SGD fused=True momentum=0.5
Adam
Adam lr=0.05 betas=(0.8,0.9)
Adam betas=(0.3,0.4) eps=0.01
Adam weight_decay=0.1
Adam weight_decay=0.1 decoupled_weight_decay=True
Adam amsgrad=True lr=0.02
Adam amsgrad=True weight_decay=0.1 maximize=True
Adam maximize=True decoupled_weight_decay=True weight_decay=0.1
Adam foreach=True
Adam fused=True
AdamW
AdamW weight_decay=0.3 lr=0.03
AdamW amsgrad=True maximize=True
RMSprop
RMSprop alpha=0.8 eps=0.001
RMSprop momentum=0.7
RMSprop centered=True
RMSprop centered=True momentum=0.7 weight_decay=0.1 maximize=True
Adagrad
Adagrad lr=0.1 lr_decay=0.05
Adagrad initial_accumulator_value=0.5 eps=0.001
Adagrad weight_decay=0.1 maximize=True lr_decay=0.1
Adadelta
Adadelta rho=0.5 eps=0.001 lr=0.5
Adadelta weight_decay=0.1 maximize=True
Adamax
Adamax lr=0.05 betas=(0.7,0.9) eps=0.001
Adamax weight_decay=0.1 maximize=True
NAdam
NAdam lr=0.02 betas=(0.7,0.9) momentum_decay=0.1
NAdam weight_decay=0.1 decoupled_weight_decay=True
NAdam weight_decay=0.1 maximize=True eps=0.001
RAdam
RAdam lr=0.02 betas=(0.7,0.9)
RAdam weight_decay=0.1 decoupled_weight_decay=True
RAdam weight_decay=0.1 maximize=True eps=0.001
Rprop
Rprop lr=0.05 etas=(0.4,1.5)
Rprop step_sizes=(0.001,0.02) maximize=True
ASGD
ASGD lr=0.05 lambd=0.01 alpha=0.5
ASGD t0=10 weight_decay=0.1
ASGD t0=3 maximize=True
""".strip().splitlines()
SHAPES = ((5, 7), (), (4, 3), (0,))
LATE = 2  # this one has no gradient in the first 60 steps


def optimizer_of(lib, line, params, **more):
    """The optimiser that a line names."""
    name, *options = line.split()
    return getattr(lib.optim, name)(params, **{k: eval(v) for k, v in (o.split("=") for o in options)}, **more)


def params_of(lib, dtype):
    random = np.random.RandomState(0)
    return [lib.tensor(np.asarray(random.standard_normal(shape)).astype(dtype), requires_grad=True)
            for shape in SHAPES]


def gradient(p, i, step):
    """A gradient that depends on where the parameter is, of memory in another order for some."""
    at = p.detach().numpy()
    g = np.asarray(at * np.linspace(0.1, 2, at.size).reshape(at.shape) + np.cos(3 * step + i + at)).astype(at.dtype)
    return np.asfortranarray(g) if i == 2 else g


def walk(lib, line, dtype, steps=100, **more):
    """The optimiser after some steps, and its parameters."""
    params = params_of(lib, dtype)
    optimizer = optimizer_of(lib, line, params, **more)
    for step in range(steps):
        for i, p in enumerate(params):
            if i != LATE or step >= 0.6 * steps:
                p.grad = lib.from_numpy(gradient(p, i, step))
        optimizer.step()
    return optimizer, params


def told(value, numbers):
    """A state without tensors: those become their dtype, shape and version, their numbers go on the list."""
    if hasattr(value, "grad_fn"):
        numbers.append(value.detach().numpy().astype(float))
        return str(value.dtype).split(".")[1], tuple(value.shape), value._version, value.requires_grad
    if isinstance(value, dict):
        return [(key, told(each, numbers)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [told(each, numbers) for each in value]
    return value


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("line", LINES)
def test_a_hundred_steps(torch, monkeypatch, line, dtype):
    monkeypatch.setattr(_walk, "BLOCK", 64)  # bytes: some parameters take several blocks
    told_of, numbers_of = [], []
    for lib in (torch, minigrad):
        numbers = []
        optimizer, params = walk(lib, line.replace(" fused=True", "") if lib is torch else line, dtype)
        state = optimizer.state_dict()
        for group in state["param_groups"]:
            group.update({flag: None for flag in ("fused", "foreach") if flag in group})
        told_of.append((told(state, numbers), told(params, numbers)))
        numbers_of.append(numbers)
    assert told_of[1] == told_of[0]
    tolerance = 1e-6 if dtype == "float64" else 1e-3 if "Rprop" in line else 1e-4
    for theirs, ours in zip(*numbers_of, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
