"""Convolutions of the sizes at which their columns are laid in another order, or come in several parts."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from minigrad.ops.nn.fold import BatchLast, Shifted, Window, order_of

pytestmark = pytest.mark.torch

# batch, channels in and out, size, kernel; what goes by name; the order of the columns of the forward pass
CONVOLUTIONS = {
    "one channel, many pictures": (64, 1, 16, (28, 28), (3, 3), {"padding": 1}, Shifted),
    "several parts": (9, 16, 8, (30, 31), (3, 3), {"padding": 1}, Shifted),
    "small pictures": (64, 16, 8, (4, 4), (3, 3), {"padding": 1}, BatchLast),
    "no padding": (3, 4, 6, (28, 25), (5, 3), {}, Shifted),
    "more padding than the kernel reaches": (2, 3, 4, (30, 30), (2, 2), {"padding": 4}, Shifted),
    "dilated, in groups": (5, 6, 4, (24, 24), (3, 3), {"padding": 2, "dilation": 2, "groups": 2}, Shifted),
    "in steps": (5, 6, 4, (24, 24), (3, 3), {"padding": 1, "stride": 2}, BatchLast),
    "a row": (7, 3, 5, (50,), (7,), {"padding": 3}, Shifted),
    "a space": (2, 2, 3, (20, 19, 22), (3, 2, 1), {"padding": (1, 0, 0)}, Shifted),
}


def passed(library, name, arrays):
    """Result and gradients, in one library."""
    *_, size, _, given, _ = CONVOLUTIONS[name]
    x, w, b, g = [library.tensor(array) for array in arrays]
    leaves = [t.requires_grad_() for t in (x, w, b)]
    y = getattr(library.nn.functional, f"conv{len(size)}d")(*leaves, **given)
    y.backward(g[tuple([slice(n) for n in y.shape])])
    return [np.asarray(t.detach()) for t in (y, *[leaf.grad for leaf in leaves])]


def drawn(name):
    """Input, weights, bias and a gradient that is large enough."""
    n, c, o, size, kernel, given, _ = CONVOLUTIONS[name]
    rng = np.random.default_rng(0)
    shapes = ((n, c, *size), (o, c // given.get("groups", 1), *kernel), (o,), (n, o, *[m + 8 for m in size]))
    return [rng.standard_normal(shape) for shape in shapes]


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_both_orders_of_columns(torch, name):
    arrays = drawn(name)
    for ours, theirs in zip(passed(minigrad, name, arrays), passed(torch, name, arrays), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_which_order_that_is(name):
    *_, size, kernel, given, kind = CONVOLUTIONS[name]
    window = Window(kernel, *[tuple(np.broadcast_to(given.get(what, usual), len(kernel)).tolist())
                              for what, usual in (("stride", 1), ("padding", 0), ("dilation", 1))])
    assert type(order_of(window, size)) is kind


@pytest.mark.parametrize("name", ["one channel, many pictures", "no padding"])
def test_what_is_infinite_at_an_edge_reaches_only_what_looks_at_it(torch, name):
    arrays = drawn(name)
    arrays[0][0, 0, 0, -1] = np.inf
    ours, theirs = passed(minigrad, name, arrays), passed(torch, name, arrays)
    assert not np.isfinite(theirs[0]).all() and np.isfinite(theirs[0]).any()
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_gradients_of_weights_lie_row_by_row(torch, name):
    *_, size, _, given, _ = CONVOLUTIONS[name]
    for library in (minigrad, torch):
        x, w, _, _ = [library.tensor(array) for array in drawn(name)]
        y = getattr(library.nn.functional, f"conv{len(size)}d")(x, w.requires_grad_(), **given)
        assert library.autograd.grad(y.sum(), w)[0].is_contiguous()


def test_no_channels_are_no_error():
    x, w, b = minigrad.ones(2, 0, 5, 5), minigrad.ones(3, 0, 3, 3), minigrad.ones(3)
    leaves = [t.requires_grad_() for t in (x, w, b)]
    minigrad.nn.functional.conv2d(*leaves).sum().backward()
    assert [tuple(t.grad.shape) for t in leaves] == [(2, 0, 5, 5), (3, 0, 3, 3), (3,)]
