"""Custom Functions inside of transforms, against PyTorch: `setup_context`, `Function.vmap`, and generated rules."""

from __future__ import annotations

import itertools

import pytest

import minigrad
from tests.parity.alike import alike, ending
from tests.parity.func.test_func import func_of

pytestmark = pytest.mark.torch


def ramp(m, *shape):
    return m.linspace(-1, 1, m.Size(shape).numel(), dtype=m.float64).reshape(shape)


def function(m, **rules):
    """x² · y, each of whose derivatives is its own: `rules` are what the class has besides."""
    class Scaled(m.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return 2 * g * x * y, (g * x * x).sum_to_size(y.shape)

        @staticmethod
        def jvp(ctx, x_t, y_t):
            x, y = ctx.saved_tensors
            return 2 * x * y * x_t + x * x * y_t

    return with_rules(Scaled, rules)


def with_rules(cls, rules):
    """The class with the rules as its own attributes, and its name."""
    return type(cls)(cls.__name__, (cls,), {key: staticmethod(value) if callable(value) else value
                                            for key, value in rules.items()})


def with_rule(m, notes=None):
    """The same with a rule of its own, which notes what it is told."""
    def vmap(info, in_dims, x, y):
        if notes is not None:
            notes.append((info.batch_size, info.randomness, in_dims, tuple(x.shape), type(info).__name__, info._fields))
        x = x.movedim(in_dims[0], -1) if in_dims[0] is not None else x.unsqueeze(-1)
        y = y.movedim(in_dims[1], -1) if in_dims[1] is not None else y.unsqueeze(-1)
        return cls.apply(*m.broadcast_tensors(x, y)), -1

    cls = function(m, vmap=vmap)
    return cls


KINDS = {"own": with_rule, "generated": lambda m: function(m, generate_vmap_rule=True)}
TRANSFORMS = {
    "vmap": lambda m, f, F, x, y: f.vmap(F.apply)(x, y),
    "vmap of x": lambda m, f, F, x, y: f.vmap(F.apply, (0, None))(x, y[0]),
    "vmap of y": lambda m, f, F, x, y: f.vmap(F.apply, (None, 0), out_dims=1)(x[0], y),
    "by keyword": lambda m, f, F, x, y: f.vmap(lambda a, b: F.apply(a, y=b))(x, y),
    "neither": lambda m, f, F, x, y: f.vmap(lambda a: a + F.apply(x[0], y[0]))(x),
    "nested": lambda m, f, F, x, y: f.vmap(f.vmap(F.apply), randomness="same")(x, y),
    "nested, each with one": lambda m, f, F, x, y: f.vmap(lambda a: f.vmap(lambda b: F.apply(a, b))(y))(x),
    "grad": lambda m, f, F, x, y: f.grad(lambda a, b: F.apply(a, b).sum(), (0, 1))(x, y),
    "grad twice": lambda m, f, F, x, y: f.grad(lambda c: f.grad(lambda a: F.apply(a, y).sin().sum())(c).sum())(x),
    "jvp": lambda m, f, F, x, y: f.jvp(F.apply, (x, y), (y, x)),
    "jvp of grad": lambda m, f, F, x, y: f.jvp(f.grad(lambda a: F.apply(a, y).sum()), (x,), (y,)),
    "vmap of grad": lambda m, f, F, x, y: f.vmap(f.grad(lambda a, b: F.apply(a, b).sum(), (0, 1)))(x, y),
    "vmap of grad, one for all": lambda m, f, F, x, y: f.vmap(
        f.grad(lambda a, b: F.apply(a, b).sum(), (0, 1)), (0, None))(x, y[0]),
    "grad of vmap": lambda m, f, F, x, y: f.grad(lambda a, b: f.vmap(F.apply)(a, b).sum(), (0, 1))(x, y),
    "grad of vmap, one for all": lambda m, f, F, x, y: f.grad(
        lambda a, b: f.vmap(F.apply, (0, None))(a, b).sum(), (0, 1))(x, y[0]),
    "grad of a weight outside": lambda m, f, F, x, y: outside(m, f, F, x, y),
    "grad of vmap of grad": lambda m, f, F, x, y: f.grad(lambda b: f.vmap(
        f.grad(lambda a: F.apply(a, b).sum()))(x).sin().sum())(y[0]),
    "vmap of jvp": lambda m, f, F, x, y: f.vmap(lambda a, b: f.jvp(F.apply, (a, b), (b, a)))(x, y),
    "jvp of vmap": lambda m, f, F, x, y: f.jvp(f.vmap(F.apply), (x, y), (y, x)),
    "jacrev": lambda m, f, F, x, y: f.jacrev(F.apply)(x[0], y[0]),
    "jacfwd": lambda m, f, F, x, y: f.jacfwd(F.apply)(x[0], y[0]),
    "hessian": lambda m, f, F, x, y: f.hessian(lambda a: F.apply(a, y[0]).sum())(x[0]),
}


def outside(m, f, F, x, y):
    w = y[0].clone().requires_grad_()
    f.vmap(lambda a: F.apply(a, w))(x).sum().backward()
    return w.grad


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(torch, name, kind):
    def program(m):
        return TRANSFORMS[name](m, func_of(m), KINDS[kind](m), ramp(m, 3, 2), ramp(m, 3, 2) + 2)

    alike(torch, program)


def told(m):
    notes = []
    F = with_rule(m, notes)
    func_of(m).vmap(F.apply, (0, None), randomness="different")(ramp(m, 3, 2), ramp(m, 2))
    func_of(m).vmap(func_of(m).vmap(F.apply, (None, 0)), (0, None))(ramp(m, 3, 2), ramp(m, 4, 2))
    func_of(m).vmap(func_of(m).grad(lambda x: F.apply(x, x).sum()))(ramp(m, 3, 2))
    return notes


def trees(m):
    """A rule with a list among its arguments, several outputs, and one that is the same for all."""
    class Of(m.autograd.Function):
        @staticmethod
        def forward(pair, n):
            return pair[0] * n, pair[1].sum(), m.ones(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, pair, n):
            return (pair[0] * n, pair[1].sum(1), m.ones(2)), (0, 0, None)

    return func_of(m).vmap(lambda a, b: Of.apply([a, b], 3))(ramp(m, 3, 2), ramp(m, 3, 2))


def written(m):
    class Doubled(m.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    return func_of(m).vmap(func_of(m).grad(lambda x: Doubled.apply(x.clone()).sum()))(ramp(m, 3, 2))


def as_it_is(m, dirty, save, what):
    """A Function that returns what it was given, marks it as written or not, and saves it or not."""
    def setup(ctx, inputs, output):
        if dirty:
            ctx.mark_dirty(inputs[0])
        keep = ctx.save_for_forward if save == "jvp" else ctx.save_for_backward
        keep(*{"input": inputs, "output": (output,), "nothing": ()}[what])

    return type("AsItIs", (m.autograd.Function,), {
        "forward": staticmethod(lambda x: x), "setup_context": staticmethod(setup), "generate_vmap_rule": True,
        "backward": staticmethod(lambda ctx, g: g),
        "jvp": staticmethod(lambda ctx, t: t.add_(0) if dirty else t.view_as(t))}).apply


def identical(m, apply, seen):
    def f(x):
        given = x.clone()
        found = apply(given)
        seen.append(found is given)
        return (found * found).sum()

    return f


RETURNED = {
    "grad": lambda m, f: func_of(m).grad(f)(ramp(m, 3)),
    "of a leaf": lambda m, f: func_of(m).grad(f)(ramp(m, 3).requires_grad_()),
    "grad of grad": lambda m, f: func_of(m).grad(lambda x: func_of(m).grad(f)(x).sum())(ramp(m, 3)),
    "jvp": lambda m, f: func_of(m).jvp(f, (ramp(m, 3),), (ramp(m, 3),))[1],
    "vmap": lambda m, f: func_of(m).vmap(f)(ramp(m, 2, 3)),
    "vmap of grad": lambda m, f: func_of(m).vmap(func_of(m).grad(f))(ramp(m, 2, 3)),
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_is_returned_as_it_was_given(torch, name):
    for dirty, save, what in itertools.product((True, False), ("jvp", "vjp"), ("input", "output", "nothing")):
        def program(m, dirty=dirty, save=save, what=what):
            seen = []
            return RETURNED[name](m, identical(m, as_it_is(m, dirty, save, what), seen)), seen

        theirs, ours = [ending(program, m)[0] for m in (torch, minigrad)]
        assert ours == theirs, (dirty, save, what)


def without_setup(m):
    class Old(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    return Old.apply


def inner_without_setup(m):
    """Inside of a forward the transform is over."""
    old = without_setup(m)

    class New(m.autograd.Function):
        @staticmethod
        def forward(x):
            return old(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    return func_of(m).grad(lambda x: New.apply(x).sum())(ramp(m, 3))


def random(m):
    """A rule draws outside of the level."""
    def vmap(info, in_dims, x, y):
        return x + m.ones(2, dtype=x.dtype).bernoulli(1.0), 0

    return func_of(m).vmap(function(m, vmap=vmap).apply)(ramp(m, 3, 2), ramp(m, 3, 2))


def named(m):
    names = []
    func_of(m).grad(lambda x: names.append(function(m).apply(x, x).grad_fn.name()) or x.sum())(ramp(m, 2))
    return names


def gamma(m):
    m.manual_seed(1)
    draw = lambda a: m.distributions.Gamma(a, 1.0).rsample().sum()  # noqa: E731 (of the one line below)
    return [round(each, 2) for each in func_of(m).grad(draw)(m.ones(3)).tolist()]  # PyTorch rounds on the way


PROGRAMS = {
    "what a rule is told": told, "trees": trees, "a forward writes": written, "random": random,
    "inner without setup_context": inner_without_setup,
    "the name of the node": named,
    "grad without setup_context": lambda m: func_of(m).grad(without_setup(m))(m.tensor(1.0)),
    "jvp without setup_context": lambda m: func_of(m).jvp(without_setup(m), (m.tensor(1.0),), (m.tensor(1.0),)),
    "vmap without setup_context": lambda m: func_of(m).vmap(without_setup(m))(m.ones(2)),
    "outside without setup_context": lambda m: without_setup(m)(m.ones(2, requires_grad=True)).sum(),
    "no rule": lambda m: func_of(m).vmap(function(m).apply)(ramp(m, 2), ramp(m, 2)),
    "no rule, not a batch": lambda m: func_of(m).vmap(lambda a: a * function(m).apply(ramp(m, 2), ramp(m, 2)))(
        ramp(m, 2)),
    "two rules": lambda m: ruled(m, max, generate_vmap_rule=True),
    "returns": lambda m: ruled(m, lambda info, dims, x, y: [x, 0]),
    "three returns": lambda m: ruled(m, lambda info, dims, x, y: (x, y, 0)),
    "other structure": lambda m: ruled(m, lambda info, dims, x, y: (x, (0, 0))),
    "other count": lambda m: ruled(m, lambda info, dims, x, y: ((x, y), (0, 0, None))),
    "one dim for two": lambda m: ruled(m, lambda info, dims, x, y: ((x, y), 0)),
    "gamma": lambda m: func_of(m).grad(lambda a: m.distributions.Gamma(a, 1.0).cdf(m.ones(2)).sum())(m.ones(2)),
    "gamma, drawn": gamma,
    "a rule without vmap": lambda m: function(m, generate_vmap_rule=True).apply(ramp(m, 2), ramp(m, 2)),
    "a rule of the class": lambda m: m.autograd.Function.vmap(None, None),
}


def ruled(m, rule, **others):
    return func_of(m).vmap(function(m, vmap=rule, **others).apply)(ramp(m, 3, 2), ramp(m, 3, 2))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(torch, name):
    alike(torch, PROGRAMS[name])


def doubled(m, **rules):
    """2x, with the rules that are given."""
    class Doubled(m.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return with_rules(Doubled, rules)


@pytest.mark.parametrize("rules", [{"generate_vmap_rule": True}, {"vmap": lambda info, in_dims, x: (x * 2, None)}],
                         ids=["generated", "own"])
def test_what_comes_from_outside_gets_the_sum_over_the_examples(torch, rules):
    def program(m):
        scale, w = doubled(m, **rules), m.ones(()).requires_grad_()
        m.vmap(lambda x: scale.apply(w) * x)(m.tensor([1.0, 2.0])).sum().backward()
        inner = func_of(m).grad(lambda v: m.vmap(lambda x: scale.apply(v) * x)(m.tensor([1.0, 2.0])).sum())(m.ones(()))
        return w.grad, (w.grad * 0.1).tolist(), inner.tolist()

    alike(torch, program)
