"""Gradients that a hook or the caller writes to, and derivatives where a formula would divide 0 by 0."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch

PROGRAMS = Programs()
INF = float("inf")


def hooked(m, write):
    """The gradient of a leaf behind a hook that writes to its gradient, which is that of a sum: an expanded number."""
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: write(grad) and None)
    y.sum().backward()
    return x.grad.tolist()


PROGRAMS.update({
    "hook, zero_": lambda m: hooked(m, lambda grad: grad.zero_()),
    "hook, fill_": lambda m: hooked(m, lambda grad: grad.fill_(5.0)),
    "hook, mul_": lambda m: hooked(m, lambda grad: grad.mul_(2.0)),
    "hook, element": lambda m: hooked(m, lambda grad: grad.__setitem__(0, 7.0)),
    "grad, fill_": lambda m: m.autograd.grad((x := m.ones(2, requires_grad=True)).sum(), x)[0].fill_(4.0),
    "grad, add_": lambda m: m.autograd.grad((x := m.ones(2, requires_grad=True)).sum(), x)[0].add_(4.0),
    "grad of a mean, zero_": lambda m: m.autograd.grad((x := m.ones(2, requires_grad=True)).mean(), x)[0].zero_(),
    "mean of var_mean": lambda m: m.autograd.grad(m.var_mean(x := m.ones(1, requires_grad=True))[1], x),
    "variance of var_mean": lambda m: m.autograd.grad(m.var_mean(x := m.ones(1, requires_grad=True))[0], x),
    "mean of std_mean": lambda m: m.autograd.grad(m.std_mean(x := m.ones(1, requires_grad=True))[1], x),
    "both of std_mean": lambda m: m.autograd.grad(sum(m.std_mean(x := m.arange(3.0).requires_grad_())), x),
    "prod of a number": lambda m: m.autograd.grad((x := m.tensor(-INF, requires_grad=True)).prod(), x),
    "prod of a number, dim": lambda m: m.autograd.grad((x := m.tensor(-INF, requires_grad=True)).prod(0), x),
})


@PROGRAMS
def second_derivatives_of_elu(m):
    results = []
    for name in ("elu", "selu", "celu"):
        for in_place in (False, True):
            x = m.tensor([-INF, -1e4, -100.0, -1.0, 0.0, 1.0, INF], requires_grad=True)
            y = getattr(m.nn.functional, name)(x * 1, inplace=in_place)
            (grad,) = m.autograd.grad(y.sum(), x, create_graph=True)
            results.append((grad.tolist(), m.autograd.grad(grad.sum(), x)[0].tolist()))
    return results


def test_a_gradient_in_read_only_memory_stays_so():
    given = np.frombuffer(np.ones(2, np.float32).tobytes(), np.float32)
    x = minigrad.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: (grad.zero_(), None)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the array is not writable, as from_numpy says
        y.backward(minigrad.from_numpy(given))
    assert given.tolist() == [1, 1] and not given.flags.writeable and x.grad.tolist() == [0, 0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_same(torch, name):
    ours, theirs = (outcome(PROGRAMS[name], m)[0] for m in (minigrad, torch))
    assert str(ours) == str(theirs)  # NaN is not equal to itself
