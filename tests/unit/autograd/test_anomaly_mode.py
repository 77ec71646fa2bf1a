"""Anomaly mode: what it notes, what it tells, and that it leaves nothing behind."""

from __future__ import annotations

import gc
import warnings
import weakref

import numpy as np
import pytest

import minigrad
from minigrad.core.grad_mode import UNUSUAL


@pytest.fixture(autouse=True)
def quiet_and_off(m):
    """No word about the mode itself, nor from NumPy; and no test leaves it on."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", "Anomaly Detection has been enabled")
        yield
    assert not m.is_anomaly_enabled()
    assert m.is_anomaly_check_nan_enabled()


def nan(m):
    """A sum whose gradient has a nan."""
    return (m.tensor([0.0, 1.0], requires_grad=True).sqrt() * 0).sum()


def test_a_nan_is_an_error_that_names_its_node(m):
    with m.autograd.detect_anomaly():
        y = nan(m)
        with pytest.warns(UserWarning, match=r"Error detected in SqrtBackward0"), \
                pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output"):
            y.backward()


def test_the_warning_shows_the_line_of_the_forward_pass(m):
    with m.autograd.detect_anomaly(), pytest.warns(UserWarning) as caught, pytest.raises(RuntimeError):
        y = nan(m)
        y.backward()
    text = str(caught[-1].message).split(" (Triggered")[0].rstrip()
    assert text.splitlines()[-1] == "    return (m.tensor([0.0, 1.0], requires_grad=True).sqrt() * 0).sum()"


def test_without_the_check_a_nan_passes(m):
    x = m.tensor([0.0, 1.0], requires_grad=True)
    with m.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * 0).sum().backward()
    assert x.grad.tolist()[1] == 0.0
    assert x.grad.tolist()[0] != x.grad.tolist()[0]


def test_gradients_are_the_same(m):
    def gradients():
        x, w = m.tensor([[0.3, -1.2]], requires_grad=True), m.tensor([[2.0], [0.5]], requires_grad=True)
        first = m.autograd.grad((x @ w).tanh().sum() + (x * x).sum(), (x, w), create_graph=True)
        second = m.autograd.grad(sum((g ** 2).sum() for g in first), (x, w))
        return [g.tolist() for g in (*first, *second)]

    plain = gradients()
    with m.autograd.detect_anomaly():
        assert gradients() == plain


def test_a_failed_pass_leaves_grad_alone(m):
    x = m.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    with m.autograd.detect_anomaly():
        y = ((x - x).sqrt() * 0).sum()
        with pytest.warns(UserWarning, match="Error detected"), pytest.raises(RuntimeError, match="nan"):
            y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_recorded_pass_notes_whose_derivative_it_is(m):
    with m.autograd.detect_anomaly():
        x = m.ones(2, requires_grad=True)
        y = (x ** 3).sum()
        g, = m.autograd.grad(y, x, create_graph=True)
    node = g.grad_fn
    assert node.metadata["parent_"].name() == "PowBackward0"
    assert "parent_" not in y.grad_fn.metadata
    assert isinstance(node.metadata["traceback_"], list)


def test_graphs_are_freed_without_the_garbage_collector(m):
    gc.collect()
    gc.disable()
    try:
        with m.autograd.detect_anomaly():
            x = m.ones(2, requires_grad=True)
            y = (x ** 3).exp()
            g, = m.autograd.grad(y.sum(), x, create_graph=True)
            nodes = [weakref.ref(t) for t in (y, g)]
        del y, g
        assert [node() for node in nodes] == [None, None]
    finally:
        gc.enable()


def test_a_pass_that_fails_inside_of_a_function_tells_of_both(m):
    class Outer(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            with m.enable_grad():
                nan(m).backward()
            return g

    with m.autograd.detect_anomaly(), pytest.warns(UserWarning) as caught, pytest.raises(RuntimeError, match="Sqrt"):
        Outer.apply(m.ones(2, requires_grad=True)).sum().backward()
    told = [str(each.message) for each in caught if "Anomaly" not in str(each.message)]
    assert [text.strip().split(".")[0] for text in told] == [
        "Error detected in SqrtBackward0", "Previous calculation was induced by OuterBackward",
        "Error detected in OuterBackward"]


def test_the_error_is_not_hidden_where_warnings_are_errors(m):
    with m.autograd.detect_anomaly(), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="nan values"):
            nan(m).backward()


def test_then_the_error_carries_what_the_warning_says():
    with minigrad.autograd.detect_anomaly(), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError) as caught:
            nan(minigrad).backward()
    assert caught.value.__notes__[0].startswith("Error detected in SqrtBackward0. Traceback of forward call")


def test_our_own_lines_are_left_out():
    layer = minigrad.nn.Linear(2, 1)
    with minigrad.autograd.detect_anomaly():
        y = layer(minigrad.ones(2))
    lines = y.grad_fn.metadata["traceback_"]
    assert lines[-1].endswith("    y = layer(minigrad.ones(2))\n")
    assert not [line for line in lines if "minigrad/nn" in line or "minigrad/autograd" in line]


def test_it_is_counted_once_and_no_more():
    before = len(UNUSUAL.modes)
    with minigrad.autograd.detect_anomaly():
        assert len(UNUSUAL.modes) == before + 1
        with minigrad.autograd.detect_anomaly(check_nan=False):
            assert len(UNUSUAL.modes) == before + 1
        with minigrad.autograd.set_detect_anomaly(False):
            assert len(UNUSUAL.modes) == before
    assert len(UNUSUAL.modes) == before
