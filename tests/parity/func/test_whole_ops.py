"""Convolutions and pools of batches, and derivatives of products, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from minigrad.ops._dispatch.op_wrappers import OPS, Lingering
from tests.parity.func.test_func import func_of

pytestmark = pytest.mark.torch


def tensors(value):
    return [value.detach().numpy()] if hasattr(value, "detach") else [each for part in value for each in tensors(part)]


def close(torch, program):
    """Compare the tensors that a program gives under both libraries: also those that are zero but for rounding."""
    for ours, theirs in zip(tensors(program(minigrad)), tensors(program(torch)), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-9, 1e-9)


def waves(m, *shape):
    """Numbers without a pattern that a convolution could hide."""
    count = 1
    for n in shape:
        count *= n
    return (m.arange(count, dtype=m.float64) * 1.7).sin().reshape(shape)


CONVOLUTIONS = {  # input, weight, options: of one example
    "plain": ((1, 2, 5, 5), (3, 2, 3, 3), {"padding": 1}),
    "several pictures": ((2, 2, 5, 5), (3, 2, 3, 3), {}),
    "stride": ((1, 2, 6, 5), (3, 2, 3, 2), {"stride": 2, "padding": 1}),
    "groups": ((1, 4, 5, 5), (6, 2, 3, 3), {"groups": 2}),
    "groups of several pictures": ((2, 4, 5, 5), (4, 1, 2, 2), {"groups": 4, "dilation": 2}),
    "one to many": ((1, 1, 4, 4), (5, 1, 3, 3), {}),
}
DIMS = [(0, None), (None, 0), (0, 0)]


def convolved(m, name, function, dims):
    """Values, gradients and tangents of a convolution of three examples."""
    x, w, options = CONVOLUTIONS[name]
    x, w = [waves(m, *([3] * (dim is not None)), *shape) for shape, dim in zip((x, w), dims, strict=True)]
    f, conv = func_of(m), getattr(m.nn.functional, function)

    def loss(a, b):
        return (conv(a, b, **options) ** 2).sum()

    return (f.vmap(lambda a, b: conv(a, b, **options), dims)(x, w), f.vmap(f.grad(loss, (0, 1)), dims)(x, w),
            f.vmap(lambda a, b: f.jvp(f.grad(loss, (0, 1)), (a, b), (a.cos(), b.cos())), dims)(x, w))


@pytest.mark.parametrize("dims", DIMS, ids=str)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(torch, name, dims):
    close(torch, lambda m: convolved(m, name, "conv2d", dims))


def transposed(m, dims):
    """A transposed convolution, whose weights have the channels the other way round."""
    f, conv = func_of(m), m.nn.functional.conv_transpose2d
    x, w = [waves(m, *([3] * (dim is not None)), *shape)
            for shape, dim in zip(((2, 3, 4, 4), (3, 2, 3, 3)), dims, strict=True)]

    def loss(a, b):
        return (conv(a, b, stride=2, output_padding=1) ** 2).sum()

    return f.vmap(f.grad(loss, (0, 1)), dims)(x, w)


@pytest.mark.parametrize("dims", DIMS, ids=str)
def test_transposed_convolutions(torch, dims):
    close(torch, lambda m: transposed(m, dims))


def pooled(m, function, shape, **options):
    """A maximum of windows: its values, its gradients, theirs, in two levels of `vmap`."""
    f, pool = func_of(m), getattr(m.nn.functional, function)

    def loss(a):
        return (pool(a, **options) ** 3).sum()

    x = waves(m, 2, 3, *shape)
    return [f.vmap(f.vmap(each))(x) for each in (
        lambda a: pool(a, **options), f.grad(loss), lambda a: f.jvp(f.grad(loss), (a,), (a.cos(),))[1])]


POOLS = {"2d": ("max_pool2d", (2, 4, 6), {"kernel_size": 2}),
         "overlapping": ("max_pool2d", (1, 2, 5, 5), {"kernel_size": 3, "stride": 1, "padding": 1}),
         "1d": ("max_pool1d", (2, 7), {"kernel_size": 2}), "3d": ("max_pool3d", (1, 4, 4, 4), {"kernel_size": 2})}


@pytest.mark.parametrize("name", POOLS)
def test_pools(torch, name):
    function, shape, options = POOLS[name]
    close(torch, lambda m: pooled(m, function, shape, **options))


def test_no_examples():
    f = func_of(minigrad)
    none = minigrad.zeros(0, 1, 2, 5, 5)
    assert f.vmap(lambda a: minigrad.nn.functional.max_pool2d(a, 2))(none).shape == (0, 1, 2, 2, 2)


def classes(m, target):
    """Losses of classes, some of them ignored."""
    f, x = func_of(m), waves(m, 3, 2, 4)
    loss = f.vmap(lambda a, t: m.nn.functional.cross_entropy(a, t, ignore_index=1))
    return loss(x, m.tensor(target))


TARGETS = {"all": [[0, 3], [2, 2], [3, 0]], "some ignored": [[0, 1], [2, 2], [1, 0]]}


@pytest.mark.parametrize("name", TARGETS)
def test_classes_of_examples(torch, name):
    close(torch, lambda m: classes(m, TARGETS[name]))


def test_a_class_that_is_none_of_any_example_is_refused():
    with pytest.raises(IndexError, match="Target 7 is out of bounds."):
        classes(minigrad, [[0, 2], [7, 2], [3, 0]])


def products(m):
    """Tangents of all products of two, where the factors are one, or one of them or what is added is no dual."""
    f = func_of(m)
    a, b, bias = waves(m, 3, 3), waves(m, 3, 3).cos(), waves(m, 3)
    v, stack = waves(m, 3), waves(m, 2, 3, 3)

    def of(function, *primals):
        return f.jvp(function, primals, tuple(each.cos() for each in primals))

    return [of(lambda x: x @ x, a), of(lambda x: x @ b, a), of(lambda x, y: x @ y, a, b), of(lambda x: x @ v, a),
            of(lambda x: x @ x, v), of(lambda x: x @ stack, stack), of(lambda x: m.addmm(bias, a, x), b),
            of(lambda x: m.addmm(x, a, b, beta=2, alpha=3), bias), of(lambda x, y: m.addmm(x, y, y), bias, a),
            of(lambda x, y, z: m.nn.functional.linear(x, y, z), a, b, bias),
            of(lambda x: m.baddbmm(stack, x, x, alpha=0.5), stack), of(lambda x: m.addr(a, x, v), v),
            of(lambda x, y: m.nn.functional.conv1d(x[None], y[None], bias[:1]), a, b),
            of(f.grad(lambda x: (x @ x).sum()), a)]


def test_tangents_of_products(torch):
    close(torch, products)


def test_jacobians_of_one_row(torch):
    """Of a scalar, of one element, and of a tree with an empty tensor beside it."""
    def rows(m):
        f, x = func_of(m), waves(m, 3)
        return [f.jacrev(lambda v: (v ** 3).sum())(x), f.jacrev(lambda v: (v ** 3).sum().reshape(1, 1))(x),
                f.jacrev(lambda v: ((v ** 3).sum(), v[:0]))(x), f.hessian(lambda v: v.prod())(x)]

    close(torch, rows)


def test_a_wrapper_stays_for_some_ops_after_a_level():
    """A Hessian that is computed again finds it in place; it is off once many ops have run without a level."""
    x = minigrad.ones(2, 2)
    for _ in range(2):
        func_of(minigrad).hessian(lambda a: (a ** 3).sum())(x)
        for _ in range(Lingering.PATIENCE // 4):
            x.exp()
        assert len(OPS.installed) == 2
    for _ in range(Lingering.PATIENCE):
        x.exp()
    assert OPS.installed == []
