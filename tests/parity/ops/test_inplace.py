"""Ops in place: values, derivatives, and what they refuse."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome
from tests.parity.values import grads, leaf, same_end

pytestmark = pytest.mark.torch


def overwritten(change):
    """A program that changes four numbers in place."""
    def program(m):
        x = m.arange(4.0, requires_grad=True)
        y = x * 2
        change(m, y)
        (y * y).sum().backward()
        return y, x.grad
    return program


IN_PLACE = {
    "fill_ with a tensor": lambda m: (w := leaf(m), x := leaf(m, 3), y := x.clone().fill_(w), grads(m, y * x, w, x),
                                      y.grad_fn.name()),
    "fill_ data with a tensor": lambda m: (w := leaf(m), y := m.zeros(3).fill_(w), grads(m, y, w)),
    "fill_ with a vector": lambda m: m.zeros(3).fill_(m.ones(1)),
    "pow_ with a tensor": lambda m: (x := leaf(m, 3), e := leaf(m, 3), grads(m, x.clone().pow_(e), x, e)),
    "**=": lambda m: (x := leaf(m, 3), y := x.clone(), z := y, z.__ipow__(2), z is y, y._version, grads(m, y, x)),
    "copy_ into integers": lambda m: m.zeros(3, dtype=m.int64).copy_(leaf(m, 3)),
    "a word": lambda m: m.ones(2).add_("a"),
    "expanded by nothing": lambda m: (m.zeros(3).expand(1, 3).add_(1), m.zeros(0, 2).expand(4, 0, 2)),
    "expanded": lambda m: m.zeros(1).expand(3).add_(1),
    "sign of bools is no view": lambda m: (x := m.tensor([True]), x.sign().fill_(False), x)[2],
    "view of what is detached": lambda m: (x := leaf(m, 3), y := x.clone(), v := y[0], y.detach().fill_(2.0),
                                           grads(m, v, x)),
}

OWN_ELEMENTS = {
    "fill_": lambda m, y: y.fill_(y[3]),
    "masked_fill_": lambda m, y: y.masked_fill_(y > 2, y[0]),
    "index_fill_": lambda m, y: y.index_fill_(0, m.tensor([0]), y[3]),
    "masked_scatter_": lambda m, y: y.masked_scatter_(y > 2, y[:2]),
    "all of an index": lambda m, y: y.__setitem__(slice(None), y[1]),
    "clamp_ by name": lambda m, y: y.clamp_(max=y[2]),
    "mul_": lambda m, y: y.mul_(y[2]),
}

FUNCTIONS = {
    "functions in place": lambda m: (x := m.arange(-1.5, 2), m.relu_(x) is x, m.clamp_(x, max=1), m.add(m.neg_(x), 1),
                                     m.fill_(x, 2.5), m.index_put_(x, (m.tensor([0]),), m.tensor(3.0)), x._version),
    "a function in place on a leaf": lambda m: m.sigmoid_(m.ones(2, requires_grad=True)),
    "the node of a function in place": lambda m: m.tanh_(m.ones(2, requires_grad=True) * 1).grad_fn.name(),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_values_and_derivatives(torch, name):
    same_end(torch, IN_PLACE[name])


@pytest.mark.parametrize("name", OWN_ELEMENTS)
def test_with_its_own_elements(torch, name):
    program = overwritten(OWN_ELEMENTS[name])
    assert outcome(program, minigrad) == outcome(program, torch)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_a_function(torch, name):
    assert outcome(FUNCTIONS[name], minigrad) == outcome(FUNCTIONS[name], torch)
