"""What goes wrong in a checkpointed function: PyTorch's whole text, and after it all is as usable as in PyTorch.

Each program makes its error and then goes on: with the random numbers that come next, with another op, and with a
second pass over the same graph, for which the function is right again. (The first pass says `retain_graph`: nodes that
ran before the error would else have let go of what they saved.)
"""

from __future__ import annotations

import contextlib
import re

import pytest

from tests.parity.alike import alike
from tests.parity.outcome import Programs

pytestmark = pytest.mark.torch
programs = Programs()


def raised(act):
    """The error of `act()`, whole, but for what one library has not: PyTorch's advice to users of its compiler, and
    what minigrad adds below the errors of ops."""
    with pytest.raises((RuntimeError, ValueError, TypeError)) as caught:
        act()
    text = re.split("\nException raised|\n\nIf this error occurs under torch.compile", str(caught.value))[0]
    text = text.replace("minigrad", "torch")
    return type(caught.value).__name__, text.rstrip() if "\nTip: " in text else text.split("\n\n")[0].rstrip()


def usable(m, x):
    """The numbers that come next, the modes, and what an op records and saves now."""
    y = x * x
    return m.rand(2), m.is_grad_enabled(), y.grad_fn, y.grad_fn._saved_self is x or m.equal(y.grad_fn._saved_self, x)


def wrong_once(m, how, wrong, **options):
    """A function whose second run does something else, and draws more numbers; the third is right again."""
    x, w = m.arange(1.0, 4.0).requires_grad_(), m.full((3,), 2.0).requires_grad_()
    runs = []

    def function(t):
        runs.append("run")
        if len(runs) == 2:
            return wrong(m, t * m.rand(3)[0] * m.rand(2)[0])
        return ((t * m.rand(3)).sin() * w).sum()

    m.manual_seed(5)
    y = m.utils.checkpoint.checkpoint(function, x, use_reentrant=how, **options)
    m.rand(1)
    state = m.get_rng_state()
    error = raised(lambda: y.backward(retain_graph=True))
    untouched, first = m.equal(state, m.get_rng_state()), (x.grad, w.grad)
    after = usable(m, x)
    y.backward()
    return error, untouched, first, after, x.grad, w.grad, runs, m.rand(1)


WRONG = {
    "fewer tensors": lambda m, t: t.sum(),
    "one tensor less": lambda m, t: t.sin().sum(),
    "more tensors": lambda m, t: (t.sin() * t).exp().cos().sum(),
    "another shape": lambda m, t: (t[:2].sin() * t[:2]).sum(),
    "another dtype": lambda m, t: (t.double().sin() * t.double()).sum(),
    "an op that fails": lambda m, t: t.reshape(7),
}


def throws(m, t):
    t.sin()
    raise ValueError("thrown inside")


for name, wrong in {**WRONG, "an exception": throws}.items():
    for stop in (True, False):
        programs[f"{name}, early stop {stop}"] = lambda m, wrong=wrong, stop=stop: wrong_once(
            m, False, wrong, early_stop=stop)
for name, wrong in {"an exception": throws, "an op that fails": WRONG["an op that fails"],
                    "an output of another shape": lambda m, t: t * 2,
                    "no output that requires grad": lambda m, t: t.detach().sum()}.items():
    programs[f"{name}, reentrant"] = lambda m, wrong=wrong: wrong_once(m, True, wrong)
programs["another shape, unchecked"] = lambda m: wrong_once(
    m, False, lambda m, t: ((t[:2]).sin() * m.ones(2, requires_grad=True)).sum(), determinism_check="none")


@programs
def keyword_arguments_with_reentrant(m):
    x, w = m.arange(1.0, 4.0).requires_grad_(), m.full((3,), 2.0).requires_grad_()
    m.manual_seed(1)
    checkpoint = m.utils.checkpoint.checkpoint
    error = raised(lambda: checkpoint(lambda t, by: t * by, x, by=w, other=1, use_reentrant=True))
    after = usable(m, x)
    checkpoint(lambda t, by: (t * by).sin(), x, w, use_reentrant=True).sum().backward()
    return error, after, x.grad, w.grad


@programs
def arguments_that_the_reentrant_kind_does_not_know(m):
    x = m.arange(1.0, 4.0).requires_grad_()
    m.manual_seed(1)
    checkpoint = m.utils.checkpoint.checkpoint
    errors = [raised(lambda options=options: checkpoint(m.sin, x, use_reentrant=True, **options)) for options in (
        {"debug": True}, {"context_fn": lambda: (contextlib.nullcontext(), contextlib.nullcontext())})]
    errors += [raised(lambda options=options: checkpoint(m.sin, x, use_reentrant=False, **options)) for options in (
        {"determinism_check": "all"}, {"debug": True, "context_fn": lambda: (m.no_grad(), m.no_grad())})]
    after = usable(m, x)
    checkpoint(m.sin, x, use_reentrant=False).sum().backward()
    return errors, after, x.grad


@programs
def no_input_that_requires_grad(m):
    """A warning; then parameters get no gradient with the reentrant kind, and do with the other."""
    w, found = m.full((3,), 2.0).requires_grad_(), []
    m.manual_seed(1)
    for how in (True, False):
        y = m.utils.checkpoint.checkpoint(lambda t: (t * w).sin(), m.arange(1.0, 4.0), use_reentrant=how)
        found += [y, raised(y.sum().backward) if how else y.sum().backward(), w.grad, usable(m, w)]
    y = m.utils.checkpoint.checkpoint(lambda t: (t * w).sin(), m.ones(3).requires_grad_(), use_reentrant=True)
    y.sum().backward()
    return found, w.grad


@programs
def a_pass_with_inputs_of_the_reentrant_kind(m):
    x, w = m.arange(1.0, 4.0).requires_grad_(), m.full((3,), 2.0).requires_grad_()
    m.manual_seed(1)
    y = m.utils.checkpoint.checkpoint(lambda t: (t * w).sin(), x, use_reentrant=True).sum()
    errors = [raised(lambda: m.autograd.grad(y, x)), raised(lambda: y.backward(inputs=[x]))]
    after = usable(m, x)
    y.backward()
    return errors, after, x.grad, w.grad


@programs
def an_exception_in_nested_runs(m):
    """The inner function throws when it is run again; both graphs can be used after that."""
    x, runs = m.arange(1.0, 4.0).requires_grad_(), []
    checkpoint, found = m.utils.checkpoint.checkpoint, []

    def inner(t):
        runs.append("inner")
        if len(runs) == 3:
            m.rand(4)
            raise ValueError("thrown inside")
        return (t * m.rand(3)).sin()

    for outer_how, inner_how in ((True, True), (True, False), (False, True), (False, False)):
        for before in ([], ["before"]):
            runs[:] = before
            m.manual_seed(1)
            y = checkpoint(lambda t, how=inner_how: checkpoint(inner, t.exp(), use_reentrant=how).cos(), x,
                           use_reentrant=outer_how).sum()
            state = m.get_rng_state()
            try:
                found.append(raised(lambda y=y: y.backward(retain_graph=True)))
            except pytest.fail.Exception:
                found.append("it needs no such run")
            found += [m.equal(state, m.get_rng_state()), usable(m, x)]
            if found[-3] != "it needs no such run":
                y.backward()
            found += [x.grad, len(runs)]
            x.grad = None
    return found


@pytest.mark.parametrize("name", programs)
def test_what_goes_wrong_and_on(torch, every_warning, name):
    alike(torch, programs[name])
