"""Of several nodes that are ready, the one that PyTorch would run first runs first, between equal numbers too."""

from __future__ import annotations

import pytest

import minigrad


def order_of_leaves(lib, count):
    """The order in which the hooks of many leaves run that go into one op."""
    leaves = [lib.tensor(1.0, requires_grad=True) for _ in range(count)]
    order = []
    for i, leaf in enumerate(leaves):
        leaf.register_hook(lambda grad, i=i: order.append(i))
    lib.stack(leaves).sum().backward()
    return order


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 8, 12, 33])
def test_leaves_of_one_op(torch, count):
    order = order_of_leaves(minigrad, count)
    assert sorted(order) == list(range(count))
    assert order == order_of_leaves(torch, count)


def order_of_a_layered_graph(lib, width):
    """The order in which nodes and leaves run where many paths meet; a letter and a number for each."""
    order = []
    leaves = [lib.tensor(float(i), requires_grad=True) for i in range(width)]
    layer = leaves
    for depth in range(3):
        layer = [lib.stack([layer[i], layer[(i * 3 + depth) % width], layer[-i - 1]]).sum() for i in range(width)]
        for i, tensor in enumerate(layer):
            tensor.register_hook(lambda grad, name=f"{depth}.{i}": order.append(name))
    for i, leaf in enumerate(leaves):
        leaf.register_hook(lambda grad, i=i: order.append(f"leaf {i}"))
    lib.stack(layer).sum().backward()
    return order


@pytest.mark.parametrize("width", [2, 5, 9])
def test_a_layered_graph(torch, width):
    assert order_of_a_layered_graph(minigrad, width) == order_of_a_layered_graph(torch, width)
