"""gradcheck finds wrong derivatives, and passes right ones."""

from __future__ import annotations

import pytest

import minigrad
from minigrad.autograd import gradcheck


def leaf(m, *shape):
    """Values that are not too round."""
    return (m.arange(1.0, 1.0 + max(1, _size(shape))).double().reshape(shape) / 3 - 0.8).requires_grad_()


def _size(shape):
    count = 1
    for n in shape:
        count *= n
    return count


def planted(m, wrong):
    """The square, with a wrong derivative."""

    class Square(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return wrong(g, *ctx.saved_tensors)

    return Square.apply


RIGHT = {
    "square": lambda x: x * x,
    "two outputs": lambda x: (x.exp(), x.sum(0)),
    "chain": lambda x: (x.tanh() @ x.t()).sum(),
    "some inputs are no tensors": lambda x, n=3: x * n,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(m, name):
    assert m.autograd.gradcheck(RIGHT[name], (leaf(m, 2, 3),)) is True


WRONG = {
    "a factor": lambda g, x: g * x,
    "a sign": lambda g, x: -2 * g * x,
    "a small error": lambda g, x: g * 2 * x * 1.01,
    "one entry": lambda g, x: g * 2 * x * (x > -0.4).double(),
    "zeros": lambda g, x: g * 0,
    "transposed": lambda g, x: (g * 2 * x).t().reshape(x.shape),
}


@pytest.mark.parametrize("name", WRONG)
def test_planted_errors_are_found(m, name):
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        m.autograd.gradcheck(planted(m, WRONG[name]), (leaf(m, 2, 3),))
    assert m.autograd.gradcheck(planted(m, WRONG[name]), (leaf(m, 2, 3),), raise_exception=False) is False


def test_which_output_and_input_is_named(m):
    square = planted(m, lambda g, x: g)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 1 with respect to input 1"):
        m.autograd.gradcheck(lambda x, y: (x + y, x + square(y)), (leaf(m, 3), leaf(m, 3)))


def test_inputs_are_as_they_were():
    x = leaf(minigrad, 2, 3)
    values, version = x.tolist(), x._version
    gradcheck(lambda x: x.exp(), (x,))
    assert (x.tolist(), x.grad, x._version) == (values, None, version)


def test_no_input_that_requires_grad(m):
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        m.autograd.gradcheck(lambda x: x, (m.ones(2).double(),))


def test_float32_warns(m):
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        m.autograd.gradcheck(lambda x: x * 2, (m.ones(2, requires_grad=True),), eps=1e-2, atol=1e-2)
