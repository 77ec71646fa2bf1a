"""Where NumPy's arrays take a way of their own for speed, by their size or by what they hold: values and gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import minigrad

pytestmark = pytest.mark.torch

LONG = (3, 400, 300)  # of float64 2.7 MiB: some blocks, and the last one short
OFFSETS = {"small": 0, "overflows": 800, "vanishes": -800}  # exp of them

CALLS = {
    "gelu": lambda F, x: F.gelu(x),
    "gelu tanh": lambda F, x: F.gelu(x, approximate="tanh"),
    "softmax": lambda F, x: F.softmax(x, -1),
    "softmax, first": lambda F, x: F.softmax(x, 0),
    "log_softmax": lambda F, x: F.log_softmax(x, -1),
    "log_softmax, one row": lambda F, x: F.log_softmax(x.reshape(-1), 0),
    "layer_norm": lambda F, x: F.layer_norm(x, x.shape[-1:]),
    "layer_norm, two": lambda F, x: F.layer_norm(x, x.shape[-2:]),
}


def drawn(*shape, seed=0):
    """Numbers of float64."""
    return np.random.default_rng(seed).standard_normal(shape)


def compare(torch, call, *arrays, wanted=None, places=1e-9):
    """The result of a call and the gradients of its inputs under both libraries; `wanted`: which inputs want one."""
    ends = []
    for lib in (torch, minigrad):
        given = [lib.tensor(a).requires_grad_(wanted is None or wanted[i]) for i, a in enumerate(arrays)]
        y = call(lib.nn.functional, *given)
        y.backward(lib.tensor(drawn(*y.shape, seed=9).astype(arrays[0].dtype)))
        ends.append([y.detach(), *[v.grad for v in given]])
    for a, b in zip(*ends, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=places, atol=places)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("offset", OFFSETS)
def test_long_arrays(torch, name, offset):
    compare(torch, CALLS[name], drawn(*LONG) * 3 + OFFSETS[offset])


@pytest.mark.parametrize("name", CALLS)
def test_long_arrays_in_another_order(torch, name):
    compare(torch, lambda F, x: CALLS[name](F, x.transpose(0, 2)), drawn(*LONG))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_all_sizes_together(torch, name, dtype):
    x = drawn(6, 5) + np.array([[0], [50], [-50], [1e4], [-1e4], [0]])
    x[5, 1:4] = -np.inf
    compare(torch, CALLS[name], x.astype(dtype), places=1e-5 if dtype == "float32" else 1e-9)


def test_no_warning_where_an_exponential_overflows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = minigrad.softmax(minigrad.tensor([[1e4, 0.0, -np.inf], [-1e4, -1e4, -1e4]]), 1)
    assert made.tolist() == [[1, 0, 0], [pytest.approx(1 / 3)] * 3]


@pytest.mark.parametrize("wanted", [(True, True, True), (False, True, True), (True, False, False),
                                    (False, False, True), (False, True, False), (True, True, False)])
@pytest.mark.parametrize("shape", [(7,), (5, 7)])
def test_layer_norm_for_whom_it_is_wanted(torch, wanted, shape):
    compare(torch, lambda F, x, w, b: F.layer_norm(x, shape, w, b), drawn(4, 3, *shape), drawn(*shape, seed=1),
            drawn(*shape, seed=2), wanted=wanted)


def test_layer_norm_far_from_zero(torch):
    x = (drawn(64, 48) + 1000).astype("float32")
    compare(torch, lambda F, x, w: F.layer_norm(x, (48,), w), x, drawn(48, seed=1).astype("float32"), places=5e-3)


def test_layer_norm_of_a_gradient_that_is_one_number(torch):
    for lib in (torch, minigrad):
        x = lib.tensor(drawn(6, 5)).requires_grad_()
        w = lib.tensor(drawn(5, seed=1)).requires_grad_()
        lib.nn.functional.layer_norm(x, (5,), w).sum().backward()
        if lib is torch:
            found = x.grad.numpy(), w.grad.numpy()
    np.testing.assert_allclose(x.grad.numpy(), found[0], atol=1e-12)
    np.testing.assert_allclose(w.grad.numpy(), found[1], atol=1e-12)


def test_softmax_twice_derived_is_as_its_fast_derivative():
    x, g = minigrad.tensor(drawn(40, 30)).requires_grad_(), minigrad.tensor(drawn(40, 30, seed=1))
    for call in CALLS.values():
        y = call(minigrad.nn.functional, x)
        seed = g.reshape(y.shape)
        fast, = minigrad.autograd.grad(y, x, seed, retain_graph=True)
        slow, = minigrad.autograd.grad(y, x, seed, create_graph=True)
        np.testing.assert_allclose(slow.detach().numpy(), fast.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("greatest", [-25.0, -15.0, -3.0, 0.0, 60.0])
def test_small_shares_are_as_exact_as_the_large(torch, greatest):
    x = np.array([[greatest, greatest - 80]], np.float32)
    ours, theirs = (lib.softmax(lib.tensor(x), 1).numpy() for lib in (minigrad, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [5.0, 130.0, 300.0, 1e4])
def test_gelu_by_tanh_has_slopes_far_out(torch, dtype, size):
    x = np.array([-size, -1.0, 0.5, size], dtype)
    found = []
    for lib in (torch, minigrad):
        leaf = lib.tensor(x).requires_grad_()
        lib.nn.functional.gelu(leaf, approximate="tanh").sum().backward()
        found.append(leaf.grad.numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=3e-3 if dtype == "float16" else 1e-5, atol=1e-6)


LAID = {
    "softmax": lambda F, x: F.softmax(x.transpose(1, 2), -1),
    "softmax, first": lambda F, x: F.softmax(x.transpose(1, 2), 0),
    "log_softmax": lambda F, x: F.log_softmax(x.transpose(0, 2), -1),
    "log_softmax, expanded": lambda F, x: F.log_softmax(x[:, :1].expand(3, 400, 300), 2),
}


@pytest.mark.parametrize("name", LAID)
def test_softmax_lies_row_by_row(torch, name):
    theirs, ours = (LAID[name](lib.nn.functional, lib.tensor(drawn(*LONG))) for lib in (torch, minigrad))
    assert ours.stride() == theirs.stride() and ours.is_contiguous()
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9)


def test_gelu_of_a_turned_tensor_gives_a_gradient_in_its_order(torch):
    found = []
    for lib in (torch, minigrad):
        x = lib.tensor(drawn(3, 7)).requires_grad_()
        y = lib.nn.functional.gelu(x.t(), approximate="tanh")
        found.append(lib.autograd.grad(y, x, lib.ones(7, 3, dtype=lib.float64))[0].stride())
    assert found[0] == found[1]


@pytest.mark.parametrize("way", ["data", "numpy", "hooks"])
def test_relu_asks_what_was_saved(torch, way):
    found = []
    for lib in (torch, minigrad):
        x = lib.tensor([1.0, -2.0, 3.0], requires_grad=True)
        if way == "hooks":
            with lib.autograd.graph.saved_tensors_hooks(lambda t: t - 1.5, lambda t: t):
                y = lib.relu(x)
        else:
            y = lib.relu(x)
        if way == "data":
            y.data.sub_(2)
        elif way == "numpy":
            y.detach().numpy()[:] = -1
        y.sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("rows", [7, 8, 32, 48, 49])
@pytest.mark.parametrize("bias", [(256,), (1,), (1, 256)])
def test_few_rows_times_a_large_turned_matrix(torch, rows, bias):
    def call(F, b, x, w):
        y = (minigrad if isinstance(x, minigrad.Tensor) else torch).addmm(b, x, w.t())
        assert y.is_contiguous()
        return y

    compare(torch, call, drawn(*bias), drawn(rows, 130, seed=1), drawn(256, 130, seed=2))
