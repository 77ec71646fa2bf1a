"""Where the kernels for GPUs are used: with them the stand-in gives what the CPU gives, to the last bits' rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minigrad
from minigrad import optim
from tests.device.strict import COUNTS

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
    assert ours._version == theirs._version and ours.dtype is theirs.dtype
    assert ours.stride() == theirs.stride() or ours.is_contiguous()  # what CuPy makes lies row by row


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


def test_a_gradient_of_another_device_is_refused(fused):
    p = minigrad.ones(3, device="cuda:0", requires_grad=True)
    with minigrad.cuda.device(1):
        p._grad = minigrad.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="at least two devices, cuda:[01] and cuda:[01]!"):
        optim.SGD([p], lr=RATE).step()
    assert fused.ran == []
    assert p.tolist() == [1.0, 1.0, 1.0]


def outcome(script, device, dtype, values):
    """What a function makes of a leaf, with the gradient of something that has no equal elements, and the second."""
    x = minigrad.tensor(values, dtype=dtype, device=device, requires_grad=True)
    y = script(x)
    (g,) = minigrad.autograd.grad((y * y).sum(), x, retain_graph=True)
    (again,) = minigrad.autograd.grad((y * y).sum(), x, create_graph=True)
    found = [y, g, again]
    return found + list(minigrad.autograd.grad((again * again).sum(), x))


def same_on_both(fused, script, names, dtype, values, rtol):
    """A function gives the same on both devices, and asks for these kernels in a first-order pass."""
    here, there = (outcome(script, device, dtype, values) for device in ("cpu", "cuda"))
    assert fused.ran == names
    assert COUNTS.to_host == 0
    in_rows = here[0].is_contiguous()  # CuPy does not keep the order of what lies otherwise
    for ours, theirs in zip(there, here, strict=True):
        scale = np.abs(theirs.detach().numpy()).max(initial=1)
        np.testing.assert_allclose(ours.detach().cpu().numpy(), theirs.detach().numpy(), rtol=rtol, atol=rtol * scale)
        assert ours.dtype is theirs.dtype and ours.shape == theirs.shape
        assert ours.stride() == theirs.stride() or not in_rows


SHAPES = {"()": (), "(0, 3)": (0, 3), "(9, 40)": (9, 40)}
ACTIVATIONS = {
    "gelu": lambda x: minigrad.nn.functional.gelu(x),
    "gelu_tanh": lambda x: minigrad.nn.functional.gelu(x, approximate="tanh"),
    "gelu, turned": lambda x: minigrad.nn.functional.gelu(x.mT if x.dim() else x),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [minigrad.float32, minigrad.float64])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(fused, name, dtype, shape):
    values = np.random.default_rng(0).standard_normal(SHAPES[shape]) * 3
    kernel, rtol = name.split(",")[0], 1e-6 if dtype is minigrad.float32 else 1e-14
    same_on_both(fused, ACTIVATIONS[name], [kernel, *[f"{kernel}_backward"] * 2], dtype, values, rtol)


@pytest.mark.parametrize("dtype", [minigrad.float32, minigrad.float64])
@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_a_derivative_from_the_result(fused, name, dtype):
    values, slopes = [-2.0, -0.0, 0.5, 3.0, math.inf, math.nan], [1.0, math.inf, math.nan, -2.0, 0.0, 3.0]
    found = []
    for device in ("cpu", "cuda"):
        x = minigrad.tensor(values, dtype=dtype, device=device, requires_grad=True)
        getattr(x, name)().backward(minigrad.tensor(slopes, dtype=dtype, device=device))
        found.append(x.grad.tolist())
    np.testing.assert_allclose(*found, rtol=1e-6)
    assert fused.ran == ["threshold_backward" if name == "relu" else "tanh_backward"]


def test_an_activation_of_float16_is_array_code_between_kernels(fused):
    x = minigrad.ones(3, device="cuda", dtype=minigrad.float16, requires_grad=True)
    y = minigrad.nn.functional.gelu(x)
    y.sum().backward()
    assert fused.ran == ["gelu"] and y.dtype is minigrad.float16  # in float32, rounded once


def weights(x, *shape):
    """A weight and a bias for a normalisation, that depend on the leaf too."""
    few = [minigrad.arange(math.prod(shape), dtype=x.dtype, device=x.device).reshape(shape) * k for k in (0.5, -0.25)]
    return [v + x.sum() / 10 for v in few]


FORWARD = ["squared_distance", "one_over_root", "standardize"]
BACKWARD = ["standardize", "standardize_backward"]
F = minigrad.nn.functional
NORMS = {
    "layer": lambda x: F.layer_norm(x, (6,), *weights(x, 6), eps=0.01),
    "layer, plain": lambda x: F.layer_norm(x, (6,)),
    "layer, no bias": lambda x: F.layer_norm(x, (6,), weights(x, 6)[0]),
    "layer, many": lambda x: F.layer_norm(x, (3, 4, 6), *weights(x, 3, 4, 6)),
    "layer, turned": lambda x: F.layer_norm(x.transpose(0, 3), (5,), *weights(x, 5)),
    "group": lambda x: F.group_norm(x.transpose(1, 2), 2, *weights(x, 4)),
    "batch": lambda x: F.batch_norm(x, None, None, *weights(x, 3), training=True),
}


@pytest.mark.parametrize("dtype", [minigrad.float32, minigrad.float64])
@pytest.mark.parametrize("name", NORMS)
def test_normalisation(fused, name, dtype):
    values = np.random.default_rng(0).standard_normal((5, 3, 4, 6))
    rtol = 2e-5 if dtype is minigrad.float32 else 1e-13
    same_on_both(fused, NORMS[name], [*FORWARD, *BACKWARD, *BACKWARD], dtype, values, rtol)


@pytest.mark.parametrize("shape", [(0, 6), (2, 0)])
def test_normalisation_of_nothing(fused, shape):
    for device in ("cpu", "cuda"):
        x = minigrad.ones(shape, device=device, requires_grad=True)
        y = F.layer_norm(x, shape[1:])
        y.sum().backward()
        assert y.shape == shape == x.grad.shape
    assert fused.ran == [*FORWARD, *BACKWARD]


def test_normalisation_of_float16(fused):
    x = minigrad.arange(12, dtype=minigrad.float16, device="cuda").reshape(2, 6).requires_grad_()
    y = F.layer_norm(x, (6,), minigrad.ones(6, device="cuda"))
    assert y.dtype is minigrad.float16 and fused.ran == []


SOFTMAX = ["softmax", "softmax_backward", "softmax_backward"]
LOGARITHM = ["log_softmax", "log_softmax_backward", "log_softmax_backward"]
SOFTMAXES = {
    "softmax": (lambda x: x.softmax(-1), SOFTMAX),
    "softmax, first": (lambda x: x.softmax(0), SOFTMAX),
    "softmax, turned": (lambda x: x.mT.softmax(1), SOFTMAX),
    "log_softmax": (lambda x: x.log_softmax(1), LOGARITHM),
    "log_softmax, first": (lambda x: x.log_softmax(0), LOGARITHM),
    "cross_entropy": (lambda x: F.cross_entropy(x, minigrad.arange(7, device=x.device) % 3), LOGARITHM),
    "cross_entropy, smoothed": (lambda x: F.cross_entropy(x, minigrad.arange(7, device=x.device) % 3,
                                                          label_smoothing=0.1, reduction="sum"), LOGARITHM),
}


@pytest.mark.parametrize("dtype", [minigrad.float32, minigrad.float64])
@pytest.mark.parametrize("name", SOFTMAXES)
def test_softmax(fused, name, dtype):
    values = np.random.default_rng(0).standard_normal((7, 5)) * 10
    script, kernels = SOFTMAXES[name]
    same_on_both(fused, script, kernels, dtype, values, 1e-5 if dtype is minigrad.float32 else 1e-13)


@pytest.mark.parametrize("values", [np.full((2, 3), -np.inf), [[np.inf, 1, 2], [-np.inf, 0, 90]], [[1e30, -1e30, 0]]])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_extremes(fused, name, values):
    here, there = (getattr(minigrad.tensor(values, device=device), name)(1) for device in ("cpu", "cuda"))
    assert fused.ran == [name]
    np.testing.assert_allclose(there.cpu().numpy(), here.numpy())


@pytest.mark.parametrize("shape", [(), (0, 3), (3, 0)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_little(fused, name, shape):
    found = []
    for device in ("cpu", "cuda"):
        x = minigrad.ones(shape, device=device, requires_grad=True)
        y = getattr(x, name)(0)
        y.sum().backward()
        found.append((y.tolist(), x.grad.tolist()))
    assert found[0] == found[1] and fused.ran == []
