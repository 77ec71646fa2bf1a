"""gradcheck finds wrong derivatives, and passes right ones; tests/unit/ops holds every op to it."""

from __future__ import annotations

import pytest

import minigrad
from minigrad.autograd import gradcheck, gradgradcheck


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


def test_the_second_derivative_is_checked(m):
    """Its first derivative is right: only what is computed inside `backward` is not recorded."""

    class Square(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0].detach()

    assert m.autograd.gradcheck(Square.apply, (leaf(m, 3),))
    with pytest.raises(RuntimeError, match="Numerical gradient|Jacobian mismatch"):
        m.autograd.gradgradcheck(Square.apply, (leaf(m, 3),))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_inputs_are_put_back_after_an_error(fast_mode):
    x = leaf(minigrad, 2, 3)
    values = x.tolist()

    def func(x):
        if x.tolist() != values:
            raise KeyError("moved")
        return x * 2

    with pytest.raises(KeyError, match="moved"):
        gradcheck(func, (x,), fast_mode=fast_mode)
    assert x.tolist() == values


def test_random_numbers_stay_as_they_are(m):
    for options in ({}, {"fast_mode": True}):
        m.manual_seed(0)
        first = m.rand(3).tolist()
        m.manual_seed(0)
        m.autograd.gradcheck(lambda x: x.exp(), (leaf(m, 3),), **options)
        assert m.rand(3).tolist() == first


def test_views_that_the_function_knows_move_with_their_input(m):
    x = leaf(m, 3)
    alias = x.detach()
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        m.autograd.gradcheck(lambda x: x * alias, (x,))


def test_a_0_d_result_can_be_moved():
    """Its data is a NumPy scalar, until somebody asks for memory."""
    x = leaf(minigrad, 3).sum()
    assert gradcheck(lambda x: x * x, (x,)) and gradgradcheck(lambda x: x * x, (x,))


def test_forward_mode_is_checked():
    x, y = leaf(minigrad, 3), leaf(minigrad, 3)
    assert gradcheck(lambda x, y: (x * y, x.exp()), (x, y), check_forward_ad=True)
    assert gradcheck(lambda x: x.sin(), (x,), check_forward_ad=True, check_backward_ad=False)
    assert gradgradcheck(lambda x, y: x * y.exp(), (x, y), check_fwd_over_rev=True, check_rev_over_rev=False,
                         check_undefined_grad=False)


def test_a_batch_of_tangents_has_to_give_what_single_ones_do():
    x, y = leaf(minigrad, 3), leaf(minigrad, 3)
    batched = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert gradcheck(lambda x, y: (x * y, y.exp()), (x, y), **batched)
    assert gradcheck(lambda x, number: x * number, (x, 2), **batched)

    class Changing(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def jvp(ctx, t):
            return changes[-1](t)

    changes = [lambda t: t * t.sum().item()]

    with pytest.raises(RuntimeError, match="While computing batched gradients, got: Batching rule not implemented for "
                                           "aten::item"):
        gradcheck(Changing.apply, (x,), **batched)
    calls = []

    def later(t):  # once for each of three columns, then for two tangents, then for both together
        calls.append(t)
        return t * (1 if len(calls) < 6 else 2)

    changes.append(later)
    with pytest.raises(RuntimeError, match=r"input 0:\n\n\ngradcheck failed while(.|\n)*with forward-mode AD"):
        gradcheck(Changing.apply, (x,), **batched)


def test_a_wrong_tangent_is_found():
    class Wrong(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 3

    x = leaf(minigrad, 3)
    assert gradcheck(Wrong.apply, (x,))
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0"):
        gradcheck(Wrong.apply, (x,), check_forward_ad=True)


def failing_later(passes, fail):
    """The square; its backward goes wrong after so many passes."""
    count = []

    def backward(g, x):
        count.append(1)
        return fail(g) if len(count) > passes else 2 * g * x

    return planted(minigrad, backward)


def refuse(g):
    """An error in a backward pass."""
    raise RuntimeError("tired")


def test_a_batch_has_to_give_what_single_gradients_do():
    """Of 3 outputs: twice 3 passes for the Jacobians, 2 alone, 2 in a batch, 1 with zeros."""
    x = leaf(minigrad, 3)
    assert gradcheck(failing_later(11, refuse), (x,), check_batched_grad=True, check_undefined_grad=False)
    with pytest.raises(RuntimeError, match="While computing batched gradients, got: tired\n\ngradcheck or gradgradch"):
        gradcheck(failing_later(8, refuse), (x,), check_batched_grad=True)
    with pytest.raises(RuntimeError, match=r"output 0 and input 0:\n\ngradcheck(.|\n)*\n\nGot:\n(.|\n)*\n\nExpected"):
        gradcheck(failing_later(8, lambda g: g), (x,), check_batched_grad=True)
