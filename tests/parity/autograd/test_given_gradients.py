"""The gradients that a user gives against PyTorch: hooks and `grad` show the same tensors, with what they require."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike
from tests.parity.leaves import leaf

pytestmark = pytest.mark.torch

OPS = {
    "none": lambda x: x,
    "add": lambda x: x + 1,
    "mul": lambda x: x * 2,
    "view": lambda x: x.view(1, 2),
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.view(2, 1).sum(1),
    "clone": lambda x: x.clone(),
    "twice": lambda x: x + x,
}


def given(m, y):
    """A gradient for `y` that requires grad itself."""
    return m.full(tuple(y.shape), 3.0, requires_grad=True)


def returned(m, op):
    """What `grad` returns, and whether it is the very tensor that it got."""
    x = leaf(m, 2)
    y = op(x)
    w = given(m, y)
    grad, = m.autograd.grad(y, x, w)
    return grad.tolist(), grad.requires_grad, grad is w


def hooked(m, op):
    """What a hook and a node's hook see, and `.grad`."""
    x = leaf(m, 2)
    y = op(x) * 1
    w, seen = given(m, y), []
    y.register_hook(lambda g: seen.append((g.requires_grad, g is w)))
    y.grad_fn.register_hook(lambda grads, got: seen.append((grads[0].requires_grad, got[0] is w)))
    y.backward(w)
    return seen, x.grad.tolist(), x.grad.requires_grad, x.grad is w


def by_function(m, op):
    """What the backward of a custom Function gets."""
    seen = []

    class Same(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append((g.requires_grad, g is w))
            return g

    x = leaf(m, 2)
    y = Same.apply(op(x))
    w = given(m, y)
    grad, = m.autograd.grad(y, x, w)
    return seen, grad.requires_grad, grad is w


@pytest.mark.parametrize("program", [returned, hooked, by_function])
@pytest.mark.parametrize("op", OPS)
def test_gradients_that_require_grad(torch, program, op):
    alike(torch, lambda m: program(m, OPS[op]))


def of_the_root(m, names, root):
    """What a hook on several tensors gets, where one of them is the root of the pass."""
    a, seen = leaf(m, 1), []
    b = a * 2
    c = b + a
    tensors = {"a": a, "b": b, "c": c}
    m.autograd.graph.register_multi_grad_hook([tensors[name] for name in names], lambda grads: seen.append(
        [None if g is None else g.tolist() for g in grads]))
    m.autograd.backward([tensors[name] for name in root])
    return seen


@pytest.mark.parametrize("root", ["c", "cb"])
@pytest.mark.parametrize("names", ["cc", "cca", "abc", "bb", "bbc"])
def test_a_hook_on_several_tensors_and_the_root(torch, names, root):
    alike(torch, lambda m: of_the_root(m, names, root))
