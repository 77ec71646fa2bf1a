"""Freeing: at once, without recursion, without the garbage collector."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

import minigrad
from minigrad import Tensor
from minigrad.core.graph import Node

LONG = 100_000


def alive(kind):
    """How many objects of a class there are."""
    return sum(issubclass(type(o), kind) for o in gc.get_objects())


def chain(length):
    """A leaf and the last of a chain of small ops, of all kinds that save something."""
    x = minigrad.ones(2, requires_grad=True)
    y = x
    for i in range(length):
        y = (y * 1.0, y + 0.0, y.exp().log(), y * x, y.tanh())[i % 5]
    return x, y.sum()


@pytest.mark.usefixtures("no_gc")
def test_a_dropped_graph_leaves_nothing():
    before = alive(Tensor), alive(Node)
    x, y = chain(LONG)
    assert alive(Node) > before[1] + LONG
    del y
    assert (alive(Tensor), alive(Node)) == (before[0] + 1, before[1])
    del x
    assert alive(Tensor) == before[0]


@pytest.mark.usefixtures("no_gc")
def test_a_backward_pass_leaves_a_gradient_and_nothing_else():
    before = alive(Tensor), alive(Node)
    x, y = chain(LONG)
    y.backward()
    del y
    assert alive(Node) == before[1]
    assert alive(Tensor) == before[0] + 2
    assert x.grad.shape == (2,)


@pytest.mark.usefixtures("no_gc")
def test_a_recorded_pass_leaves_nothing():
    before = alive(Tensor), alive(Node)
    x, y = chain(LONG // 20)
    (g,) = minigrad.autograd.grad(y, x, create_graph=True)
    (g2,) = minigrad.autograd.grad(g.sum(), x)
    del x, y, g, g2
    assert (alive(Tensor), alive(Node)) == before


def test_no_recursion_even_on_a_small_stack():
    # 2 MiB: CPython 3.12 and 3.13 guard their own freeing at 10,000 levels, which takes them up to 1 MiB. Freeing
    # 100,000 nodes one inside the other would take many times that.
    program = (
        "import sys, threading, minigrad\n"
        "sys.setrecursionlimit(120)\n"
        "def work():\n"
        "    x = minigrad.ones(2, requires_grad=True)\n"
        "    y = x\n"
        f"    for _ in range({LONG}):\n"
        "        y = y * 1.0\n"
        "    y.sum().backward(retain_graph=True)\n"
        "    del y\n"
        "    print(x.grad.tolist())\n"
        "threading.stack_size(2 * 1024 * 1024)\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1.0, 1.0]\n", "")


def freed(make):
    """Whether what `make` returns goes away when its last name does, without the collector."""
    made = make()
    watch = [weakref.ref(o) for o in made]
    del made
    return all(reference() is None for reference in watch)


def saved_result():
    y = minigrad.ones(2, requires_grad=True).exp()
    return y, y.grad_fn


def custom_saves_its_output():
    class Exp(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    y = Exp.apply(minigrad.ones(2, requires_grad=True))
    return y, y.grad_fn


def retained():
    x = minigrad.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    return x, y, y.grad, y.grad_fn


def hooked():
    x = minigrad.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_hook(lambda gi, go: None)
    x.register_post_accumulate_grad_hook(lambda p: None)
    y.sum().backward()
    return x, y, y.grad_fn


def views():
    x = minigrad.ones(4, requires_grad=True)
    y = x * 2
    a, b = y.chunk(2)
    return x, y, a, b, a.grad_fn, y[0], y.detach()


def changed_in_place():
    x = minigrad.ones(2, requires_grad=True)
    y = x * 2
    y.exp_()
    y.mul_(y.detach())
    return x, y, y.grad_fn


def walked():
    x = minigrad.ones(2, requires_grad=True)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    return x, y, accumulator, y.grad_fn


def saved_was_read():
    y = minigrad.ones(2, requires_grad=True).exp()
    return y, y.grad_fn, y.grad_fn._saved_result


def failed():
    x = minigrad.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: 1 // 0)
    try:
        y.sum().backward()
    except ZeroDivisionError:
        return x, y, y.grad_fn
    raise AssertionError("the hook must raise")


@pytest.mark.usefixtures("no_gc")
@pytest.mark.parametrize("make", [saved_result, custom_saves_its_output, retained, hooked, views, changed_in_place,
                                  walked, saved_was_read, failed])
def test_no_reference_cycle(make):
    assert freed(make)


def test_an_inner_tensor_is_free_before_its_graph():
    x = minigrad.ones(2, requires_grad=True)
    y = x * 2
    z = y + 1
    watch = weakref.ref(y)
    del y
    assert watch() is None
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_saved_inputs_are_free_after_the_pass():
    x, w = minigrad.ones(2, requires_grad=True), minigrad.ones(2)
    y = (x * w).sum()
    watch = weakref.ref(w)
    del w
    assert watch() is not None
    y.backward()
    assert watch() is None
