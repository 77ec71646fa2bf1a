"""No graph is too deep: not for building, not for a pass, not for a pass over a pass, not for freeing."""

from __future__ import annotations

import sys
import threading
import weakref

import pytest

import minigrad

pytestmark = pytest.mark.usefixtures("no_gc")


def chain(x, length, op=lambda y: y * 1.0):
    """`length` ops, one on the other."""
    for _ in range(length):
        x = op(x)
    return x


def watched(tensor):
    """A weak reference to the node that made a tensor."""
    return weakref.ref(tensor.grad_fn)


# Up to 3.11 Python bounds the depth at which it frees objects in one another by their number. Later versions go as deep
# as their own limit for C calls, whatever stack a thread has: there a list of lists ends in the same crash.
SMALL = (256 if sys.version_info < (3, 12) else 8 * 1024) * 1024


def in_a_small_thread(call):
    """Run this where the stack is as small as it may be."""
    found = []
    before = threading.stack_size(SMALL)
    try:
        thread = threading.Thread(target=lambda: found.append(call()))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    (result,) = found
    return result


def test_a_million_ops_are_built_run_and_freed():
    x = minigrad.tensor(1.0, requires_grad=True)
    y = chain(x, 1_000_000)
    deepest = watched(y)
    y.backward()
    assert x.grad.item() == 1.0
    y = None
    assert deepest() is None


@pytest.mark.parametrize("op", [lambda y: y * 1.0, lambda y: y.exp().log(), lambda y: y + y * 0.0, lambda y: y.clone()],
                         ids=["products", "saved results", "diamonds", "copies"])
def test_a_graph_that_never_ran_is_freed(op):
    x = minigrad.tensor([1.0], requires_grad=True)
    y = chain(x, 100_000, op)
    deep = watched(y)
    y = None
    assert deep() is None


def test_a_pass_over_a_deep_pass():
    x = minigrad.tensor(1.0, requires_grad=True)
    y = chain(x, 100_000) ** 2
    (g,) = minigrad.autograd.grad(y, x, create_graph=True)
    deep = watched(g)
    g.backward()
    assert x.grad.item() == 2.0
    g = y = None
    assert deep() is None


def test_a_deep_pass_into_inputs():
    x, w = minigrad.tensor(1.0, requires_grad=True), minigrad.tensor(1.0, requires_grad=True)
    chain(x, 100_000, lambda y: y * w).backward(inputs=[x])
    assert x.grad.item() == 1.0
    assert w.grad is None


class Twice(minigrad.autograd.Function):
    """A custom Function that saves its input and its output."""

    @staticmethod
    def forward(ctx, x):
        y = x * 1.0
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y / x


@pytest.mark.parametrize("op", [Twice.apply, lambda y: minigrad.cat(y.chunk(2)), lambda y: y.exp().log(),
                                lambda y: y.t().t()], ids=["functions", "chunks", "saved results", "views"])
def test_all_kinds_of_nodes_in_a_small_thread(op):
    def build_run_and_free():
        x = minigrad.ones(2, requires_grad=True)
        y = chain(x, 5_000, op)
        node = watched(y)
        y.sum().backward(retain_graph=True)
        y = None
        return x.grad.tolist(), node() is None

    grad, freed = in_a_small_thread(build_run_and_free)
    assert grad == pytest.approx([1.0, 1.0], rel=0.02)
    assert freed


def test_a_graph_of_the_main_thread_freed_in_a_small_one():
    held = [chain(minigrad.ones(2, requires_grad=True), 100_000, lambda y: y.exp().log())]
    node = watched(held[0])
    in_a_small_thread(held.clear)
    assert node() is None


def test_a_graph_that_failed_in_the_middle_is_freed():
    x = minigrad.ones(2, requires_grad=True)
    y = chain(x, 100)
    y.register_hook(lambda g: 1 // 0)
    z = chain(y, 100)
    below, above = watched(y), watched(z)
    try:
        z.sum().backward()
    except ZeroDivisionError as error:
        assert error.__traceback__ is not None
    y = z = None
    assert (below(), above()) == (None, None)


def test_deep_passes_inside_of_passes_leave_nothing():
    nodes = []

    class Down(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            ctx.left = left
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if ctx.left:
                with minigrad.enable_grad():
                    y = Down.apply(minigrad.ones(1, requires_grad=True), ctx.left - 1)
                nodes.append(watched(y))
                y.backward()
            return g, None

    Down.apply(minigrad.ones(1, requires_grad=True), 100).backward()
    assert [node() for node in nodes] == [None] * 100
