"""Backward passes in several threads at once. Each test runs under minigrad and under PyTorch."""

from __future__ import annotations

import sys
import threading

import pytest

from tests.reliability.together import together


@pytest.fixture
def restless():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def passes(m, x, factor, count):
    """So many passes over graphs of this thread's own."""
    for _ in range(count):
        ((x * factor) * 2 + x).sum().backward()


def test_a_shared_leaf_gets_the_exact_sum(m, restless):
    for _ in range(200):
        x = m.zeros(3, requires_grad=True)
        together(lambda x=x: passes(m, x, 1.0, 2), lambda x=x: passes(m, x, 4.0, 2))
        assert x.grad.tolist() == [24.0] * 3


def test_a_shared_leaf_with_hooks(m, restless):
    for _ in range(50):
        log = []
        x = m.zeros(3, requires_grad=True)
        x.register_hook(lambda g: g * 2)
        x.register_post_accumulate_grad_hook(lambda p, log=log: log.append(p.grad is not None))
        together(lambda x=x: passes(m, x, 1.0, 2), lambda x=x: passes(m, x, 4.0, 2))
        assert x.grad.tolist() == [48.0] * 3
        assert log == [True] * 4


def test_a_large_shared_leaf(m):
    x = m.zeros(300_000, requires_grad=True)  # large enough that NumPy lets other threads run while it adds
    together(*[lambda: passes(m, x, 1.0, 5)] * 4)
    assert (x.grad == 60.0).all()


def test_one_graph_that_is_kept(m, restless):
    for _ in range(50):
        x = m.zeros(3, requires_grad=True)
        y = x
        for _ in range(5):
            y = y.exp() * 1.0 + y
        y = y.sum()
        y.backward(retain_graph=True)
        once, x.grad = x.grad, None
        together(*[lambda y=y: y.backward(retain_graph=True)] * 3)
        assert x.grad.tolist() == pytest.approx([3 * g for g in once.tolist()], rel=1e-5)


def test_one_graph_and_grad(m, restless):
    found = []
    x = m.ones(3, requires_grad=True)
    y = (x.exp() * x).sum()
    (expected,) = m.autograd.grad(y, x, retain_graph=True)
    together(*[lambda: found.extend(m.autograd.grad(y, x, retain_graph=True) for _ in range(20))] * 3)
    assert len(found) == 60
    assert all(g.tolist() == expected.tolist() for (g,) in found)


def test_a_graph_made_in_one_thread_and_run_in_another(m):
    made = []
    x = m.ones(3, requires_grad=True)
    together(lambda: made.append((x * 2).sum()))
    together(made[0].backward)
    assert x.grad.tolist() == [2.0] * 3


def test_modes_are_per_thread(m):
    seen = {}

    def off():
        with m.no_grad():
            inside.wait()
            seen["off"] = m.is_grad_enabled()
            checked.wait()

    def on():
        inside.wait()
        seen["on"] = m.is_grad_enabled(), (m.ones(1, requires_grad=True) * 2).requires_grad
        checked.wait()

    inside, checked = threading.Barrier(2), threading.Barrier(2)
    together(off, on)
    assert seen == {"off": False, "on": (True, True)}


def test_a_pass_in_one_thread_does_not_switch_off_another(m, restless):
    recorded = []

    def record():
        x = m.ones(3, requires_grad=True)
        recorded.extend((x * 2).requires_grad for _ in range(200))

    x = m.ones(3, requires_grad=True)
    together(record, lambda: passes(m, x, 1.0, 50))
    assert all(recorded)


def test_an_error_in_one_thread_leaves_the_other_alone(m):
    x, w = m.ones(3, requires_grad=True), m.ones(3, requires_grad=True)
    w.register_hook(lambda g: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        together(lambda: passes(m, x, 1.0, 20), lambda: passes(m, w, 1.0, 1))
    assert x.grad.tolist() == [60.0] * 3
    assert w.grad is None


def test_a_thread_started_by_a_hook(m):
    x, w = m.ones(3, requires_grad=True), m.ones(3, requires_grad=True)
    x.register_hook(lambda g: together(lambda: passes(m, w, 1.0, 1)))
    (x * 2).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([2.0] * 3, [3.0] * 3)


def test_threads_add_up_in_one_grad(m):
    x = m.zeros(100_000, requires_grad=True)

    def work():
        for _ in range(20):
            (x * 1).backward(m.ones(100_000))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert m.equal(x.grad, m.full((100_000,), 80.0))


def test_views_of_a_shared_tensor_while_it_is_made_a_leaf(m, restless):
    """One thread takes views without a graph, which `requires_grad_` has to find, while another calls it."""
    shared = m.ones(3)
    kept = []

    def take(count):
        with m.no_grad():
            kept.extend([shared.view(3) for _ in range(count)])

    def change():
        for i in range(200):
            shared.requires_grad_(i % 2 == 0)

    take(300)
    together(lambda: take(2000), change, change)
    shared.requires_grad_()
    assert all(each.requires_grad for each in kept)
