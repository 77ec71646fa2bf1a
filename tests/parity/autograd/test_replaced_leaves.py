"""Leaves whose memory or content is replaced, against PyTorch: which AccumulateGrad they have then, whose hooks run."""

from __future__ import annotations

import weakref

import pytest

from tests.parity.alike import alike
from tests.parity.leaves import leaf

pytestmark = pytest.mark.torch

NEW = {
    "same": lambda m: m.zeros(3),
    "dtype": lambda m: m.zeros(3, dtype=m.float64),
    "dtype and shape": lambda m: m.zeros(4, dtype=m.float16),
}


def by_data(m, x, new):
    x.data = new


def by_set(m, x, new):
    with m.no_grad():
        x.set_(new)


def hooks(m, replace, new):
    """Whether a leaf keeps its AccumulateGrad, and which hooks passes through a new and through an old graph call."""
    x, seen = leaf(m, 3), []
    node = m.autograd.graph.get_gradient_edge(x).node
    node.register_prehook(lambda grads: seen.append("pre"))
    node.register_hook(lambda grads, got: seen.append("post"))
    x.register_hook(lambda g: seen.append("tensor"))
    old = x * 2
    replace(m, x, new(m))
    kept = m.autograd.graph.get_gradient_edge(x).node is node
    x.sum().backward()
    seen.append("|")
    x.grad = None
    old.sum().backward()
    return kept, seen, list(x.grad.shape), x.grad.dtype


@pytest.mark.parametrize("replace", [by_data, by_set])
@pytest.mark.parametrize("new", NEW)
def test_hooks_of_a_leaf_with_new_memory(torch, replace, new):
    alike(torch, lambda m: hooks(m, replace, NEW[new]))


def gradients(m, replace, new):
    """What `grad` finds in a graph from before and in one from after."""
    x = leaf(m, 3)
    edge, old = m.autograd.graph.get_gradient_edge(x), x * 2
    replace(m, x, new(m))
    grad = m.autograd.grad
    return (grad(old.sum(), x, retain_graph=True, allow_unused=True), grad(old.sum(), edge, retain_graph=True)[0].shape,
            grad(x.sum(), x)[0].shape, grad(x, x, x)[0].shape,
            (old.sum().backward(inputs=[x], retain_graph=True), x.grad),
            grad(old.sum(), x))


@pytest.mark.parametrize("replace", [by_data, by_set])
@pytest.mark.parametrize("new", NEW)
def test_gradients_of_a_leaf_with_new_memory(torch, replace, new):
    alike(torch, lambda m: gradients(m, replace, NEW[new]))


def swapped(m):
    """What two tensors are after a swap, and what a graph of before does."""
    x, y = leaf(m, 2), m.nn.Parameter(m.zeros(3))
    x.name_of_mine = "x"
    m.utils.swap_tensors(x, y)
    now = (type(x).__name__, x.tolist(), type(y).__name__, y.tolist(), y.name_of_mine, hasattr(x, "name_of_mine"))
    (x.sum() * 2).backward()
    return *now, x.grad.tolist(), y.grad


def swapped_then_backward(m):
    x = leaf(m, 2)
    y = x * 2
    m.utils.swap_tensors(x, leaf(m, 2))
    y.sum().backward()


def swapped_with_a_weak_reference(m):
    """Weak references forbid a swap."""
    x, y = leaf(m, 2), leaf(m, 2)
    held = weakref.ref(x)
    m.utils.swap_tensors(x, y)
    return held


def converted(m):
    """A module converted by swaps keeps its parameters' identity, gradients included."""
    m.__future__.set_swap_module_params_on_conversion(True)
    try:
        net = m.nn.Linear(2, 2)
        net(m.ones(1, 2)).sum().backward()
        weight, grad = net.weight, net.weight.grad
        is_on = m.__future__.get_swap_module_params_on_conversion()
        del grad
        net.double()
        return is_on, net.weight is weight, weight.dtype, weight.grad.dtype, weight.grad.tolist()
    finally:
        m.__future__.set_swap_module_params_on_conversion(False)


@pytest.mark.parametrize("program", [swapped, swapped_then_backward, swapped_with_a_weak_reference, converted])
def test_swaps(torch, program):
    alike(torch, program)


@pytest.mark.parametrize("before, after", [(3, 2), (3, 1), ((2, 3), 3), ((2, 1), 2), (1, 3), ((), 3), (3, ())], ids=str)
def test_adding_to_a_grad_of_another_shape(torch, before, after):
    def program(m):
        x = m.ones(before, requires_grad=True)
        old = x * 2
        x.data = m.ones(after, dtype=m.float64)
        x.grad = m.ones(after, dtype=m.float64)
        old.sum().backward()
        return x.grad

    alike(torch, program)
