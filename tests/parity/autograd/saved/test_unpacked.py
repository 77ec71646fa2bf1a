"""Unpack hooks that give something else than was packed: another shape, another dtype. Gradients or errors are
PyTorch's, and never of a shape that their tensor does not have."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch

OPS = {
    "dot": lambda m, x, w: x.dot(w),
    "dot of results": lambda m, x, w: (x * 1) @ w.view(2),
    "mul": lambda m, x, w: x * w,
    "square": lambda m, x, w: x * x,
    "div": lambda m, x, w: x / w,
    "power": lambda m, x, w: x ** w,
    "pow 3": lambda m, x, w: x ** 3,
    "exp": lambda m, x, w: x.exp(),
    "log": lambda m, x, w: x.log(),
    "sin": lambda m, x, w: x.sin(),
    "sqrt": lambda m, x, w: x.sqrt(),
    "abs": lambda m, x, w: x.abs(),
    "sigmoid": lambda m, x, w: x.sigmoid(),
    "tanh": lambda m, x, w: x.tanh(),
    "relu": lambda m, x, w: x.relu(),
    "mse": lambda m, x, w: m.nn.functional.mse_loss(x, w),
    "broadcast": lambda m, x, w: x * w.view(2, 1),
    "written to": lambda m, x, w: (x * 1).mul_(w),
    "chain": lambda m, x, w: (x.exp() * w).sin(),
}
SHAPES = [(2,), (5,), (0,), (), (1,), (2, 1), (1, 2), (2, 3), (3, 2)]


def unpacked(m, op, unpack, create_graph=False):
    """The gradients through an op whose saved values are unpacked as `unpack` says."""
    x, w = (m.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = OPS[op](m, x, w)
    found = m.autograd.grad(y.sum(), (x, w), allow_unused=True, create_graph=create_graph)
    return [None if g is None else g.detach() for g in found], x.grad, w.grad


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("op", OPS)
def test_another_shape(torch, op, shape, create_graph):
    alike(torch, lambda m: unpacked(m, op, lambda t: m.full(shape, 1.5), create_graph))


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
@pytest.mark.parametrize("op", OPS)
def test_another_dtype(torch, op, dtype):
    alike(torch, lambda m: unpacked(m, op, lambda t: m.ones(2, dtype=getattr(m, dtype))))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_backward_that_breaks_off_leaves_no_gradient(torch, shape):
    def program(m):
        x, w = (m.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: m.ones(shape)):
            y = x.dot(w)
        try:
            (y * 2).backward()
        except RuntimeError as error:
            return str(error).split("\n\n")[0], x.grad, w.grad
        return x.grad, w.grad

    alike(torch, program)
