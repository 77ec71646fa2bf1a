"""Checkpointed functions: what they give, how often each part of them runs, and what they refuse, as in PyTorch."""

from __future__ import annotations

import math
import warnings

import pytest

from tests.parity.alike import alike
from tests.parity.outcome import Programs

pytestmark = pytest.mark.torch
programs = Programs()


def tools(m):
    """`checkpoint` and a few tensors."""
    x = m.arange(1.0, 4.0, dtype=m.float64)
    return m.utils.checkpoint.checkpoint, x.requires_grad_(), m.full((3,), 2.0, dtype=m.float64).requires_grad_()


class Marks(list):
    """A log of where the program was."""

    def step(self, m, name, x, fn):
        """`fn(x)`, noted with its name and the grad mode."""
        self.append((name, m.is_grad_enabled()))
        return fn(x)


def chain(m, log, names="abcd"):
    """A function of several steps, each of which saves something, but the last: an early stop comes before it."""
    def function(x):
        for name in names:
            x = log.step(m, name, x, lambda t: t.sin() * t)
        return log.step(m, "end", x, lambda t: t + 1)

    return function


def two_passes(m, how, **options):
    checkpoint, x, _ = tools(m)
    log = Marks()
    y = checkpoint(chain(m, log), x, use_reentrant=how, **options)
    y.sum().backward(retain_graph=True)
    log.append("again")
    y.sum().backward()
    return y, x.grad, log


for how in (True, False):
    programs[f"two passes, {how}"] = lambda m, how=how: two_passes(m, how)
    programs[f"a dict, {how}"] = lambda m, how=how: tools(m)[0](lambda x: {"a": x * x}, tools(m)[1], use_reentrant=how)
    programs[f"no input requires grad, {how}"] = lambda m, how=how: tools(m)[0](
        lambda x: x * 2, m.ones(2), use_reentrant=how)
    programs[f"under no_grad, {how}"] = lambda m, how=how: m.no_grad()(tools(m)[0])(
        lambda x: x * 2, tools(m)[1], use_reentrant=how)
    programs[f"an error in the first run, {how}"] = lambda m, how=how: tools(m)[0](
        lambda x: x.reshape(5), tools(m)[1], use_reentrant=how)
    programs[f"a detached output, {how}"] = lambda m, how=how: tools(m)[0](
        lambda x: (x * x).detach(), tools(m)[1], use_reentrant=how).sum().backward()
    programs[f"segments, {how}"] = lambda m, how=how: sequential(m, 3, how)
    programs[f"more segments than steps, {how}"] = lambda m, how=how: sequential(m, 9, how)
    programs[f"one segment, {how}"] = lambda m, how=how: sequential(m, 1, how)
    programs[f"in place on the output, {how}"] = lambda m, how=how: in_place(m, how)
    programs[f"an input changed, {how}"] = lambda m, how=how: changed(m, how)
    programs[f"a second derivative, {how}"] = lambda m, how=how: second(m, how)
    programs[f"inputs= of backward, {how}"] = lambda m, how=how: with_inputs(m, how)
    for preserve in (True, False):
        programs[f"random numbers, {how}, {preserve}"] = lambda m, how=how, preserve=preserve: drawing(
            m, how, preserve)
    for inner in (True, False):
        programs[f"nested, {how} in {inner}"] = lambda m, how=how, inner=inner: nested(m, how, inner)
programs["no early stop"] = lambda m: two_passes(m, False, early_stop=False)
programs["not said"] = lambda m: tools(m)[0](lambda x: x * x, tools(m)[1])
programs["sequential, not said"] = lambda m: m.utils.checkpoint.checkpoint_sequential([m.sin], 1, tools(m)[1])
programs["sequential, another keyword"] = lambda m: m.utils.checkpoint.checkpoint_sequential(
    [m.sin], 1, tools(m)[1], use_reentrant=False, wrong=1)
programs["keyword arguments, reentrant"] = lambda m: tools(m)[0](lambda x, y: x, tools(m)[1], y=1, use_reentrant=True)
programs["keyword arguments"] = lambda m: tools(m)[0](lambda x, y: x * y, tools(m)[1], y=tools(m)[2],
                                                      use_reentrant=False)
programs["contexts, reentrant"] = lambda m: tools(m)[0](m.sin, tools(m)[1], use_reentrant=True,
                                                        context_fn=lambda: (m.no_grad(), m.no_grad()))
programs["debug, reentrant"] = lambda m: tools(m)[0](m.sin, tools(m)[1], use_reentrant=True, debug=True)
programs["debug, contexts"] = lambda m: tools(m)[0](m.sin, tools(m)[1], use_reentrant=False, debug=True,
                                                   context_fn=lambda: (m.no_grad(), m.no_grad()))
programs["another check"] = lambda m: tools(m)[0](m.sin, tools(m)[1], use_reentrant=False, determinism_check="some")
programs["detach_variable"] = lambda m: m.utils.checkpoint.detach_variable((tools(m)[1] * 2, 3, m.ones(1)))
programs["detach_variable of a list"] = lambda m: m.utils.checkpoint.detach_variable([m.ones(1)])


def sequential(m, segments, how):
    log, x = Marks(), tools(m)[1]
    steps = [lambda t, name=name: log.step(m, name, t, m.sin) for name in "abcdefg"]
    y = m.utils.checkpoint.checkpoint_sequential(steps, segments, x, use_reentrant=how)
    log.append("backward")
    y.sum().backward()
    return y, x.grad, log


def in_place(m, how):
    checkpoint, x, _ = tools(m)
    y = checkpoint(lambda t: t.exp(), x, use_reentrant=how)
    y.mul_(2)
    y.sum().backward()
    return x.grad


def changed(m, how):
    checkpoint, x, w = tools(m)
    a = x * 1
    y = checkpoint(lambda t: t * w, a, use_reentrant=how)
    with m.no_grad():
        a.add_(1)
    y.sum().backward()


def second(m, how):
    checkpoint, x, _ = tools(m)
    y = checkpoint(lambda t: t ** 3, x, use_reentrant=how)
    y.sum().backward(create_graph=True)
    first, x.grad = x.grad, None
    first.sum().backward()
    return first, x.grad


def with_inputs(m, how):
    checkpoint, x, _ = tools(m)
    checkpoint(lambda t: t ** 3, x, use_reentrant=how).sum().backward(inputs=[x])
    return x.grad


def drawing(m, how, preserve):
    """What is drawn inside, in the pass, and after it."""
    checkpoint, x, _ = tools(m)
    m.manual_seed(3)
    y = checkpoint(lambda t: t * m.rand(3), x, use_reentrant=how, preserve_rng_state=preserve)
    between = m.rand(2)
    y.sum().backward()
    return y, x.grad, between, m.rand(2)


def nested(m, outer, inner):
    """How often each part of a checkpointed function runs that checkpoints a part of itself."""
    checkpoint, x, w = tools(m)
    log = Marks()

    def deep(t):
        return log.step(m, "deepest", t, lambda t: (t * w).sin().cos())

    def middle(t):
        t = log.step(m, "before", t, lambda t: t.exp().sin())
        t = checkpoint(deep, t, use_reentrant=inner)
        return log.step(m, "after", t, lambda t: t.exp() * w)

    y = checkpoint(middle, x, use_reentrant=outer)
    log.append("backward")
    y.sum().backward()
    return y, x.grad, w.grad, log


@programs
def three_levels(m):
    checkpoint, x, w = tools(m)
    log = Marks()

    def level(n):
        def function(t):
            t = log.step(m, f"{n} before", t, lambda t: (t * w).sin())
            if n:
                t = checkpoint(level(n - 1), t, use_reentrant=False)
            return log.step(m, f"{n} after", t, lambda t: t.cos() * w)

        return function

    y = checkpoint(level(2), x, use_reentrant=False)
    log.append("backward")
    y.sum().backward()
    return y, x.grad, w.grad, log


@programs
def a_pass_inside(m):
    """The function takes a gradient itself."""
    checkpoint, x, _ = tools(m)

    def function(t):
        y = t.sin()
        z = y.cos()
        (g,) = m.autograd.grad(z.sum(), t, retain_graph=True, create_graph=True)
        return g * z

    return [gradient_of(m, checkpoint(function, x, use_reentrant=False, early_stop=stop), x) for stop in (True, False)]


def gradient_of(m, y, x):
    return m.autograd.grad(y.sum(), x)[0]


@programs
def a_pass_inside_that_frees(m):
    checkpoint, x, _ = tools(m)

    def function(t):
        z = t.sin().cos()
        (g,) = m.autograd.grad(z.sum(), t)
        return t.cos() * g

    return [gradient_of(m, checkpoint(function, x, use_reentrant=False, early_stop=stop), x) for stop in (True, False)]


@programs
def early_stop_by_a_block(m):
    checkpoint, x, _ = tools(m)
    logs = []
    for stop in (True, False):
        log = Marks()
        with m.utils.checkpoint.set_checkpoint_early_stop(stop):
            y = checkpoint(chain(m, log), x, use_reentrant=False, early_stop=not stop)
        y.sum().backward()
        logs.append(log)
    return logs


def two_outputs(m, block):
    """Two outputs of one call, of which a pass needs one, then another pass the other; both inside of `block`."""
    checkpoint, x, w = tools(m)
    log = Marks()

    def function(t):
        return log.step(m, "one", t, m.sin), log.step(m, "two", w, m.exp)

    a, b = checkpoint(function, x, use_reentrant=False)
    with block:
        b.sum().backward()
        log.append("next")
        a.sum().backward()
    return x.grad, w.grad, log


programs["a part of the graph"] = lambda m: two_outputs(m, m.enable_grad())
programs["one group of passes"] = lambda m: two_outputs(m, m.utils.checkpoint.GraphExecGroup())


@programs
def groups_in_groups(m):
    group = m.utils.checkpoint.GraphExecGroup
    with group(), pytest.raises(RuntimeError, match="contexts cannot be nested. Already inside group <"), group():
        return None
    with group():
        return "and again"


@programs
def a_group_that_overlaps(m):
    checkpoint, x, _ = tools(m)
    y = checkpoint(lambda t: t.sin(), x, use_reentrant=False)
    with m.utils.checkpoint.GraphExecGroup():
        y.sum().backward(retain_graph=True)
        y.sum().backward()


@programs
def contexts_of_both_runs(m):
    checkpoint, x, _ = tools(m)
    log = []

    class Context:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(f"enter {self.name}")

        def __exit__(self, *error):
            log.append(f"exit {self.name}")

    y = checkpoint(m.sin, x, use_reentrant=False, context_fn=lambda: (Context("first"), Context("second")))
    y.sum().backward()
    return x.grad, log


@programs
def a_context_that_swallows(m):
    checkpoint, x, _ = tools(m)

    class Swallow:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return True

    return checkpoint(lambda t: t.reshape(7), x, use_reentrant=False, context_fn=lambda: (Swallow(), Swallow()))


@programs
def leaves_in_a_list(m):
    """Tensors inside of a list take part without `use_reentrant` alone."""
    checkpoint, x, w = tools(m)
    y = checkpoint(lambda pair: pair[0] * pair[1], [x, w], use_reentrant=False)
    y.sum().backward()
    return x.grad, w.grad


@programs
def saved_values_by_hand(m):
    """Each look at a saved value outside of a pass runs the function again."""
    checkpoint, x, _ = tools(m)
    log = Marks()
    y = checkpoint(lambda t: log.step(m, "run", t, m.sin), x, use_reentrant=False)
    return y.grad_fn._saved_self, y.grad_fn._saved_self, log


def norm_at_the_end(m, module, shape):
    """Running values after one step through a checkpoint that ends with a normalisation.

    PyTorch's instance norm is made of ops, the last of which moves the running values: it is not run again.
    """
    checkpoint, _, _ = tools(m)
    found = []
    for reentrant in (True, False):
        norm = module(m)
        x = (m.arange(math.prod(shape), dtype=m.float64).sin()).view(shape).requires_grad_()
        checkpoint(norm, x, use_reentrant=reentrant).sum().backward()
        found.append([norm.running_mean.round(decimals=12), norm.running_var.round(decimals=12),
                      norm.num_batches_tracked, norm.running_mean._version])
    return found


programs["batch norm at the end"] = lambda m: norm_at_the_end(
    m, lambda m: m.nn.BatchNorm1d(3, dtype=m.float64), (4, 3))
programs["instance norm at the end"] = lambda m: norm_at_the_end(
    m, lambda m: m.nn.InstanceNorm1d(3, affine=True, track_running_stats=True, dtype=m.float64), (4, 3, 5))


def unstable(m, then, **options):
    """A function that does something else when it is run again."""
    checkpoint, x, _ = tools(m)
    runs = []

    def function(t):
        runs.append(t)
        return (t.sin() * t).sum() if len(runs) == 1 else then(t)

    y = checkpoint(function, x, use_reentrant=False, **options)
    with pytest.raises((RuntimeError, ValueError)) as caught:
        y.backward()
    text = str(caught.value).split("\n\nTip")[0].split("\n\n")[0]
    m.manual_seed(1)
    return type(caught.value).__name__, text.rstrip(), x.grad, m.rand(1), (x * 2).grad_fn.name()


programs["fewer tensors"] = lambda m: unstable(m, lambda t: t.sin().sum())
programs["more tensors"] = lambda m: unstable(m, lambda t: (t.sin() * t).exp().sum(), early_stop=False)
programs["other shapes"] = lambda m: unstable(m, lambda t: (t[:2].sin() * t[:2]).sum())
programs["other shapes, unchecked"] = lambda m: unstable(m, lambda t: t[:2].sin().sum(), determinism_check="none")
programs["an error when it is run again"] = lambda m: unstable(m, lambda t: t.reshape(7))


@pytest.mark.parametrize("name", programs)
def test_a_program_ends_alike(torch, every_warning, name):
    alike(torch, programs[name])


def test_an_error_leaves_the_random_state(torch):
    """After an error inside of the second run, numbers go on as if nothing had been run again."""
    def program(m):
        checkpoint, x, _ = tools(m)
        runs = []

        def function(t):
            runs.append(t)
            if len(runs) == 2:
                m.rand(5)
                raise ValueError("no")
            return t * m.rand(3)

        found = []
        for how in (True, False):
            runs.clear()
            m.manual_seed(0)
            y = checkpoint(function, x, use_reentrant=how)
            with pytest.raises(ValueError):
                y.sum().backward()
            found += [m.rand(1), x.grad, m.is_grad_enabled()]
            y.sum().backward()
            found.append(x.grad)
            x.grad = None
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alike(torch, program)
