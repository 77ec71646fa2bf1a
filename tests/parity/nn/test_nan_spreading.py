"""One NaN or infinity among the elements: which elements of a result and of a gradient it reaches."""

from __future__ import annotations

import math

import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch

ROW, IMAGE, VOLUME = (1, 1, 7), (1, 1, 4, 5), (1, 1, 3, 3, 3)
MAPS = {
    "avg_pool1d": (lambda f, x: f.avg_pool1d(x, 2), ROW),
    "avg_pool2d": (lambda f, x: f.avg_pool2d(x, 2, 1, padding=1), IMAGE),
    "avg_pool3d": (lambda f, x: f.avg_pool3d(x, 2, 1), VOLUME),
    "lp_pool1d": (lambda f, x: f.lp_pool1d(x, 2, 2), ROW),
    "adaptive_avg_pool1d": (lambda f, x: f.adaptive_avg_pool1d(x, 3), ROW),
    "adaptive_avg_pool2d": (lambda f, x: f.adaptive_avg_pool2d(x, (2, 3)), IMAGE),
    "adaptive_avg_pool3d": (lambda f, x: f.adaptive_avg_pool3d(x, 2), VOLUME),
    "local_response_norm": (lambda f, x: f.local_response_norm(x, 2), (1, 4, 3)),
    "nearest": (lambda f, x: f.interpolate(x, (8, 8)), IMAGE),
    "area": (lambda f, x: f.interpolate(x, (3, 3), mode="area"), IMAGE),
    "linear": (lambda f, x: f.interpolate(x, 9, mode="linear"), ROW),
    "linear, smaller": (lambda f, x: f.interpolate(x, 3, mode="linear"), ROW),
    "linear, corners": (lambda f, x: f.interpolate(x, 13, mode="linear", align_corners=True), ROW),
    "bilinear": (lambda f, x: f.interpolate(x, (7, 9), mode="bilinear", align_corners=True), IMAGE),
    "bicubic": (lambda f, x: f.interpolate(x, (7, 9), mode="bicubic", align_corners=True), IMAGE),
    "trilinear": (lambda f, x: f.interpolate(x, (4, 5, 6), mode="trilinear"), VOLUME),
}
BETWEEN = ("linear", "linear, corners", "bilinear", "bicubic", "trilinear")  # infinity times a weight of 0 is NaN there


def mapped(m, name, value):
    """A result and the gradient of its sum, with NaN as a word."""
    function, shape = MAPS[name]
    x = m.arange(float(math.prod(shape))).reshape(shape)
    x.view(-1)[3] = value
    y = function(m.nn.functional, x.requires_grad_())
    (g,) = m.autograd.grad(y.sum(), x)
    return [["NaN" if v != v else round(v, 3) for v in t.flatten().tolist()] for t in (y, g)]


@pytest.mark.parametrize("name, value", [(name, value) for name in MAPS for value in (math.nan, math.inf) if (
    value != math.inf or name not in BETWEEN)])
def test_one_element(torch, name, value):
    alike(torch, lambda m: mapped(m, name, value))


@pytest.mark.parametrize("name", ["avg_pool2d", "bilinear", "adaptive_avg_pool1d"])
def test_one_gradient(torch, name):
    def program(m):
        function, shape = MAPS[name]
        y = function(m.nn.functional, x := m.ones(shape, requires_grad=True))
        g = m.ones(y.shape)
        g.view(-1)[2] = math.nan
        return ["NaN" if v != v else round(v, 3) for v in m.autograd.grad(y, x, g)[0].flatten().tolist()]
    alike(torch, program)


ACTIVATIONS = {
    "leaky_relu": lambda f, x: f.leaky_relu(x),
    "leaky_relu of slope 0": lambda f, x: f.leaky_relu(x, 0.0),
    "leaky_relu_ of slope 0": lambda f, x: f.leaky_relu_(x * 1, 0.0),
    "leaky_relu of slope 1": lambda f, x: f.leaky_relu(x, 1.0),
    "rrelu of slope 0": lambda f, x: f.rrelu(x, 0.0, 0.0),
    "elu": lambda f, x: f.elu(x),
    "elu of 0": lambda f, x: f.elu(x, 0.0),
    "celu": lambda f, x: f.celu(x),
    "selu": lambda f, x: f.selu(x),
    "silu": lambda f, x: f.silu(x),
    "mish": lambda f, x: f.mish(x),
    "softplus": lambda f, x: f.softplus(x),
    "logsigmoid": lambda f, x: f.logsigmoid(x),
    "hardshrink": lambda f, x: f.hardshrink(x),
    "softshrink": lambda f, x: f.softshrink(x),
    "tanhshrink": lambda f, x: f.tanhshrink(x),
    "hardtanh": lambda f, x: f.hardtanh(x),
    "hardswish": lambda f, x: f.hardswish(x),
    "hardsigmoid": lambda f, x: f.hardsigmoid(x),
    "threshold": lambda f, x: f.threshold(x, 0.0, math.inf),
}  # not gelu: PyTorch's of infinity is NaN where it computes several elements at once


def activated(m, name):
    """A result and a gradient at special values, as words: a zero keeps its sign."""
    x = m.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0, 0.25, -0.25, 2.0, -2.0], requires_grad=True)
    y = ACTIVATIONS[name](m.nn.functional, x)
    y.sum().backward()
    return [[f"{v:.3f}" for v in t.tolist()] for t in (y, x.grad)]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_of_special_values(torch, name):
    alike(torch, lambda m: activated(m, name))
