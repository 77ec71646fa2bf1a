"""Where the kernels for GPUs are used: with them the stand-in gives what the CPU gives, to the last bits' rounding."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from minigrad import optim
from tests.device.standin import COUNTS

RATE = 0.05
RULES = {
    "sgd": [{}, {"weight_decay": 0.1}, {"maximize": True, "weight_decay": 0.1}],
    "sgd_momentum": [{"momentum": 0.9}, {"momentum": 0.5, "dampening": 0.2, "weight_decay": 0.1, "maximize": True}],
    "sgd_nesterov": [{"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}],
    "adam": [{}, {"weight_decay": 0.1}, {"betas": (0.4, 0.7), "eps": 1e-3}, {"maximize": True}],
    "adamw": [{}, {"weight_decay": 0.3, "maximize": True}],
}
CASES = [(name, options) for name, each in RULES.items() for options in each]


def trained(cls, options, device, dtype, count=5, turned=False):
    """A parameter after some steps with given gradients, and its optimiser."""
    draw = np.random.default_rng(0)
    start = minigrad.tensor(draw.standard_normal((7, 5)), dtype=dtype, device=device)
    p = (start.t() if turned else start).requires_grad_()
    opt = cls([p], lr=RATE, **options)
    for _ in range(count):
        g = minigrad.tensor(draw.standard_normal((7, 5)), dtype=dtype, device=device)
        p.grad = g.t() if turned else g
        opt.step()
    return p, opt


def alike(ours, theirs, rtol):
    """Two tensors hold the same numbers, and were written to equally often."""
    np.testing.assert_allclose(ours.detach().cpu().numpy(), theirs.detach().numpy(), rtol=rtol, atol=rtol)
    assert ours._version == theirs._version and ours.dtype is theirs.dtype and ours.stride() == theirs.stride()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [minigrad.float32, minigrad.float64])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_rule(fused, name, options, dtype, turned):
    cls = {"sgd": optim.SGD, "adam": optim.Adam, "adamw": optim.AdamW}[name.split("_")[0]]
    here, ours = trained(cls, options, "cpu", dtype, turned=turned)
    there, theirs = trained(cls, options, "cuda", dtype, turned=turned)
    assert fused.ran == ["adam" if name == "adamw" else name] * (4 if "momentum" in options else 5)
    assert COUNTS.to_host == 0
    rtol = 1e-5 if dtype is minigrad.float32 else 1e-13
    alike(there, here, rtol)
    for key, value in ours.state[here].items():
        alike(theirs.state[there][key], value, rtol)


UNFUSED = {
    "float16": lambda: trained(optim.SGD, {}, "cuda", minigrad.float16),
    "amsgrad": lambda: trained(optim.Adam, {"amsgrad": True}, "cuda", minigrad.float32),
    "RMSprop": lambda: trained(optim.RMSprop, {}, "cuda", minigrad.float32),
    "differentiable": lambda: seen_by_autograd(),
    "a trace": lambda: recorded(),
}


def seen_by_autograd():
    p = minigrad.ones(2, device="cuda", requires_grad=True).clone()
    p.grad = minigrad.ones(2, device="cuda")
    optim.SGD([p], lr=RATE, differentiable=True).step()


def recorded():
    p = minigrad.ones(2, device="cuda", requires_grad=True)
    p.grad = minigrad.ones(2, device="cuda")
    with minigrad.recorder.record():
        optim.SGD([p], lr=RATE).step()


@pytest.mark.parametrize("name", UNFUSED)
def test_left_to_the_rule(fused, name):
    UNFUSED[name]()
    assert fused.ran == []


def test_elements_without_a_place_of_their_own_are_refused(fused):
    p = minigrad.ones(1, device="cuda").expand(3).requires_grad_()
    p.grad = minigrad.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="more than one element"):
        optim.SGD([p], lr=RATE).step()
    assert fused.ran == []


def test_a_gradient_of_another_device_is_left_to_the_rule(fused):
    p = minigrad.ones(3, device="cuda:0", requires_grad=True)
    with minigrad.cuda.device(1):
        p._grad = minigrad.ones(3, device="cuda")
    optim.SGD([p], lr=RATE).step()  # CuPy reads over the bus, or refuses
    assert fused.ran == []
