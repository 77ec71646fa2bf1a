"""What code that runs inside of a pass may ask about nodes: which one is evaluated, and what its gradients are like."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.alike import alike

pytestmark = pytest.mark.torch


def asking(m, log):
    """A function that notes where it is called, and the node that is evaluated then."""
    def ask(where):
        node = m._C._current_autograd_node()
        log.append((where, None if node is None else node.name()))
        return node
    return ask


def test_node_at_each_hook(torch):
    def program(m):
        log = []
        ask = asking(m, log)
        x = m.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: log.append(ask("hook") is y.grad_fn))
        y.grad_fn.register_prehook(lambda g: log.append(ask("pre-hook") is y.grad_fn))
        y.grad_fn.register_hook(lambda a, b: log.append(ask("hook of the node") is y.grad_fn))
        x.register_hook(lambda g: log.append(ask("leaf") is None))
        x.register_post_accumulate_grad_hook(lambda p: ask("accumulated"))
        y.exp().sum().backward()
        ask("after")
        return log

    alike(torch, program)


def test_node_in_functions_and_passes_inside_of_passes(torch):
    def program(m):
        log = []
        ask = asking(m, log)

        class Copied(m.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a.clone()

            @staticmethod
            def backward(ctx, g):
                log.append(ask("function") is ctx)
                m.autograd.Variable._execution_engine.queue_callback(lambda: ask("at the end"))
                with m.enable_grad():
                    inner = m.ones(1, requires_grad=True) * 3
                    inner.register_hook(lambda g: ask("inside") and None)
                    inner.sum().backward()
                ask("after the inner pass")
                return g

        hooks = m.autograd.graph.saved_tensors_hooks(
            lambda t: (ask("pack"), t)[1], lambda t: (ask("unpack"), t)[1])
        with hooks:
            x = m.ones(2, requires_grad=True)
            y = Copied.apply(x).exp()
            m.autograd.grad(y.sum(), x, create_graph=True)
        return log

    alike(torch, program)


def test_no_node_after_an_error(torch):
    def program(m):
        x = m.ones(1, requires_grad=True)
        x.register_hook(lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            x.exp().backward()
        return m._C._current_autograd_node()

    alike(torch, program)


def metadata(node):
    return [(each.shape, str(each.dtype), str(each.device), each.is_nested_tensor) for each in node._input_metadata]


def several(m):
    class Several(m.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            positive = a > 0
            ctx.mark_non_differentiable(positive)
            return a[0] * 1, positive, a.double(), None

        @staticmethod
        def backward(ctx, *grads):
            return grads[0]

    return Several


KNOWN = {
    "an edge": lambda m, x: m.autograd.graph.get_gradient_edge(x * 2).node,
    "the edge of a leaf": lambda m, x: m.autograd.graph.get_gradient_edge(x).node,
    "several outputs": lambda m, x: x.unbind()[0].grad_fn,
    "a Function": lambda m, x: several(m).apply(x)[0].grad_fn,
    "a view that was written to": lambda m, x: (
        y := x * 1, v := y[0], v.mul_(2), m.autograd.graph.get_gradient_edge(v).node)[3],
    "float64": lambda m, x: m.autograd.graph.get_gradient_edge(x.double()).node,
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_the_gradients_of_a_node_are_like(torch, name):
    alike(torch, lambda m: metadata(KNOWN[name](m, m.ones(2, 3, requires_grad=True))))


def test_a_node_that_does_not_know_says_so():
    with pytest.raises(AttributeError, match=r"ExpBackward0 does not know .* get_gradient_edge\(tensor\)"):
        metadata(minigrad.ones(1, requires_grad=True).exp().grad_fn)
