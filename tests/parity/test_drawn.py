"""Every op with drawn shapes: its values, gradients and second gradients are PyTorch's, in float64, to 1e-8."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import find, given

import minigrad
import minigrad.nn
from minigrad import ops
from minigrad.autograd.graph import Node
from minigrad.autograd.record import record1
from minigrad.ops import pointwise
from tests.parity import drawn
from tests.parity.compare import arrays_of, derivatives, leaves_of, numbers, outputs_of
from tests.parity.tables import all_drawn, text

pytestmark = pytest.mark.torch
DRAWN = all_drawn()
TOLERANCE = 1e-8  # of max(1, |reference|)


def results(lib, call, inputs, args):
    """The values of a line, and its gradients and their gradients (None where there is none)."""
    leaves = leaves_of(lib, inputs, arrays_of(inputs, "float64", seed=len(inputs)))
    made = outputs_of(call(lib, *leaves, *args))
    return made, *derivatives(lib, made, leaves, order=2)


def close(ours, theirs):
    """Whether two tensors agree; nothing counts as zeros."""
    a, b = (None if v is None else numbers(v) for v in (ours, theirs))
    if a is None or b is None:
        return not any(v.any() for v in (a, b) if v is not None)
    return a.shape == b.shape and np.all((a == b) | (np.isnan(a) & np.isnan(b)) |
                                         (abs(a - b) <= TOLERANCE * np.maximum(1, abs(b))))


def check(torch, call, inputs, args):
    """Assert that both libraries come to the same values, gradients and second gradients."""
    mine, reference = results(minigrad, call, inputs, args), results(torch, call, inputs, args)
    nothing = (None,) * len([each for each in inputs if each.grad])
    assert len(mine[0]) == len(reference[0])
    for order in range(max(len(mine), len(reference))):
        ours, theirs = (side[order] if order < len(side) else nothing for side in (mine, reference))
        for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert order != 1 or (a is None) == (b is None), f"a gradient of input {index} is missing"
            assert close(a, b), f"order {order}, number {index}: {a} is not {b}"


def holds(torch, call, what):
    """Check a call with all that is drawn."""
    @given(what)
    def trial(each):
        check(torch, call, *each)

    trial()


@pytest.mark.parametrize("name", DRAWN)
def test_line(torch, name):
    holds(torch, *DRAWN[name])



def sine(wrong):
    """A line whose op has this derivative in minigrad: sin under another name."""
    class Wrong(pointwise.Sin, number=None):
        __slots__ = ()
        backward = wrong

        @staticmethod
        def forward(a):
            return record1(Wrong, np.sin(a.array), a, (a,))

    return lambda m, a: Wrong.forward(a) if m is minigrad else a.sin()


PLANTED = {
    "wrong": lambda self, xp, g, a: 2 * g * xp.cos(a),
    "wrong by little": lambda self, xp, g, a: g * xp.cos(a) * (1 + 3e-8),
    "none": lambda self, xp, g, a: None,
    "wrong for one element": lambda self, xp, g, a: g * xp.cos(a) * (2 if tuple(a.shape) == (1,) else 1),
    "wrong in the second order": lambda self, xp, g, a: g * xp.cos(getattr(a, "detach", lambda: a)()),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_derivative_is_found(torch, name):
    with pytest.raises(AssertionError):
        holds(torch, sine(PLANTED[name]), drawn.one)


def test_the_right_derivative_passes(torch):
    holds(torch, sine(pointwise.Sin.backward), drawn.one)


def all_nodes(cls=Node):
    """Every class of nodes that an op of minigrad makes."""
    below = {each for sub in cls.__subclasses__() for each in (sub, *all_nodes(sub))}
    return {each for each in below if each.__module__.startswith("minigrad.ops")}


def nodes_above(tensors):
    """The classes of all nodes of the graphs above some tensors."""
    seen, queue = set(), [t.grad_fn for t in tensors if t is not None and t.grad_fn is not None]
    while queue:
        node = queue.pop()
        if node not in seen:
            seen.add(node)
            queue += [other for other, _ in node.next_functions if other is not None]
    return {type(node) for node in seen}


def test_every_node_has_a_line():
    met = set()
    for call, what in DRAWN.values():
        inputs, args = find(what, lambda drawn: all(0 not in each.shape for each in drawn[0]))
        for depth in results(minigrad, call, inputs, args):
            met |= nodes_above(depth)
    assert all_nodes() - met == set()


# They give numbers, flags or tensors without a graph, or are another name of what has a line.
NO_LINE = {"all", "any", "bool", "int", "long", "half", "cpu", "float", "double", "to"}


def test_every_op_has_a_line():
    lines = text("drawn")
    methods = {*ops.METHODS, *ops.IN_PLACE, *minigrad.nn.functional.__all__} - {
        *ops.compare.METHODS, *ops.create.METHODS, *ops.memory.METHODS, *ops.properties.METHODS}
    operators = {"add", "sub", "mul", "div", "pow", "neg", "abs", "relu", "sigmoid", "tanh"}
    unused = {name for name in methods - NO_LINE - operators if not re.search(rf"\.{name}\(", lines)}
    assert unused == set()
    assert {name for name in operators if f'"{name}"' not in lines} == set()
