"""Grad modes: what they switch, where, and for which thread. Each test runs under minigrad and PyTorch."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import weakref

import pytest

import minigrad
from minigrad.core.grad_mode import LOCAL, UNUSUAL
from minigrad.core.reentrant import MAX_DEPTH

MODES = ["no_grad", "enable_grad", "inference_mode"]


def now(m):
    """Whether grad mode and inference mode are on."""
    return m.is_grad_enabled(), m.is_inference_mode_enabled()


def test_nested_modes_restore_what_was(m):
    assert now(m) == (True, False)
    with m.no_grad():
        assert now(m) == (False, False)
        with m.enable_grad():
            assert now(m) == (True, False)
            with m.inference_mode():
                assert now(m) == (False, True)
            assert now(m) == (True, False)
        assert now(m) == (False, False)
    assert now(m) == (True, False)


@pytest.mark.parametrize("mode", MODES)
def test_an_error_restores_the_mode(m, mode):
    with pytest.raises(ZeroDivisionError), getattr(m, mode)():
        raise ZeroDivisionError
    assert now(m) == (True, False)


def test_set_grad_enabled_as_function_and_as_context(m):
    m.set_grad_enabled(False)
    assert not m.is_grad_enabled()
    with m.set_grad_enabled(True):
        assert m.is_grad_enabled()
    assert not m.is_grad_enabled()
    m.set_grad_enabled(True)
    assert m.is_grad_enabled()


@pytest.mark.parametrize("mode", MODES)
def test_decorators_with_and_without_parentheses(m, mode):
    @getattr(m, mode)()
    def called():
        """Words."""
        return now(m)

    expected = {"no_grad": (False, False), "enable_grad": (True, False), "inference_mode": (False, True)}[mode]
    assert called() == expected
    assert (called.__name__, called.__doc__) == ("called", "Words.")
    assert now(m) == (True, False)
    bare = getattr(m, mode)(lambda: now(m))
    assert bare() == expected


def test_a_decorated_function_may_call_itself(m):
    @m.no_grad()
    def down(n):
        return [m.is_grad_enabled()] + (down(n - 1) if n else [])

    assert down(3) == [False] * 4
    assert m.is_grad_enabled()


def test_a_decorated_generator_holds_the_mode_inside_only(m):
    @m.no_grad()
    def numbers():
        got = yield m.is_grad_enabled()
        yield got, m.is_grad_enabled()

    generator = numbers()
    assert next(generator) is False
    assert m.is_grad_enabled()
    assert generator.send("sent") == ("sent", False)
    assert m.is_grad_enabled()
    generator.close()


def test_a_generator_that_is_dropped_ends_inside_of_its_mode(m):
    seen = []

    @m.no_grad()
    def numbers():
        try:
            yield 1
        finally:
            seen.append(m.is_grad_enabled())

    generator = numbers()
    next(generator)
    del generator
    assert seen == [False]
    assert m.is_grad_enabled()


def test_an_error_in_a_generator_keeps_nothing_alive(m):
    class Held:
        """Something that can be watched."""

    @m.no_grad()
    def numbers(held):
        yield 1
        raise ZeroDivisionError

    gc.collect()
    gc.disable()
    try:
        held = Held()
        watch = weakref.ref(held)
        generator = numbers(held)
        next(generator)
        with contextlib.suppress(KeyError):
            generator.throw(KeyError())
        del held, generator
        assert watch() is None
    finally:
        gc.enable()


def test_each_call_of_a_decorated_function_has_its_own_context(m):
    @m.no_grad()
    def work(n):
        first = m.is_grad_enabled()
        with m.enable_grad():
            return [first, *(work(n - 1) if n else []), m.is_grad_enabled()]

    assert work(2) == [False] * 3 + [True] * 3
    assert m.is_grad_enabled()


def test_a_class_may_be_made_and_only_its_making_is_under_the_mode(m):
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        @m.no_grad()
        class Model:
            def __init__(self):
                self.made = m.is_grad_enabled()

            def used(self):
                return m.is_grad_enabled()

    assert (Model().made, Model().used()) == (False, True)


def test_no_grad_records_nothing(m):
    x = m.ones(2, requires_grad=True)
    with m.no_grad():
        y = x * 2
        leaf = m.ones(2, requires_grad=True)
        view = x[0]
    assert (y.requires_grad, y.grad_fn, y.is_leaf) == (False, None, True)
    assert (leaf.requires_grad, leaf.is_leaf) == (True, True)
    assert (view.requires_grad, view.grad_fn, view.is_leaf) == (True, None, True)  # a view knows its base
    assert (view * 2).requires_grad
    assert (view * 2).grad_fn.next_functions == ((None, 0), (None, 0))


def test_a_leaf_may_be_changed_without_grad_mode(m):
    x = m.ones(2, requires_grad=True)
    with m.no_grad():
        x.add_(1)
        x -= 0.5
    assert (x.tolist(), x.requires_grad, x.is_leaf, x._version) == ([1.5, 1.5], True, True, 2)


def test_backward_inside_no_grad(m):
    x = m.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with m.no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


class TestInferenceMode:
    """What differs from no_grad."""

    def test_tensors_know_where_they_were_made(self, m):
        x = m.ones(2, requires_grad=True)
        with m.inference_mode():
            y = x * 2
            z = m.ones(2)
        assert (y.is_inference(), z.is_inference(), x.is_inference()) == (True, True, False)
        assert not y.requires_grad

    def test_its_clones_are_ordinary(self, m):
        with m.inference_mode():
            x = m.ones(2)
        copy = x.clone()
        assert not copy.is_inference()
        (copy.requires_grad_() * 2).sum().backward()
        assert copy.grad.tolist() == [2.0, 2.0]

    def test_off(self, m):
        with m.inference_mode(False):
            assert now(m) == (True, False)
            assert (m.ones(2, requires_grad=True) * 2).requires_grad


def test_each_thread_has_its_own_mode(m):
    seen = []

    def work():
        seen.append(m.is_grad_enabled())
        with m.no_grad():
            seen.append(m.is_grad_enabled())
            inside.set()
            go.wait(60)
        seen.append(m.is_grad_enabled())

    inside, go = threading.Event(), threading.Event()
    with m.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        inside.wait(60)
    assert m.is_grad_enabled()
    assert (m.ones(1, requires_grad=True) * 2).requires_grad
    go.set()
    thread.join(60)
    assert seen == [True, False, True]
    assert (m.ones(1, requires_grad=True) * 2).requires_grad


def test_a_thread_that_ends_inside_a_mode_leaves_no_trace(m):
    thread = threading.Thread(target=lambda: m.set_grad_enabled(False))
    thread.start()
    thread.join(60)
    assert m.is_grad_enabled()
    assert (m.ones(1, requires_grad=True) * 2).requires_grad


def test_what_a_thread_switched_is_forgotten_when_it_ends():
    before = len(UNUSUAL.modes)
    for _ in range(3):
        thread = threading.Thread(target=lambda: minigrad.set_grad_enabled(False))
        thread.start()
        thread.join(60)
    assert len(UNUSUAL.modes) == before  # else every op of the process stays on the slow path


def test_a_pass_that_runs_in_another_thread_takes_the_modes_along_and_leaves_none():
    before, seen = set(UNUSUAL.modes), []

    def start(depth):
        x = minigrad.ones(1, requires_grad=True)
        x.register_hook(lambda grad: inside(depth))
        with minigrad.enable_grad():
            (x * 2).sum().backward()

    def inside(depth):
        seen.append((threading.get_ident(), id(LOCAL.key), minigrad.is_grad_enabled()))
        if depth < MAX_DEPTH + 1:
            start(depth + 1)

    start(0)
    threads, keys, grad_enabled = zip(*seen, strict=True)
    assert len(set(threads)) == len(set(keys)) == 2 and not any(grad_enabled)
    assert set(UNUSUAL.modes) == before


def test_every_mode_is_counted_and_taken_off_again():
    before = len(UNUSUAL.modes)
    with minigrad.no_grad():
        assert len(UNUSUAL.modes) == before + 1
        with minigrad.inference_mode():
            assert len(UNUSUAL.modes) == before + 1
            with minigrad.enable_grad():
                assert len(UNUSUAL.modes) == before + 1
            with minigrad.inference_mode(False):
                assert len(UNUSUAL.modes) == before
        with contextlib.suppress(KeyError), minigrad.no_grad():
            raise KeyError
    assert len(UNUSUAL.modes) == before


def test_backward_in_threads(m):
    x = m.ones(2, requires_grad=True)
    grads = []

    def work(n):
        y = (x * n).sum()
        grads.append(m.autograd.grad(y, x)[0].tolist())

    threads = [threading.Thread(target=work, args=(float(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(grads) == [[float(n)] * 2 for n in range(4)]


def test_classes_are_not_decorated_silently(m):
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        m.no_grad()(type("Model", (), {}))


def run_interrupted(run, nth):
    """Run `run`, with Ctrl-C before the `nth` line of minigrad; whether there were so many."""
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if not frame.f_globals["__name__"].startswith("minigrad."):
            return None
        lines += event == "line"
        if event == "line" and lines == nth:
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        run()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


@pytest.mark.parametrize("mode", [*MODES, "set_grad_enabled", "saved_tensors_hooks"])
def test_an_interrupt_at_any_line_leaves_no_mode_half_switched(mode):
    x = minigrad.ones(1, requires_grad=True)
    block = {"set_grad_enabled": lambda: minigrad.set_grad_enabled(False),
             "saved_tensors_hooks": lambda: minigrad.autograd.graph.saved_tensors_hooks(abs, abs)}.get(
        mode, getattr(minigrad, mode, None))
    entered = left = False

    def run():
        nonlocal entered, left
        with block():
            entered = True
        left = True

    nth = 1
    while run_interrupted(run, nth):
        if mode != "set_grad_enabled":  # that one switches before its block is entered
            assert entered or now(minigrad) == (True, False)
        assert not left
        assert (x * 2).requires_grad is minigrad.is_grad_enabled()  # ops do what the modes say
        with minigrad.no_grad():
            assert not (x * 2).requires_grad
        minigrad.set_grad_enabled(True)
        LOCAL.inference, LOCAL.saved_tensors_hooks = False, ()
        LOCAL.update()
        assert (x * 2).requires_grad and not UNUSUAL.modes
        entered, nth = False, nth + 1
    assert nth > 10 and left
