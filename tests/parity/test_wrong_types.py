"""What is no tensor where one belongs, and no flag where one belongs: the same kind of error, the same first line."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


class Mine:
    """A type of the user's own."""


GIVEN = {"array": np.ones(2), "NumPy's number": np.float32(1), "NumPy's bool": np.bool_(True), "object": Mine(),
         "text": "a", "list": [1.0, 2.0], "None": None}


def leaf(m):
    return m.ones(2, requires_grad=True)


def unpacked(m, v):
    """A pass with an unpack hook that gives this."""
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: v):
        y = leaf(m).exp()
    y.sum().backward()


def function(m, forward, backward):
    """A pass through a Function."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    type("Mine", (m.autograd.Function,), body).apply(leaf(m)).sum().backward()


def hooked(y, register):
    """A pass with a hook."""
    register(y)
    y.sum().backward()


PLACES = {
    "a tensor's hook": lambda m, v: hooked(leaf(m), lambda y: y.register_hook(lambda g: v)),
    "a node's hook": lambda m, v: hooked(leaf(m) * 2, lambda y: y.grad_fn.register_hook(lambda g, h: v)),
    "an unpack hook": unpacked,
    "what backward returns": lambda m, v: function(m, lambda ctx, a: a * 1, lambda ctx, g: v),
    "what is saved": lambda m, v: function(m, lambda ctx, a: (ctx.save_for_backward(v), a * 1)[1], lambda ctx, g: g),
    "an input of grad": lambda m, v: m.autograd.grad(leaf(m).sum(), [v]),
    "an input of backward": lambda m, v: leaf(m).sum().backward(inputs=[v]),
    "grad_outputs": lambda m, v: m.autograd.grad(leaf(m).exp(), leaf(m), [v]),
    "grad": lambda m, v: setattr(leaf(m), "grad", v),
    "data": lambda m, v: setattr(leaf(m), "data", v),
    "requires_grad_": lambda m, v: leaf(m).requires_grad_(v) and None,
    "requires_grad": lambda m, v: setattr(leaf(m), "requires_grad", v),
    "set_grad_enabled": lambda m, v: m.set_grad_enabled(v) and None,
    "set_multithreading_enabled": lambda m, v: m.autograd.set_multithreading_enabled(v) and None,
    "Variable": lambda m, v: m.autograd.Variable(v) and None,
    "add_": lambda m, v: m.ones(2).add_(v) and None,
    "zeros_like": lambda m, v: m.zeros_like(v),
    "ones_like": lambda m, v: m.ones_like(v),
    "full_like": lambda m, v: m.full_like(v, 2.0),
    "empty_like": lambda m, v: m.empty_like(v),
    "rand_like": lambda m, v: m.rand_like(v),
    "randn_like": lambda m, v: m.randn_like(v),
    "cat": lambda m, v: m.cat([leaf(m), v]),
    "cat of it": lambda m, v: m.cat(v),
    "stack": lambda m, v: m.stack([v, leaf(m)]),
    "stack of it": lambda m, v: m.stack(v),
    "where: condition": lambda m, v: m.where(v, leaf(m), leaf(m)),
    "where: input": lambda m, v: m.where(leaf(m) > 0, v, leaf(m)),
    "where: other": lambda m, v: m.where(leaf(m) > 0, leaf(m), v),
    "exp": lambda m, v: m.exp(v),
    "add": lambda m, v: m.add(v, leaf(m)),
    "add: other": lambda m, v: m.add(leaf(m), v),
    "matmul: other": lambda m, v: m.matmul(leaf(m), v),
    "copy_": lambda m, v: m.ones(2).copy_(v) and None,
    "retain_graph": lambda m, v: leaf(m).sum().backward(retain_graph=v),
    "create_graph": lambda m, v: m.autograd.grad((x := leaf(m)).sum(), x, create_graph=v),
    "allow_unused": lambda m, v: m.autograd.grad((x := leaf(m)).sum(), x, allow_unused=v),
}


def first_line(m, place, given):
    """The kind of error and its first line."""
    result, _ = outcome(lambda lib: PLACES[place](lib, GIVEN[given]), m)
    return [str(each).split("\n")[0] for each in result] if isinstance(result, tuple) else "fine"


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("place", PLACES)
def test_both_say_the_same(torch, place, given):
    assert first_line(minigrad, place, given) == first_line(torch, place, given)
