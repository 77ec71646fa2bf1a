"""Backward inside of backward, and what is queued for the end of a pass. Each test runs under minigrad and PyTorch."""

from __future__ import annotations

import sys
import threading

import pytest

import minigrad


def nested(m, call):
    """A Function that is the identity, and calls something in its backward with grad mode on."""

    class Nested(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            with m.enable_grad():
                call(g)
            return g

    return Nested.apply


def queue(m, callback):
    """Call this at the end of the pass that is running."""
    m.autograd.Variable._execution_engine.queue_callback(callback)


def tower(m, depth, bottom=lambda: None):
    """Passes inside of passes, `depth` of them below the first; gives the innermost `.grad` and the threads used."""
    threads = set()

    def descend(left):
        threads.add(threading.get_ident())
        x = m.ones(1, requires_grad=True)
        if left:
            nested(m, lambda g: descend(left - 1))(x * 2).sum().backward()
        else:
            bottom()
            (x * 2).sum().backward()
        assert x.grad.tolist() == [2.0]

    descend(depth)
    return threads


@pytest.mark.parametrize("depth", [1, 30, 31, 32, 33, 65, 2_000])
def test_passes_go_deep(m, depth):
    limit = sys.getrecursionlimit()
    threads = tower(m, depth)
    assert len(threads) <= 1 + depth // 32
    assert sys.getrecursionlimit() == limit
    assert threading.active_count() < 40


def test_passes_go_deep_without_threads(no_threads):
    assert tower(minigrad, 40) == {threading.get_ident()}


def test_passes_that_fill_the_stack_without_threads(no_threads):
    with pytest.raises(RecursionError, match="this platform can start no thread to run them in"):
        tower(minigrad, 2_000)
    assert tower(minigrad, 33) == {threading.get_ident()}  # all is as it was


def test_an_error_comes_up_through_all_passes(m):
    def fail():
        raise KeyError("at the bottom")

    with pytest.raises(KeyError, match="at the bottom"):
        tower(m, 100, fail)
    assert m.is_grad_enabled()
    tower(m, 1)


def test_an_interrupt_comes_up_through_all_passes(m):
    def interrupt():
        raise KeyboardInterrupt

    for depth in (1, 40):
        with pytest.raises(KeyboardInterrupt):
            tower(m, depth, interrupt)
    tower(m, 1)


def test_modes_and_hooks_go_along(m):
    seen = []

    def look():
        seen.append((m.is_grad_enabled(), m.autograd.is_multithreading_enabled()))
        x = m.ones(2, requires_grad=True)
        (x * x).sum().backward()

    def pack(t):
        seen.append("pack")
        return t

    with m.autograd.set_multithreading_enabled(False), m.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        tower(m, 70, look)
    assert seen == [(True, False), "pack", "pack"]


def test_the_same_leaf_at_two_depths(m):
    x = m.ones(2, requires_grad=True)
    nested(m, lambda g: (x * 3).sum().backward())(x * 2).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_pass_inside_a_hook_of_a_leaf(m):
    x, w = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)

    def hook(g):
        with m.enable_grad():
            (w * 3).sum().backward()
        return g * w.grad

    x.register_hook(hook)
    (x * 2).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([6.0, 6.0], [3.0, 3.0])


def test_the_same_graph_inside_of_itself(m):
    x = m.ones(2, requires_grad=True)
    y = x.exp()
    started, inner = [], []

    def hook(g):
        if not started:
            started.append(True)
            with m.enable_grad():
                inner.append(m.autograd.grad(y.sum(), x, retain_graph=True)[0])

    y.register_hook(hook)
    with m.no_grad():
        expected = x.exp().tolist()
    y.sum().backward()
    assert inner[0].tolist() == x.grad.tolist() == expected


def test_an_error_inside_that_somebody_catches(m):
    x, w = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)

    def attempt(g):
        with pytest.raises(ZeroDivisionError):
            hooked = w * 2
            hooked.register_hook(lambda g: 1 // 0)
            hooked.sum().backward()

    nested(m, attempt)(x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert w.grad is None


class TestCallbacks:
    """`Variable._execution_engine.queue_callback`."""

    def test_they_run_at_the_end_in_order_and_may_queue_more(self, m):
        log = []
        x = m.ones(2, requires_grad=True)

        def hook(g):
            queue(m, lambda: (log.append("first"), queue(m, lambda: log.append(("third", x.grad.tolist())))))
            queue(m, lambda: log.append(("second", x.grad.tolist())))
            log.append(("hook", x.grad))

        x.register_hook(hook)
        x.sum().backward()
        assert log == [("hook", None), "first", ("second", [1.0, 1.0]), ("third", [1.0, 1.0])]
        x.sum().backward()
        assert len(log) == 8

    def test_outside_of_a_pass(self, m):
        with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
            queue(m, lambda: None)
        m.ones(1, requires_grad=True).sum().backward()
        with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
            queue(m, lambda: None)

    def test_an_inner_pass_has_its_own(self, m):
        log = []
        x, w = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
        w.register_hook(lambda g: queue(m, lambda: log.append("inner")))

        def inner(g):
            queue(m, lambda: log.append("outer"))
            w.sum().backward()
            log.append("after the inner")
            queue(m, lambda: log.append("outer again"))

        nested(m, inner)(x * 2).sum().backward()
        assert log == ["inner", "after the inner", "outer", "outer again"]

    def test_a_pass_inside_a_callback(self, m):
        x, w = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)

        def callback():
            with m.enable_grad():
                (w * x.grad).sum().backward()

        x.register_hook(lambda g: queue(m, callback))
        (x * 3).sum().backward()
        assert w.grad.tolist() == [3.0, 3.0]

    def test_grad_mode_is_that_of_the_pass(self, m):
        modes = []
        x = m.ones(2, requires_grad=True)
        x.register_hook(lambda g: queue(m, lambda: modes.append(m.is_grad_enabled())))
        (x * x).sum().backward()
        m.autograd.grad((x * x).sum(), x, create_graph=True)
        assert modes == [False, True]

    @pytest.mark.parametrize("callback", [lambda: 1 // 0, 3])
    def test_an_error_in_one_stops_those_after_it(self, m, callback):
        log = []
        x = m.ones(2, requires_grad=True)

        def hook(g):
            for each in (lambda: log.append("before"), callback, lambda: log.append("after")):
                queue(m, each)

        x.register_hook(hook)
        with pytest.raises((ZeroDivisionError, TypeError)):
            x.sum().backward()
        assert log == ["before"]
        assert x.grad.tolist() == [1.0, 1.0]

    def test_none_runs_after_an_error(self, m):
        log = []
        x = m.ones(2, requires_grad=True)

        def hook(g):
            queue(m, lambda: log.append("callback"))
            raise KeyError

        handle = x.register_hook(hook)
        with pytest.raises(KeyError):
            x.sum().backward()
        handle.remove()
        x.sum().backward()
        assert log == []
