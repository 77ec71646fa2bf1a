"""Modes that a hook or a custom Function switches during a pass: they hold for the rest of their node, no longer."""

from __future__ import annotations

import warnings

import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch

PROGRAMS = Programs()


def modes_after(m, on, **options):
    """Whether grad mode is on in the hook of the next node, and after the pass."""
    seen, x = [], m.ones(2, requires_grad=True)
    y = x * 2
    z = y.exp()
    z.register_hook(lambda grad: m.set_grad_enabled(on) and None)
    y.register_hook(lambda grad: seen.append((m.is_grad_enabled(), (grad * 1).requires_grad)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cycle that create_graph=True makes
        z.sum().backward(**options)
    return seen, m.is_grad_enabled(), x.grad.requires_grad


PROGRAMS["on, in a first-order pass"] = lambda m: modes_after(m, True)
PROGRAMS["off, in a recorded pass"] = lambda m: modes_after(m, False, create_graph=True)


@PROGRAMS
def by_a_custom_function(m):
    def backward(ctx, grad):
        m.set_grad_enabled(True)
        return grad * 2

    switching = type("Switching", (m.autograd.Function,), {
        "forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(backward)})
    seen, x = [], m.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: seen.append(m.is_grad_enabled()))
    switching.apply(y).sum().backward()
    return seen, m.is_grad_enabled()


@PROGRAMS
def two_hooks_of_one_node(m):
    seen, x = [], m.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: m.set_grad_enabled(True) and None)
    y.register_hook(lambda grad: seen.append(m.is_grad_enabled()))
    y.sum().backward()
    return seen


@PROGRAMS
def saved_tensors_hooks_that_are_entered(m):
    log, x = [], m.ones(2, requires_grad=True)
    context = m.autograd.graph.saved_tensors_hooks(lambda t: (log.append("pack"), t)[1], lambda t: t)
    y = x * 2
    z = y * y
    z.register_hook(lambda grad: context.__enter__())
    y.register_hook(lambda grad: log.append("y"))
    m.autograd.grad(z.sum(), x, create_graph=True)
    x * x
    return log


@PROGRAMS
def saved_tensors_hooks_that_are_left(m):
    log, x = [], m.ones(2, requires_grad=True)
    with m.autograd.graph.saved_tensors_hooks(lambda t: (log.append("pack"), t)[1],
                                              lambda t: (log.append("unpack"), t)[1]) as context:
        y = x * x
        del context
        hooks = m.autograd.graph.saved_tensors_hooks(lambda t: (log.append("inner"), t)[1], lambda t: t)
        hooks.__enter__()
        y.register_hook(lambda grad: hooks.__exit__())
        m.autograd.grad((y * y).sum(), x, create_graph=True)
        x * x
        hooks.__exit__()
    return log


@pytest.mark.parametrize("name", PROGRAMS)
def test_same(torch, name):
    assert outcome(PROGRAMS[name], minigrad) == outcome(PROGRAMS[name], torch)
