"""Anomaly mode against PyTorch: the same errors, and the same warnings down to the user's lines that they show."""

from __future__ import annotations

import re
import threading
import warnings

import pytest

import minigrad
from tests.parity.outcome import Programs, plain

pytestmark = pytest.mark.torch
PYTORCHS_OWN_LINES = re.compile(r'  File "[^"]*/site-packages/torch/[^\n]*\n(?:    [^\n]*\n)*')

PROGRAMS = Programs()  # each runs inside of `detect_anomaly`


def leaf(m, *values):
    """A leaf of these values."""
    return m.tensor(values or (1.0, 2.0), requires_grad=True)


def nan(m):
    """A sum whose gradient has a nan: that of sqrt at 0, times 0."""
    return (leaf(m, 0.0, 1.0).sqrt() * 0).sum()


def hooked(tensor, hook=lambda g: 1 // 0):
    """The tensor, with a hook."""
    tensor.register_hook(hook)
    return tensor


def function(m, forward=lambda ctx, x: x.clone(), backward=lambda ctx, g: g):
    """A custom Function."""
    return type("Mine", (m.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def failing(ctx, g):
    raise ValueError("no derivative")


def state(m):
    """What is on."""
    return m.is_anomaly_enabled(), m.is_anomaly_check_nan_enabled()


PROGRAMS.update({
    # nan
    "nan": lambda m: nan(m).backward(),
    "nan by grad": lambda m: m.autograd.grad(nan(m), leaf(m), allow_unused=True),
    "nan in a recorded pass": lambda m: m.autograd.grad((x := leaf(m, 0.0)) ** 0.5 * 0, x, create_graph=True),
    "nan from the root": lambda m: (leaf(m) * 2).backward(m.tensor([1.0, float("nan")])),
    "nan by a hook": lambda m: hooked(leaf(m) * 2, lambda g: g * float("nan")).sum().backward(),
    "nan in the second place": lambda m: (m.ones(2) - leaf(m) * float("nan")).sum().backward(),
    "nan of two": lambda m: (leaf(m) * (leaf(m) * float("inf") - float("inf"))).sum().backward(),
    "nan of many outputs": lambda m: (leaf(m) * 2).unbind()[0].backward(m.tensor(float("nan"))),
    "nan of a Function": lambda m: function(m, backward=lambda ctx, g: g / 0 * 0).apply(leaf(m)).sum().backward(),
    "nan at a leaf is none": lambda m: ((hooked(x := leaf(m), lambda g: g * float("nan")) * 2).sum().backward(),
                                        str(x.grad.tolist())),
    "inf is none": lambda m: (leaf(m) * float("inf")).sum().backward(),
    "nan below what is wanted": lambda m: m.autograd.grad((y := leaf(m, 0.0).sqrt()) * 0, y)[0],
    "nan by hand is none": lambda m: str(nan(m).grad_fn(m.tensor(float("nan"))).tolist()),
    # errors
    "a Function fails": lambda m: function(m, backward=failing).apply(leaf(m)).sum().backward(),
    "a Function gives too many": lambda m: function(m, backward=lambda ctx, g: (g, g)).apply(leaf(m)).sum().backward(),
    "a hook fails": lambda m: hooked(leaf(m) * 2).sum().backward(),
    "a leaf's hook fails": lambda m: (hooked(leaf(m)) * 2).sum().backward(),
    "a second pass": lambda m: ((y := leaf(m).exp().sum()), y.backward(), y.backward()),
    "changed in place": lambda m: ((y := leaf(m).exp()), y.add_(1), y.sum().backward()),
    "an error before the pass": lambda m: leaf(m).backward(),
    "unused": lambda m: m.autograd.grad(leaf(m).sum(), leaf(m)),
    # metadata
    "metadata": lambda m: list((leaf(m) * 2).grad_fn.metadata),
    "metadata of a leaf": lambda m: list((leaf(m) * 2).grad_fn.next_functions[0][0].metadata),
    "metadata of a Function": lambda m: list(function(m).apply(leaf(m)).grad_fn.metadata),
    "metadata of many outputs": lambda m: list(leaf(m).unbind()[0].grad_fn.metadata),
    "metadata by hand": lambda m: list((leaf(m) * leaf(m)).grad_fn(m.ones(2))[0].grad_fn.metadata),
    "metadata of one's own": lambda m: ((y := leaf(m).sum()), y.grad_fn.metadata.update(traceback_=["mine\n"]),
                                        hooked(y), y.backward()),
})


@PROGRAMS
def parents(m):
    x = leaf(m)
    first, = m.autograd.grad((x ** 3).sum(), x, create_graph=True)
    second, = m.autograd.grad(first.sum(), x, create_graph=True)
    node = second.grad_fn
    return [node, node.metadata["parent_"], node.metadata["parent_"].metadata["parent_"],
            "parent_" in node.metadata["parent_"].metadata["parent_"].metadata]


@PROGRAMS
def parent_of_a_sum_of_gradients(m):
    x = leaf(m)
    g, = m.autograd.grad((x * x).sum(), x, create_graph=True)
    return g.grad_fn, g.grad_fn.metadata["parent_"]


@PROGRAMS
def a_third_derivative_fails(m):
    x = leaf(m)
    first, = m.autograd.grad((x ** 3).sum(), x, create_graph=True)
    second, = m.autograd.grad(first.sum(), x, create_graph=True)
    second.grad_fn.register_hook(lambda found, given: 1 // 0)
    second.sum().backward()


@PROGRAMS
def a_function_in_the_backward_of_a_function(m):
    inner = function(m, backward=lambda ctx, g: g * float("nan"))
    outer = function(m, backward=lambda ctx, g: inner.apply(g * 2))
    x = leaf(m)
    g, = m.autograd.grad((outer.apply(x) ** 2).sum(), x, create_graph=True)
    g.sum().backward()


@PROGRAMS
def a_pass_inside_of_a_pass(m):
    def backward(ctx, g):
        with m.enable_grad():
            nan(m).backward()
        return g

    function(m, backward=backward).apply(leaf(m)).sum().backward()


@PROGRAMS
def an_op_on_a_view_in_place(m):
    y = leaf(m) * 2
    y[0].mul_(3)
    hooked(y)
    y.sum().backward()


@PROGRAMS
def recorded_before(m):
    m.set_anomaly_enabled(False)
    y = nan(m)
    m.set_anomaly_enabled(True)
    y.backward()


@PROGRAMS
def parent_recorded_before(m):
    m.set_anomaly_enabled(False)
    x = leaf(m)
    y = (x * x).sum()
    m.set_anomaly_enabled(True)
    g, = m.autograd.grad(y, x, create_graph=True)
    g.grad_fn.register_hook(lambda found, given: 1 // 0)
    g.sum().backward()


@PROGRAMS
def run_after(m):
    y = nan(m)
    m.set_anomaly_enabled(False)
    y.backward()


@PROGRAMS
def without_the_check(m):
    with m.autograd.set_detect_anomaly(True, check_nan=False):
        nan(m).backward()


@PROGRAMS
def nested(m):
    seen = [state(m)]
    with m.autograd.detect_anomaly(check_nan=False):
        seen.append(state(m))
        with m.autograd.set_detect_anomaly(False):
            seen.append(state(m))
        seen.append(state(m))
        m.autograd.set_detect_anomaly(True)
        seen.append(state(m))
    return [*seen, state(m)]


@PROGRAMS
def restored_after_an_error(m):
    try:
        with m.autograd.detect_anomaly(check_nan=False):
            raise KeyError
    except KeyError:
        return state(m)


@PROGRAMS
def other_threads(m):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(state(m)))
    thread.start()
    thread.join()
    return seen


PROGRAMS.update({
    "not a decorator": lambda m: m.autograd.detect_anomaly()(leaf),
    "set is no decorator": lambda m: m.autograd.set_detect_anomaly(True)(leaf),
    "mode is no bool": lambda m: m.autograd.set_detect_anomaly(1),
    "check_nan is no bool": lambda m: m.autograd.set_detect_anomaly(True, check_nan=0),
    "check_nan is no bool, on entry": lambda m: m.autograd.detect_anomaly(check_nan="no").__enter__(),
    "set_anomaly_enabled": lambda m: m.set_anomaly_enabled(None),
    "no mode": lambda m: m.autograd.set_detect_anomaly(),
    "an object of the mode": lambda m: [vars(m.autograd.detect_anomaly(check_nan=False)),
                                        vars(m.autograd.set_detect_anomaly(True))],
})


def told(message):
    """A warning without PyTorch's own lines."""
    return PYTORCHS_OWN_LINES.sub("", message.split(" (Triggered")[0]).rstrip()


def outcome(program, lib):
    """What a program comes to inside of anomaly mode: result or error, and the warnings in full."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's
        try:
            with lib.autograd.detect_anomaly():
                result = plain(program(lib))
        except Exception as error:  # noqa: BLE001 (whichever it is, it is the answer)
            result = type(error).__name__, str(error).split("\n\n")[0].split("\nException raised")[0]
        finally:
            lib.set_anomaly_enabled(False, True)
    return result, [(each.category.__name__, told(str(each.message))) for each in caught]


@pytest.mark.parametrize("name", PROGRAMS)
def test_anomaly(torch, name):
    assert outcome(PROGRAMS[name], minigrad) == outcome(PROGRAMS[name], torch)


def test_the_warnings_show_lines(torch):
    _, (_, (kind, text)) = outcome(PROGRAMS["nan"], minigrad)
    assert kind == "UserWarning"
    assert text.startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n")
    assert text.splitlines()[-1].strip() == "return (leaf(m, 0.0, 1.0).sqrt() * 0).sum()"
