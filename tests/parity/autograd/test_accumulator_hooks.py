"""Hooks on the AccumulateGrad of a leaf are called for graphs that are older than the hooks, as in PyTorch."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome


def older_graph(m, factor=2):
    """A leaf, a graph over it, and then a hook on the leaf's AccumulateGrad, which nobody holds."""
    x = m.ones(2, requires_grad=True)
    y = x * factor
    x.expand_as(x).grad_fn.next_functions[0][0].register_prehook(lambda grads: (grads[0] * 10,))
    return x, y


def double(m, x):
    class Double(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double.apply(x)


def packed(m, x):
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return x * x


PROGRAMS = {
    "plain": lambda m, x, y: y.sum().backward(),
    "inputs": lambda m, x, y: y.sum().backward(inputs=[x]),
    "grad before": lambda m, x, y: (m.autograd.grad(y.sum(), x, retain_graph=True), y.sum().backward()),
    "looked at": lambda m, x, y: (y.grad_fn.next_functions, y.sum().backward()),
    "a Function between": lambda m, x, y: (double(m, x), y.sum().backward()),
    "saved-tensor hooks between": lambda m, x, y: (packed(m, x), y.sum().backward()),
    "an edge that is held": lambda m, x, y: (edge := m.autograd.graph.get_gradient_edge(x), y.sum().backward(), edge),
    "two roots": lambda m, x, y: m.autograd.backward([y, x], [m.ones(2), m.ones(2)]),
    "two roots, turned": lambda m, x, y: m.autograd.backward([x, y], [m.ones(2), m.ones(2)]),
    "a newer path too": lambda m, x, y: (y * (x * 3)).sum().backward(),
    "a newer path too, inputs": lambda m, x, y: (y + x * 3).sum().backward(inputs=[x]),
    "a newer graph alone": lambda m, x, y: (free(y), (x * 3).sum().backward()),
}


def free(y):
    """Free the older graph."""
    y.detach_()


def gradient(m, program):
    x, y = older_graph(m)
    program(m, x, y)
    return x.grad.tolist()


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_same(torch, name):
    assert outcome(lambda m: gradient(m, PROGRAMS[name]), minigrad) == outcome(
        lambda m: gradient(m, PROGRAMS[name]), torch)


def held_by_a_newer_graph(m):
    """The graph in which the node was looked at is gone; one that was recorded meanwhile keeps the node alive."""
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: (grads[0] * 10,))
    z = x * 3
    del y
    z.sum().backward()
    return x.grad.tolist()


def registered_during_the_pass(m):
    """A hook looks at the graph of the running pass and registers one on the node that is still to run."""
    x, calls = m.ones(2, requires_grad=True), []
    y = x * 3
    node = y.grad_fn
    y.register_hook(lambda _: node.next_functions[0][0].register_hook(lambda *grads: calls.append(len(grads))) and None)
    (y * 2 + y).sum().backward()
    return calls, x.grad.tolist()


def through_an_unpacked_leaf(m):
    """What a node saved of a leaf, unpacked by a hook, is another tensor; its gradient goes to the leaf."""
    x = m.full((2,), 2.0, requires_grad=True)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x * x
    saved = y.grad_fn._saved_self
    (saved * 5).sum().backward()
    return saved is x, saved.is_leaf, saved.grad, x.grad.tolist(), [
        grad.tolist() for grad in m.autograd.grad((x * saved).sum(), [x, saved])]


@pytest.mark.torch
@pytest.mark.parametrize("program", [held_by_a_newer_graph, registered_during_the_pass, through_an_unpacked_leaf])
def test_who_keeps_the_node(torch, program):
    assert outcome(program, minigrad) == outcome(program, torch)
